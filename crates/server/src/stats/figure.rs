//! What is counted of a queue.
//!
//! Lives here: the figures, which changes count in which of them, and their sums since a queue is recorded.
//! Not here: what happened when (`bucket.rs`).

use naven_core::Ending;
use naven_store::{Change, ChangeKind};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Published,
    Claimed,
    Acked,
    Failed,
    Released,
    Expired,
    Dead,
    Cancelled,
    Redriven,
}

impl Figure {
    pub(crate) const ALL: [Self; 9] = [
        Self::Published,
        Self::Claimed,
        Self::Acked,
        Self::Failed,
        Self::Released,
        Self::Expired,
        Self::Dead,
        Self::Cancelled,
        Self::Redriven,
    ];
}

/// Sums of all figures since a queue is recorded: they only rise, until the queue is let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals([u64; Figure::ALL.len()]);

impl Totals {
    pub(crate) fn of(&self, figure: Figure) -> u64 {
        self.0[figure as usize]
    }

    pub(super) fn add(&mut self, change: &Change) {
        figures_of(change).for_each(|figure| self.0[figure as usize] += 1);
    }
}

/// In what a change counts: the end of a hold may also be the end of its delivery.
pub(super) fn figures_of(change: &Change) -> impl Iterator<Item = Figure> {
    let happened = match change.kind {
        ChangeKind::Published => Some(Figure::Published),
        ChangeKind::Claimed => Some(Figure::Claimed),
        ChangeKind::Acked => Some(Figure::Acked),
        ChangeKind::Dead => Some(Figure::Dead),
        ChangeKind::Cancelled => Some(Figure::Cancelled),
        ChangeKind::Redriven => Some(Figure::Redriven),
        ChangeKind::Due | ChangeKind::Rescheduled | ChangeKind::Revived | ChangeKind::CancelRequested => None,
        ChangeKind::Failed | ChangeKind::Released | ChangeKind::GivenBack | ChangeKind::Expired => None,
        ChangeKind::Discarded => None,
    };
    let ended = match change.ending {
        Some(Ending::Failed | Ending::Fatal) => Some(Figure::Failed),
        Some(Ending::Released) => Some(Figure::Released),
        Some(Ending::Expired) => Some(Figure::Expired),
        Some(Ending::GivenBack | Ending::Acked | Ending::Broken) | None => None,
    };
    happened.into_iter().chain(ended)
}
