//! Orders of those who wait: thousands, drawn at random and with few switches (`ci/shuttle.sh`).
//!
//! Lives here: that no wake-up is lost, nobody is served who is gone, and nothing is lost at a deadline, whatever
//! the order. Who waits for what never comes is found as a deadlock, since no time goes on unless a test says so.
//! Not here: how long waits take (`tests.rs`).

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use naven_api::{KeyId, QueueId};
use naven_core::DeadReason;
use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::model::Model;
use naven_store::queue::{QueueRef, QueueSettings, StreamChanges};
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, OpReply, TxnReply};
use naven_store::txn::{Append, Body, DeleteOp, Due, Form, GroupOp, OpKind, Target, Txn};
use naven_store::{BoxFuture, Budget, Caps, Engine, Health, Hints, Tended, WaitSet};
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::sync::let_time;
use super::{Ended, Look, WaitLimits, Waits, WaitsFor, Want};
use crate::failure::Failure;

/// Orders of each kind that a test tries, unless its time is over before.
const ORDERS: usize = 10_000;
/// Time for each kind.
const TIME: Duration = Duration::from_secs(3);
/// Switches of an order with few.
const SWITCHES: usize = 4;

#[derive(Clone, Copy)]
enum Time {
    /// Only notices wake.
    Stands,
    /// Any time may be over at any moment.
    GoesOn,
}

/// Tries `scene` in many orders.
fn in_any_order(time: Time, scene: fn()) {
    let scene = move || {
        let_time(matches!(time, Time::GoesOn));
        scene();
    };
    let mut config = Config::new();
    config.max_time = Some(TIME);
    config.max_steps = MaxSteps::FailAfter(200_000);
    let drawn = Runner::new(RandomScheduler::new(ORDERS), config.clone()).run(scene);
    let few = Runner::new(PctScheduler::new(SWITCHES, ORDERS), config).run(scene);
    println!("{drawn} orders drawn, {few} with at most {SWITCHES} switches");
    assert!(drawn + few > 500, "too few to show anything");
}

/// The model, that lets others have their turn before each answer. Not behind it: an engine gives back by itself what
/// it took for a call that is gone, and this one would not.
struct Yielding(Model);

impl Engine for Yielding {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            yield_now().await;
            self.0.submit(txns).await
        })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        self.0.read(read)
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.0.hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.0.tend(budget)
    }

    fn caps(&self) -> Caps {
        self.0.caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.0.health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }
}

/// One queue, and those who wait on it.
#[derive(Clone)]
struct Scene {
    engine: Arc<Yielding>,
    waits: Arc<Waits>,
    stop: CancellationToken,
    queue: QueueId,
}

fn named() -> QueueRef {
    QueueRef::Name("q".to_owned())
}

impl Scene {
    async fn new() -> Self {
        let model = Model::new(Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(3)));
        let engine = Arc::new(Yielding(model));
        let create = GroupOp::Create {
            name: "q".to_owned(),
            settings: Box::new(QueueSettings::default()),
            on: None,
            stream: StreamChanges::default(),
        };
        let made = engine.0.submit(vec![Txn::one(OpKind::Group(create))]).await.remove(0).ops.remove(0);
        let Ok(OpReply::Queue(view)) = made else { panic!("{made:?}") };
        let for_waits: Arc<dyn Engine> = engine.clone();
        let waits = Waits::new(for_waits, TaskTracker::new(), WaitLimits { per_node: 100, per_key: 100 });
        let stop = CancellationToken::new();
        let mut listening = Box::pin(Arc::clone(&waits).listen(stop.clone()));
        // It listens before anybody waits, as in a server.
        poll_fn(|context| Poll::Ready(assert!(listening.as_mut().poll(context).is_pending()))).await;
        drop(spawn(listening));
        Self { engine, waits, stop, queue: view.id }
    }

    async fn publish(&self) {
        let append = Append {
            dedupe: None,
            expires_at: None,
            trace: None,
            to: Target::Queue(named()),
            body: Body { form: Form::Json, bytes: Bytes::from_static(b"{}") },
            due: Due::Now,
            headers: Vec::new(),
            max_attempts: None,
            entry: None,
        };
        let reply = self.engine.submit(vec![Txn::one(OpKind::Append(append))]).await;
        assert!(reply[0].ops[0].is_ok(), "{reply:?}");
    }

    async fn claim(&self, wait: Duration) -> Result<Ended, Failure> {
        let want = Want { queue: named(), lease: None, max: 1, consumer: None, slot: None };
        self.waits.claim(want, wait, KeyId::from_bits(1)).await
    }

    /// A claim with a long wait, whose lease is taken.
    async fn served(&self) -> bool {
        is_leased(self.claim(Duration::from_secs(60)).await)
    }

    fn claimer(&self) -> JoinHandle<bool> {
        let scene = self.clone();
        spawn(async move { scene.served().await })
    }

    fn publisher(&self, events: usize) -> JoinHandle<()> {
        let scene = self.clone();
        spawn(async move {
            for _ in 0..events {
                scene.publish().await;
            }
        })
    }

    /// A reader that waits until it has one event.
    fn reader(&self) -> JoinHandle<bool> {
        let scene = self.clone();
        spawn(async move {
            let on = WaitsFor { queues: vec![scene.queue], streams: Vec::new() };
            let mut seat = None;
            loop {
                let since = scene.waits.hints_seen();
                if is_leased(scene.claim(Duration::ZERO).await) {
                    return true;
                }
                let taken =
                    || scene.waits.seat(on.clone(), since, KeyId::from_bits(2)).expect("there is room");
                if seat.get_or_insert_with(taken).look(None).await != Look::Now {
                    return false;
                }
            }
        })
    }

    /// Nobody waits any more, and none is counted.
    fn over(&self) {
        assert_eq!(self.waits.counts().claims, 0);
        self.stop.cancel();
    }
}

