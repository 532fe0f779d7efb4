//! Pauses between tries of what failed.
//!
//! Lives here: how long they are. Not here: what is tried again (`pump.rs`, `settling.rs`, `lease.rs`).

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Pauses that grow to twice the most of the one before, each a random part of its most: so that many who failed at
/// once do not come back at once.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// From a part of `first` up to a part of `most`.
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, failures: 0 }
    }

    /// It worked: the next pause is a first one.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// How often it failed in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// The pause after one more failure, and not less than what was asked for.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let most = self.first.saturating_mul(1 << self.failures.min(20)).min(self.most);
        self.failures = self.failures.saturating_add(1);
        // Whoever names an instant names it to all, so some of the pause is added to it.
        most.mul_f64(fraction()) + asked.unwrap_or_default()
    }
}

/// A random number from 0 up to 1.
pub(crate) fn fraction() -> f64 {
    (random_bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Bits that differ each time. Nobody must be unable to foresee them.
pub(super) fn random_bits() -> u64 {
    // The keys of a fresh map's hasher are random, and differ each time.
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_up_to_its_most_and_begins_anew_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        for most in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
            assert!(backoff.next(None) <= Duration::from_millis(most));
        }
        assert_eq!(backoff.failures(), 8);
        backoff.reset();
        assert!(backoff.next(None) <= Duration::from_millis(100));
    }

    #[test]
    fn a_pause_is_never_shorter_than_what_is_asked_for() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        let asked = Duration::from_secs(7);
        assert!((0..50).all(|_| backoff.next(Some(asked)) >= asked));
    }

    #[test]
    fn random_parts_fill_the_whole_range() {
        let parts: Vec<f64> = (0..1_000).map(|_| fraction()).collect();
        assert!(parts.iter().all(|part| (0.0..1.0).contains(part)));
        assert!(parts.iter().any(|part| *part < 0.1) && parts.iter().any(|part| *part > 0.9));
    }
}
