//! Waits in all their endings, on a clock that goes on by itself.
//!
//! Lives here: a bench (the model engine, as slow as a test wants it) and the cases that sockets
//! cannot time. Not here: waits over HTTP (`tests/http`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use naven_api::KeyId;
use naven_core::DeadReason;
use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::model::Model;
use naven_store::queue::{QueueRef, QueueSettings, StreamChanges};
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, OpReply, TxnReply};
use naven_store::txn::{Append, Body, DeleteOp, Due, Form, GroupOp, IdempotencySlot, OpKind, Target, Txn};
use naven_store::{BoxFuture, Budget, Caps, Engine, Health, Hints, Tended, WaitSet};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Ended, Undelivered, WaitLimits, Waits, Want};
use crate::failure::Failure;

/// What became of a lease.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LeaseLeft {
    /// Somebody has it.
    Held,
    /// It was given back, and the attempt was not counted.
    GivenBack,
}

/// The model, with a pause before each answer.
struct Slow {
    inner: Model,
    pause_ms: AtomicU64,
    submitted: Mutex<Vec<usize>>,
}

/// One queue `q`, and those who wait on it.
pub(crate) struct Bench {
    engine: Arc<Slow>,
    waits: Arc<Waits>,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let inner = Model::new(clock, Arc::new(SeededRandom::new(3)));
        let engine = Arc::new(Slow { inner, pause_ms: AtomicU64::new(0), submitted: Mutex::default() });
        let for_waits: Arc<dyn Engine> = engine.clone();
        let waits = Waits::new(for_waits, TaskTracker::new(), WaitLimits { per_node: 100, per_key: 100 });
        tokio::spawn(Arc::clone(&waits).listen(CancellationToken::new()));
        let bench = Self { engine, waits };
        let settings = Box::new(QueueSettings::default());
        bench
            .apply(OpKind::Group(GroupOp::Create {
                name: "q".to_owned(),
                settings,
                on: None,
                stream: StreamChanges::default(),
            }))
            .await;
        // Lets the listener begin to listen.
        tokio::task::yield_now().await;
        bench
    }

    async fn apply(&self, kind: OpKind) {
        let reply = self.engine.inner.submit(vec![Txn::one(kind)]).await;
        assert!(reply[0].ops[0].is_ok(), "{reply:?}");
    }

    pub(crate) async fn publish(&self) {
        self.apply(OpKind::Append(Append {
            dedupe: None,
            expires_at: None,
            trace: None,
            to: Target::Queue(named()),
            body: Body { form: Form::Json, bytes: Bytes::from_static(b"{}") },
            due: Due::Now,
            headers: Vec::new(),
            max_attempts: None,
            entry: None,
        }))
        .await;
    }

    fn slow(&self, pause_ms: u64) {
        self.engine.pause_ms.store(pause_ms, Ordering::Relaxed);
    }

    async fn claim(&self, wait_ms: u64) -> Result<Ended, Failure> {
        self.claim_in(None, wait_ms).await
    }

    async fn claim_in(&self, slot: Option<IdempotencySlot>, wait_ms: u64) -> Result<Ended, Failure> {
        let want = Want { queue: named(), lease: None, max: 1, consumer: None, slot };
        self.waits.claim(want, Duration::from_millis(wait_ms), KeyId::from_bits(1)).await
    }

    pub(crate) async fn claim_now(&self) -> Undelivered {
        match self.claim(0).await {
            Ok(Ended::Leased(leases)) => leases,
            other => panic!("a lease was due: {other:?}"),
        }
    }

    /// What the one event of the queue came to.
    pub(crate) async fn lease_left(&self) -> LeaseLeft {
        // Giving back is a task of its own.
        tokio::time::sleep(Duration::from_millis(1)).await;
        match self.claim(0).await {
            Ok(Ended::Nothing) => LeaseLeft::Held,
            Ok(Ended::Leased(mut leases)) => {
                let grant = leases.take_grants().remove(0);
                assert_eq!((grant.attempts, grant.fence), (1, 2), "the attempt is not counted, the fence is");
                leases.delivered();
                LeaseLeft::GivenBack
            }
            other => panic!("{other:?}"),
        }
    }
}

