//! Claims: taking due events under a lease.
//!
//! Lives here: one claim and many. Not here: keeping or ending the lease (`settle.rs`).

use std::time::Duration;

use naven_api::claim::{ClaimBatchReply, ClaimBatchRequest, ClaimReply, ClaimRequest};

use crate::client::{Call, Client};
use crate::error::Error;

impl Client {
    /// Leases one due event of `queue` (its name or id), waiting up to `waitSeconds` for one.
    ///
    /// None where none came in that time. The call's own time limit lies above the wait.
    ///
    /// Cancel safety: dropping the future while it waits takes nothing. Dropped in the instant of
    /// the delivery, the server gives the lease back when it sees the closed connection, or the
    /// lease runs out by itself: the event is late then, never lost.
    ///
    /// # Errors
    /// `queue_not_found`, `too_many_waiters`, `draining` and what every call may meet.
    pub async fn claim(&self, queue: &str, claim: &ClaimRequest) -> Result<Option<ClaimReply>, Error> {
        let path = ["event-queues", queue, "claim"];
        self.send(Call { wait: held_open(claim), ..Call::post(&path, claim) }).await
    }

    /// Leases up to `maxEvents` (1 to 100) due events of `queue`. Waits for the first one only; an
    /// empty list where none came.
    ///
    /// Cancel safety: as for [`claim`](Self::claim).
    ///
    /// # Errors
    /// As for [`claim`](Self::claim).
    pub async fn claim_batch(
        &self,
        queue: &str,
        claim: &ClaimBatchRequest,
    ) -> Result<Vec<ClaimReply>, Error> {
        let path = ["event-queues", queue, "claim-batch"];
        let call = Call { wait: held_open(&claim.as_claim()), ..Call::post(&path, claim) };
        let reply: ClaimBatchReply = self.send(call).await?;
        Ok(reply.claims)
    }
}

/// How long the server may hold the poll open.
fn held_open(claim: &ClaimRequest) -> Duration {
    Duration::from_secs(u64::from(claim.wait()))
}
