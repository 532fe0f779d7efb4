//! What the log records: ops with everything decided that replay could not decide again.
//!
//! Lives here: the commands and the transactions made of them. Not here: their bytes (`record.rs`),
//! making them from ops (`prepare.rs`) and what they do (`apply/`).

use bytes::Bytes;
use naven_api::{
    AckResult, ConsumerId, ErrorText, EventId, KeyId, LeaseSeconds, OperationId, Progress, QueueId,
};
use naven_core::{DeadReason, Failure};

use super::rows::key::QueueNo;
use crate::audit::AuditNote;
use crate::key::{KeyCondition, KeyRecord};
use crate::queue::{QueueChanges, QueueRef, QueueSettings, StreamChanges};
use crate::read::Read;
use crate::reply::OpError;
use crate::txn::{
    Append, Bulk, DeleteEntries, Due, From, GroupStart, IdempotencySlot, ReaderOp, Reading, Rename, SetId,
    StreamRef, Trim,
};

/// A transaction as it is logged and applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    /// What to do, in order.
    pub(crate) commands: Vec<Command>,
    /// True where one refusal undoes its neighbours.
    pub(crate) all_or_nothing: bool,
}

/// One op, ready to be applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// Publish one event.
    Append(Box<Append>),
    /// Take due events under a lease.
    Claim {
        /// From where.
        queue: QueueRef,
        /// The lease, or the queue's default.
        hold: Option<LeaseSeconds>,
        /// Most events.
        max: u32,
        /// Most payload bytes.
        max_bytes: u64,
        /// Who claims.
        consumer: Option<ConsumerId>,
    },
    /// Delete the Redis consumer of this name.
    DeleteConsumer {
        /// Of which queue.
        queue: QueueRef,
        /// Its name.
        name: Bytes,
    },
    /// A holder's word.
    Settle {
        /// Which event.
        event: EventId,
        /// What its proof was found to be.
        claimant: Claimant,
        /// What it says.
        said: Said,
    },
    /// A new queue, with the id that was drawn for it.
    Create {
        /// Its id.
        id: QueueId,
        /// Its unique name.
        name: String,
        /// Its settings.
        settings: Box<QueueSettings>,
        /// On which stream it reads; none: on one of its own.
        on: Option<Reading>,
        /// What the stream is asked to do.
        stream: StreamChanges,
    },
    /// Change a queue's settings.
    Patch {
        /// Which queue.
        queue: QueueRef,
        /// What changes.
        changes: Box<QueueChanges>,
        /// What changes of its stream.
        stream: StreamChanges,
        /// The revision that the queue has to be at.
        revision: Option<u64>,
    },
    /// Go back or forward in the stream.
    Reset {
        /// Which queue.
        queue: QueueRef,
        /// Where it goes on.
        from: From,
    },
    /// Stop handing out events.
    Pause {
        /// Which queue.
        queue: QueueRef,
        /// Why.
        reason: Option<String>,
    },
    /// Hand out events again.
    Resume {
        /// Which queue.
        queue: QueueRef,
    },
    /// Close a queue.
    Delete {
        /// Which queue.
        queue: QueueRef,
        /// True where unfinished events do not stand in the way.
        force: bool,
        /// Why its unfinished events are dead.
        reason: DeadReason,
        /// The revision that it has to be at.
        revision: Option<u64>,
    },
    /// Close a stream and all its queues.
    DeleteStream {
        /// Which stream.
        stream: StreamRef,
        /// True where unfinished events do not stand in the way.
        force: bool,
    },
    /// Drop a stream's oldest entries.
    Trim(Trim),
    /// Drop single entries of a stream.
    DeleteEntries(DeleteEntries),
    /// Move a stream's last place.
    SetId(SetId),
    /// Give a stream another name.
    Rename(Rename),
    /// What readers do with entries by their places, and the jitter of a backoff that was drawn for it.
    Reader(Box<ReaderOp>, u32),
    /// A new queue for a stream's readers, with the id that was drawn for it.
    CreateGroup {
        /// Its id.
        id: QueueId,
        /// On which stream.
        stream: StreamRef,
        /// Its name among the stream's queues.
        group: Bytes,
        /// True where a stream that is not there is made.
        make_stream: bool,
        /// What it counts as having handed out.
        start: GroupStart,
        /// How many entries it counts as having read.
        entries_read: Option<u64>,
    },
    /// Go on behind another place.
    SetPlace {
        /// Which queue.
        queue: QueueRef,
        /// What it counts as having handed out.
        start: GroupStart,
        /// How many entries it counts as having read.
        entries_read: Option<u64>,
    },
    /// Make a Redis consumer of a queue.
    MakeConsumer {
        /// Of which queue.
        queue: QueueRef,
        /// Its name.
        name: Bytes,
    },
    /// Do something, or repeat what it was answered.
    Once {
        /// Under which key.
        slot: IdempotencySlot,
        /// What to do.
        command: Box<Command>,
    },
    /// Do something, and note it in the audit log.
    Noted {
        /// What is noted.
        note: AuditNote,
        /// What to do.
        command: Box<Command>,
    },
    /// A dead delivery begins a new round.
    Redrive {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: Option<QueueRef>,
        /// True where the attempts start again at none.
        reset_attempts: bool,
    },
    /// Give up a delivery.
    Bury {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: Option<QueueRef>,
        /// Why.
        reason: DeadReason,
    },
    /// A dead delivery ends, and a new event of its content goes to another queue.
    MoveDead {
        /// Which event.
        event: EventId,
        /// In which queue.
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
    /// Begin an operation, with the id that was drawn for it.
    StartOperation {
        /// Its id.
        id: OperationId,
        /// In which queue.
        queue: QueueRef,
        /// What is done.
        bulk: Bulk,
    },
    /// End an operation where it stands.
    CancelOperation {
        /// Which.
        id: OperationId,
    },
    /// Call an event off.
    Cancel {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: Option<QueueRef>,
        /// Why.
        reason: Option<ErrorText>,
    },
    /// Another due time or bound on attempts for what nobody has.
    Reschedule {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: Option<QueueRef>,
        /// When it is due.
        due: Option<Due>,
        /// Its bound on attempts.
        max_attempts: Option<Option<u32>>,
    },
    /// What waits for its time is due now.
    RunNow {
        /// Which event.
        event: EventId,
        /// In which queue.
        queue: Option<QueueRef>,
    },
    /// Store a key's record.
    PutKey {
        /// The record.
        record: Box<KeyRecord>,
        /// What has to be there before.
        over: KeyCondition,
    },
    /// Forget a key.
    DeleteKey {
        /// Which.
        key: KeyId,
        /// The revision that it has to be at; none: any.
        revision: Option<u64>,
    },
    /// Do what is due, at most so many rows.
    Tend {
        /// Most rows that are moved.
        rows: u64,
    },
    /// Look at something. Never in the log: it changes nothing.
    Read(Read),
    /// Refused before it was applied. Never in the log: it changes nothing.
    Refused(OpError),
}

