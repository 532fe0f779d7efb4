//! Orders of the log's threads: thousands, drawn at random and with few switches (`ci/shuttle.sh`).
//!
//! Lives here: that everybody who waits is told exactly once, of what is true, and that nobody waits for ever,
//! whatever the order. A thread that waits for what nobody will do is found as a deadlock. Not here: what a
//! power cut leaves in each of them (`tests/log_crash`).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner, thread};

use super::append::Log;
use super::batch::{Batch, BatchKind, FIRST_LSN, Lsn};
use super::commit::{Commit, CommitFailed, Committed, Then, WAITING_TXNS_MAX};
use crate::embedded::disk::{Disk, Fault, Flaw, Lasts, MemDisk, Site};
use crate::embedded::folder::{Folder, NewStore};
use crate::embedded::meta::{Secret, StoreId};

/// Orders of each kind that a test tries, unless its time is over before.
const ORDERS: usize = 10_000;
/// Time for each kind.
const TIME: Duration = Duration::from_secs(3);
/// Switches of an order with few.
const SWITCHES: usize = 3;
const SYNC: Site = Site("log.sync");
const SEGMENT: u64 = 64 << 10;

/// Tries `scene` in many orders.
fn in_any_order(scene: fn()) {
    let mut config = Config::new();
    config.max_time = Some(TIME);
    config.max_steps = MaxSteps::FailAfter(200_000);
    let drawn = Runner::new(RandomScheduler::new(ORDERS), config.clone()).run(scene);
    let few = Runner::new(PctScheduler::new(SWITCHES, ORDERS), config).run(scene);
    println!("{drawn} orders drawn, {few} with at most {SWITCHES} switches");
    assert!(drawn + few > 500, "too few to show anything");
}

/// A log on its threads, and who was told what of it.
struct Scene {
    disk: Arc<MemDisk>,
    commit: Arc<Commit>,
    told: Arc<Told>,
    next: Lsn,
}

#[derive(Default)]
struct Told {
    asked: AtomicUsize,
    answers: Mutex<Vec<Committed>>,
    notices: AtomicUsize,
    durable_at_least: AtomicU64,
}

impl Scene {
    /// A new store on a disk that `prepare` does something to once it is made.
    fn new(prepare: impl FnOnce(&MemDisk)) -> Self {
        let disk = Arc::new(MemDisk::new());
        let new = NewStore { store: StoreId([7; 16]), secret: Secret([1; 32]), segment_bytes: Some(SEGMENT) };
        let meta = Folder::open(&*disk, || new).expect("an empty disk takes a store").meta;
        let on: Arc<dyn Disk> = disk.clone();
        let (log, recovered) = Log::open(on, &meta, FIRST_LSN, &mut |_, _| Ok(())).expect("it is new");
        prepare(&disk);
        let told = Arc::new(Told::default());
        let noted = Arc::clone(&told);
        let on_failure = move |_: &CommitFailed| {
            noted.notices.fetch_add(1, Ordering::SeqCst);
        };
        let commit = Arc::new(Commit::start(log, Box::new(on_failure)).expect("threads start"));
        Self { disk, commit, told, next: recovered.next_lsn }
    }

    fn batch(&mut self, count: u32, bytes: usize) -> Batch {
        let (wall, lease) = (Timestamp::from_ms(1), LeaseTime::from_ms(2));
        let batch =
            Batch { kind: BatchKind::Data, lsn: self.next, count, wall, lease, payload: vec![5; bytes] };
        self.next = batch.next_lsn();
        batch
    }

    fn close(&self) -> Result<(), CommitFailed> {
        self.commit.close(Timestamp::from_ms(3), LeaseTime::from_ms(4))
    }

    /// Everybody was told once: `durable` of them, if that is known, that all is well.
    fn all_told(&self, is_well: bool) {
        let answers = self.told.answers.lock().expect("nobody panicked");
        assert_eq!(answers.len(), self.told.asked.load(Ordering::SeqCst), "{answers:?}");
        let notices = self.told.notices.load(Ordering::SeqCst);
        assert_eq!((notices, self.commit.failure().is_some()), (usize::from(!is_well), !is_well));
    }
}

impl Told {
    /// Notes an answer about `lsn`. Success is only said after a sync that began later than now, where `of` is a
    /// batch that is pushed now; and never after a failure.
    fn then(self: &Arc<Self>, disk: &Arc<MemDisk>, commit: &Arc<Commit>, lsn: Lsn, is_pushed: bool) -> Then {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let (told, disk) = (Arc::clone(self), Arc::clone(disk));
        let upto = commit.durable_upto();
        let before = syncs(&disk);
        Box::new(move |committed| {
            match committed {
                Committed::Durable => {
                    assert!(upto.lsn() >= lsn, "{lsn} is said to be durable, as all up to {}", upto.lsn());
                    assert!(!is_pushed || syncs(&disk) > before, "{lsn} was answered before its sync");
                    told.durable_at_least.fetch_max(lsn, Ordering::SeqCst);
                }
                Committed::Unknown | Committed::NotWritten => {}
            }
            told.answers.lock().expect("nobody panicked").push(committed);
        })
    }
}

fn syncs(disk: &MemDisk) -> u64 {
    disk.sites().get(&SYNC).copied().unwrap_or(0)
}

