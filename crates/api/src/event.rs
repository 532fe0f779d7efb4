//! An event as people and programs see it.
//!
//! Lives here: its picture, that of a dead letter, and redriving. Not here: an event in its holder's
//! hands (`claim.rs`).

use serde::{Deserialize, Serialize};

use crate::field::{BadRequest, Faults, Rule};
use crate::headers::Headers;
use crate::id::{EventId, QueueId};
use crate::object::{Object, decode};
use crate::operate::queue;
use crate::payload::Payload;
use crate::progress::ProgressReply;
use crate::result::AckResult;
use crate::time::Timestamp;
use crate::trace::TraceContext;
use crate::value;

/// An event. Where it is in one queue only, what that queue's delivery says also stands at the top.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventReply {
    /// Its id.
    pub id: EventId,
    /// Its stream's name.
    pub stream: String,
    /// Its place in the stream, once it has one that is seen there; null before.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub stream_id: Option<String>,
    /// Its one delivery, where it is in one queue only.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::DeliveryAtTheTop))]
    pub only: Option<DeliveryReply>,
    /// The JSON object, byte for byte; null once it is not kept; absent where it was not asked for.
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
    /// When it is of no use any more; null: never.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub expires_at: Option<Timestamp>,
    /// Its domain identity in its stream, if it was published with one.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub dedupe_key: Option<String>,
    /// Where in its publisher's trace it was published; null where the publisher gave no trace.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub trace_context: Option<TraceContext>,
    /// True in the answer of a publish that met an event of the same `dedupeKey`: this is that one, and
    /// nothing was published. Absent everywhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
    /// One for each queue that deals with it. Empty in the answer of a publish to a stream with several
    /// queues: reading the event shows them.
    pub deliveries: Vec<DeliveryReply>,
    /// What only dead letters have.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::DeadAtTheTop))]
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
    /// The first instant at which its lease does not hold any more; where a consumer of the Redis door has it in
    /// a queue with `redisLeaseSeconds`, the first at which a claim may take it. Else null.
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
    /// How far its last holder came, as that said with a heartbeat of its hold; null where it said nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub progress: Option<ProgressReply>,
    /// What its holder said came of it, byte for byte as in its ack; null where it said nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = AckResult, required))]
    pub result: Option<AckResult>,
    /// True while a holder has it that was asked to stop; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub cancel_requested: bool,
    /// Why an operator called it off; absent where nobody did, or nobody said why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
}

/// Why and how an event died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadReply {
    /// When.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub dead_at: Option<Timestamp>,
    /// `attempts_used_up`, `expired_attempts`, `fatal`, `event_expired`, `queue_deleted`,
    /// `stream_deleted`. More may come.
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
    /// `acked`, `expired`, `failed`, `fatal`, `released`, `givenBack`, `broken`. More may come.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub outcome: Option<String>,
    /// What the holder said went wrong.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<String>,
}

/// The deliveries of one event in one queue: the last 20 of its present round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TimelineReply {
    /// The queue's name; null where no queue has the event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub queue: Option<String>,
    /// The queue's id; null where no queue has the event.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub queue_id: Option<QueueId>,
    /// The deliveries, newest first.
    pub items: Vec<HoldReply>,
    /// Always null in this version: there is one page.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_cursor: Option<String>,
}

/// One delivery of an event to one holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HoldReply {
    /// Its fencing number.
    pub delivery_count: u64,
    /// Who held it, as it named itself.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// When the hold began.
    pub leased_at: Timestamp,
    /// Its last 10 heartbeats, oldest first.
    pub heartbeats: Vec<Timestamp>,
    /// When it ended; null while it lasts.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub settled_at: Option<Timestamp>,
    /// `acked`, `expired`, `failed`, `fatal`, `released`, `givenBack`, `broken`; null while it lasts. More
    /// may come.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub outcome: Option<String>,
    /// What the holder said went wrong.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<String>,
    /// How long the event was not in anybody's hands before, in milliseconds: since it was first due, or
    /// since the delivery before this one ended, the pause before a retry included. Null where that is
    /// not remembered any more.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub wait_ms: Option<u64>,
    /// How long the hold lasted, in milliseconds; null while it lasts.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub run_ms: Option<u64>,
}

/// Begins a new round of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RedriveRequest {
    /// True (when absent too) where the attempts start again at none.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub reset_attempts: bool,
    /// In which queue, by name or id; needed where the event is in several. The query takes it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The queue, by name or id, to which its content goes as a new event, while the dead letter ends. Its
    /// attempts begin at none. Absent: a new round where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_queue: Option<String>,
}

/// The queue to which dead letters go: not together with attempts that are kept.
pub(crate) fn target_queue(object: &mut Object<'_>, reset_attempts: Option<bool>) -> Option<String> {
    let target = value::queue_ref(object, "targetQueue");
    if target.is_some() && reset_attempts == Some(false) {
        object.refuse("resetAttempts", &Rule::new("not false together with targetQueue"));
    }
    target
}

impl RedriveRequest {
    /// Reads a request's body. `in_query` is the parameter `queue`, which may stand there instead.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, in_query: Option<String>) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let reset = object.optional("resetAttempts", Rule::new("true or false"), value::boolean);
            let queue = queue(object, in_query);
            let target_queue = target_queue(object, reset);
            Some(Self { reset_attempts: reset.unwrap_or(true), queue, target_queue })
        })
    }
}