/// What a caller's proof was found to be. The log holds what it proved, never a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claimant {
    /// No proof of anything.
    Nobody,
    /// A token that proved this hold.
    Holder {
        /// Whose delivery.
        queue: QueueNo,
        /// The round that it proved.
        round: u32,
        /// The fencing number that it proved.
        fence: u64,
    },
    /// The engine's own knowledge of a hold.
    Fence {
        /// Whose delivery.
        queue: QueueId,
        /// The round.
        round: u32,
        /// The fencing number.
        fence: u64,
    },
    /// An operator's right.
    Operator(Option<QueueRef>),
    /// A reader of this queue, who bears no proof of a hold (`XACK`).
    Group(QueueRef),
}

/// What a holder says, with the jitter drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// Finished, and what came of it.
    Ack(Option<AckResult>),
    /// Failed.
    Fail(Failure),
    /// Failed for good.
    Fatal(Option<ErrorText>),
    /// Given back.
    Release(Option<ErrorText>),
    /// Given back by the server.
    GiveBack,
    /// A heartbeat of this length, or the queue's default, and how far the holder came.
    Extend(Option<LeaseSeconds>, Option<Box<Progress>>),
}

impl Command {
    /// False for what only looks, or was refused before it was applied: it leaves no trace.
    pub(crate) fn changes_rows(&self) -> bool {
        match self {
            Self::Read(_) | Self::Refused(_) => false,
            Self::Once { command, .. } | Self::Noted { command, .. } => command.changes_rows(),
            Self::Append(_) | Self::Claim { .. } | Self::Settle { .. } | Self::Tend { .. } => true,
            Self::Create { .. } | Self::Patch { .. } | Self::Pause { .. } | Self::Resume { .. } => true,
            Self::Reset { .. } | Self::Delete { .. } | Self::DeleteStream { .. } | Self::Trim(_) => true,
            Self::DeleteConsumer { .. } => true,
            Self::SetId(_) | Self::Rename(_) | Self::Reader(..) | Self::CreateGroup { .. } => true,
            Self::SetPlace { .. } | Self::MakeConsumer { .. } => true,
            Self::DeleteEntries(_) | Self::Redrive { .. } | Self::Bury { .. } => true,
            Self::Discard { .. } | Self::StartOperation { .. } | Self::CancelOperation { .. } => true,
            Self::Reschedule { .. } | Self::RunNow { .. } | Self::MoveDead { .. } => true,
            Self::Cancel { .. } | Self::PutKey { .. } | Self::DeleteKey { .. } => true,
        }
    }
}
