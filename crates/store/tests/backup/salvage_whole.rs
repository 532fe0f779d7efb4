//! Saving a data folder that is not damaged loses nothing.
//!
//! Lives here: random scripts whose reads are answered by what was saved. Not here: damage
//! (`salvage.rs`), and a look at every row (`src/embedded/salvage/tests.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use naven_store::conformance::play::Scripts;
use naven_store::conformance::{Fresh, SeededRandom};
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::embedded::salvage::salvage;
use naven_store::embedded::verify::verify;
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::model::Model;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{BoxFuture, Budget, Caps, Clock, Engine, Health, Hints, Random, Tended, WaitSet};
use tokio::sync::watch;

use crate::folder::contents;

const SLOW: Options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(Pace::NEVER) };
const HASTY: Options = Options { checkpoint: Some(Pace { rows: 5, bytes: 1 << 20, age_ms: 0 }), ..SLOW };

/// An engine whose reads are answered by an engine on what was saved of its folder.
struct Saved {
    disk: Arc<MemDisk>,
    options: Options,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    engine: Mutex<Option<Arc<Embedded>>>,
    /// The engine on what was saved; none once something was done since.
    saved: Mutex<Option<Arc<Embedded>>>,
    saves: Arc<AtomicUsize>,
}

impl Saved {
    fn new(
        options: Options,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        saves: Arc<AtomicUsize>,
    ) -> Self {
        let disk = Arc::new(MemDisk::new());
        let engine = Embedded::open(disk.clone(), options, clock.clone(), random.clone());
        let engine = Mutex::new(Some(Arc::new(engine.expect("an empty disk takes a store"))));
        Self { disk, options, clock, random, engine, saved: Mutex::default(), saves }
    }

    fn engine(&self) -> Arc<Embedded> {
        self.engine.lock().unwrap().clone().expect("it is open")
    }

    fn open(&self, disk: Arc<MemDisk>) -> Arc<Embedded> {
        let opened = Embedded::open(disk, self.options, self.clock.clone(), Arc::new(SeededRandom::new(3)));
        Arc::new(opened.expect("the store opens"))
    }

    async fn saved(&self) -> Arc<Embedded> {
        let present = self.saved.lock().unwrap().clone();
        if let Some(saved) = present {
            return saved;
        }
        // A clean stop, so that the clock of leases does not stand still.
        let old = self.engine.lock().unwrap().take().expect("it is open");
        let nth = self.saves.fetch_add(1, Ordering::SeqCst);
        if nth.is_multiple_of(2) {
            old.make_checkpoint().expect("the disk is well");
        }
        old.close().await;
        drop(old);
        let saved = self.open(save(&self.disk));
        let again = Embedded::open(self.disk.clone(), self.options, self.clock.clone(), self.random.clone());
        *self.engine.lock().unwrap() = Some(Arc::new(again.expect("it opens again")));
        *self.saved.lock().unwrap() = Some(saved.clone());
        saved
    }
}

/// What is saved of a whole folder, which must be everything.
fn save(disk: &Arc<MemDisk>) -> Arc<MemDisk> {
    let before = contents(disk);
    let to = Arc::new(MemDisk::new());
    let (from, into): (Arc<dyn Disk>, Arc<dyn Disk>) = (disk.clone(), to.clone());
    let said = salvage(from.clone(), Some(into), &SeededRandom::new(9), &mut |_| {}).expect("it is whole");
    assert_eq!((&said.findings[..], said.lost_log, said.without_effect), (&[][..], None, 0));
    let looked = salvage(from, None, &SeededRandom::new(9), &mut |_| {}).expect("it is whole");
    assert_eq!((looked.found, looked.made), (0, None));
    assert!(contents(disk) == before, "the folder was written to");
    let on: Arc<dyn Disk> = to.clone();
    assert_eq!(verify(on, &mut |_| {}).expect("it is a store").findings, []);
    to
}

impl Engine for Saved {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            self.saved.lock().unwrap().take();
            self.engine().submit(txns).await
        })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        Box::pin(async move { self.saved().await.read(read).await })
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.engine().hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        Box::pin(async move {
            self.saved.lock().unwrap().take();
            self.engine().tend(budget).await
        })
    }

    fn caps(&self) -> Caps {
        self.engine().caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.engine().health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.engine().close().await })
    }
}

#[test]
fn what_is_saved_of_a_whole_folder_answers_random_scripts_as_the_model_does() {
    let saves = Arc::new(AtomicUsize::new(0));
    for options in [SLOW, HASTY] {
        let saved = |clock, random| Fresh::new(Saved::new(options, clock, random, saves.clone()));
        Scripts::from_env(60).play(saved, |clock, random| Fresh::new(Model::new(clock, random)));
    }
    let saves = saves.load(Ordering::SeqCst);
    println!("{saves} folders were saved");
    assert!(saves > 120, "{saves}");
}
