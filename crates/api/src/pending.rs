//! What is pending in a queue: what somebody has, and what waits to be taken again.
//!
//! Lives here: the answer. Not here: the queue's own picture (`stream.rs`), and who
//! holds how much (`watch.rs`).

use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::place::EntryId;
use crate::time::Timestamp;

/// One page of what is pending in a queue, in the order of the places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingListReply {
    /// The deliveries.
    pub items: Vec<PendingReply>,
    /// Where the list goes on; null at its end.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_cursor: Option<String>,
    /// True where the page ended because it had looked at 20,000 deliveries. The next page looks at the next
    /// ones.
    pub scan_truncated: bool,
}

/// A delivery that somebody has, or that waits to be taken again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingReply {
    /// Its place in the stream.
    pub stream_id: EntryId,
    /// The event.
    pub event_id: EventId,
    /// Who has it: a Redis consumer's name, what is not text in it as U+FFFD, or `@http` for a lease; null where
    /// nobody has it.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer: Option<String>,
    /// `leased`, `held`, `retrying` or `ready`. More may come.
    pub state: String,
    /// For how long nothing was heard of it, in whole seconds; 0 while the time of a retry is ahead.
    pub idle_seconds: u64,
    /// Since when: it was handed out, its holder last sent a heartbeat, or it became due again. Ahead where a
    /// retry is. What somebody has is timed by a clock that is never set, so this may be told a millisecond
    /// earlier or later the next time.
    pub idle_since: Timestamp,
    /// As in an event: its fencing number.
    pub delivery_count: u64,
    /// As in an event.
    pub attempt_count: u32,
}
