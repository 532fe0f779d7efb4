//! One engine on a bench: its clock in hand, its calls made plain.
//!
//! Lives here: what factories answer, and how cases talk to an engine. Not here: the cases.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use naven_api::{ErrorText, EventId, LeaseToken, QueueId, Timestamp};
use naven_core::DeadReason;
use tokio::runtime::{Builder, Runtime};

use super::clock::ManualClock;
use super::random::SeededRandom;
use crate::clock::{Clock, Random};
use crate::engine::{Budget, Engine, Tended};
use crate::queue::{QueueRef, QueueSettings, StreamChanges};
use crate::read::{DeliveryView, EventView, Page, QueueView, Read};
use crate::reply::{Claimed, Grant, OpError, OpReply, Settled};
use crate::txn::{
    AdminOp, Append, Body, Claim, ClaimHold, DeleteOp, Due, Form, GroupOp, OpKind, Proof, Settle, SettleStep,
    Target, Txn,
};

/// A fresh engine, and what must live as long as it does: a folder, a disk.
pub struct Fresh {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// Dropped after the engine is closed.
    pub guard: Box<dyn Any + Send>,
}

impl Fresh {
    /// An engine that needs nothing else.
    pub fn new(engine: impl Engine) -> Self {
        Self { engine: Arc::new(engine), guard: Box::new(()) }
    }

    /// The same with something that must outlive it.
    #[must_use]
    pub fn with_guard(self, guard: impl Any + Send) -> Self {
        Self { guard: Box::new(guard), ..self }
    }
}

/// An engine and the world around it.
pub struct Bench {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    runtime: Runtime,
    _guard: Box<dyn Any + Send>,
}

/// Runs one case on a fresh engine, and closes that.
pub fn run(factory: impl Fn(Arc<dyn Clock>, Arc<dyn Random>) -> Fresh, case: fn(&Bench)) {
    let clock = Arc::new(ManualClock::default());
    let Fresh { engine, guard } = factory(clock.clone(), Arc::new(SeededRandom::new(7)));
    let bench = Bench { engine, clock, runtime: runtime(), _guard: guard };
    case(&bench);
    bench.block_on(bench.engine.close());
}

pub(super) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime without I/O needs nothing")
}

/// A body of this JSON text.
pub fn json(text: &str) -> Body {
    Body { form: Form::Json, bytes: Bytes::copy_from_slice(text.as_bytes()) }
}

/// A queue, by its name.
pub fn named(name: &str) -> QueueRef {
    QueueRef::Name(name.to_owned())
}

/// A failure without a text or a delay of its own.
pub fn fail() -> SettleStep {
    SettleStep::Fail { error: None, delay: None }
}

/// A failure with this text, to be retried in so many seconds.
pub fn fail_in(error: &str, seconds: u32) -> SettleStep {
    let delay = seconds.try_into().expect("tests stay within the bounds of delays");
    SettleStep::Fail { error: Some(ErrorText::new(error)), delay: Some(delay) }
}

/// A failure for good.
pub fn fatal() -> SettleStep {
    SettleStep::Fatal { error: Some(ErrorText::new("no retry helps")) }
}

/// The holder gives it back.
pub fn release() -> SettleStep {
    SettleStep::Release { error: None }
}

/// A heartbeat for so many seconds.
pub fn beat(seconds: u32) -> SettleStep {
    SettleStep::Extend(Some(seconds.try_into().expect("tests stay within the bounds of leases")))
}

/// Publishing `text` to a queue.
pub fn append(queue: &str, text: &str, due: Due) -> OpKind {
    let to = Target::Queue(named(queue));
    OpKind::Append(Append {
        to,
        body: json(text),
        due,
        headers: Vec::new(),
        max_attempts: None,
        dedupe: None,
        expires_at: None,
        trace: None,
        entry: None,
    })
}

