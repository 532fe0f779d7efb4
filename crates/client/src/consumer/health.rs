//! How a consumer is.
//!
//! Lives here: what can be asked while it runs, and what it says at its end. Not here: what changes it (`pump.rs`, `attempt.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How a consumer is: cheap to clone, and to be asked by a health check. See
/// [`Consumer::health`](super::Consumer::health).
#[derive(Debug, Clone)]
pub struct Health {
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct Counts {
    born: Instant,
    claims_failed: AtomicU64,
    /// Milliseconds from `born` to the last claim that was answered.
    heard_at_ms: AtomicU64,
    in_flight: AtomicU64,
    done: AtomicU64,
    not_done: AtomicU64,
    lost: AtomicU64,
    abandoned: AtomicU64,
}

/// What a consumer had done when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Attempts that finished their event.
    pub done: u64,
    /// Attempts that ended otherwise, and were settled.
    pub not_done: u64,
    /// Leases that were lost.
    pub lost: u64,
    /// Events that were still in work when the time to drain was over, under leases that run out by themselves.
    pub abandoned: u64,
}

impl Health {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let counts = Counts {
            born: Instant::now(),
            claims_failed: zero(),
            heard_at_ms: zero(),
            in_flight: zero(),
            done: zero(),
            not_done: zero(),
            lost: zero(),
            abandoned: zero(),
        };
        Self { counts: Arc::new(counts) }
    }

    /// How many claims have failed in a row: 0 while all is well. A consumer that is deaf shows here.
    pub fn claims_failed(&self) -> u64 {
        self.counts.claims_failed.load(Ordering::Relaxed)
    }

    /// How long ago the server last answered a claim, or since the consumer was made. While all is well, and a slot is
    /// free, it is not much above the wait of one claim.
    pub fn silent_for(&self) -> Duration {
        let heard = Duration::from_millis(self.counts.heard_at_ms.load(Ordering::Relaxed));
        self.counts.born.elapsed().saturating_sub(heard)
    }

    /// Events whose lease is held at this moment.
    pub fn in_flight(&self) -> u64 {
        self.counts.in_flight.load(Ordering::Relaxed)
    }

    /// What was done so far.
    pub fn so_far(&self) -> Drained {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Drained {
            done: read(&self.counts.done),
            not_done: read(&self.counts.not_done),
            lost: read(&self.counts.lost),
            abandoned: read(&self.counts.abandoned),
        }
    }

    pub(super) fn claim_answered(&self) {
        let ms = u64::try_from(self.counts.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.counts.heard_at_ms.store(ms, Ordering::Relaxed);
        self.counts.claims_failed.store(0, Ordering::Relaxed);
    }

    pub(super) fn claim_failed(&self) {
        self.counts.claims_failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn begun(&self) {
        self.counts.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn abandoned(&self) {
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.counts.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, how: Ended) {
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        let count = match how {
            Ended::Done => &self.counts.done,
            Ended::NotDone => &self.counts.not_done,
            Ended::Lost => &self.counts.lost,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// How an attempt ended, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    NotDone,
    Lost,
}
