//! Leases on their way to a client that may be gone.
//!
//! Lives here: the guard that gives leases back unless their answer was taken. Not here: noticing
//! that a client is gone (dropping the guard says so).

use std::fmt;
use std::sync::Arc;

use naven_api::EventId;
use naven_core::planted::{Bug, has};
use naven_store::Engine;
use naven_store::reply::Grant;
use naven_store::txn::{OpKind, Proof, Settle, SettleStep, Txn};

use super::sync::Tasks;

/// Leases that nobody has yet. Dropped, they go back to their queues at once, and the attempt is not
/// counted.
pub(crate) struct Undelivered {
    grants: Vec<Grant>,
    holds: Vec<(EventId, Proof)>,
    replayed: bool,
    give_back: Arc<GiveBack>,
}

impl Undelivered {
    pub(super) fn new(grants: Vec<Grant>, give_back: Arc<GiveBack>) -> Self {
        let proof =
            |grant: &Grant| Proof::Fence { queue: grant.queue, round: grant.round, fence: grant.fence };
        let holds = grants.iter().map(|grant| (grant.event, proof(grant))).collect();
        Self { grants, holds, replayed: false, give_back }
    }

    /// Leases that an earlier call took, for its repetition. Dropped, they stay as they are: somebody may
    /// be at work under the first answer.
    pub(super) fn replayed(grants: Vec<Grant>, give_back: Arc<GiveBack>) -> Self {
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
        self.holds.clear();
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if !self.holds.is_empty() && !has(Bug::GoneWaiterServed) {
            self.give_back.give(std::mem::take(&mut self.holds));
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
}

impl GiveBack {
    pub(super) fn new(engine: Arc<dyn Engine>, tasks: Arc<Tasks>) -> Self {
        Self { engine, tasks }
    }

    fn give(&self, holds: Vec<(EventId, Proof)>) {
        let engine = Arc::clone(&self.engine);
        let back = |(event, proof)| OpKind::Settle(Settle { event, proof, step: SettleStep::GiveBack });
        let txn = Txn::each(holds.into_iter().map(back));
        self.tasks.spawn(async move {
            // A refusal means that the lease ended by itself meanwhile; a failure, that it will.
            let replies = engine.submit(vec![txn]).await;
            let kept = replies.iter().flat_map(|reply| &reply.ops).filter(|answer| answer.is_err()).count();
            tracing::debug!(kept, "gave back leases whose client was gone");
        });
    }
}
