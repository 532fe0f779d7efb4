//! The door to a Naven server's HTTP calls.
//!
//! Lives here: which call each step is. Not here: the calls (`settle.rs` and `claim.rs` of the client).

use std::time::Duration;

use naven_api::claim::{ClaimBatchRequest, ClaimReply};
use naven_api::settle::{AckReply, HeartbeatReply, NackMode};
use naven_api::{ConsumerId, EventId, LeaseSeconds, LeaseToken, Progress, WaitSeconds};

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::batch::Batches;
use super::delivery::Facts;
use super::door::{Ask, Beaten, Claimed, Door, Failed, Known};
use super::lease::BEATS;
use super::lost::LostReason;
use super::outcome::Outcome;
use super::settling::ANSWER_MAX;
use crate::client::Client;
use crate::error::Error;
use crate::settle::Nack;

/// A queue of a server.
pub(super) struct HttpDoor {
    client: Client,
    queue: String,
    consumer: Option<ConsumerId>,
    beats: Batches<Beat, Result<HeartbeatReply, Error>>,
    acks: Batches<Ack, Result<AckReply, Error>>,
    /// How many other words are under way at once at most: each is a connection.
    words: Semaphore,
}

type Beat = (EventId, LeaseToken, Option<Progress>);
type Ack = (EventId, LeaseToken);

/// Connections for what is said of an attempt's end, but acks.
const WORDS_AT_ONCE: usize = 32;
/// Most words of one call: what it says stays far below what the server reads of a request.
const BATCH_MAX: usize = 100;

impl HttpDoor {
    /// The door to `queue`, whose leases are kept `length` by `length`. Used within a `LocalSet`.
    pub(super) fn new(client: Client, queue: String, consumer: Option<ConsumerId>, length: Duration) -> Self {
        let (beating, acking) = (client.clone(), client.clone());
        let beats = Batches::new(BATCH_MAX, move |beats: Vec<Beat>| {
            let client = beating.clone();
            async move {
                let count = beats.len();
                let call = client.beat_each(beats, lease_seconds(length));
                each(within(length / BEATS, call).await, count)
            }
        });
        let acks = Batches::new(BATCH_MAX, move |acks: Vec<Ack>| {
            let client = acking.clone();
            async move { each(within(ANSWER_MAX, client.ack_batch(&acks)).await, acks.len()) }
        });
        Self { client, queue, consumer, beats, acks, words: Semaphore::new(WORDS_AT_ONCE) }
    }
}

/// An answer for each of `count` words: what became of the call is what became of each.
fn each<R>(answer: Result<Vec<Result<R, Error>>, Error>, count: usize) -> Vec<Result<R, Error>> {
    match answer {
        Ok(answers) => answers,
        Err(error) => (0..count).map(|_| Err(error.again())).collect(),
    }
}

/// A call that has no answer by then is given up: its connection may be dead, and others wait for its place.
async fn within<T>(time: Duration, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(time, call).await.unwrap_or_else(|_| Err(given_up()))
}

fn given_up() -> Error {
    Error::Transport { at: None, may_have_arrived: true, source: "no answer in time".into() }
}

/// A call that was dropped has no answer.
fn unanswered() -> Failed<Error> {
    Failed::Later { after: None, may_have_applied: true, why: given_up() }
}

impl Door for HttpDoor {
    type Id = EventId;
    type Facts = Facts;
    type Token = LeaseToken;
    type Error = Error;

    async fn claim(&self, ask: &Ask) -> Result<Vec<Claimed<Self>>, Failed<Error>> {
        let request = ClaimBatchRequest {
            max_events: u32::try_from(ask.most).unwrap_or(u32::MAX),
            lease_seconds: lease_seconds(ask.length),
            wait_seconds: WaitSeconds::try_from(whole_seconds(ask.wait)).ok(),
            consumer_id: self.consumer.clone(),
        };
        let claims = self.client.once(&ask.key).claim_batch(&self.queue, &request).await.map_err(failed)?;
        Ok(claims.into_iter().map(claimed).collect())
    }

    async fn beat(
        &self,
        event: &EventId,
        token: &LeaseToken,
        length: Duration,
        progress: Option<Progress>,
    ) -> Result<Beaten, Failed<Error>> {
        let reply = self.beats.say((*event, token.clone(), progress)).await;
        let reply = reply.ok_or_else(unanswered)?.map_err(failed_in_hand)?;
        Ok(match reply.lease_expires_at {
            Some(_) => Beaten::Held {
                length: reply.lease_ms.map_or(length, Duration::from_millis),
                cancel_requested: reply.cancel_requested,
            },
            None => Beaten::Settled,
        })
    }

    async fn settle(
        &self,
        event: &EventId,
        token: &LeaseToken,
        outcome: &Outcome,
    ) -> Result<(), Failed<Error>> {
        let nack =
            |mode, error: Option<&String>, retry_delay| Nack { mode, error: error.cloned(), retry_delay };
        let nack = match outcome {
            Outcome::Done => {
                let reply = self.acks.say((*event, token.clone())).await.ok_or_else(unanswered)?;
                return reply.map(drop).map_err(failed_in_hand);
            }
            Outcome::DoneWith(result) => {
                let _turn = self.words.acquire().await;
                let reply = self.client.ack_with(*event, token, result.clone()).await;
                return reply.map(drop).map_err(failed_in_hand);
            }
            Outcome::Retry { error, delay } => nack(NackMode::Fail, Some(error), *delay),
            Outcome::DeadLetter { error } => nack(NackMode::Fatal, Some(error), None),
            Outcome::Release => nack(NackMode::Release, None, None),
        };
        // It is never closed.
        let _turn = self.words.acquire().await;
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
    Claimed { token: claim.lease_token, facts, length: Some(Duration::from_millis(claim.lease_ms)) }
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
