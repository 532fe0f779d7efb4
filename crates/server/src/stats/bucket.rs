//! What happened within one step.
//!
//! Lives here: counting changes. Not here: steps and their order (`series.rs`).

use naven_api::Timestamp;
use naven_api::watch::StatsPoint;
use naven_core::Ending;
use naven_store::{Change, ChangeKind};

use super::times::{CELL_BYTES, Times};

/// How a queue stood at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    /// Deliveries that are not over.
    pub(crate) depth: u64,
    /// When the oldest ready event became due.
    pub(crate) oldest_ready: Option<Timestamp>,
}

/// What happened within one step.
#[derive(Debug, Clone, Default)]
pub(super) struct Bucket {
    enqueued: u32,
    delivered: u32,
    acked: u32,
    failed: u32,
    released: u32,
    expired: u32,
    dead: u32,
    cancelled: u32,
    redriven: u32,
    wait: Times,
    run: Times,
    /// How the queue stood at the end.
    pub(super) sample: Option<Sample>,
}

impl Bucket {
    /// About how many bytes a bucket takes, with what keeps it in order.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + 24 + (self.wait.cells() + self.run.cells()) * CELL_BYTES
    }

    /// Counts one change.
    pub(super) fn add(&mut self, change: &Change) {
        match change.kind {
            ChangeKind::Published => up(&mut self.enqueued),
            ChangeKind::Claimed => up(&mut self.delivered),
            ChangeKind::Acked => up(&mut self.acked),
            ChangeKind::Dead => up(&mut self.dead),
            ChangeKind::Cancelled => up(&mut self.cancelled),
            ChangeKind::Redriven => up(&mut self.redriven),
            ChangeKind::Due | ChangeKind::Rescheduled | ChangeKind::Revived | ChangeKind::CancelRequested => {
            }
            ChangeKind::Failed | ChangeKind::Released | ChangeKind::GivenBack | ChangeKind::Expired => {}
            ChangeKind::Discarded => {}
        }
        match change.ending {
            Some(Ending::Failed | Ending::Fatal) => up(&mut self.failed),
            Some(Ending::Released) => up(&mut self.released),
            Some(Ending::Expired) => up(&mut self.expired),
            // A claim that nobody received ran for nobody.
            Some(Ending::GivenBack) => return,
            Some(Ending::Acked | Ending::Broken) | None => {}
        }
        if let Some(ms) = change.wait_ms {
            self.wait.add(ms);
        }
        if let Some(ms) = change.run_ms {
            self.run.add(ms);
        }
    }

    /// Counts all that another step counted; its end is the later one.
    pub(super) fn merge(&mut self, later: &Self) {
        for (count, more) in [
            (&mut self.enqueued, later.enqueued),
            (&mut self.delivered, later.delivered),
            (&mut self.acked, later.acked),
            (&mut self.failed, later.failed),
            (&mut self.released, later.released),
            (&mut self.expired, later.expired),
            (&mut self.dead, later.dead),
            (&mut self.cancelled, later.cancelled),
            (&mut self.redriven, later.redriven),
        ] {
            *count = count.saturating_add(more);
        }
        self.wait.merge(&later.wait);
        self.run.merge(&later.run);
    }

    /// The step from `at` on, at whose end the queue stood like `sample`.
    pub(super) fn point(&self, at: Timestamp, end: Timestamp, sample: Option<Sample>) -> StatsPoint {
        let age = |since: Timestamp| u64::try_from((end.as_ms() - since.as_ms()) / 1_000).unwrap_or(0);
        StatsPoint {
            at,
            enqueued: self.enqueued.into(),
            delivered: self.delivered.into(),
            acked: self.acked.into(),
            nacked: u64::from(self.failed) + u64::from(self.released),
            released: self.released.into(),
            expired: self.expired.into(),
            dead: self.dead.into(),
            cancelled: self.cancelled.into(),
            redriven: self.redriven.into(),
            wait_ms: self.wait.percentiles(),
            run_ms: self.run.percentiles(),
            depth: sample.map(|sample| sample.depth),
            oldest_ready_age_seconds: sample.and_then(|sample| sample.oldest_ready).map(age),
        }
    }
}

fn up(count: &mut u32) {
    *count = count.saturating_add(1);
}
