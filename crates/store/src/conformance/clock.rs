//! A clock that goes on only when a test says so.
//!
//! Lives here: [`ManualClock`]. Not here: the real one (`naven-server`).

use std::sync::atomic::{AtomicI64, Ordering};

use naven_api::Timestamp;

use crate::clock::Clock;

/// Where the wall clock begins, in ms since 1970: 2025-11-29T14:22:34.120Z.
pub const WALL_START_MS: i64 = 1_764_426_154_120;
/// Where the other one begins: far from 0, so that an engine that takes it for its own lease time
/// is caught.
const MONOTONIC_START_MS: i64 = 987_654;

/// Both clocks, set by hand.
#[derive(Debug)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    monotonic_ms: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self { wall_ms: AtomicI64::new(WALL_START_MS), monotonic_ms: AtomicI64::new(MONOTONIC_START_MS) }
    }
}

impl ManualClock {
    /// Time goes on by so many ms on both clocks.
    pub fn advance_ms(&self, ms: i64) {
        self.monotonic_ms.fetch_add(ms, Ordering::SeqCst);
        self.step_wall_ms(ms);
    }

    /// Somebody sets the wall clock, forwards or (negative) back; the other one goes on as it was.
    pub fn step_wall_ms(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets both, for a process that starts again.
    pub fn set(&self, wall: Timestamp, monotonic_ms: i64) {
        self.wall_ms.store(wall.as_ms(), Ordering::SeqCst);
        self.monotonic_ms.store(monotonic_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_ms(self.wall_ms.load(Ordering::SeqCst))
    }

    fn monotonic_ms(&self) -> i64 {
        self.monotonic_ms.load(Ordering::SeqCst)
    }
}