/// Claiming up to `max` events for so many seconds.
pub fn claim(queue: &str, max: u32, seconds: u32) -> Claim {
    let hold = ClaimHold::Lease(Some(seconds.try_into().expect("tests stay within the bounds of leases")));
    Claim { queue: named(queue), hold, max, max_bytes: usize::MAX, consumer: "w1".parse().ok() }
}

/// The token's bearer says this of an event.
pub fn settle(event: EventId, token: &LeaseToken, step: SettleStep) -> OpKind {
    OpKind::Settle(Settle { event, proof: Proof::Token(token.clone()), step })
}

/// Making a queue.
pub fn create(name: &str, settings: QueueSettings) -> OpKind {
    OpKind::Group(GroupOp::Create {
        name: name.to_owned(),
        settings: Box::new(settings),
        on: None,
        stream: StreamChanges::default(),
    })
}

/// Deleting a queue.
pub fn delete(name: &str, force: bool) -> OpKind {
    OpKind::Delete(DeleteOp::Queue {
        queue: named(name),
        force,
        reason: DeadReason::QueueDeleted,
        revision: None,
    })
}

/// Redriving an event in its only queue.
pub fn redrive(event: EventId) -> OpKind {
    OpKind::Admin(AdminOp::Redrive { event, queue: None, reset_attempts: true })
}

/// The token of a lease.
pub fn token(grant: &Grant) -> &LeaseToken {
    grant.token.as_ref().expect("a lease has a token")
}

impl Bench {
    /// An engine that a test made itself, on the clock that it was given.
    pub fn of(Fresh { engine, guard }: Fresh, clock: Arc<ManualClock>) -> Self {
        Self { engine, clock, runtime: runtime(), _guard: guard }
    }

    /// Waits for `future`.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// The wall clock now.
    pub fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    /// Time goes on.
    pub fn after_ms(&self, ms: i64) {
        self.clock.advance_ms(ms);
    }

    /// Time goes on.
    pub fn after(&self, seconds: i64) {
        self.after_ms(seconds * 1_000);
    }

    /// A transaction's answers.
    pub fn submit(&self, txn: Txn) -> Vec<Result<OpReply, OpError>> {
        let asked = txn.ops.len();
        let mut replies = self.block_on(self.engine.submit(vec![txn]));
        assert_eq!(replies.len(), 1, "one answer for one transaction");
        let ops = replies.remove(0).ops;
        assert_eq!(ops.len(), asked, "one answer for each op");
        ops
    }

    /// The answer to a transaction of one op.
    ///
    /// # Errors
    /// What the engine answers.
    pub fn ask(&self, kind: OpKind) -> Result<OpReply, OpError> {
        self.submit(Txn::one(kind)).remove(0)
    }

    /// A new queue without jitter in its backoff, whatever else it sets.
    #[track_caller]
    pub fn queue_with(&self, name: &str, set: impl FnOnce(&mut QueueSettings)) -> QueueId {
        let mut settings = QueueSettings::default();
        settings.backoff.jitter_milli = 0;
        set(&mut settings);
        match self.ask(create(name, settings)) {
            Ok(OpReply::Queue(view)) => view.id,
            other => panic!("creating {name}: {other:?}"),
        }
    }

    /// A new queue.
    #[track_caller]
    pub fn queue(&self, name: &str) -> QueueId {
        self.queue_with(name, |_| {})
    }

    /// Publishes `{"n":n}`, due as said.
    #[track_caller]
    pub fn publish_due(&self, queue: &str, n: u32, due: Due) -> EventView {
        match self.ask(append(queue, &format!("{{\"n\":{n}}}"), due)) {
            Ok(OpReply::Event(view)) => *view,
            other => panic!("publishing to {queue}: {other:?}"),
        }
    }

    /// Publishes `{"n":n}`, due now.
    #[track_caller]
    pub fn publish(&self, queue: &str, n: u32) -> EventId {
        self.publish_due(queue, n, Due::Now).id
    }