impl Scene {
    /// Pushes these batches from a thread of their own, while another one asks for their durability.
    fn push_and_ask(&mut self, batches: Vec<Batch>) -> [thread::JoinHandle<()>; 2] {
        let lsns: Vec<Lsn> = batches.iter().map(|batch| batch.lsn).collect();
        let (disk, commit, told) = (self.disk.clone(), self.commit.clone(), self.told.clone());
        let pusher = thread::spawn(move || {
            for batch in batches {
                let then = told.then(&disk, &commit, batch.lsn, true);
                commit.push(batch, then);
            }
        });
        let (disk, commit, told) = (self.disk.clone(), self.commit.clone(), self.told.clone());
        let asker = thread::spawn(move || {
            for lsn in lsns {
                let then = told.then(&disk, &commit, lsn, false);
                commit.when_durable(lsn, then);
            }
        });
        [pusher, asker]
    }
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
}

#[test]
fn in_any_order_of_its_threads_the_log_tells_everybody_once_after_the_sync() {
    in_any_order(|| {
        let mut scene = Scene::new(|_| {});
        let batches = (0..3).map(|_| scene.batch(2, 100)).collect();
        join(scene.push_and_ask(batches));
        scene.close().expect("the disk is well");
        scene.all_told(true);
        let answers = scene.told.answers.lock().expect("nobody panicked").clone();
        assert!(answers.iter().all(|answer| *answer == Committed::Durable), "{answers:?}");
        assert_eq!(scene.commit.durable_lsn() + 1, scene.next);
    });
}

#[test]
fn in_any_order_of_its_threads_who_waits_for_an_answer_gets_it_without_a_close() {
    in_any_order(|| {
        let mut scene = Scene::new(|_| {});
        // More than may wait, so that pushing waits too.
        let many = u32::try_from(WAITING_TXNS_MAX + 1).expect("it is small");
        let batches: Vec<Batch> = (0..3).map(|_| scene.batch(many, 10)).collect();
        let last = batches.last().expect("there are three").lsn;
        let commit = scene.commit.clone();
        let (answered, answers) = shuttle::sync::mpsc::channel();
        let answer_to = |nth: usize| -> Then {
            let answered = answered.clone();
            Box::new(move |committed| answered.send((nth, committed)).expect("it is listened to"))
        };
        commit.when_durable(last, answer_to(3));
        for (nth, batch) in batches.into_iter().enumerate() {
            commit.push(batch, answer_to(nth));
        }
        let mut told: Vec<usize> = (0..4).map(|_| answers.recv().expect("everybody is told").0).collect();
        told.sort_unstable();
        assert_eq!(told, [0, 1, 2, 3]);
        scene.close().expect("the disk is well");
    });
}

#[test]
fn in_any_order_of_its_threads_a_closing_log_tells_everybody_once() {
    in_any_order(|| {
        let mut scene = Scene::new(|_| {});
        let batches = (0..3).map(|_| scene.batch(2, 100)).collect();
        let threads = scene.push_and_ask(batches);
        scene.close().expect("the disk is well");
        join(threads);
        scene.all_told(true);
        let durable = scene.told.durable_at_least.load(Ordering::SeqCst);
        assert!(scene.commit.durable_lsn() >= durable);
    });
}

#[test]
fn in_any_order_of_its_threads_a_failed_sync_is_told_to_all() {
    in_any_order(|| {
        // The second one of this log's.
        let fault = |disk: &MemDisk| {
            let nth = syncs(disk) + 2;
            disk.fail(Fault { site: SYNC, nth, flaw: Flaw::Io, lasts: Lasts::ForGood });
        };
        let mut scene = Scene::new(fault);
        let batches = (0..3).map(|_| scene.batch(1, 100)).collect();
        join(scene.push_and_ask(batches));
        // A seal needs a sync too.
        scene.close().expect_err("the second sync fails");
        scene.all_told(false);
        let later = scene.told.then(&scene.disk, &scene.commit, 1, false);
        scene.commit.when_durable(1, later);
        scene.all_told(false);
        assert_ne!(scene.told.answers.lock().expect("nobody panicked").last(), Some(&Committed::Durable));
    });
}

#[test]
fn in_any_order_of_its_threads_who_waits_to_push_is_let_in_or_told_of_the_end() {
    in_any_order(|| {
        let mut scene = Scene::new(|_| {});
        let many = u32::try_from(WAITING_TXNS_MAX + 1).expect("it is small");
        let batches = (0..3).map(|_| scene.batch(many, 10)).collect();
        let threads = scene.push_and_ask(batches);
        let alarm = scene.commit.alarm();
        let raiser = thread::spawn(move || alarm.raise("a test".to_owned()));
        join(threads.into_iter().chain([raiser]));
        scene.close().expect_err("it was stopped");
        scene.all_told(false);
    });
}

#[test]
fn in_any_order_of_its_threads_a_full_disk_ends_no_wait_for_ever() {
    in_any_order(|| {
        // All that there is are the spares that a new store has.
        let fill = |disk: &MemDisk| {
            let used: usize = disk.names().iter().filter_map(|name| Some(disk.peek(name)?.len())).sum();
            disk.set_capacity(used as u64);
        };
        let mut scene = Scene::new(fill);
        let batches = (0..6).map(|_| scene.batch(1, 50_000)).collect();
        let threads = scene.push_and_ask(batches);
        let (disk, commit) = (scene.disk.clone(), scene.commit.clone());
        let helper = thread::spawn(move || {
            disk.set_capacity(64 * SEGMENT);
            commit.closed().hold_back(false);
        });
        join(threads.into_iter().chain([helper]));
        let closed = scene.close();
        scene.all_told(closed.is_ok());
    });
}
