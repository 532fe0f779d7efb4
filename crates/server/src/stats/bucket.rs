//! What happened within one step.
//!
//! Lives here: counting changes. Not here: steps and their order (`series.rs`).

use naven_api::Timestamp;
use naven_api::watch::StatsPoint;
use naven_core::Ending;
use naven_store::Change;

use super::figure::{Figure, figures_of};
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
    counts: [u32; Figure::ALL.len()],
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
        for figure in figures_of(change) {
            let count = &mut self.counts[figure as usize];
            *count = count.saturating_add(1);
        }
        // A claim that nobody received ran for nobody.
        if change.ending == Some(Ending::GivenBack) {
            return;
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
        for (count, more) in self.counts.iter_mut().zip(later.counts) {
            *count = count.saturating_add(more);
        }
        self.wait.merge(&later.wait);
        self.run.merge(&later.run);
    }

    /// The step from `at` on, at whose end the queue stood like `sample`.
    pub(super) fn point(&self, at: Timestamp, end: Timestamp, sample: Option<Sample>) -> StatsPoint {
        let age = |since: Timestamp| u64::try_from((end.as_ms() - since.as_ms()) / 1_000).unwrap_or(0);
        let count = |figure: Figure| u64::from(self.counts[figure as usize]);
        StatsPoint {
            at,
            enqueued: count(Figure::Published),
            delivered: count(Figure::Claimed),
            acked: count(Figure::Acked),
            nacked: count(Figure::Failed) + count(Figure::Released),
            released: count(Figure::Released),
            expired: count(Figure::Expired),
            dead: count(Figure::Dead),
            cancelled: count(Figure::Cancelled),
            redriven: count(Figure::Redriven),
            wait_ms: self.wait.percentiles(),
            run_ms: self.run.percentiles(),
            depth: sample.map(|sample| sample.depth),
            oldest_ready_age_seconds: sample.and_then(|sample| sample.oldest_ready).map(age),
        }
    }
}
