//! What engines answer.
//!
//! Lives here: answers and refusals of ops. Not here: pages of reads (`read.rs`), error codes for
//! callers (`naven-api`; the doors translate).

use std::time::Duration;

use naven_api::limits::IDEMPOTENCY_SECONDS;
use naven_api::{EventId, LeaseToken, QueueId, Timestamp, TraceContext};
use naven_core::{Refusal, View};

use crate::read::{EventView, Page, QueueView};
use crate::txn::{Body, OperationView, Place};

/// One transaction's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TxnReply {
    /// The point of the order at which it was applied.
    pub version: u64,
    /// An answer for each op, in order.
    pub ops: Vec<Result<OpReply, OpError>>,
}

/// One op's success.
#[derive(Debug, Clone, PartialEq)]
pub enum OpReply {
    /// An event was published, or redriven: how it stands, without its payload.
    Event(Box<EventView>),
    /// An event of this dedupe key was published before: how that one stands, without its payload.
    Deduped(Box<EventView>),
    /// The answer that this idempotency key got before.
    Replayed(Box<OpReply>),
    /// A claim's leases.
    Claimed(Claimed),
    /// A holder's word was taken.
    Settled(Settled),
    /// A queue was made or changed.
    Queue(Box<QueueView>),
    /// So many entries left their stream, or so much was held by a consumer that is gone.
    Removed(u64),
    /// What was read from each queue, in the order in which they were named.
    Read(Vec<QueueRead>),
    /// What was taken over.
    Transferred(Transferred),
    /// What became of each entry that was named.
    Fates(Vec<Fate>),
    /// Whether it was made, or had been there.
    Made(bool),
    /// A read's page.
    Page(Box<Page>),
    /// An operation as it stands.
    Operation(Box<OperationView>),
    /// It was done, and there is nothing to say of it.
    Done,
}

impl OpReply {
    /// Until when the answer, given at `now`, is remembered under an idempotency key: a claim's for as long as its
    /// leases hold by themselves, for afterwards there is nothing to hand out again; any other's for a day.
    pub(crate) fn remembered_until(&self, now: Timestamp) -> Timestamp {
        let day = now.plus_ms(i64::from(IDEMPOTENCY_SECONDS) * 1_000);
        let Self::Claimed(claimed) = self else { return day };
        claimed.leases.iter().filter_map(|grant| grant.lease_expires_at).max().unwrap_or(day)
    }
}

/// What was read from one queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueRead {
    /// Which.
    pub queue: QueueId,
    /// The entries: what was idle with others first, then by place.
    pub entries: Vec<HeldEntry>,
    /// Where nothing was read that was not handed out before: how long until something may be; none: until the
    /// next hint.
    pub due_in: Option<Duration>,
}

/// One entry in the hands of a Redis consumer.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldEntry {
    /// Its place.
    pub place: Place,
    /// Its event.
    pub event: EventId,
    /// Its content; none where that was deleted meanwhile, or was not asked for.
    pub body: Option<Body>,
    /// Where it was idle with another before: for how long, in ms, and Redis' count of deliveries by then.
    pub was_idle: Option<(u64, u64)>,
}

/// What was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Transferred {
    /// The entries, in the order in which they were named, or by place.
    pub entries: Vec<HeldEntry>,
    /// Places that were pending and whose entries are deleted: they are pending no more.
    pub deleted: Vec<Place>,
    /// From where to go on; zero at the end.
    pub next: Place,
}

/// What became of an entry that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// There is none, or it is not pending.
    Missing,
    /// It was done as asked.
    Done,
    /// It was done, but the entry stays: others still have to do with it.
    Kept,
}

impl Fate {
    /// Every fate, in the order in which answers are kept.
    pub(crate) const ALL: [Fate; 3] = [Self::Missing, Self::Done, Self::Kept];
}

/// What a claim took.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// From which queue.
    pub queue: QueueId,
    /// The leases, earliest due first; empty where nothing was due.
    pub leases: Vec<Grant>,
    /// Where nothing was due: how long until something may be; none: until the next hint.
    pub due_in: Option<Duration>,
}

