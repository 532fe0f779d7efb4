//! Time as a soak sees it.
//!
//! Lives here: the only readings of clocks. Not here: what happens when.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock that began with the wall clock's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    base: Instant,
    base_ms: i64,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a real run measures real time, and reads it here alone")]
    pub(super) fn start() -> Self {
        Self { base: Instant::now(), base_ms: wall_ms() }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.base_ms + i64::try_from(self.base.elapsed().as_millis()).expect("a run is short")
    }

    /// The first whole ms that is surely not before now.
    pub(super) fn by_now_ms(&self) -> i64 {
        self.now_ms() + 1
    }

    /// By how much the wall clock is ahead.
    pub(super) fn offset_ms(&self) -> i64 {
        wall_ms() - self.now_ms()
    }
}

#[expect(clippy::disallowed_methods, reason = "a real run measures real time, and reads it here alone")]
fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    i64::try_from(since.as_millis()).expect("the year is near")
}
