//! When what is published.
//!
//! Lives here: arrivals that wait for nobody. Not here: publishing them (`publisher.rs`).

use crate::simulation::Dice;

/// Events of a batch.
pub(super) const BATCH: usize = 8;

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One event, to a queue of its own stream.
    Single,
    /// The same, due this many ms later.
    Delayed(i64),
    /// Several at once, all or none.
    Batch,
    /// One event for two queues and a group of Redis readers.
    Shared,
    /// One entry by XADD, for a group of Redis readers.
    Wire,
}

impl Kind {
    /// How many cycles of publish, claim and ack it makes: whoever takes it in turn counts.
    pub(super) const fn cycles(self) -> usize {
        match self {
            Self::Single | Self::Delayed(_) | Self::Wire => 1,
            Self::Batch => BATCH,
            Self::Shared => 3,
        }
    }

    fn draw(dice: &Dice) -> Self {
        match dice.between(0..=99) {
            0..=49 => Self::Single,
            50..=64 => Self::Delayed(dice.between(300..=5_000)),
            65..=69 => Self::Batch,
            70..=81 => Self::Shared,
            _ => Self::Wire,
        }
    }
}

/// Arrivals of one generation, by time.
#[derive(Debug)]
pub(super) struct Schedule {
    dice: Dice,
    next_us: i64,
    end_us: i64,
    /// Between two cycles.
    gap_us: f64,
}

impl Schedule {
    /// Arrivals from one instant to the other that make so many cycles a second.
    pub(super) fn new(seed: u64, from_ms: i64, until_ms: i64, per_second: f64) -> Self {
        let gap_us = 1_000_000.0 / per_second.max(0.01);
        Self { dice: Dice::new(seed), next_us: from_ms * 1_000, end_us: until_ms * 1_000, gap_us }
    }

    /// The next arrival and when it comes, in ms; none after the last.
    pub(super) fn next(&mut self) -> Option<(i64, Kind)> {
        if self.next_us >= self.end_us {
            return None;
        }
        let (at_ms, kind) = (self.next_us / 1_000, Kind::draw(&self.dice));
        // Exponential gaps, as of many who know nothing of each other.
        let share = (self.dice.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        let gap_us = -(1.0 - share).ln() * self.gap_us * kind.cycles() as f64;
        self.next_us += gap_us.min(1e12) as i64;
        Some((at_ms, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(seed: u64) -> Vec<(i64, Kind)> {
        let mut schedule = Schedule::new(seed, 5_000, 105_000, 300.0);
        std::iter::from_fn(|| schedule.next()).collect()
    }

    #[test]
    fn arrivals_rise_within_their_time_and_make_the_rate() {
        let arrivals = all(7);
        assert!(arrivals.windows(2).all(|two| two[0].0 <= two[1].0));
        assert!(arrivals.first().unwrap().0 >= 5_000 && arrivals.last().unwrap().0 < 105_000);
        let cycles: usize = arrivals.iter().map(|(_, kind)| kind.cycles()).sum();
        assert!((28_000..32_000).contains(&cycles), "{cycles} cycles in 100 s at 300 a second");
    }

    #[test]
    fn the_seed_decides_them() {
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
    }

    #[test]
    fn every_kind_comes() {
        let arrivals = all(3);
        let has = |wanted: fn(&Kind) -> bool| arrivals.iter().any(|(_, kind)| wanted(kind));
        assert!(has(|kind| matches!(kind, Kind::Single)) && has(|kind| matches!(kind, Kind::Delayed(_))));
        assert!(has(|kind| matches!(kind, Kind::Batch)) && has(|kind| matches!(kind, Kind::Shared)));
        assert!(has(|kind| matches!(kind, Kind::Wire)));
    }
}
