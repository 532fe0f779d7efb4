//! What engines are asked to do: transactions of ops, as values.
//!
//! Lives here: the transaction, its ops and what they name. Not here: ops on queues and streams
//! themselves (`txn/manage.rs`), answers (`reply.rs`), reads (`read.rs`). No SQL, key or page appears
//! in either.

use bytes::Bytes;
use naven_api::{
    AckResult, ConsumerId, DelaySeconds, ErrorText, EventId, LeaseSeconds, LeaseToken, Progress, QueueId,
    Timestamp, TraceContext,
};

use crate::audit::AuditNote;
use crate::queue::QueueRef;
use crate::read::Read;

mod entries;
mod fields;
mod manage;
mod operation;
mod reader;
pub use entries::{DeleteEntries, EntryWish, Keep, PlaceWish, References, Rename, SetId, Trim, Trimming};
pub use manage::{AdminOp, DeleteOp, From, GroupOp, GroupStart, Reading};
pub use operation::{Bulk, OperationKind, OperationOp, OperationState, OperationView, PurgeFilter};
pub(crate) use operation::{MOVE_CHUNK_ROWS, QUEUE_GONE, TARGET_GONE};
pub use reader::{
    AckEntries, GivingUp, GroupFrom, NackEntries, ReadGroup, ReaderOp, ScanTransfer, Since, Transfer,
};

/// Ops applied at one point of the order, durable as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Txn {
    /// The node's own identity for it, for retries.
    pub id: u128,
    /// Streams that must still be at these versions, or the whole is refused; 0 is that of a stream that is
    /// not there.
    pub watch: Vec<(StreamRef, u64)>,
    /// What to do, in order.
    pub ops: Vec<Op>,
    /// True where one refused op undoes its neighbours; else refusals stand alone.
    pub all_or_nothing: bool,
}

impl Txn {
    /// A transaction of one op.
    pub fn one(kind: OpKind) -> Self {
        Self { id: 0, watch: Vec::new(), ops: vec![Op::plain(kind)], all_or_nothing: false }
    }

    /// A transaction of several ops, each refused or taken by itself.
    pub fn each(kinds: impl IntoIterator<Item = OpKind>) -> Self {
        let ops = kinds.into_iter().map(Op::plain).collect();
        Self { id: 0, watch: Vec::new(), ops, all_or_nothing: false }
    }

    /// A transaction of several ops that are all taken or all refused.
    pub fn all(kinds: impl IntoIterator<Item = OpKind>) -> Self {
        Self { all_or_nothing: true, ..Self::each(kinds) }
    }
}

/// One op and the slot that makes its repetition harmless.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Where the result is kept for a repetition.
    pub idempotency: Option<IdempotencySlot>,
    /// What the audit log says of it, where it is done; none: nothing.
    pub audit: Option<AuditNote>,
}

impl Op {
    /// An op without an idempotency slot.
    pub fn plain(kind: OpKind) -> Self {
        Self { kind, idempotency: None, audit: None }
    }

    /// An op that the audit log tells of.
    pub fn noted(kind: OpKind, note: AuditNote) -> Self {
        Self { audit: Some(note), ..Self::plain(kind) }
    }
}

/// Names a caller's intention, so that its repetition gets the first answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencySlot {
    /// Key owner, method and path.
    pub scope: Bytes,
    /// The caller's key.
    pub key: Bytes,
    /// A digest of the request: another one under the same key is refused.
    pub fingerprint: [u8; 32],
}

/// Everything that can be asked of an engine. An op that an engine does not have yet answers
/// `Unsupported`, and no door reaches it.
#[derive(Debug, Clone, PartialEq)]
pub enum OpKind {
    /// Publish one event.
    Append(Append),
    /// Take due events.
    Claim(Claim),
    /// A holder's word on its event.
    Settle(Settle),
    /// Drop a stream's oldest entries.
    Trim(Trim),
    /// Drop single entries of a stream.
    DeleteEntries(DeleteEntries),
    /// Move a stream's last place.
    SetId(SetId),
    /// Give a stream another name.
    Rename(Rename),
    /// What readers do with entries by their places.
    Reader(ReaderOp),
    /// Make or change a queue.
    Group(GroupOp),
    /// Remove a queue or a stream.
    Delete(DeleteOp),
    /// A read at this point of the order.
    Read(Read),
    /// What operators do.
    Admin(AdminOp),
    /// Work on many events in the background.
    Operation(OperationOp),
}

/// A stream, by its name's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StreamRef(pub Bytes);

/// An entry's place in its stream: `ms-seq`, strictly rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// Milliseconds since 1970.
    pub ms: u64,
    /// Number within the millisecond.
    pub seq: u64,
}

