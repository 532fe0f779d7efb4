//! What engines can be asked to show.
//!
//! Lives here: reads, their pages, and how queues and events look from outside. Not here: their
//! JSON (`naven-server`).

use bytes::Bytes;
use naven_api::{AckResult, EventId, OperationId, QueueId, Timestamp, TraceContext};
use naven_core::{DeadReason, Past, Reported, View};

use crate::audit::AuditEntry;
use crate::key::KeyRecord;
use crate::queue::{QueueRef, QueueSettings, StreamSettings};
use crate::txn::{Body, OperationView, Place, PurgeFilter, StreamRef};

mod dead;
mod events;
mod holders;
mod pending;
mod readers;
pub use dead::{DeadFilter, DeadGroup, DeadGroups, DeadRead, Matched};
pub(crate) use dead::{Grouping, SCANS_MAX};
pub use events::{EventFilter, EventPage, EventRead, Looked, ScanBound, Wanted};
pub(crate) use holders::Holding;
pub use holders::{Holder, HolderKind, Holders};
pub(crate) use pending::{FULL_ROWS_MAX, idle_ms};
pub use readers::{
    ConsumerView, FullConsumer, FullGroup, FullStream, PENDING_HTTP, PENDING_NOBODY, PendingRead,
    PendingSummary, PendingView, StreamDetail,
};

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// One queue.
    Queue(QueueRef),
    /// Queues that are not deleted, newest first.
    Queues {
        /// Only names that begin with this.
        name_prefix: String,
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
    },
    /// One event and its deliveries.
    Event {
        /// Which.
        event: EventId,
        /// True where the payload is wanted too.
        payload: bool,
    },
    /// Dead deliveries of one queue, newest death first.
    DeadLetters {
        /// Of which queue: by id it may be a deleted one.
        queue: QueueRef,
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
        /// True where the payloads are wanted too.
        payload: bool,
    },
    /// A question on the dead letters of an open queue.
    Dead(DeadRead),
    /// Who has deliveries of an open queue, and its Redis consumers.
    Holders(QueueRef),
    /// A question on all events of an open queue.
    Events(EventRead),
    /// One stream.
    Stream(StreamRef),
    /// Streams that are not deleted, newest first.
    Streams {
        /// Only names that begin with this.
        name_prefix: Bytes,
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
    },
    /// Entries of a stream, in the order of their places. What only a queue still needs is not shown.
    Entries {
        /// Of which stream.
        stream: StreamRef,
        /// The first place that may be shown.
        start: Place,
        /// The last place that may be shown.
        end: Place,
        /// True where the last comes first.
        reverse: bool,
        /// Most items.
        limit: u32,
        /// Most payload bytes; the first entry is shown whatever its size.
        max_bytes: u64,
        /// True where the payloads are wanted too.
        payload: bool,
    },
    /// One stream with its first and last entry, and more where `full` says so.
    StreamDetail {
        /// Which.
        stream: StreamRef,
        /// The most entries, pending deliveries of a queue and of a consumer that are shown with it, 0 for as
        /// many as are shown at all: 20,000; none: nothing of all that.
        full: Option<u64>,
    },
    /// The Redis consumers of an open queue, and who else has pending deliveries, by name.
    Consumers(QueueRef),
    /// Pending deliveries of an open queue, in the order of their places.
    Pending(PendingRead),
    /// How many there are, from where to where, and whose.
    PendingSummary(QueueRef),
    /// How many a purge would mean, of 20,000 that are looked at where counts do not tell.
    Purgeable {
        /// In which queue.
        queue: QueueRef,
        /// Which.
        filter: PurgeFilter,
    },
    /// The queues of a stream, oldest first.
    Groups(StreamRef),
    /// One operation.
    Operation(OperationId),
    /// Operations, newest first.
    Operations {
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
    },
    /// Every stored key.
    Keys,
    /// What operators changed, newest first.
    Audit {
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
    },
    /// Figures of the engine itself.
    System,
}

