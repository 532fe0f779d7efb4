//! What goes on while the log waits for a sync: nothing gets out that a crash may take back.
//!
//! Lives here: reads, and windows on their way to the cold store. Not here: what a failed sync does to
//! those who wait for their own write (`syncs.rs`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use naven_core::View;
use naven_store::conformance::bench::{append, named};
use naven_store::conformance::{Bench, Fresh, ManualClock, SeededRandom};
use naven_store::embedded::disk::{Fault, Flaw, Lasts, Loss, MemDisk, Replay, Site};
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::read::Read;
use naven_store::txn::{Due, Txn};
use naven_store::{Budget, Engine};

use crate::held_disk::{CountedClock, Gate, HeldDisk};
use crate::script::try_open;

/// An engine with one queue, all of it durable, and a gate in front of its log's syncs.
struct Scene {
    // Dropped first: the engine's threads end only when the gate is open.
    opener: Opener,
    engine: Arc<Embedded>,
    bench: Bench,
    clock: Arc<CountedClock>,
    disk: Arc<MemDisk>,
    gate: Arc<Gate>,
}

/// Opens a gate when it is dropped, by a failed test too.
struct Opener(Arc<Gate>);

impl Drop for Opener {
    fn drop(&mut self) {
        self.0.set_shut(false);
    }
}

/// Begins `call`: the engine has it from here on. True where it is answered at once.
fn begin<T>(call: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) -> bool {
    matches!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
}

impl Scene {
    fn with(pace: Pace) -> Self {
        let (disk, gate) = (Arc::new(MemDisk::recorded()), Arc::new(Gate::default()));
        let held = Arc::new(HeldDisk { disk: Arc::clone(&disk), gate: Arc::clone(&gate) });
        let clock = Arc::new(CountedClock::default());
        let options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(pace) };
        let engine = Embedded::open(held, options, clock.clone(), Arc::new(SeededRandom::new(11)));
        let engine = Arc::new(engine.expect("an empty disk takes a store"));
        let fresh = Fresh { engine: engine.clone(), guard: Box::new(()) };
        let bench = Bench::of(fresh, Arc::clone(&clock.clock));
        bench.queue("mail");
        engine.make_checkpoint().expect("the disk is well");
        Self { opener: Opener(Arc::clone(&gate)), engine, bench, clock, disk, gate }
    }

    /// Waits until everything that the engine has been handed went through its hands.
    fn take_turns(&self) {
        // The first turn may have begun before; the second is over when the third begins.
        for _ in 0..3 {
            let reads = self.clock.reads();
            let mut tended = self.engine.tend(Budget { rows: 0 });
            assert!(!begin(&mut tended), "nothing is answered before the log is synced");
            self.clock.wait_past(reads);
        }
    }

    /// The next sync of the log fails, once it may go on.
    fn fail_the_sync(&self) {
        let site = Site("log.sync");
        let nth = self.disk.sites()[&site] + 1;
        self.disk.fail(Fault { site, nth, lasts: Lasts::Once, flaw: Flaw::Io });
        self.gate.set_shut(false);
    }

    /// What a power cut leaves now.
    fn after_a_power_cut(disk: &MemDisk) -> Bench {
        let recording = disk.recording();
        let mut walk = Replay::new(&recording);
        while walk.advance() {}
        let opened = try_open(&walk.image(Loss::All), &Arc::new(ManualClock::default()), Pace::NEVER);
        opened.expect("the cold store holds nothing that the log has not").0
    }
}

#[test]
fn a_read_shows_nothing_that_a_power_cut_may_take_back() {
    let scene = Scene::with(Pace::NEVER);
    scene.gate.set_shut(true);
    let mut publish = scene.engine.submit(vec![Txn::one(append("mail", "{}", Due::Now))]);
    assert!(!begin(&mut publish));
    scene.gate.wait_for(1);
    let mut read = scene.engine.read(Read::Queue(named("mail")));
    assert!(!begin(&mut read));
    scene.take_turns();
    assert!(!begin(&mut read), "it shows an event that is not durable");
    scene.fail_the_sync();
    assert!(scene.bench.block_on(&mut publish)[0].ops[0].is_err());
    assert!(scene.bench.block_on(&mut read).is_err(), "what it would have shown is lost");
}

#[test]
fn no_window_goes_to_the_cold_store_before_the_log_has_all_of_it() {
    let scene = Scene::with(Pace { rows: 1, bytes: 1 << 20, age_ms: 0 });
    scene.gate.set_shut(true);
    let mut publish = scene.engine.submit(vec![Txn::one(append("mail", "{}", Due::Now))]);
    assert!(!begin(&mut publish));
    scene.gate.wait_for(1);
    scene.take_turns();
    scene.fail_the_sync();
    assert!(scene.bench.block_on(&mut publish)[0].ops[0].is_err());
    drop(publish);
    let Scene { opener, engine, bench, disk, .. } = scene;
    // Its threads do what they were asked, and end.
    drop((opener, bench, engine));
    let bench = Scene::after_a_power_cut(&disk);
    assert_eq!(bench.view("mail").counts.of(View::Ready), 0, "nobody was told of it");
}
