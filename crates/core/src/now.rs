//! The two clocks, read once by the engine and handed in.
//!
//! Lives here: their types. Not here: reading them.

use naven_api::Timestamp;

/// A reading of the lease clock, in ms: it never steps, and stands still while the server is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LeaseTime(i64);

impl LeaseTime {
    /// The reading `ms`.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// The reading in ms.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// This reading `ms` milliseconds later, held inside the range of i64.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// One instant as the engine knows it. Due times follow `wall`, leases follow `lease`, so that a
/// step of the wall clock moves no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// The lease clock.
    pub lease: LeaseTime,
}

impl Now {
    /// The wall time that will be shown for `end`, a reading of the lease clock.
    pub const fn wall_of(self, end: LeaseTime) -> Timestamp {
        self.wall.plus_ms(end.as_ms().saturating_sub(self.lease.as_ms()))
    }
}