impl Place {
    /// The last place there is.
    pub const LAST: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// The next place in the order; none past the last of all.
    pub fn after(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

/// An event's content in the form in which it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Which form.
    pub form: Form,
    /// The content, byte for byte.
    pub bytes: Bytes,
}

/// The form of a body: each door converts on read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A JSON object's text.
    Json,
    /// Redis fields and values, length-prefixed.
    Fields,
}

/// Where an event goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To every queue of a stream.
    Stream(StreamRef),
    /// To one queue alone.
    Queue(QueueRef),
}

/// When an event is first due. The one instant that callers may name is `At`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At once.
    Now,
    /// This long from now.
    In(DelaySeconds),
    /// At this instant; a past one is kept as given and due now.
    At(Timestamp),
}

impl Due {
    /// The instant that is meant at this wall time.
    pub(crate) fn instant(self, wall: Timestamp) -> Timestamp {
        match self {
            Self::Now => wall,
            Self::In(delay) => wall.plus_ms(delay.as_ms()),
            Self::At(at) => at,
        }
    }
}

/// Publish one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// Where to.
    pub to: Target,
    /// Its content.
    pub body: Body,
    /// When it is first due.
    pub due: Due,
    /// Names and values that travel with it: at most 32, each at most 1 KiB.
    pub headers: Vec<(String, String)>,
    /// Attempts of this event, over its queue's.
    pub max_attempts: Option<u32>,
    /// Its domain identity: a second one within the stream's window is the first one again.
    pub dedupe: Option<DedupeKey>,
    /// When it is of no use any more: from then on nobody gets it.
    pub expires_at: Option<Timestamp>,
    /// Where in its publisher's trace it is published.
    pub trace: Option<Box<TraceContext>>,
    /// What is asked of its entry, by the Redis door.
    pub entry: Option<Box<EntryWish>>,
}

/// An event's domain identity in its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DedupeKey {
    /// Whose keys these are: those of one space never meet those of another.
    pub space: DedupeSpace,
    /// The key: 1 to 255 bytes.
    pub key: Bytes,
}

/// Whose dedupe keys are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DedupeSpace {
    /// `dedupeKey` of the HTTP door.
    Http,
    /// A Redis producer of this name.
    Producer(Bytes),
}

/// How a claim holds what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimHold {
    /// An HTTP lease of this length, or of the queue's default.
    Lease(Option<LeaseSeconds>),
}

/// Take due events, earliest due first.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// From where.
    pub queue: QueueRef,
    /// How they are held.
    pub hold: ClaimHold,
    /// Most events: 1 to 100.
    pub max: u32,
    /// Most payload bytes; the first event is taken whatever its size.
    pub max_bytes: usize,
    /// Who claims, as it names itself.
    pub consumer: Option<ConsumerId>,
}

/// What a caller offers as proof of a hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof {
    /// The claim's token.
    Token(LeaseToken),
    /// The claim's token, from a caller who may settle in these queues alone: one that leads to another
    /// queue's delivery is worth nothing.
    TokenAmong {
        /// The token.
        token: LeaseToken,
        /// The queues.
        queues: Vec<QueueId>,
    },
    /// The engine's own knowledge of the hold (give-back, the Redis door).
    Fence {
        /// Which queue's delivery.
        queue: QueueId,
        /// The round that was held.
        round: u32,
        /// The fencing number of the hold.
        fence: u64,
    },
    /// None: a reader of the queue finishes what a Redis consumer of it holds, or nobody (`XACK`). It
    /// can do nothing else.
    Group {
        /// Whose delivery.
        queue: QueueRef,
    },
    /// An operator's right, checked by the door.
    Operator {
        /// Which queue's delivery; needed where the event is in several.
        queue: Option<QueueRef>,
    },
}

/// What a holder says.
#[derive(Debug, Clone, PartialEq)]
pub enum SettleStep {
    /// Finished.
    Ack,
    /// Finished, and this came of it.
    AckWith(AckResult),
    /// Failed: retry after this delay, or by the queue's backoff.
    Fail {
        /// What went wrong.
        error: Option<ErrorText>,
        /// The retry's delay.
        delay: Option<DelaySeconds>,
    },
    /// Failed for good.
    Fatal {
        /// What went wrong.
        error: Option<ErrorText>,
    },
    /// Given back by the holder.
    Release {
        /// Why.
        error: Option<ErrorText>,
    },
    /// Given back by the server: the claim's answer could not be delivered.
    GiveBack,
    /// A heartbeat: the lease ends this long from now, or the queue's default.
    Extend(Option<LeaseSeconds>),
    /// The same, from a holder that says how far it came.
    Report(Option<LeaseSeconds>, Box<Progress>),
}

/// A holder's word on its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Settle {
    /// Which event.
    pub event: EventId,
    /// Proof of the hold.
    pub proof: Proof,
    /// What it says.
    pub step: SettleStep,
}