    /// So many of them, numbered from 0.
    #[track_caller]
    pub fn publish_some(&self, queue: &str, count: u32) -> Vec<EventId> {
        (0..count).map(|n| self.publish(queue, n)).collect()
    }

    /// A claim's whole answer.
    #[track_caller]
    pub fn claimed(&self, claim: Claim) -> Claimed {
        match self.ask(OpKind::Claim(claim)) {
            Ok(OpReply::Claimed(claimed)) => claimed,
            other => panic!("claiming: {other:?}"),
        }
    }

    /// Up to `max` leases of 30 s.
    #[track_caller]
    pub fn claim_up_to(&self, queue: &str, max: u32) -> Vec<Grant> {
        self.claimed(claim(queue, max, 30)).leases
    }

    /// One lease of 30 s, if something is due.
    #[track_caller]
    pub fn try_claim(&self, queue: &str) -> Option<Grant> {
        self.claim_up_to(queue, 1).pop()
    }

    /// One lease of 30 s.
    #[track_caller]
    pub fn claim(&self, queue: &str) -> Grant {
        self.try_claim(queue).expect("something is due")
    }

    /// What the grant's holder says, under its own token.
    ///
    /// # Errors
    /// What the engine answers.
    #[track_caller]
    pub fn say(&self, grant: &Grant, step: SettleStep) -> Result<Settled, OpError> {
        self.say_under(grant.event, token(grant), step)
    }

    /// The same, which must be taken.
    #[track_caller]
    pub fn must(&self, grant: &Grant, step: SettleStep) -> Settled {
        self.say(grant, step).expect("the holder's word is taken")
    }

    /// What the bearer of `token` says of `event`.
    ///
    /// # Errors
    /// What the engine answers.
    #[track_caller]
    pub fn say_under(
        &self,
        event: EventId,
        token: &LeaseToken,
        step: SettleStep,
    ) -> Result<Settled, OpError> {
        match self.ask(settle(event, token, step))? {
            OpReply::Settled(settled) => Ok(settled),
            other => panic!("settling: {other:?}"),
        }
    }

    /// A read's page.
    ///
    /// # Errors
    /// What the engine answers.
    pub fn read(&self, read: Read) -> Result<Page, OpError> {
        self.block_on(self.engine.read(read))
    }

    /// An event with its payload.
    #[track_caller]
    pub fn event(&self, event: EventId) -> EventView {
        match self.read(Read::Event { event, payload: true }) {
            Ok(Page::Event(view)) => *view,
            other => panic!("reading {event}: {other:?}"),
        }
    }

    /// The one delivery of an event.
    #[track_caller]
    pub fn delivery(&self, event: EventId) -> DeliveryView {
        let mut deliveries = self.event(event).deliveries;
        assert_eq!(deliveries.len(), 1, "the event is in one queue");
        deliveries.remove(0)
    }

    /// A queue.
    #[track_caller]
    pub fn view(&self, queue: &str) -> QueueView {
        match self.read(Read::Queue(named(queue))) {
            Ok(Page::Queue(view)) => *view,
            other => panic!("reading {queue}: {other:?}"),
        }
    }

    /// All dead letters of a queue, page by page.
    #[track_caller]
    pub fn dead_letters(&self, queue: &QueueRef, limit: u32) -> Vec<EventView> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let read = Read::DeadLetters { queue: queue.clone(), cursor, limit, payload: true };
            match self.read(read) {
                Ok(Page::DeadLetters(items, next)) => {
                    assert!(items.len() <= limit as usize, "a page keeps to its limit");
                    all.extend(items);
                    cursor = next;
                }
                other => panic!("dead letters: {other:?}"),
            }
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// Does all that is due.
    #[track_caller]
    pub fn tend(&self) -> Tended {
        self.block_on(self.engine.tend(Budget { rows: 10_000 })).expect("the engine runs")
    }
}
