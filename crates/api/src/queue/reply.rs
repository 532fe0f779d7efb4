//! A queue as it is shown.
//!
//! Lives here: its picture and what its deletion answers. Not here: requests (`request.rs`).

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::id::QueueId;
use crate::place::EntryId;
use crate::time::Timestamp;

/// A queue as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueReply {
    /// Its id.
    pub id: QueueId,
    /// Its unique name.
    pub name: String,
    /// Its stream's name.
    pub stream: String,
    /// For people.
    pub description: String,
    /// True while no event is handed out.
    pub paused: bool,
    /// Why, if it is paused and somebody said so.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub pause_reason: Option<String>,
    /// The lease of a claim or heartbeat that names none.
    pub default_lease_seconds: u32,
    /// Longest total hold of one lease; 0: none.
    pub max_lease_seconds: u32,
    /// Attempts of an event; null: no bound.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub max_attempts: Option<u32>,
    /// Spacing of retries.
    pub backoff: Backoff,
    /// How long after its lease's end the last holder may still settle.
    pub late_ack_grace_seconds: u32,
    /// How long a consumer of the Redis door has what it was handed before a claim may take it; null: it has no
    /// end.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub redis_lease_seconds: Option<u32>,
    /// Whether a done event keeps its payload for as long as it is remembered.
    pub keep_done_payload: bool,
    /// Whether entries that this queue has not read are kept for it when its stream is trimmed.
    pub protect_unread: bool,
    /// How long settled events are kept.
    pub retention_seconds: RetentionReply,
    /// How long a dedupe key of the queue's stream is remembered.
    pub dedupe_window_seconds: u32,
    /// When entries of the queue's stream leave: `consumed` or `trim`. More may come.
    pub retention: String,
    /// Deliveries by state.
    pub counts: StateCounts,
    /// How long the longest-waiting ready event has been due; null where none is.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub oldest_ready_age_seconds: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its settings last changed.
    pub updated_at: Timestamp,
    /// The first entry that is kept, or null: only in the answer that made it with `from` = `start`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "null_is_some")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<EntryId>))]
    pub first_available: Option<Option<EntryId>>,
}

/// A field that is there says something, also where it is null.
fn null_is_some<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// How long settled events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetentionReply {
    /// A done event, in seconds.
    pub done: u32,
    /// A dead letter, in seconds.
    pub dead: u32,
}

/// Deliveries of a queue by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StateCounts {
    /// The first due time is ahead.
    pub scheduled: u64,
    /// May be claimed now.
    pub ready: u64,
    /// An HTTP consumer has it.
    pub leased: u64,
    /// A Redis consumer has it.
    pub held: u64,
    /// Due again later.
    pub retrying: u64,
    /// Finished.
    pub done: u64,
    /// Given up.
    pub dead: u64,
    /// Called off.
    pub cancelled: u64,
}

/// What a deletion answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueDeletedReply {
    /// The queue that is gone.
    pub id: QueueId,
    /// Always true.
    pub deleted: bool,
}
