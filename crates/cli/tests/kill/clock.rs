//! Time as the driver measures it, beside the lease clock of a server that is killed and started.
//!
//! Lives here: the one place of this test that reads the machine's clocks. Not here: what the
//! readings prove (`judge.rs`).

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After a crash a lease may last so much longer: the lease clock is made durable once a second, and
/// a batch under way when the process is killed takes a moment to be.
const CLOCK_LOST_US: i64 = 1_500_000;

/// One reading. Between two of them the server's lease clock has counted at most the difference in
/// `up_us` and at least the difference in `sure_us`, however often it was killed in between.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// How long a server process was there so far, in microseconds.
    pub(crate) up_us: i64,
    /// The same without what the starts took and what the kills may have lost.
    pub(crate) sure_us: i64,
    /// Milliseconds since 1970.
    pub(crate) wall_ms: i64,
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(up {} us, sure {} us, wall {} ms)", self.up_us, self.sure_us, self.wall_ms)
    }
}

/// Reads the clocks while one server process lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    spawned: Instant,
    up_before_us: i64,
    lost_us: i64,
}

impl Clock {
    /// The clock of the first process, which was spawned at `spawned`.
    pub(crate) fn of_first(spawned: Instant) -> Self {
        Self { spawned, up_before_us: 0, lost_us: 0 }
    }

    /// The clock of the next process: this one's was over at `over`, the next was spawned at
    /// `spawned` and took `start` to be ready.
    pub(crate) fn next(self, over: Instant, spawned: Instant, start: Duration) -> Self {
        Self {
            spawned,
            up_before_us: self.up_before_us + micros(over - self.spawned),
            lost_us: self.lost_us + micros(start) + CLOCK_LOST_US,
        }
    }

    pub(crate) fn now(self) -> Moment {
        let up_us = self.up_before_us + micros(instant() - self.spawned);
        Moment { up_us, sure_us: up_us - self.lost_us, wall_ms: wall_ms() }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).expect("a test run is short")
}

#[expect(clippy::disallowed_methods, reason = "a black-box test measures real time")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a black-box test measures real time")]
pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_millis()).expect("the year is a sane one")
}
