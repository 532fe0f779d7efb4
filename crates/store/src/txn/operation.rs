//! Operations: work on many events that goes on in the background.
//!
//! Lives here: what is asked for, and how an operation looks from outside. Not here: its steps (the
//! engines).

use std::collections::BTreeSet;

use naven_api::{OperationId, QueueId, Timestamp};
use naven_core::{Delivery, View};

use crate::queue::QueueRef;
use crate::read::{Counts, DeadFilter};

/// Begin or end an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "operations are few")]
pub enum OperationOp {
    /// Begin one: it touches only what is as it asks for at this point of the order.
    Start {
        /// In which queue.
        queue: QueueRef,
        /// What is done.
        bulk: Bulk,
    },
    /// End one where it stands. What it did stays.
    Cancel {
        /// Which.
        operation: OperationId,
    },
}

/// What an operation does to each event that it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bulk {
    /// Dead letters begin a new round.
    Redrive {
        /// Which.
        filter: DeadFilter,
        /// True where their attempts start again at none.
        reset_attempts: bool,
    },
    /// Dead letters are forgotten.
    Discard {
        /// Which.
        filter: DeadFilter,
    },
    /// Dead letters end, and new events of their content go to another queue alone.
    Move {
        /// Which.
        filter: DeadFilter,
        /// Where to.
        target: QueueRef,
    },
    /// What waits, or is dead, is thrown away.
    Purge(PurgeFilter),
}

/// What a purge means: what stands so when it begins, unless somebody has it when it comes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeFilter {
    /// Some of scheduled, ready, retrying and dead.
    pub states: BTreeSet<View>,
    /// Only events that were published before this instant.
    pub older_than: Option<Timestamp>,
}

impl PurgeFilter {
    /// True where events that were published then are meant.
    pub(crate) fn takes(&self, created_at: Timestamp) -> bool {
        self.older_than.is_none_or(|end| created_at < end)
    }

    /// True where a delivery that waits now did so already when a purge began: since then nobody let go of it,
    /// and nobody brought it back.
    pub(crate) fn stood(live: &Delivery, began: Timestamp) -> bool {
        match live.last {
            Some(last) => last.at <= began,
            None => live.fence == 0 || live.due <= began,
        }
    }

    /// How many are meant, where a queue's counts tell that: they know only the dead from all others, as a due
    /// time may have come without anybody noticing.
    pub(crate) fn counted(&self, counts: &Counts) -> Option<u64> {
        let waiting = [View::Scheduled, View::Ready, View::Retrying];
        let named = waiting.iter().filter(|view| self.states.contains(view)).count();
        let is_known = self.older_than.is_none() && (named == 0 || named == waiting.len());
        is_known.then(|| self.states.iter().map(|&view| counts.of(view)).sum())
    }
}

impl Bulk {
    /// Its kind.
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Redrive { .. } | Self::Move { .. } => OperationKind::Redrive,
            Self::Discard { .. } => OperationKind::Discard,
            Self::Purge(_) => OperationKind::Purge,
        }
    }

    /// When those died that it means, where it means dead ones: from the first instant on, before the second.
    pub(crate) fn died(&self) -> (i64, i64) {
        match self {
            Self::Redrive { filter, .. } | Self::Discard { filter } | Self::Move { filter, .. } => {
                filter.died()
            }
            Self::Purge(_) => (i64::MIN, i64::MAX),
        }
    }

    /// How many it means, where a queue's counts tell that.
    pub(crate) fn counted(&self, counts: &Counts) -> Option<u64> {
        match self {
            Self::Redrive { filter, .. } | Self::Discard { filter } | Self::Move { filter, .. } => {
                filter.takes_all().then(|| counts.of(View::Dead))
            }
            Self::Purge(filter) => filter.counted(counts),
        }
    }
}

/// A kind of operation. Their places in the list are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Dead letters begin a new round.
    Redrive,
    /// Dead letters are forgotten.
    Discard,
    /// What waits, or is dead, is thrown away.
    Purge,
}

impl OperationKind {
    /// Every kind, in the order of their numbers on disk.
    pub const ALL: [Self; 3] = [Self::Redrive, Self::Discard, Self::Purge];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
            Self::Purge => "purge",
        }
    }
}

/// Where an operation stands. Their places in the list are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationState {
    /// Its turn has not come.
    Pending,
    /// It is the one that is worked on.
    Running,
    /// It did all that it was to do.
    Done,
    /// Somebody ended it.
    Cancelled,
    /// It could not go on.
    Failed,
}

impl OperationState {
    /// Every state, in the order of their numbers on disk.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Done, Self::Cancelled, Self::Failed];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// True once nothing more will come of it.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Done | Self::Cancelled | Self::Failed => true,
        }
    }
}

/// What an operation on a queue that was deleted says.
pub(crate) const QUEUE_GONE: &str = "the queue was deleted";

/// Most dead letters that one step moves: each is written anew, with its payload.
pub(crate) const MOVE_CHUNK_ROWS: u32 = 50;

/// What an operation says whose events have nowhere to go any more.
pub(crate) const TARGET_GONE: &str = "the queue that its events were to go to was deleted";

/// An operation from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationView {
    /// Its id.
    pub id: OperationId,
    /// What it does.
    pub kind: OperationKind,
    /// In which queue.
    pub queue: QueueId,
    /// The queue's name.
    pub queue_name: String,
    /// Where it stands.
    pub state: OperationState,
    /// How many events it means, where that is known.
    pub matched: Option<u64>,
    /// To how many it was done.
    pub done: u64,
    /// To how many it could not be done.
    pub failed: u64,
    /// Why it could not go on, where it could not.
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last came on.
    pub updated_at: Timestamp,
}

impl OperationView {
    /// Counts one more event.
    pub(crate) fn count(&mut self, was_done: bool) {
        if was_done { self.done += 1 } else { self.failed += 1 }
    }

    /// Ends it: what it meant is known now, unless it did not come to its end.
    pub(crate) fn end(&mut self, state: OperationState, error: Option<&str>, at: Timestamp) {
        if state == OperationState::Done && self.matched.is_none() {
            self.matched = Some(self.done + self.failed);
        }
        (self.state, self.error, self.updated_at) = (state, error.map(str::to_owned), at);
    }
}
