//! What a soak is told to do.
//!
//! Lives here: its lengths and the instants of restarts. Not here: the arrivals between them (`schedule.rs`).

use std::path::PathBuf;

/// Connections of publishers in each generation.
pub(super) const PUBLISHERS: usize = 12;
/// Workers of each queue that settle at once, and those that take their time.
pub(super) const QUICK: usize = 6;
pub(super) const SLOW: usize = 2;
/// Readers of each stream.
pub(super) const READERS: usize = 2;
/// Connections that measure the rate.
pub(super) const MEASURERS: usize = 16;
/// Length of the log's files: small, so that the fixed part of the disk hides nothing.
pub(super) const SEGMENT_BYTES: u64 = 4 << 20;

/// What a soak is told to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The binary.
    pub naven: PathBuf,
    /// How long the load lasts.
    pub seconds: u32,
    /// Its rate, in percent of the one that was measured.
    pub share: u32,
    /// How many of a hundred cycles meet a fault.
    pub faults: u32,
    /// Where the server's folder, its log and histories that are wrong go.
    pub folder: PathBuf,
    /// Decides who does what; the network and the disk race as they like.
    pub seed: u64,
}

/// How the server is ended, to be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// kill -9.
    Kill,
    /// SIGTERM: requests under way are answered, then it ends with 0.
    Stop,
}

impl Plan {
    pub(super) fn length_ms(&self) -> i64 {
        i64::from(self.seconds) * 1_000
    }

    /// How long the rate is measured.
    pub(super) fn measuring_ms(&self) -> i64 {
        i64::from((self.seconds / 6).clamp(5, 20)) * 1_000
    }

    /// How many generations the load has, each as long as the others.
    pub(super) fn generations(&self) -> i64 {
        let each = (self.seconds / 8).clamp(10, 120);
        i64::from((self.seconds / each).max(1))
    }

    /// When restarts happen, in ms from the beginning of the load: in its first half, kills and stops in turn, and a
    /// kill at its end.
    pub(super) fn endings(&self) -> Vec<(i64, Ending)> {
        let step = i64::from((self.seconds / 12).max(10)) * 1_000;
        let turns = [Ending::Kill, Ending::Stop].into_iter().cycle();
        let instants =
            (1..).map(|number| number * step).take_while(|at_ms| *at_ms <= self.length_ms() * 45 / 100);
        instants.zip(turns).chain([(self.length_ms(), Ending::Kill)]).collect()
    }

    /// From when on memory and disk are judged, in ms from the beginning of the load.
    pub(super) fn steady_ms(&self) -> i64 {
        self.length_ms() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seconds: u32) -> Plan {
        Plan { naven: "naven".into(), seconds, share: 30, faults: 1, folder: "soak".into(), seed: 1 }
    }

    #[test]
    fn one_process_lives_through_the_second_half() {
        for seconds in [30, 60, 90, 600, 7_200, 86_400] {
            let plan = plan(seconds);
            let endings = plan.endings();
            let (last, before) = endings.split_last().unwrap();
            assert_eq!(*last, (plan.length_ms(), Ending::Kill));
            assert!(!before.is_empty(), "{seconds} s have a restart under load");
            assert!(before.iter().all(|(at_ms, _)| *at_ms < plan.steady_ms()));
        }
        let both = plan(60).endings().into_iter().map(|(_, ending)| ending).collect::<Vec<_>>();
        assert_eq!(both, [Ending::Kill, Ending::Stop, Ending::Kill]);
    }

    #[test]
    fn a_generation_lasts_two_minutes_at_most() {
        assert_eq!(plan(7_200).generations(), 60);
        assert_eq!(plan(600).generations(), 8);
        assert_eq!(plan(60).generations(), 6);
        assert_eq!(plan(5).generations(), 1);
    }
}
