//! Claims: taking due events under a lease.
//!
//! Lives here: one claim and many. Not here: keeping or ending the lease (`settle.rs`).

use std::time::Duration;

use naven_api::IdempotencyKey;
use naven_api::claim::{ClaimBatchReply, ClaimBatchRequest, ClaimReply, ClaimRequest};

use crate::client::{Call, Client};
use crate::error::Error;
use crate::once::Once;

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
        self.claim_under(queue, claim, None).await
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
        self.claim_batch_under(queue, claim, None).await
    }

    async fn claim_under(
        &self,
        queue: &str,
        claim: &ClaimRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<Option<ClaimReply>, Error> {
        let path = ["event-queues", queue, "claim"];
        self.send(Call { wait: held_open(claim), once, ..Call::post(&path, claim) }).await
    }

    async fn claim_batch_under(
        &self,
        queue: &str,
        claim: &ClaimBatchRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<Vec<ClaimReply>, Error> {
        let path = ["event-queues", queue, "claim-batch"];
        let call = Call { wait: held_open(&claim.as_claim()), once, ..Call::post(&path, claim) };
        let reply: ClaimBatchReply = self.send(call).await?;
        Ok(reply.claims)
    }
}

impl Once<'_> {
    /// As [`Client::claim`]; repeated, it gives the same lease while that one lives, and a new one after.
    /// That nothing came is not kept.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn claim(&self, queue: &str, claim: &ClaimRequest) -> Result<Option<ClaimReply>, Error> {
        self.client.claim_under(queue, claim, Some(self.key)).await
    }

    /// As [`Client::claim_batch`]; repeated, it gives those of the same leases that live.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn claim_batch(
        &self,
        queue: &str,
        claim: &ClaimBatchRequest,
    ) -> Result<Vec<ClaimReply>, Error> {
        self.client.claim_batch_under(queue, claim, Some(self.key)).await
    }
}

/// How long the server may hold the poll open.
fn held_open(claim: &ClaimRequest) -> Duration {
    Duration::from_secs(u64::from(claim.wait()))
}
