//! Ops on queues and streams themselves, and what operators do.
//!
//! Lives here: making, changing and removing them. Not here: what is done with events (`txn.rs`).

use bytes::Bytes;
use naven_api::{ErrorText, EventId, KeyId, Timestamp};
use naven_core::DeadReason;

use super::{Due, Place, StreamRef};
use crate::key::{KeyCondition, KeyRecord};
use crate::queue::{QueueChanges, QueueRef, QueueSettings, StreamChanges};

/// Make or change a queue.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupOp {
    /// A new queue.
    Create {
        /// Its unique name.
        name: String,
        /// Its settings.
        settings: Box<QueueSettings>,
        /// On which stream it reads; none: on one of its own, named alike.
        on: Option<Reading>,
        /// What the stream is asked to do from now on.
        stream: StreamChanges,
    },
    /// Change settings.
    Patch {
        /// Which queue.
        queue: QueueRef,
        /// What changes.
        changes: Box<QueueChanges>,
        /// What changes of its stream.
        stream: StreamChanges,
        /// The revision that the queue has to be at; none: any.
        revision: Option<u64>,
    },
    /// Go back or forward in the stream. What lies behind the new start begins a new round, whatever
    /// became of it; old tokens are lost.
    Reset {
        /// Which queue.
        queue: QueueRef,
        /// Where it goes on.
        from: From,
    },
    /// A new queue for a stream's readers, as the Redis door makes them: it keeps nothing of what is trimmed
    /// unread and has no bound on attempts.
    CreateGroup {
        /// On which stream.
        stream: StreamRef,
        /// Its name among the stream's queues.
        group: Bytes,
        /// True where a stream that is not there is made; its entries stay until they are trimmed.
        make_stream: bool,
        /// What it counts as having handed out.
        start: GroupStart,
        /// How many entries it counts as having read, as its readers are told; none: not known.
        entries_read: Option<u64>,
    },
    /// Go on behind another place (`XGROUP SETID`). What is pending stays so; what is done behind it is handed
    /// out again, in a new round.
    SetPlace {
        /// Which queue.
        queue: QueueRef,
        /// What it counts as having handed out.
        start: GroupStart,
        /// How many entries it counts as having read; none: not known.
        entries_read: Option<u64>,
    },
    /// Make a Redis consumer of a queue. The answer says whether it was not there before.
    MakeConsumer {
        /// Of which queue.
        queue: QueueRef,
        /// Its name.
        name: Bytes,
    },
    /// Stop handing out events.
    Pause {
        /// Which queue.
        queue: QueueRef,
        /// Why, for people.
        reason: Option<String>,
    },
    /// Hand out events again.
    Resume {
        /// Which queue.
        queue: QueueRef,
    },
}

/// Up to where a queue counts as having handed out its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStart {
    /// Up to the stream's last place.
    Last,
    /// Up to this place, which may be ahead of the stream's last.
    At(Place),
}

/// On which stream a new queue reads, and from where. The stream is made where it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The stream.
    pub stream: StreamRef,
    /// The first entry that it reads.
    pub from: From,
}

/// Where in a stream a queue begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Behind the last entry.
    New,
    /// At the first entry that is kept.
    Start,
    /// At the first entry whose place is at or after this instant.
    Time(Timestamp),
    /// Behind this entry, which need not be there any more.
    After(Place),
}

/// Remove something.
#[derive(Debug, Clone, PartialEq)]
pub enum DeleteOp {
    /// A queue. Its pending and ready events become dead letters of the closed queue.
    Queue {
        /// Which.
        queue: QueueRef,
        /// True where events that are not done or cancelled do not stand in the way.
        force: bool,
        /// Why its unfinished events are dead: deleted over HTTP or destroyed over Redis.
        reason: DeadReason,
        /// The revision that it has to be at; none: any.
        revision: Option<u64>,
    },
    /// A Redis consumer of a queue. What it holds becomes dead letters; the answer says how many.
    Consumer {
        /// Of which queue.
        queue: QueueRef,
        /// Its name.
        name: Bytes,
    },
    /// A stream and all its queues. Their pending and ready events become dead letters.
    Stream {
        /// Which.
        stream: StreamRef,
        /// True where events that are not done or cancelled do not stand in the way.
        force: bool,
    },
}

/// What operators do.
#[derive(Debug, Clone, PartialEq)]
pub enum AdminOp {
    /// A dead delivery begins a new round.
    Redrive {
        /// Which event.
        event: EventId,
        /// In which queue; needed where the event is in several.
        queue: Option<QueueRef>,
        /// True where the attempts start again at none.
        reset_attempts: bool,
    },
    /// A dead delivery ends, and a new event of its content goes to another queue alone, due now. Into its own
    /// queue it is a new round of the same event.
    MoveDead {
        /// Which event.
        event: EventId,
        /// In which queue, which may be a deleted one; needed where the event is in several.
        queue: Option<QueueRef>,
        /// Where to.
        target: QueueRef,
    },
    /// A dead delivery is forgotten.
    Discard {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: QueueRef,
    },
    /// Give up a delivery, held or not.
    Bury {
        /// Which event.
        event: EventId,
        /// In which queue; needed where the event is in several.
        queue: Option<QueueRef>,
        /// Why.
        reason: DeadReason,
    },
    /// Call an event off: what nobody holds is cancelled at once, a holder is asked to stop.
    Cancel {
        /// Which event.
        event: EventId,
        /// In which queue; needed where the event is in several.
        queue: Option<QueueRef>,
        /// Why, for people.
        reason: Option<ErrorText>,
    },
    /// Another due time, or another bound on attempts, for what nobody has and what is not over.
    Reschedule {
        /// Which event.
        event: EventId,
        /// In which queue; needed where the event is in several and does not wait for its first time.
        queue: Option<QueueRef>,
        /// When it is due; none: as before.
        due: Option<Due>,
        /// Attempts of this event in all its queues, none within: as each queue has it; none: as before.
        max_attempts: Option<Option<u32>>,
    },
    /// What waits for its time is due now. What is ready stays as it is.
    RunNow {
        /// Which event.
        event: EventId,
        /// In which queue; as above.
        queue: Option<QueueRef>,
    },
    /// Store a key's record under its name.
    PutKey {
        /// The record.
        record: KeyRecord,
        /// What has to be there before.
        over: KeyCondition,
    },
    /// Forget a key: from now on it is none.
    DeleteKey {
        /// Which.
        key: KeyId,
        /// The revision that it has to be at; none: any.
        revision: Option<u64>,
    },
}
