//! Events as they are looked at, the dead ones among them.
//!
//! Lives here: reading one event or the dead letters of a queue, and redriving. Not here: events in a
//! consumer's hands (`claim.rs`).

use naven_api::envelope::List;
use naven_api::event::{DeadReply, DeliveryReply, RedriveRequest};
use naven_api::{EventId, Headers, Payload, QueueId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::client::{Call, Client};
use crate::error::Error;

/// An event, in one queue or, on a later server, in several.
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
    /// One for each queue that deals with it.
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
        let body = RedriveRequest { reset_attempts: true, queue: None };
        self.send(Call::post(&["events", &event.to_string(), "redrive"], body)).await
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
