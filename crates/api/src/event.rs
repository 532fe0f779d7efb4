//! An event as people and programs see it.
//!
//! Lives here: its picture, that of a dead letter, and redriving. Not here: an event in its holder's
//! hands (`claim.rs`).

use serde::{Deserialize, Serialize};

use crate::field::{BadRequest, Faults, Rule};
use crate::headers::Headers;
use crate::id::{EventId, QueueId};
use crate::object::decode;
use crate::payload::Payload;
use crate::time::Timestamp;
use crate::value;

/// An event. It is in one queue here, whose dealing with it also stands at the top.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventReply {
    /// Its id.
    pub id: EventId,
    /// Its stream's name.
    pub stream: String,
    /// Its place in the stream, once it is due; null before.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub stream_id: Option<String>,
    /// The queue's name.
    pub queue: String,
    /// The queue's id.
    pub queue_id: QueueId,
    /// `scheduled`, `ready`, `leased`, `held`, `retrying`, `done`, `dead`, `cancelled`. More may come.
    pub state: String,
    /// The JSON object, byte for byte; null once the event is done; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Payload>))]
    pub payload: Option<Option<Payload>>,
    /// Names and texts that travel with it.
    pub headers: Headers,
    /// The schedule that made it, if one did.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub schedule_id: Option<String>,
    /// When it was published.
    pub created_at: Timestamp,
    /// When it was first due.
    pub scheduled_at: Timestamp,
    /// When it may be delivered, where it is to be.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_attempt_at: Option<Timestamp>,
    /// Failed or expired holds of this round, plus the live one.
    pub attempt_count: u32,
    /// The part of them that expired.
    pub expiry_count: u32,
    /// The fencing number.
    pub delivery_count: u64,
    /// The most attempts; null: no bound.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub max_attempts: Option<u32>,
    /// When the lease ends, where there is one.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub lease_expires_at: Option<Timestamp>,
    /// Who has it, as it named itself.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// When it was done, dead or cancelled.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub settled_at: Option<Timestamp>,
    /// What the last failed attempt said.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_error: Option<String>,
    /// One for each queue that deals with it.
    pub deliveries: Vec<DeliveryReply>,
    /// What only dead letters have.
    #[serde(flatten)]
    pub dead: Option<DeadReply>,
}

/// One queue's dealing with an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryReply {
    /// The queue's name.
    pub queue: String,
    /// The queue's id.
    pub queue_id: QueueId,
    /// As in an event.
    pub state: String,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_attempt_at: Option<Timestamp>,
    /// As in an event.
    pub attempt_count: u32,
    /// As in an event.
    pub expiry_count: u32,
    /// As in an event.
    pub delivery_count: u64,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub max_attempts: Option<u32>,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub lease_expires_at: Option<Timestamp>,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub settled_at: Option<Timestamp>,
    /// As in an event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_error: Option<String>,
}

/// Why and how an event died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadReply {
    /// When.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub dead_at: Option<Timestamp>,
    /// `attempts_used_up`, `expired_attempts`, `fatal`, `queue_deleted`. More may come.
    pub reason: String,
    /// Its last holds in this round, oldest first.
    pub attempts: Vec<AttemptReply>,
}

/// One hold of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptReply {
    /// Its fencing number.
    pub delivery_count: u64,
    /// Who held it, as it named itself.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// When the hold began.
    pub leased_at: Timestamp,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub ended_at: Option<Timestamp>,
    /// `expired`, `failed`, `fatal`, `released`, `givenBack`. More may come.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub outcome: Option<String>,
    /// What the holder said went wrong.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<String>,
}

/// Begins a new round of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RedriveRequest {
    /// True (when absent too) where the attempts start again at none.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub reset_attempts: bool,
}

impl RedriveRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let reset = object.optional("resetAttempts", Rule::new("true or false"), value::boolean);
            Some(Self { reset_attempts: reset.unwrap_or(true) })
        })
    }
}