/// One event in the hands of its holder.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Which event.
    pub event: EventId,
    /// From which queue.
    pub queue: QueueId,
    /// The queue's name.
    pub queue_name: String,
    /// The present round.
    pub round: u32,
    /// The fencing number (`deliveryCount`).
    pub fence: u64,
    /// See the HTTP contract.
    pub attempts: u32,
    /// See the HTTP contract.
    pub expiries: u32,
    /// The first due time.
    pub scheduled_at: Timestamp,
    /// The content.
    pub body: Body,
    /// Names and values that travel with it.
    pub headers: Vec<(String, String)>,
    /// Where in its publisher's trace it was published.
    pub trace: Option<Box<TraceContext>>,
    /// The proof; none for Redis holds.
    pub token: Option<LeaseToken>,
    /// When the lease ends, as the wall clock shows it; none for Redis holds.
    pub lease_expires_at: Option<Timestamp>,
}

/// How a delivery stands after its holder's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The queue whose delivery it is.
    pub queue: QueueId,
    /// The state.
    pub state: View,
    /// When it was settled: for an ack's answer.
    pub settled_at: Option<Timestamp>,
    /// When it is due again: for a nack's answer; none where it is dead.
    pub next_at: Option<Timestamp>,
    /// When the lease ends: for a heartbeat's answer; none where there is none any more.
    pub lease_expires_at: Option<Timestamp>,
    /// True where an operator asked the holder to stop.
    pub cancel_requested: bool,
    /// True where the same caller already had this answer.
    pub replayed: bool,
}

/// Why an op was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The rules or the facts say no; nothing changed.
    #[error("refused: {0:?}")]
    Refused(Refused),
    /// Another op of an all-or-nothing transaction was refused; nothing changed.
    #[error("undone: another part of the transaction was refused")]
    Undone,
    /// Too much at once; nothing changed.
    #[error("busy: try again after {after:?}")]
    Busy {
        /// When to try again.
        after: Duration,
    },
    /// The disk or the queue is full; nothing changed.
    #[error("full")]
    Full,
    /// This engine does not have this op yet.
    #[error("not supported by this engine")]
    Unsupported,
    /// The engine takes no work; nothing was written.
    #[error("the engine takes no work")]
    Unavailable,
    /// Whether it was done is not known, and the engine cannot find out.
    #[error("the outcome is not known")]
    Unknown,
}

/// Which rule or fact says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The caller was the last holder and its time is over.
    Expired,
    /// Another delivery happened, or the proof is not this event's.
    Lost,
    /// The caller already settled it the other way.
    Settled,
    /// No such queue.
    QueueNotFound,
    /// No such stream.
    StreamNotFound,
    /// No such event, or it is not in the queue that was named.
    EventNotFound,
    /// The event is in several queues, and none was named.
    QueueNeeded,
    /// The name belongs to another queue.
    NameTaken,
    /// The queue holds events that are not done or cancelled.
    NotEmpty,
    /// Not in a state that allows this.
    WrongState,
    /// It waits for its time, which is one for all its queues: nothing can be done in one of them alone.
    DueForAll,
    /// A watched stream changed.
    Changed,
    /// The place that was asked for is not behind the stream's last.
    PlaceTaken,
    /// The stream has had the last place there is.
    PlacesUsedUp,
    /// The stream's last place would be before an entry that is there.
    PlaceBehind,
    /// The stream's last place would be before the highest one that was ever deleted.
    BeforeDeleted,
    /// Fewer entries ever added than are there, or a highest deleted place behind the last.
    FactsWrong,
    /// A cursor that this list did not give out.
    BadCursor,
    /// The transaction is larger than a record may be.
    TooLarge,
    /// No such operation.
    OperationNotFound,
    /// One of this kind is under way in the queue.
    OperationRunning,
    /// No such bearer key.
    KeyNotFound,
    /// It is not at the revision that was named.
    Stale,
    /// The idempotency key was used for another request.
    KeyReused,
}

impl From<Refused> for OpError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Refusal> for OpError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(match refusal {
            Refusal::Expired => Refused::Expired,
            Refusal::Lost => Refused::Lost,
            Refusal::Settled => Refused::Settled,
            Refusal::NotDue | Refusal::WrongState => Refused::WrongState,
        })
    }
}
