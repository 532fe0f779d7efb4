//! The engine: where deliveries rest between steps, and the one authority on time.
//!
//! Lives here: the trait that every engine implements, and what an engine says of itself. Not here:
//! transactions (`txn.rs`), reads (`read.rs`), and the engines.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use naven_api::QueueId;
use tokio::sync::{broadcast, watch};

use crate::backup::{Backup, BackupRefused};
use crate::feed::Changes;
use crate::read::{Page, Read};
use crate::reply::{OpError, TxnReply};
use crate::txn::Txn;

/// A boxed future: the trait is used as `Arc<dyn Engine>`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where deliveries rest between steps.
///
/// An engine finds rows, reads its clock once for a transaction, and saves what
/// [`naven_core::Delivery::apply`] returns; it never decides. Durations go in, never instants.
/// **Every answer, reads included, waits until what it shows is durable.**
pub trait Engine: Send + Sync + 'static {
    /// Applies each transaction at one point of the order, with nothing between its ops. Answers
    /// come in the order of `txns`. Many callers' transactions share one sync.
    ///
    /// Dropping the future before it answers: each transaction applied wholly or not at all, and
    /// the caller cannot know which; HTTP leases that its claims took are given back without an
    /// attempt counted, and a claim that was not applied yet takes nothing.
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>>;

    /// What needs no order with writes.
    ///
    /// # Errors
    /// `Refused` where the thing asked for is not there; `Unavailable` where the engine has stopped.
    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>>;

    /// Wake-ups for `waits`. Lossy: they say where to look, never what is there.
    fn hints(&self, waits: WaitSet) -> Hints;

    /// What becomes of deliveries from now on, told once it is durable. Lossy for who does not keep
    /// up; nothing is told of what a start replays. What ends with its queue, leaves by age or by
    /// trimming, or begins again with a reset is not told one by one.
    fn changes(&self) -> Changes {
        Changes::none()
    }

    /// Does what is due: places scheduled events, makes retries ready, expires leases. Safe at any
    /// time and on all nodes at once. Correctness does not wait for it: it makes things prompt.
    ///
    /// # Errors
    /// `Unavailable` where the engine has stopped.
    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>>;

    /// Begins a backup of everything, while calls are served; one at a time.
    ///
    /// In the trait, with an answer of its own for engines that have none, because the door that
    /// streams it knows its engine by the trait alone.
    ///
    /// # Errors
    /// See [`BackupRefused`].
    fn backup(&self) -> BoxFuture<'_, Result<Box<dyn Backup>, BackupRefused>> {
        Box::pin(std::future::ready(Err(BackupRefused::Unsupported)))
    }

    /// What this engine promises and can do.
    fn caps(&self) -> Caps;

    /// Turns to [`Health::Failed`] once, for good, when the engine can no longer keep its promises.
    fn health(&self) -> watch::Receiver<Health>;

    /// Takes no further work, makes everything answered durable, and closes its files.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// What a waiter cares about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitSet {
    /// Every queue of this engine, and no stream.
    All,
    /// Every queue and every stream.
    Everything,
    /// These.
    Queues(Vec<QueueId>),
}

impl WaitSet {
    fn concerns(&self, hint: &Hint) -> bool {
        match (self, hint) {
            (Self::Everything, _) | (_, Hint::Missed) => true,
            (Self::All, Hint::Queue(_)) => true,
            (Self::Queues(queues), Hint::Queue(queue)) => queues.contains(queue),
            (Self::All | Self::Queues(_), Hint::Stream(_)) => false,
        }
    }
}

/// A reason to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Something may have become claimable here, or the queue changed or went away.
    Queue(QueueId),
    /// An entry may have come to the stream of this name.
    Stream(Bytes),
    /// Hints were missed: look everywhere.
    Missed,
}

/// The receiving end of wake-ups.
#[derive(Debug)]
pub struct Hints {
    from: broadcast::Receiver<Hint>,
    waits: WaitSet,
}

impl Hints {
    /// The wake-ups of `from` that concern `waits`.
    pub fn new(from: broadcast::Receiver<Hint>, waits: WaitSet) -> Self {
        Self { from, waits }
    }

    /// The next wake-up, or none when the engine is closed. Cancel safe.
    pub async fn next(&mut self) -> Option<Hint> {
        loop {
            match self.from.recv().await {
                Ok(hint) if self.waits.concerns(&hint) => return Some(hint),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(Hint::Missed),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// How much one call of [`Engine::tend`] may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Most rows that are moved.
    pub rows: usize,
}

/// What one call of [`Engine::tend`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tended {
    /// Rows that were moved.
    pub rows: usize,
    /// True where the budget ended before the work did.
    pub more: bool,
}

/// What a success answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is on disk: written and synced before the answer.
    Synced,
    /// It is in this process' memory (tests only).
    Memory,
}

/// What an engine promises and can do. Features are never emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The engine's name: `embedded`, `postgres`, `memory`.
    pub name: &'static str,
    /// What a success answer means.
    pub durability: Durability,
    /// True where several nodes may use one store.
    pub multi_writer: bool,
    /// True where a publish can be part of the user's own database transaction.
    pub transactional_publish: bool,
    /// How often a queue with waiters is looked at without a hint.
    pub look_every: Duration,
}

/// Whether an engine can still keep its promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It can.
    Well,
    /// It cannot, for good: the process must end and start again from disk.
    Failed {
        /// What happened, for the operator.
        why: String,
    },
}
