//! Events as they are looked at, the dead ones among them.
//!
//! Lives here: reading one event or the dead letters of a queue, cancelling, rescheduling and redriving. Not here: events in a
//! consumer's hands (`claim.rs`).

use naven_api::envelope::List;
use naven_api::event::{DeadReply, DeliveryReply, RedriveRequest, TimelineReply};
use naven_api::operate::{CancelRequest, RescheduleRequest, RunNowRequest};
use naven_api::{EntryId, EventId, Headers, IdempotencyKey, Payload, QueueId, Timestamp, TraceContext};
use reqwest::Method;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::client::{Call, Client};
use crate::error::Error;
use crate::once::Once;

/// An event, in one queue or in several.
///
/// Where it stands with a queue is in `deliveries`; what stands at the top is there for one queue only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its stream's name.
    pub stream: String,
    /// Its place in the stream, once it has one that is seen there.
    pub stream_id: Option<EntryId>,
    /// The queue's name.
    pub queue: Option<String>,
    /// The queue's id.
    pub queue_id: Option<QueueId>,
    /// `scheduled`, `ready`, `leased`, `held`, `retrying`, `done`, `dead`, `cancelled`. More may come.
    pub state: Option<String>,
    /// Its content, where it was asked for and is still kept: that of a done event is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Names and texts that travel with it.
    pub headers: Headers,
    /// When it was published.
    pub created_at: Timestamp,
    /// When it is first due.
    pub scheduled_at: Timestamp,
    /// When it is of no use any more, where it said so.
    pub expires_at: Option<Timestamp>,
    /// Its domain identity in its stream, where it has one.
    pub dedupe_key: Option<String>,
    /// Where in its publisher's trace it was published, where the publisher gave one.
    pub trace_context: Option<TraceContext>,
    /// True where a publish met an event of the same `dedupe_key`: this is that one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deduped: bool,
    /// One for each queue that deals with it; empty in the answer of a publish to several.
    pub deliveries: Vec<DeliveryReply>,
}

/// An event that was given up.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The event.
    pub event: Event,
    /// Why and how it died.
    pub dead: DeadReply,
}

impl<'de> Deserialize<'de> for DeadLetter {
    /// Read twice: flattened into one, the event could not keep its payload byte for byte.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let event = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let dead = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        Ok(Self { event, dead })
    }
}

impl Client {
    /// One event with its payload.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `event_not_found` and what every call may meet.
    pub async fn event(&self, event: EventId) -> Result<Event, Error> {
        let query = [("includePayload", "true".to_owned())];
        self.send(Call::get(&["events", &event.to_string()], &query)).await
    }

    /// Gives a dead event a new round: due now, its attempts begin at none, the fencing number goes on.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers `wrong_state`
    /// where it had been done.
    ///
    /// # Errors
    /// `event_not_found`, `wrong_state` where it is not dead, and what every call may meet.
    pub async fn redrive(&self, event: EventId) -> Result<Event, Error> {
        self.redrive_under(event, &redriving(None, None), None).await
    }

    /// As [`redrive`](Self::redrive), in `queue` (its name or id): needed where the event is in several.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there, and `queue_not_found`.
    pub async fn redrive_in(&self, event: EventId, queue: &str) -> Result<Event, Error> {
        self.redrive_under(event, &redriving(Some(queue), None), None).await
    }

    /// Ends a dead letter of `queue` (its name or id, that of a deleted queue too), and publishes its content to
    /// `target` alone: the new event, due now.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers `wrong_state` where it had
    /// been done.
    ///
    /// # Errors
    /// As [`redrive_in`](Self::redrive_in).
    pub async fn redrive_to(
        &self,
        event: EventId,
        queue: Option<&str>,
        target: &str,
    ) -> Result<Event, Error> {
        self.redrive_under(event, &redriving(queue, Some(target)), None).await
    }

    /// As [`redrive`](Self::redrive), as `request` says: its attempts may go on where they ended.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there, `queue_not_found`, and `invalid_field` where the queue has to be named.
    pub async fn redrive_as(&self, event: EventId, request: &RedriveRequest) -> Result<Event, Error> {
        self.redrive_under(event, request, None).await
    }

