//! The shell of the model: one lock, one reading of the clocks, undo, wake-ups.
//!
//! Lives here: the [`Engine`] trait over [`World`]. Not here: what ops do (`world.rs`).

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use naven_api::limits::WAIT_LOOK_MS;
use naven_core::{LeaseTime, Now};
use tokio::sync::{broadcast, watch};

use super::world::World;
use crate::clock::{Clock, Random};
use crate::engine::{BoxFuture, Budget, Caps, Durability, Engine, Health, Hint, Hints, Tended, WaitSet};
use crate::feed::{Changes, Feed};
use crate::read::{Page, Read};
use crate::reply::{OpError, Refused, TxnReply};
use crate::token::TokenKey;
use crate::txn::{GroupOp, Op, OpKind, OperationOp, ReaderOp, Settle, SettleStep, Txn};

/// Hints that a slow receiver may be behind before it is told that it missed some.
const HINTS_KEPT: usize = 1_024;

/// An engine in memory. Every call is over within one poll, so a dropped future did all or nothing.
pub struct Model {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    started_ms: i64,
    world: Mutex<World>,
    /// None once closed.
    hints: Mutex<Option<broadcast::Sender<Hint>>>,
    /// The same.
    feed: Mutex<Option<Feed>>,
    health: watch::Sender<Health>,
}

impl Model {
    /// An empty one. Draws its token key.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        let world = Mutex::new(World::new(TokenKey::new(secret, [0; 16], 1)));
        let hints = Mutex::new(Some(broadcast::channel(HINTS_KEPT).0));
        let started_ms = clock.monotonic_ms();
        let feed = Mutex::new(Some(Feed::new()));
        Self { clock, random, started_ms, world, hints, feed, health: watch::channel(Health::Well).0 }
    }

    fn now(&self) -> Now {
        let lease = LeaseTime::from_ms(self.clock.monotonic_ms() - self.started_ms);
        Now { wall: self.clock.wall(), lease }
    }

    fn world(&self) -> Result<MutexGuard<'_, World>, OpError> {
        let is_open = self.hints.lock().is_ok_and(|hints| hints.is_some());
        if is_open { self.world.lock().map_err(|_| OpError::Unknown) } else { Err(OpError::Unavailable) }
    }

    fn draw(&self, op: &Op) -> u128 {
        match &op.kind {
            OpKind::Group(GroupOp::Create { .. } | GroupOp::CreateGroup { .. })
            | OpKind::Operation(OperationOp::Start { .. }) => self.random.draw_u128(),
            OpKind::Reader(ReaderOp::Nack(_)) => self.random.draw_u32().into(),
            OpKind::Settle(Settle { step: SettleStep::Fail { .. }, .. }) => self.random.draw_u32().into(),
            _ => 0,
        }
    }

    fn run(&self, txn: &Txn) -> TxnReply {
        let mut world = match self.world() {
            Ok(world) => world,
            Err(error) => return TxnReply { version: 0, ops: vec![Err(error); txn.ops.len()] },
        };
        let now = self.now();
        let has_changed = txn.watch.iter().any(|(stream, version)| world.version_of(stream) != *version);
        let draws: Vec<u128> = txn.ops.iter().map(|op| self.draw(op)).collect();
        world.version += 1;
        let (version, before) = (world.version, world.clone());
        let mut ops = vec![Err(OpError::Undone); txn.ops.len()];
        for (at, (op, draw)) in txn.ops.iter().zip(draws).enumerate() {
            ops[at] = match &op.idempotency {
                _ if has_changed => Err(Refused::Changed.into()),
                Some(slot) => world.once(slot, &op.kind, draw, now),
                None => world.apply(&op.kind, draw, now),
            };
            ops[at] =
                world.noted(op.audit.as_ref(), std::mem::replace(&mut ops[at], Err(OpError::Undone)), now);
            if txn.all_or_nothing && ops[at].is_err() {
                ops[..at].fill(Err(OpError::Undone));
                *world = before;
                break;
            }
        }
        self.wake(&mut world);
        TxnReply { version, ops }
    }

    fn wake(&self, world: &mut World) {
        if let Ok(hints) = self.hints.lock()
            && let Some(hints) = hints.as_ref()
        {
            let queues = world.woken.drain(..).map(Hint::Queue);
            queues.chain(world.grown.drain(..).map(Hint::Stream)).for_each(|hint| drop(hints.send(hint)));
        }
        let told = std::mem::take(&mut world.told);
        if let Some(feed) = self.feed.lock().ok().and_then(|feed| feed.clone()) {
            feed.tell(&told);
        }
    }
}

impl Engine for Model {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move { txns.iter().map(|txn| self.run(txn)).collect() })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        Box::pin(async move { self.world()?.read(&read, self.now()) })
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        let sender = self.hints.lock().ok().and_then(|hints| hints.clone());
        Hints::new(sender.unwrap_or_else(|| broadcast::channel(1).0).subscribe(), waits)
    }

    fn changes(&self) -> Changes {
        let feed = self.feed.lock().ok().and_then(|feed| feed.clone());
        feed.map_or_else(Changes::none, |feed| feed.listen())
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        Box::pin(async move {
            let (mut world, now) = (self.world()?, self.now());
            let rows = world.tend(now, budget.rows);
            let more = world.clone().tend(now, 1) > 0;
            self.wake(&mut world);
            Ok(Tended { rows, more })
        })
    }

    fn caps(&self) -> Caps {
        let look_every = Duration::from_millis(WAIT_LOOK_MS);
        let (multi_writer, transactional_publish) = (false, false);
        Caps {
            name: "memory",
            durability: Durability::Memory,
            multi_writer,
            transactional_publish,
            look_every,
        }
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(self.hints.lock().map(|mut hints| hints.take()));
            drop(self.feed.lock().map(|mut feed| feed.take()));
        })
    }
}