/// A place in a list, opaque to callers: the engine's own ordering key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub Vec<u8>);

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    /// One queue.
    Queue(Box<QueueView>),
    /// Queues.
    Queues(Vec<QueueView>, Option<Cursor>),
    /// One event.
    Event(Box<EventView>),
    /// Events, each with the one dead delivery that was asked for.
    DeadLetters(Vec<EventView>, Option<Cursor>),
    /// Dead letters by their errors.
    DeadGroups(DeadGroups),
    /// How many there are.
    Matched(Matched),
    /// Who has deliveries.
    Holders(Holders),
    /// Events of one queue.
    Events(EventPage),
    /// One stream.
    Stream(Box<StreamView>),
    /// Streams.
    Streams(Vec<StreamView>, Option<Cursor>),
    /// Entries; true where more follow.
    Entries(Vec<EntryView>, bool),
    /// One stream in detail.
    StreamDetail(Box<StreamDetail>),
    /// Consumers, by name.
    Consumers(Vec<ConsumerView>),
    /// Pending deliveries; where to go on if there may be more.
    Pending(Vec<PendingView>, Option<Place>),
    /// What is pending in all.
    PendingSummary(Box<PendingSummary>),
    /// Queues of one stream.
    Groups(Vec<GroupView>),
    /// One operation.
    Operation(Box<OperationView>),
    /// Operations.
    Operations(Vec<OperationView>, Option<Cursor>),
    /// Keys.
    Keys(Vec<KeyRecord>),
    /// Entries of the audit log.
    Audit(Vec<AuditEntry>, Option<Cursor>),
    /// Figures of the engine itself.
    System(SystemView),
}

/// A stream from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamView {
    /// Its name.
    pub name: Bytes,
    /// Its settings.
    pub settings: StreamSettings,
    /// Entries that are there.
    pub length: u64,
    /// The place of the first of them.
    pub first: Option<Place>,
    /// The last place that was ever given; zero where none was.
    pub last: Place,
    /// Entries that were ever added.
    pub added: u64,
    /// The same as the stream's readers are told: a reader may have set it.
    pub added_told: u64,
    /// The highest place of an entry that was deleted singly; zero where none was.
    pub max_deleted: Place,
    /// Events whose place is still to come.
    pub scheduled: u64,
    /// Queues that read it.
    pub queues: u64,
    /// Rises with every change that a watcher would see.
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One entry of a stream from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryView {
    /// Its place.
    pub place: Place,
    /// Its event.
    pub event: EventId,
    /// Its content, where it was asked for and still lives.
    pub body: Option<Body>,
    /// Names and values that travel with it.
    pub headers: Vec<(String, String)>,
    /// When it was published.
    pub created_at: Timestamp,
}

/// A queue as its stream's readers know it.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupView {
    /// The queue.
    pub queue: QueueView,
    /// The place of the last entry that it has taken in; zero where it has taken none.
    pub last_delivered: Place,
    /// Entries of the stream that it has not taken in yet.
    pub lag: u64,
    /// Deliveries that somebody has, or that wait for a retry.
    pub pending: u64,
    /// When the first of them in the order of places was handed out first in its present round, where
    /// there is one.
    pub oldest_pending: Option<Timestamp>,
    /// Entries that were trimmed away before it had read them.
    pub trimmed_unread: u64,
    /// Its name among the queues of its stream.
    pub name: Bytes,
    /// Redis consumers, and who else has pending deliveries.
    pub consumers: u64,
    /// How many entries it has read, as Redis counts; none: not known.
    pub entries_read: Option<u64>,
    /// How many it has still to read, as Redis counts; none: not known.
    pub entries_lag: Option<i64>,
}

/// Deliveries of a queue by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u64; View::ALL.len()]);

impl Counts {
    /// How many are in this state.
    pub fn of(&self, view: View) -> u64 {
        self.0[view as usize]
    }

