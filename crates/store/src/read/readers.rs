//! What the readers of a stream can see: pending deliveries, consumers, and a stream in detail.
//!
//! Lives here: these questions and answers. Not here: finding them (the engines).

use bytes::Bytes;
use naven_api::{EventId, Timestamp};
use naven_core::View;

use super::{EntryView, GroupView, StreamView};
use crate::queue::QueueRef;
use crate::txn::Place;

/// Under which name leases of the HTTP door stand among what is pending.
pub const PENDING_HTTP: &[u8] = b"@http";
/// Under which name pending deliveries stand that nobody has.
pub const PENDING_NOBODY: &[u8] = b"";

/// Which pending deliveries are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRead {
    /// Of which queue.
    pub queue: QueueRef,
    /// From this place on.
    pub start: Place,
    /// Up to this place, included.
    pub end: Place,
    /// Most items. At most 20,000 deliveries are looked at; where there may be more, the answer says where to go
    /// on.
    pub limit: u64,
    /// Only what stands under this name.
    pub consumer: Option<Bytes>,
    /// Only what is idle for so long, in ms.
    pub min_idle_ms: u64,
}

/// A delivery that somebody has, or that waits for somebody to take it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingView {
    /// Its place.
    pub place: Place,
    /// Its event.
    pub event: EventId,
    /// The name under which it stands: a Redis consumer's, [`PENDING_HTTP`] or [`PENDING_NOBODY`].
    pub consumer: Bytes,
    /// Where it stands.
    pub state: View,
    /// For how long nothing was heard of it, in ms: since it was handed out, renewed, or became due again.
    pub idle_ms: u64,
    /// The wall time of that.
    pub since: Timestamp,
    /// Redis' count of deliveries.
    pub redis_count: u64,
    /// Failed or expired holds of its round, plus the live one.
    pub attempts: u32,
    /// The fencing number.
    pub fence: u64,
}

/// What is pending in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingSummary {
    /// How many.
    pub count: u64,
    /// The first and the last place.
    pub range: Option<(Place, Place)>,
    /// How many stand under each name, by name.
    pub consumers: Vec<(Bytes, u64)>,
}

/// A Redis consumer, or who else has pending deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerView {
    /// Its name; see [`PendingView::consumer`].
    pub name: Bytes,
    /// How many pending deliveries it has.
    pub pending: u64,
    /// When it last asked for anything; for [`PENDING_HTTP`] and [`PENDING_NOBODY`] the latest of what they have.
    pub seen_at: Timestamp,
    /// When it was last handed out anything; none: never.
    pub active_at: Option<Timestamp>,
    /// The engine's wall clock at the time of the read.
    pub now: Timestamp,
}

impl ConsumerView {
    /// Sorted by name. Who stands under one name is shown as one: a consumer may be called as nobody is.
    pub(crate) fn by_name(mut views: Vec<Self>) -> Vec<Self> {
        views.sort_by(|one, other| one.name.cmp(&other.name));
        views.dedup_by(|next, one| {
            let is_same = next.name == one.name;
            if is_same {
                one.pending += next.pending;
                one.seen_at = one.seen_at.max(next.seen_at);
                one.active_at = one.active_at.max(next.active_at);
            }
            is_same
        });
        views
    }
}

/// A stream, with its first and last entry.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamDetail {
    /// The stream.
    pub view: StreamView,
    /// Its first entry.
    pub first: Option<EntryView>,
    /// Its last entry.
    pub last: Option<EntryView>,
    /// More, where it was asked for.
    pub full: Option<FullStream>,
}

/// What a stream is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct FullStream {
    /// Its entries from the first on.
    pub entries: Vec<EntryView>,
    /// Its queues, by their names on it.
    pub groups: Vec<FullGroup>,
}

/// A queue, and what is pending in it.
#[derive(Debug, Clone, PartialEq)]
pub struct FullGroup {
    /// The queue.
    pub view: GroupView,
    /// Its pending deliveries from the first on.
    pub pending: Vec<PendingView>,
    /// Its consumers, by name.
    pub consumers: Vec<FullConsumer>,
}

/// A consumer, and what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullConsumer {
    /// The consumer.
    pub view: ConsumerView,
    /// What it has, from the first on.
    pub pending: Vec<PendingView>,
}
