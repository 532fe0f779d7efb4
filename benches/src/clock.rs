//! Time as the measurements see it.
//!
//! Lives here: the only readings of clocks. Not here: the server's clock.

use std::time::Instant;

use jiff::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the one place where measurements read a stopwatch")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "events are scheduled by the wall clock")]
pub(crate) fn wall() -> Timestamp {
    Timestamp::now()
}
