//! The door to a Naven server's HTTP calls.
//!
//! Lives here: which call each step is. Not here: the calls (`settle.rs` and `claim.rs` of the client).

use std::time::Duration;

use naven_api::claim::{ClaimBatchRequest, ClaimReply};
use naven_api::settle::NackMode;
use naven_api::{ConsumerId, EventId, LeaseSeconds, LeaseToken, Progress, WaitSeconds};

use tokio::sync::Semaphore;

use super::delivery::Facts;
use super::door::{Beaten, Claimed, Door, Failed, Known};
use super::lost::LostReason;
use super::outcome::Outcome;
use crate::client::Client;
use crate::error::Error;
use crate::settle::Nack;

/// A queue of a server.
pub(super) struct HttpDoor {
    pub(super) client: Client,
    pub(super) queue: String,
    pub(super) consumer: Option<ConsumerId>,
    /// How many heartbeats, and how many other words, are under way at once at most: each is a connection.
    pub(super) beats: Semaphore,
    pub(super) words: Semaphore,
}

/// Connections for heartbeats, and as many for what is said of an attempt's end.
pub(super) const CALLS_AT_ONCE: usize = 32;

impl Door for HttpDoor {
    type Id = EventId;
    type Facts = Facts;
    type Token = LeaseToken;
    type Error = Error;

    async fn claim(
        &self,
        most: usize,
        length: Duration,
        wait: Duration,
    ) -> Result<Vec<Claimed<Self>>, Failed<Error>> {
        let request = ClaimBatchRequest {
            max_events: u32::try_from(most).unwrap_or(u32::MAX),
            lease_seconds: lease_seconds(length),
            wait_seconds: WaitSeconds::try_from(whole_seconds(wait)).ok(),
            consumer_id: self.consumer.clone(),
        };
        let claims = self.client.claim_batch(&self.queue, &request).await.map_err(failed)?;
        Ok(claims.into_iter().map(claimed).collect())
    }

    async fn beat(
        &self,
        event: &EventId,
        token: &LeaseToken,
        length: Duration,
        progress: Option<Progress>,
    ) -> Result<Beaten, Failed<Error>> {
        let lease = lease_seconds(length);
        // It is never closed.
        let _turn = self.beats.acquire().await;
        let reply = match progress {
            Some(progress) => self.client.heartbeat_with(*event, token, lease, progress).await,
            None => self.client.heartbeat(*event, token, lease).await,
        };
        let reply = reply.map_err(failed_in_hand)?;
        Ok(match reply.lease_expires_at {
            Some(_) => Beaten::Held { cancel_requested: reply.cancel_requested },
            None => Beaten::Settled,
        })
    }

    async fn settle(
        &self,
        event: &EventId,
        token: &LeaseToken,
        outcome: &Outcome,
    ) -> Result<(), Failed<Error>> {
        let _turn = self.words.acquire().await;
        let nack =
            |mode, error: Option<&String>, retry_delay| Nack { mode, error: error.cloned(), retry_delay };
        let nack = match outcome {
            Outcome::Done => {
                return self.client.ack(*event, token).await.map(drop).map_err(failed_in_hand);
            }
            Outcome::DoneWith(result) => {
                let reply = self.client.ack_with(*event, token, result.clone()).await;
                return reply.map(drop).map_err(failed_in_hand);
            }
            Outcome::Retry { error, delay } => nack(NackMode::Fail, Some(error), *delay),
            Outcome::DeadLetter { error } => nack(NackMode::Fatal, Some(error), None),
            Outcome::Release => nack(NackMode::Release, None, None),
        };
        self.client.nack(*event, token, &nack).await.map(drop).map_err(failed_in_hand)
    }
}

fn whole_seconds(length: Duration) -> u32 {
    u32::try_from(length.as_secs()).unwrap_or(u32::MAX)
}

/// A lease's length is made of whole seconds (`builder.rs`).
fn lease_seconds(length: Duration) -> Option<LeaseSeconds> {
    LeaseSeconds::try_from(whole_seconds(length)).ok()
}

impl Known for Facts {
    type Id = EventId;

    fn event(&self) -> &EventId {
        &self.event
    }

    fn queue(&self) -> &str {
        &self.queue
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn fence(&self) -> u64 {
        self.fence
    }
}

fn claimed(claim: ClaimReply) -> Claimed<HttpDoor> {
    let event = claim.event;
    let facts = Facts {
        event: event.id,
        queue: event.queue,
        raw: event.payload,
        headers: event.headers,
        attempt: event.attempt_count,
        fence: event.delivery_count,
        scheduled_at: event.scheduled_at,
        trace_context: event.trace_context,
    };
    Claimed { token: claim.lease_token, facts }
}

/// Of a word under a lease. A key that is refused may be mended while the lease lasts.
fn failed_in_hand(error: Error) -> Failed<Error> {
    match failed(error) {
        Failed::Never(why) if matches!(status(&why), Some(401 | 403)) => {
            Failed::Later { after: None, may_have_applied: false, why }
        }
        other => other,
    }
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Api(error) => Some(error.status),
        Error::Decode { status, .. } => Some(*status),
        Error::Transport { .. } | Error::Setup { .. } => None,
    }
}

fn failed(error: Error) -> Failed<Error> {
    match LostReason::of(&error) {
        Some(reason) => Failed::Gone(reason),
        None if error.is_retryable() || error.may_have_applied() => Failed::Later {
            after: error.retry_after(),
            may_have_applied: error.may_have_applied(),
            why: error,
        },
        None => Failed::Never(error),
    }
}