fn named() -> QueueRef {
    QueueRef::Name("q".to_owned())
}

impl Engine for Slow {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            self.submitted.lock().unwrap().push(txns.len());
            let replies = self.inner.submit(txns).await;
            let pause_ms = self.pause_ms.load(Ordering::Relaxed);
            if pause_ms > 0 {
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            }
            replies
        })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        self.inner.read(read)
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.inner.hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.inner.tend(budget)
    }

    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.inner.health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

/// Lets everything that can run do so, for a moment that no timer here is shorter than.
async fn settle() {
    tokio::time::sleep(Duration::from_micros(100)).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_nobody_takes_goes_back() {
    let bench = Bench::new().await;
    bench.publish().await;
    drop(bench.claim_now().await);
    assert_eq!(bench.lease_left().await, LeaseLeft::GivenBack);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_claims_lease_that_nobody_takes_stays() {
    let bench = Bench::new().await;
    bench.publish().await;
    let slot = IdempotencySlot {
        scope: Bytes::from_static(b"s"),
        key: Bytes::from_static(b"k"),
        fingerprint: [0; 32],
    };
    for replayed in [false, true] {
        let ended = bench.claim_in(Some(slot.clone()), 10_000).await;
        let Ok(Ended::Leased(mut leases)) = ended else { panic!("{ended:?}") };
        assert_eq!((leases.are_replayed(), leases.take_grants().len()), (replayed, 1));
        if !replayed {
            leases.delivered();
        }
    }
    assert_eq!(bench.lease_left().await, LeaseLeft::Held, "somebody is at work under the first answer");
}

#[tokio::test(start_paused = true)]
async fn what_a_repetition_was_given_the_first_answer_does_not_give_back() {
    let bench = Bench::new().await;
    bench.publish().await;
    let slot = IdempotencySlot {
        scope: Bytes::from_static(b"s"),
        key: Bytes::from_static(b"k"),
        fingerprint: [0; 32],
    };
    // It is still being written when its client has given up and asks again.
    let first = bench.claim_in(Some(slot.clone()), 10_000).await;
    let again = bench.claim_in(Some(slot), 10_000).await;
    let Ok(Ended::Leased(mut leases)) = again else { panic!("{again:?}") };
    assert!(leases.are_replayed());
    leases.delivered();
    drop(first);
    assert_eq!(bench.lease_left().await, LeaseLeft::Held);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_leaves_its_line_at_once() {
    let bench = Bench::new().await;
    let waiting = std::pin::pin!(bench.claim(10_000));
    assert!(futures_util::poll!(waiting).is_pending());
    assert_eq!(bench.waits.counts().claims, 1);
    {
        let dropped = Box::pin(bench.claim(10_000));
        tokio::pin!(dropped);
        assert!(futures_util::poll!(dropped.as_mut()).is_pending());
        assert_eq!(bench.waits.counts().claims, 2);
    }
    assert_eq!(bench.waits.counts().claims, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_handed_to_a_wait_that_is_dropped_unread_goes_back() {
    let bench = Bench::new().await;
    let mut waiting = Box::pin(bench.claim(10_000));
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    bench.publish().await;
    settle().await;
    // The lease lies in the channel; its reader never wakes up.
    drop(waiting);
    assert_eq!(bench.lease_left().await, LeaseLeft::GivenBack);
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_across_the_deadline_is_not_lost() {
    let bench = Bench::new().await;
    let began = Instant::now();
    let publish_late = async {
        tokio::time::sleep(Duration::from_millis(900)).await;
        bench.slow(500);
        bench.publish().await;
    };
    let (ended, ()) = tokio::join!(bench.claim(1_200), publish_late);
    let Ok(Ended::Leased(mut leases)) = ended else { panic!("{ended:?}") };
    leases.delivered();
    assert_eq!(began.elapsed().as_millis(), 1_400, "asked at 900, answered 500 later, past the deadline");
}

#[tokio::test(start_paused = true)]
async fn an_empty_look_across_the_deadline_ends_the_wait() {
    let bench = Bench::new().await;
    let began = Instant::now();
    let slow_later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        bench.slow(400);
    };
    // The look once a second begins at 1,000 and ends at 1,400.
    let (ended, ()) = tokio::join!(bench.claim(1_200), slow_later);
    assert!(matches!(ended, Ok(Ended::Nothing)), "{ended:?}");
    assert_eq!(began.elapsed().as_millis(), 1_400);
    assert_eq!(bench.waits.counts().claims, 0);
}

#[tokio::test(start_paused = true)]
async fn a_publish_between_the_try_and_the_wait_wakes() {
    let bench = Bench::new().await;
    bench.slow(50);
    let began = Instant::now();
    let publish_between = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        // The try has found nothing, and its answer is still on its way.
        bench.publish().await;
    };
    let (ended, ()) = tokio::join!(bench.claim(5_000), publish_between);
    assert!(matches!(ended, Ok(Ended::Leased(_))), "{ended:?}");
    assert_eq!(began.elapsed().as_millis(), 100, "one try and one look, not the look once a second");
}

#[tokio::test(start_paused = true)]
async fn fronts_double_while_all_are_served() {
    let bench = Bench::new().await;
    let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(bench.claim(50_000))).collect();
    for one in &mut waiting {
        assert!(futures_util::poll!(one.as_mut()).is_pending());
    }
    settle().await;
    bench.engine.submitted.lock().unwrap().clear();
    bench.slow(10);
    for _ in 0..10 {
        bench.publish().await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(
        *bench.engine.submitted.lock().unwrap(),
        [1, 2, 4, 8, 1],
        "7 served, then 3 of 8; one more look for the hints meanwhile"
    );
    assert_eq!(bench.waits.counts().claims, 10 + 10, "those served have not been polled yet");
    for (at, one) in waiting.iter_mut().enumerate() {
        assert_eq!(futures_util::poll!(one.as_mut()).is_ready(), at < 10, "first come, first served: {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_by_name_survives_its_queue_where_a_new_one_bears_the_name() {
    let bench = Bench::new().await;
    let replace = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        bench
            .apply(OpKind::Delete(DeleteOp::Queue {
                queue: named(),
                force: true,
                reason: DeadReason::QueueDeleted,
                revision: None,
            }))
            .await;
        let settings = Box::new(QueueSettings::default());
        bench
            .apply(OpKind::Group(GroupOp::Create {
                name: "q".to_owned(),
                settings,
                on: None,
                stream: StreamChanges::default(),
            }))
            .await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        bench.publish().await;
    };
    let (ended, ()) = tokio::join!(bench.claim(5_000), replace);
    assert!(matches!(ended, Ok(Ended::Leased(_))), "{ended:?}");
    assert_eq!(bench.waits.counts().queues, 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_waits_and_refuses_new_ones() {
    let bench = Bench::new().await;
    let drain = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        bench.waits.drain();
    };
    let (ended, ()) = tokio::join!(bench.claim(5_000), drain);
    assert!(matches!(ended, Ok(Ended::Closing)), "{ended:?}");
    let refused = bench.claim(0).await;
    assert!(refused.is_err_and(|failure| failure.code.code() == 50_302));
    let replies = bench.engine.submit(vec![Txn::one(OpKind::Read(Read::Keys))]).await;
    assert!(matches!(replies[0].ops[0], Ok(OpReply::Page(_))), "the engine itself goes on");
}
