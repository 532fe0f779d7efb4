//! Dead letters: their lists and their groups by error.
//!
//! Lives here: what is answered of many of them. Not here: one dead letter's own fields (`event.rs`).

use serde::{Deserialize, Serialize};

use crate::event::EventReply;
use crate::id::EventId;
use crate::time::Timestamp;

/// One page of dead letters, newest death first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLettersReply {
    /// The dead letters.
    pub items: Vec<EventReply>,
    /// Where the list goes on; null at its end.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_cursor: Option<String>,
    /// Only where a filter was given: true where the page ended because it had looked at 20,000 dead
    /// letters. The next page looks at the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_truncated: Option<bool>,
}

/// Dead letters by their errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorGroupsReply {
    /// The groups, the largest first.
    pub items: Vec<ErrorGroupReply>,
    /// How many more groups there are than `limit` let in.
    pub groups_left_out: u64,
    /// True where there are more dead letters than the 20,000 newest, which were looked at.
    pub scan_truncated: bool,
}

/// Dead letters that died of one error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorGroupReply {
    /// Reason and last error, without what differs from one time to the next: 16 hex digits. The parameter
    /// and the filter `error` take it.
    pub fingerprint: String,
    /// As in a dead letter.
    pub reason: String,
    /// The last error of the newest of them, cut at 1 KiB; null where it had none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub example: Option<String>,
    /// How many were found.
    pub count: u64,
    /// When the first of them died.
    pub first_dead_at: Timestamp,
    /// When the newest of them died.
    pub last_dead_at: Timestamp,
    /// The newest of them.
    pub example_event_id: EventId,
}