fn is_leased(ended: Result<Ended, Failure>) -> bool {
    match ended.expect("the engine is well") {
        Ended::Leased(mut leases) => {
            assert_eq!(leases.take_grants().len(), 1);
            leases.delivered();
            true
        }
        Ended::Nothing | Ended::Closing => false,
    }
}

async fn joined<T>(task: JoinHandle<T>) -> T {
    task.await.expect("it does not panic")
}

#[test]
fn in_any_order_every_claim_that_waits_gets_its_event() {
    in_any_order(Time::Stands, || {
        block_on(async {
            let scene = Scene::new().await;
            let (one, other, publisher) = (scene.claimer(), scene.claimer(), scene.publisher(2));
            assert!(joined(one).await && joined(other).await);
            joined(publisher).await;
            scene.over();
        });
    });
}

#[test]
fn in_any_order_an_event_for_a_claim_that_is_gone_goes_to_the_next() {
    in_any_order(Time::Stands, || {
        block_on(async {
            let scene = Scene::new().await;
            let gone = Arc::new(Notify::new());
            let (leaving, hears) = (scene.clone(), Arc::clone(&gone));
            let leaver = spawn(async move {
                tokio::select! {
                    is_served = leaving.served() => is_served,
                    () = hears.notified() => false,
                }
            });
            let (stays, publisher) = (scene.claimer(), scene.publisher(1));
            yield_now().await;
            gone.notify_one();
            if joined(leaver).await {
                scene.publish().await;
            }
            assert!(joined(stays).await, "the event went to nobody");
            joined(publisher).await;
            scene.over();
        });
    });
}

#[test]
fn in_any_order_no_event_is_lost_at_a_deadline() {
    in_any_order(Time::GoesOn, || {
        block_on(async {
            let scene = Scene::new().await;
            let (one, other, publisher) = (scene.claimer(), scene.claimer(), scene.publisher(1));
            let served = usize::from(joined(one).await) + usize::from(joined(other).await);
            joined(publisher).await;
            let left = usize::from(is_leased(scene.claim(Duration::ZERO).await));
            assert_eq!(served + left, 1, "{served} were served, and {left} is left");
            scene.over();
        });
    });
}

#[test]
fn in_any_order_every_reader_that_waits_gets_its_event() {
    in_any_order(Time::Stands, || {
        block_on(async {
            let scene = Scene::new().await;
            let (one, other, publisher) = (scene.reader(), scene.reader(), scene.publisher(2));
            assert!(joined(one).await && joined(other).await);
            joined(publisher).await;
            scene.over();
        });
    });
}

#[test]
fn in_any_order_draining_ends_every_wait() {
    in_any_order(Time::Stands, || {
        block_on(async {
            let scene = Scene::new().await;
            let waiting = scene.clone();
            let claimer = spawn(async move {
                // One that comes too late is refused.
                drop(waiting.claim(Duration::from_secs(60)).await);
            });
            let reading = scene.clone();
            let reader = spawn(async move {
                let on = WaitsFor { queues: vec![reading.queue], streams: Vec::new() };
                let seat = reading.waits.seat(on, 0, KeyId::from_bits(2)).expect("there is room");
                assert_eq!(seat.look(None).await, Look::Closing);
            });
            yield_now().await;
            scene.waits.drain();
            joined(claimer).await;
            joined(reader).await;
            scene.over();
        });
    });
}

#[test]
fn in_any_order_a_claim_ends_when_its_queue_goes_away() {
    in_any_order(Time::Stands, || {
        block_on(async {
            let scene = Scene::new().await;
            let waiting = scene.clone();
            let claimer = spawn(async move { waiting.claim(Duration::from_secs(60)).await.map(drop) });
            let delete = DeleteOp::Queue {
                queue: named(),
                force: true,
                reason: DeadReason::QueueDeleted,
                revision: None,
            };
            let reply = scene.engine.submit(vec![Txn::one(OpKind::Delete(delete))]).await;
            assert!(reply[0].ops[0].is_ok(), "{reply:?}");
            let ended = joined(claimer).await;
            assert_eq!(ended.map_err(|failure| failure.code), Err(naven_api::ErrorCode::QueueNotFound));
            scene.over();
        });
    });
}