    /// The counter of this state.
    pub fn of_mut(&mut self, view: View) -> &mut u64 {
        &mut self.0[view as usize]
    }

    /// How many are neither done nor cancelled: what stands in the way of a deletion.
    pub fn unfinished(&self) -> u64 {
        View::ALL
            .into_iter()
            .filter(|view| !matches!(view, View::Done | View::Cancelled))
            .map(|view| self.of(view))
            .sum()
    }
}

/// A queue from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueView {
    /// Its id.
    pub id: QueueId,
    /// Its unique name.
    pub name: String,
    /// Its stream's name.
    pub stream: String,
    /// Its settings.
    pub settings: QueueSettings,
    /// Its stream's settings.
    pub stream_settings: StreamSettings,
    /// Why it is paused, where it is; the reason may be empty.
    pub paused: Option<String>,
    /// Deliveries by state.
    pub counts: Counts,
    /// When the longest-waiting ready event became due.
    pub oldest_ready: Option<Timestamp>,
    /// Entries of its stream that were trimmed away before it had read them.
    pub trimmed_unread: u64,
    /// The engine's wall clock at the time of the read.
    pub now: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its settings last changed.
    pub updated_at: Timestamp,
    /// Rises by one with each change of its settings, and when it is paused or resumed; 1 when it is made.
    pub revision: u64,
}

/// An event from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct EventView {
    /// Its id.
    pub id: EventId,
    /// Its stream's name.
    pub stream: String,
    /// Its place in the stream, once it has one that is seen there.
    pub place: Option<Place>,
    /// Its content, where it was asked for and still lives.
    pub body: Option<Body>,
    /// Names and values that travel with it.
    pub headers: Vec<(String, String)>,
    /// When it was published.
    pub created_at: Timestamp,
    /// Its first due time.
    pub scheduled_at: Timestamp,
    /// When it is of no use any more, where it said so.
    pub expires_at: Option<Timestamp>,
    /// Its domain identity, where it was published with one over HTTP.
    pub dedupe_key: Option<String>,
    /// Where in its publisher's trace it was published.
    pub trace: Option<Box<TraceContext>>,
    /// One for each queue that deals with it.
    pub deliveries: Vec<DeliveryView>,
}

/// One queue's dealing with an event, from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryView {
    /// The queue's name.
    pub queue: String,
    /// The queue's id.
    pub queue_id: QueueId,
    /// Where it stands.
    pub state: View,
    /// See the HTTP contract.
    pub attempts: u32,
    /// See the HTTP contract.
    pub expiries: u32,
    /// The fencing number (`deliveryCount`).
    pub fence: u64,
    /// The event's own attempts bound, or the queue's.
    pub max_attempts: Option<u32>,
    /// When it may be delivered, where it is to be.
    pub next_attempt_at: Option<Timestamp>,
    /// When the lease ends, where there is one.
    pub lease_expires_at: Option<Timestamp>,
    /// Who has it, as it named itself.
    pub consumer: Option<String>,
    /// True once an operator asked the holder to stop.
    pub cancel_requested: bool,
    /// Why an operator called it off, if it was said.
    pub cancel_reason: Option<String>,
    /// When it was done, dead or cancelled.
    pub settled_at: Option<Timestamp>,
    /// What the last failed attempt said.
    pub last_error: Option<String>,
    /// How far its last holder came, by its own word.
    pub progress: Option<Box<Reported>>,
    /// What its holder said came of it.
    pub result: Option<AckResult>,
    /// Why it is dead, where it is.
    pub dead: Option<DeadReason>,
    /// Its last holds in this round, oldest first.
    pub log: Vec<Past>,
}

/// Figures of the engine itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SystemView {
    /// Queues that are not deleted.
    pub queues: u64,
    /// Streams that are not deleted.
    pub streams: u64,
    /// Bytes that the engine's files take; 0 for an engine without files.
    pub disk_bytes: u64,
    /// Bytes of a torn tail that were cut at the last start.
    pub cut_bytes: u64,
}
