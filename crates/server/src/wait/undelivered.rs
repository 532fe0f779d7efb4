//! Leases on their way to a client that may be gone.
//!
//! Lives here: the guard that gives leases back unless their answer was taken. Not here: noticing
//! that a client is gone (dropping the guard says so).

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use naven_api::{EventId, QueueId};
use naven_core::planted::{Bug, has};
use naven_store::Engine;
use naven_store::reply::Grant;
use naven_store::txn::{OpKind, Proof, Settle, SettleStep, Txn};

use super::sync::{Mutex, MutexGuard, PoisonError, Tasks};

/// Leases that nobody has yet. Dropped, they go back to their queues at once, and the attempt is not
/// counted.
pub(crate) struct Undelivered {
    grants: Vec<Grant>,
    holds: Vec<Hold>,
    replayed: bool,
    give_back: Arc<GiveBack>,
}

/// One hold of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Hold {
    event: EventId,
    queue: QueueId,
    round: u32,
    fence: u64,
}

impl Hold {
    fn of(grant: &Grant) -> Self {
        Self { event: grant.event, queue: grant.queue, round: grant.round, fence: grant.fence }
    }

    fn given_back(self) -> OpKind {
        let Self { event, queue, round, fence } = self;
        OpKind::Settle(Settle {
            event,
            proof: Proof::Fence { queue, round, fence },
            step: SettleStep::GiveBack,
        })
    }
}

impl Undelivered {
    pub(super) fn new(grants: Vec<Grant>, give_back: Arc<GiveBack>) -> Self {
        let holds: Vec<_> = grants.iter().map(Hold::of).collect();
        give_back.on_their_way().extend(holds.iter().copied());
        Self { grants, holds, replayed: false, give_back }
    }

    /// Leases that an earlier call took, for its repetition. Dropped, they stay as they are: somebody may
    /// be at work under the first answer. Nor does the first answer give them back any more where it does not arrive.
    pub(super) fn replayed(grants: Vec<Grant>, give_back: Arc<GiveBack>) -> Self {
        let mut on_their_way = give_back.on_their_way();
        grants.iter().for_each(|grant| {
            on_their_way.remove(&Hold::of(grant));
        });
        drop(on_their_way);
        Self { grants, holds: Vec::new(), replayed: true, give_back }
    }

    /// True where an earlier call took them.
    pub(crate) fn are_replayed(&self) -> bool {
        self.replayed
    }

    /// The leases themselves, to be written out. The guard stays.
    pub(crate) fn take_grants(&mut self) -> Vec<Grant> {
        std::mem::take(&mut self.grants)
    }

    /// The answer was taken: the leases are the client's now.
    pub(crate) fn delivered(&mut self) {
        self.give_back.arrived(std::mem::take(&mut self.holds));
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        let nobodys = self.give_back.arrived(std::mem::take(&mut self.holds));
        if !nobodys.is_empty() && !has(Bug::GoneWaiterServed) {
            self.give_back.give(nobodys);
        }
    }
}

impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undelivered").field("holds", &self.holds.len()).finish_non_exhaustive()
    }
}

/// Gives leases back, in tasks that the server owns: a drop cannot wait.
pub(super) struct GiveBack {
    engine: Arc<dyn Engine>,
    tasks: Arc<Tasks>,
    /// What is in answers that have not arrived. What a repetition of the call was given is not among them.
    on_their_way: Mutex<HashSet<Hold>>,
}

impl GiveBack {
    pub(super) fn new(engine: Arc<dyn Engine>, tasks: Arc<Tasks>) -> Self {
        Self { engine, tasks, on_their_way: Mutex::new(HashSet::new()) }
    }

    fn on_their_way(&self) -> MutexGuard<'_, HashSet<Hold>> {
        self.on_their_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer is on its way no longer. Answers what nobody else was given meanwhile.
    fn arrived(&self, mut holds: Vec<Hold>) -> Vec<Hold> {
        if !holds.is_empty() {
            let mut on_their_way = self.on_their_way();
            holds.retain(|hold| on_their_way.remove(hold));
        }
        holds
    }

    fn give(&self, holds: Vec<Hold>) {
        let engine = Arc::clone(&self.engine);
        let txn = Txn::each(holds.into_iter().map(Hold::given_back));
        self.tasks.spawn(async move {
            // A refusal means that the lease ended by itself meanwhile; a failure, that it will.
            let replies = engine.submit(vec![txn]).await;
            let kept = replies.iter().flat_map(|reply| &reply.ops).filter(|answer| answer.is_err()).count();
            tracing::debug!(kept, "gave back leases whose client was gone");
        });
    }
}