    async fn redrive_under(
        &self,
        event: EventId,
        body: &RedriveRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<Event, Error> {
        let path = ["events", &event.to_string(), "redrive"];
        self.send(Call { once, ..Call::post(&path, body) }).await
    }

    /// Calls an event off, in `queue` (its name or id), which has to be named where the event is in several.
    /// What nobody holds is cancelled at once; a holder is asked to stop, with the answer to its next
    /// heartbeat, and then the event is still `leased` or `held`.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers the same.
    ///
    /// # Errors
    /// `event_not_found`, `queue_not_found`, `wrong_state` where it is done or dead, `invalid_field` where the
    /// queue has to be named, and what every call may meet.
    pub async fn cancel(
        &self,
        event: EventId,
        queue: Option<&str>,
        reason: Option<&str>,
    ) -> Result<Event, Error> {
        let body = CancelRequest { reason: reason.map(str::to_owned), queue: queue.map(str::to_owned) };
        self.send(Call::post(&["events", &event.to_string(), "cancel"], body)).await
    }

    /// Gives an event that nobody has another due time, or another bound on attempts: what the request leaves out
    /// stays as it is. The queue has to be named where the event is in several and does not wait for its
    /// first time.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers the same.
    ///
    /// # Errors
    /// `event_not_found`, `queue_not_found`, `wrong_state` where somebody has it or it is over, `invalid_field`
    /// where the queue has to be named, and what every call may meet.
    pub async fn reschedule(&self, event: EventId, request: &RescheduleRequest) -> Result<Event, Error> {
        let event = event.to_string();
        self.send(Call { method: Method::PATCH, ..Call::post(&["events", &event], request) }).await
    }

    /// Makes an event due now that waits for its time, in `queue` (its name or id), as in
    /// [`reschedule`](Self::reschedule). One that is ready stays as it is.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers the same.
    ///
    /// # Errors
    /// As there.
    pub async fn run_now(&self, event: EventId, queue: Option<&str>) -> Result<Event, Error> {
        let body = RunNowRequest { queue: queue.map(str::to_owned) };
        self.send(Call::post(&["events", &event.to_string(), "run-now"], body)).await
    }

    /// The last 20 deliveries of an event, newest first: in `queue`, which has to be named where the event
    /// is in several.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `event_not_found`, `invalid_field` where the queue has to be named, and what every call may meet.
    pub async fn timeline(&self, event: EventId, queue: Option<&str>) -> Result<TimelineReply, Error> {
        let query: Vec<_> = queue.map(|queue| ("queue", queue.to_owned())).into_iter().collect();
        self.send(Call::get(&["events", &event.to_string(), "timeline"], &query)).await
    }

    /// The dead events of `queue` (its name or id), latest death first, 50 a page: hand the last
    /// page's `next_cursor` in for the next one.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_cursor` and what every call may meet.
    pub async fn dead_letters(&self, queue: &str, cursor: Option<&str>) -> Result<List<DeadLetter>, Error> {
        let mut query = vec![("includePayload", "true".to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        self.send(Call::get(&["event-queues", queue, "dead-letters"], &query)).await
    }
}

impl Once<'_> {
    /// As [`Client::redrive_to`]; repeated, it answers the same event.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn redrive_to(
        &self,
        event: EventId,
        queue: Option<&str>,
        target: &str,
    ) -> Result<Event, Error> {
        self.client.redrive_under(event, &redriving(queue, Some(target)), Some(self.key)).await
    }

    /// As [`Client::redrive`] and, with a queue, [`Client::redrive_in`]; repeated, it changes nothing.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn redrive(&self, event: EventId, queue: Option<&str>) -> Result<Event, Error> {
        self.client.redrive_under(event, &redriving(queue, None), Some(self.key)).await
    }
}

/// A new round whose attempts begin at none.
fn redriving(queue: Option<&str>, target: Option<&str>) -> RedriveRequest {
    let (queue, target_queue) = (queue.map(str::to_owned), target.map(str::to_owned));
    RedriveRequest { reset_attempts: true, queue, target_queue }
}
