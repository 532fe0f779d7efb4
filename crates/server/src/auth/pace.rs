//! How often a key may call.
//!
//! Lives here: the bound and what callers are told of it. Not here: which calls count (`http/extract.rs`).

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// The bound on one key's calls: so many a second, all at once if it likes, refilled evenly.
#[derive(Clone)]
pub(crate) struct Pace {
    per_second: u32,
    limiter: Arc<Limiter>,
}

/// Where a key stands after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Calls of a second.
    pub(crate) per_second: u32,
    /// Calls that it may make at once now.
    pub(crate) remaining: u32,
    /// Whole seconds, rounded up, until a call is let through; 0 where it was.
    pub(crate) wait_seconds: u32,
}

impl std::fmt::Debug for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pace({}/s)", self.per_second)
    }
}

impl Pace {
    /// At most `per_second` calls of a second; none for no calls at all, which is no bound but a mistake.
    pub(crate) fn new(per_second: u32) -> Option<Self> {
        let quota = Quota::per_second(NonZeroU32::new(per_second)?);
        let limiter = RateLimiter::direct(quota).with_middleware::<StateInformationMiddleware>();
        Some(Self { per_second, limiter: Arc::new(limiter) })
    }

    /// Counts one call.
    pub(crate) fn call(&self) -> Standing {
        let per_second = self.per_second;
        match self.limiter.check() {
            Ok(state) => {
                Standing { per_second, remaining: state.remaining_burst_capacity(), wait_seconds: 0 }
            }
            Err(refused) => {
                let wait = refused.wait_time_from(DefaultClock::default().now());
                let wait_seconds = u32::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX);
                Standing { per_second, remaining: 0, wait_seconds: wait_seconds.max(1) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_make_its_calls_at_once_and_then_waits() {
        assert!(Pace::new(0).is_none());
        let pace = Pace::new(3).expect("it is a bound");
        let remaining: Vec<u32> = (0..3).map(|_| pace.call().remaining).collect();
        assert_eq!((remaining[0], remaining.len()), (2, 3));
        // However slow this machine is, calls without a pause come faster than three a second at some time.
        let refused = (0..1_000_000).map(|_| pace.call()).find(|standing| standing.wait_seconds > 0);
        let refused = refused.expect("too many calls are refused");
        assert_eq!((refused.per_second, refused.remaining, refused.wait_seconds), (3, 0, 1));
    }
}
