//! What one running node is made of, as its doors see it.
//!
//! Lives here: the shared parts, and the few questions that many handlers ask. Not here: starting
//! and stopping them (`serve.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use naven_api::limits::PAGE_PAYLOAD_BYTES_MAX;
use naven_api::{ErrorCode, EventId, Timestamp};
use naven_store::audit::AuditNote;
use naven_store::queue::QueueRef;
use naven_store::read::{EventView, Page, QueueView, Read, StreamView};
use naven_store::reply::{OpError, OpReply, TxnReply};
use naven_store::txn::{IdempotencySlot, Op, OpKind, StreamRef, Txn};
use naven_store::{Clock, Engine, Health, Random};

use crate::auth::KeyRing;
use crate::claimers::Claimers;
use crate::config::{Patience, ServerLimits};
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::net::Tls;
use crate::room::{Room, Taken};
use crate::wait::Waits;
use crate::watch::Watch;

/// What is said to whom there was no room for.
pub(crate) const NO_ROOM: &str = "large answers that nobody has read yet take all the room there is for them";

/// The shared parts of one node.
pub(crate) struct Node {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) waits: Arc<Waits>,
    pub(crate) claimers: Claimers,
    pub(crate) watch: Arc<Watch>,
    pub(crate) metrics: Metrics,
    pub(crate) keys: KeyRing,
    /// True where the server's settings name the key `admin`.
    pub(crate) has_admin_key: bool,
    /// None: both doors speak plainly.
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) limits: ServerLimits,
    pub(crate) patience: Patience,
    pub(crate) started_at: Timestamp,
    pub(crate) draining: AtomicBool,
    pub(crate) connections: AtomicUsize,
    /// Room for large requests that are under way.
    pub(crate) request_room: Room,
    /// Room for large answers, from when they are asked for until they are read.
    pub(crate) answer_room: Room,
}

impl Node {
    /// Applies one op and gives its answer.
    pub(crate) async fn apply(&self, kind: OpKind) -> Result<OpReply, Failure> {
        self.ask(Op::plain(kind)).await.map_err(Failure::from)
    }

    /// Applies one op, of which the audit log tells, and gives its answer.
    pub(crate) async fn apply_noted(&self, kind: OpKind, note: AuditNote) -> Result<OpReply, Failure> {
        self.ask(Op::noted(kind, note)).await.map_err(Failure::from)
    }

    /// Applies one op, or gives the answer that its slot already holds.
    pub(crate) async fn apply_once(
        &self,
        kind: OpKind,
        idempotency: Option<IdempotencySlot>,
    ) -> Result<Answered, Failure> {
        Ok(self.ask(Op { idempotency, ..Op::plain(kind) }).await?.into())
    }

    /// Applies one op; what the engine says of it is not translated yet.
    pub(crate) async fn ask(&self, op: Op) -> Result<OpReply, OpError> {
        let mut reply = self.submit(Txn { ops: vec![op], ..Txn::each([]) }).await?;
        reply.ops.pop().unwrap_or(Err(OpError::Unknown))
    }

    /// Applies one transaction.
    pub(crate) async fn apply_txn(&self, txn: Txn) -> Result<TxnReply, Failure> {
        self.submit(txn).await.map_err(Failure::from)
    }

    async fn submit(&self, txn: Txn) -> Result<TxnReply, OpError> {
        self.engine.submit(vec![txn]).await.pop().ok_or(OpError::Unknown)
    }

    /// The queue that `queue` names.
    pub(crate) async fn queue(&self, queue: QueueRef) -> Result<QueueView, Failure> {
        match self.engine.read(Read::Queue(queue)).await? {
            Page::Queue(view) => Ok(*view),
            other => Err(odd_page(&other)),
        }
    }

    /// The stream that `stream` names.
    pub(crate) async fn stream(&self, stream: StreamRef) -> Result<StreamView, Failure> {
        match self.engine.read(Read::Stream(stream)).await? {
            Page::Stream(view) => Ok(*view),
            other => Err(odd_page(&other)),
        }
    }

    /// The event of this id, as it stands.
    pub(crate) async fn event(&self, event: EventId, payload: bool) -> Result<EventView, Failure> {
        match self.engine.read(Read::Event { event, payload }).await? {
            Page::Event(view) => Ok(*view),
            other => Err(odd_page(&other)),
        }
    }

    /// What `decoded` is; where it was refused, a missing queue is the better answer.
    ///
    /// The contract puts 404 before every fault of the body. Asking only then keeps a good call at
    /// one visit to the engine.
    pub(crate) async fn in_queue<T>(
        &self,
        queue: &QueueRef,
        decoded: Result<T, Failure>,
    ) -> Result<T, Failure> {
        if decoded.is_err() {
            self.queue(queue.clone()).await?;
        }
        decoded
    }

    /// The same for a stream.
    pub(crate) async fn in_stream<T>(
        &self,
        stream: &StreamRef,
        decoded: Result<T, Failure>,
    ) -> Result<T, Failure> {
        if decoded.is_err() {
            self.stream(stream.clone()).await?;
        }
        decoded
    }

    /// How many items a page has at most of which `limit` are asked for, with their payloads or without.
    pub(crate) fn page_items(&self, limit: u32, with_payload: bool) -> u32 {
        if !with_payload {
            return limit;
        }
        let fitting = PAGE_PAYLOAD_BYTES_MAX / self.limits.payload_bytes.max(1);
        limit.min(u32::try_from(fitting).unwrap_or(u32::MAX).max(1))
    }

    /// Room for an answer with up to `items` payloads.
    ///
    /// # Errors
    /// Where others have not read theirs for too long.
    pub(crate) async fn room_for_payloads(&self, items: u32) -> Result<Taken, Failure> {
        let most = (items as usize).saturating_mul(self.limits.payload_bytes).min(PAGE_PAYLOAD_BYTES_MAX);
        let taken = self.answer_room.take(most, self.patience.body_idle).await;
        taken.ok_or_else(|| Failure::new(ErrorCode::RateLimited, NO_ROOM))
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn has_failed(&self) -> bool {
        *self.engine.health().borrow() != Health::Well
    }
}

/// An op's answer, and whether it is that of an earlier op in the same slot.
pub(crate) struct Answered {
    pub(crate) reply: OpReply,
    pub(crate) replayed: bool,
}

impl From<OpReply> for Answered {
    fn from(reply: OpReply) -> Self {
        match reply {
            OpReply::Replayed(first) => Self { reply: *first, replayed: true },
            reply => Self { reply, replayed: false },
        }
    }
}

/// An engine answered a read with another read's page.
pub(crate) fn odd_page(page: &Page) -> Failure {
    Failure::internal(format!("an unexpected page: {page:?}"))
}

/// An engine answered an op with another op's reply.
pub(crate) fn odd_reply(reply: &OpReply) -> Failure {
    Failure::internal(format!("an unexpected reply: {reply:?}"))
}
