//! Group commit: who is told what, when, and that nothing succeeds after a failure.
//!
//! Lives here: the log on its own thread. Not here: what it writes (`crash.rs`, `faults.rs`).

use std::sync::{Arc, Mutex, mpsc};

use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_store::embedded::disk::{Fault, Flaw, Lasts, Loss, MemDisk, Replay, Site};
use naven_store::embedded::folder::{Folder, NewStore};
use naven_store::embedded::log::{Batch, BatchKind, Commit, CommitFailed, Committed, FIRST_LSN, Lsn};
use naven_store::embedded::meta::Meta;

use super::script::{SEGMENT, new_store, read};

/// Who was told what, in order.
type Told = Arc<Mutex<Vec<(&'static str, Lsn, Committed)>>>;

struct Bench {
    disk: Arc<MemDisk>,
    meta: Meta,
    commit: Commit,
    told: Told,
    notices: Arc<Mutex<Vec<CommitFailed>>>,
    next: Lsn,
}

impl Bench {
    fn new() -> Self {
        Self::with(NewStore { segment_bytes: Some(SEGMENT), ..new_store() })
    }

    fn with(new: NewStore) -> Self {
        let disk = Arc::new(MemDisk::recorded());
        let meta = Folder::open(&*disk, || new).unwrap().meta;
        let (log, recovered, _) = read(&disk, &meta, FIRST_LSN).unwrap();
        let notices: Arc<Mutex<Vec<CommitFailed>>> = Arc::default();
        let noted = Arc::clone(&notices);
        let on_failure = move |failed: &CommitFailed| noted.lock().unwrap().push(failed.clone());
        let commit = Commit::start(log, Box::new(on_failure)).unwrap();
        Self { disk, meta, commit, told: Told::default(), notices, next: recovered.next_lsn }
    }

    fn batch(&mut self, bytes: usize) -> Batch {
        let (wall, lease) = (Timestamp::from_ms(1), LeaseTime::from_ms(2));
        let payload = vec![self.next as u8; bytes];
        let batch = Batch { kind: BatchKind::Data, lsn: self.next, count: 2, wall, lease, payload };
        self.next = batch.next_lsn();
        batch
    }

    fn note(&self, who: &'static str, lsn: Lsn) -> Box<dyn FnOnce(Committed) + Send> {
        let told = Arc::clone(&self.told);
        Box::new(move |committed| told.lock().unwrap().push((who, lsn, committed)))
    }

    fn push(&mut self, bytes: usize) -> Lsn {
        let batch = self.batch(bytes);
        let lsn = batch.lsn;
        self.commit.push(batch, self.note("writer", lsn));
        lsn
    }

    /// Pushes a batch, and holds the log's thread where it tells of it. What is pushed before the
    /// returned guard is dropped piles up.
    fn hold(&mut self) -> mpsc::Sender<()> {
        let (release, held) = mpsc::channel::<()>();
        let (reached, is_held) = mpsc::channel();
        let batch = self.batch(10);
        let then = Box::new(move |_| {
            reached.send(()).unwrap();
            // Ends, with an error, when the guard is dropped.
            let _ = held.recv();
        });
        self.commit.push(batch, then);
        is_held.recv().unwrap();
        release
    }

    fn close(&self) -> Result<(), CommitFailed> {
        self.commit.close(Timestamp::from_ms(3), LeaseTime::from_ms(4))
    }

    fn told(&self) -> Vec<(&'static str, Lsn, Committed)> {
        self.told.lock().unwrap().clone()
    }

    fn syncs(&self) -> u64 {
        self.disk.sites()[&Site("log.sync")]
    }
}

#[test]
fn what_piles_up_while_the_log_syncs_shares_one_sync_and_all_are_told_in_order() {
    let mut bench = Bench::new();
    let release = bench.hold();
    let before = bench.syncs();
    let mut expected = Vec::new();
    for _ in 0..20 {
        let lsn = bench.push(100);
        // A reader of the first of two transactions waits for the whole batch.
        bench.commit.when_durable(lsn, bench.note("reader", lsn));
        bench.commit.when_durable(lsn - 1, bench.note("earlier", lsn - 1));
        expected.extend([("earlier", lsn - 1), ("writer", lsn), ("reader", lsn)]);
    }
    drop(release);
    bench.close().unwrap();
    // The first "earlier" had nothing to wait for.
    let told: Vec<_> = bench.told().iter().map(|(who, lsn, _)| (*who, *lsn)).collect();
    assert_eq!(told, expected);
    assert!(bench.told().iter().all(|(_, _, committed)| *committed == Committed::Durable));
    assert_eq!(bench.syncs() - before, 2, "one for all, and one for the seal");
    assert!(bench.notices.lock().unwrap().is_empty());
}

#[test]
fn callers_of_the_log_wait_once_too_much_is_waiting_to_be_written() {
    let mut bench = Bench::with(NewStore { segment_bytes: Some(8 << 20), ..new_store() });
    let release = bench.hold();
    let batches: Vec<Batch> = (0..40).map(|_| bench.batch(300_000)).collect();
    let from_ops = bench.disk.ops();
    std::thread::scope(|scope| {
        let (seventh, is_in) = mpsc::channel();
        let commit = &bench.commit;
        scope.spawn(move || {
            for (at, batch) in batches.into_iter().enumerate() {
                if at == 7 {
                    seventh.send(()).unwrap();
                }
                commit.push(batch, Box::new(|_| {}));
            }
        });
        is_in.recv().unwrap();
        drop(release);
    });
    bench.close().unwrap();
    let recording = bench.disk.recording();
    let mut replay = Replay::new(&recording);
    let mut longest = 0;
    while replay.advance() {
        if replay.at() >= from_ops {
            longest = longest.max(replay.next_write().filter(|bytes| *bytes < 8 << 20).unwrap_or(0));
        }
    }
    assert!(longest < (2 << 20) + 2 * 301_000, "{longest} bytes were written at once");
    assert!(longest > 1 << 20, "only {longest} bytes piled up");
}

#[test]
fn after_a_failed_sync_of_the_log_nobody_is_told_of_success_and_the_notice_comes_once() {
    let mut bench = Bench::new();
    bench.push(10);
    let release = bench.hold();
    let lost = bench.push(100);
    let reader = bench.note("reader", lost);
    bench.commit.when_durable(lost, reader);
    let nth = bench.syncs() + 1;
    bench.disk.fail(Fault { site: Site("log.sync"), nth, lasts: Lasts::Once, flaw: Flaw::Io });
    drop(release);
    let failed = bench.close().unwrap_err();
    let later = bench.push(10);
    bench.commit.when_durable(FIRST_LSN, bench.note("late reader", FIRST_LSN));
    let told = bench.told();
    assert_eq!(
        told[1..],
        [
            ("writer", lost, Committed::Unknown),
            ("reader", lost, Committed::Unknown),
            ("writer", later, Committed::NotWritten),
            ("late reader", FIRST_LSN, Committed::Unknown),
        ]
    );
    assert_eq!(*bench.notices.lock().unwrap(), std::slice::from_ref(&failed), "once");
    assert!(failed.why.contains("log.sync"), "{failed}");
}

#[test]
fn a_fault_of_any_write_or_sync_of_the_log_splits_batches_into_durable_unknown_and_not_written() {
    let mut splits = 0;
    for (site, flaw) in [("log.sync", Flaw::Io), ("log.write", Flaw::Short), ("dir.sync", Flaw::Io)] {
        for (nth, lasts) in (1..=20).flat_map(|nth| [(nth, Lasts::Once), (nth, Lasts::ForGood)]) {
            let mut bench = Bench::new();
            let before = bench.disk.sites().get(&Site(site)).copied().unwrap_or(0);
            bench.disk.fail(Fault { site: Site(site), nth: before + nth, lasts, flaw });
            for at in 0..30 {
                let lsn = bench.push(at * 331 % 9_000);
                if at % 3 == 0 {
                    // Not all in one group: a write or sync for every few.
                    let (done, is_done) = mpsc::channel();
                    bench.commit.when_durable(lsn, Box::new(move |committed| done.send(committed).unwrap()));
                    is_done.recv().unwrap();
                }
            }
            let closed = bench.close();
            let mut told = bench.told();
            assert_eq!(told.len(), 30, "each is told once");
            // Where the other thread fails, what waits hears of it before what is being written.
            told.sort_by_key(|(_, lsn, _)| *lsn);
            let rank = |committed: &Committed| match committed {
                Committed::Durable => 0,
                Committed::Unknown => 1,
                Committed::NotWritten => 2,
            };
            assert!(told.iter().map(|(_, _, committed)| rank(committed)).is_sorted(), "{told:?}");
            assert_eq!(closed.is_err(), bench.notices.lock().unwrap().len() == 1);
            splits += usize::from(closed.is_err());
            bench.disk.mend();
            let (_, _, seen) = read(&bench.disk, &bench.meta, FIRST_LSN).unwrap();
            for (_, lsn, committed) in &told {
                let is_there = seen.iter().any(|batch| batch.lsn == *lsn);
                match committed {
                    Committed::Durable => assert!(is_there, "{lsn} is lost"),
                    Committed::Unknown => {}
                    Committed::NotWritten => assert!(!is_there, "{lsn} was written all the same"),
                }
            }
        }
    }
    assert!(splits > 30, "only {splits} faults struck");
}

#[test]
fn every_crash_image_of_a_log_on_its_own_thread_has_all_of_which_anybody_was_told() {
    let mut bench = Bench::new();
    let from_ops = bench.disk.ops();
    let durable: Arc<Mutex<Vec<(usize, Lsn)>>> = Arc::default();
    for at in 0..150 {
        let batch = bench.batch(at * 97 % 3_000);
        let (disk, durable, next) = (Arc::clone(&bench.disk), Arc::clone(&durable), batch.next_lsn());
        let then = move |_: Committed| durable.lock().unwrap().push((disk.ops(), next));
        bench.commit.push(batch, Box::new(then));
    }
    bench.close().unwrap();
    let durable = durable.lock().unwrap().clone();
    let recording = bench.disk.recording();
    let mut replay = Replay::new(&recording);
    let mut images = 0;
    while replay.advance() {
        let told =
            durable.iter().take_while(|(ops, _)| *ops <= replay.at()).last().map_or(1, |(_, next)| *next);
        for seed in 0..6 {
            if replay.at() > from_ops {
                images += 1;
                let image = replay.image(Loss::Torn { piece: [512, 4_096][seed % 2], seed: seed as u64 });
                let (_, recovered, _) = read(&image, &bench.meta, FIRST_LSN).unwrap();
                assert!(recovered.next_lsn >= told, "at {} seed {seed}", replay.at());
            }
        }
    }
    println!("{images} images");
}

#[test]
fn a_closed_log_is_sealed_and_one_that_was_dropped_is_not_though_all_of_it_is_there() {
    for is_closed in [true, false] {
        let mut bench = Bench::new();
        let last = (0..5).map(|_| bench.push(10)).last().unwrap();
        if is_closed {
            bench.close().unwrap();
        }
        let Bench { disk, meta, commit, told, .. } = bench;
        drop(commit);
        assert_eq!(told.lock().unwrap().len(), 5);
        let (mut log, recovered, seen) = read(&disk, &meta, FIRST_LSN).unwrap();
        assert_eq!((recovered.was_sealed, recovered.cut_bytes), (is_closed, 0));
        assert_eq!(seen[4].lsn, last);
        // A sealed log goes on behind its seal.
        let (wall, lease) = (Timestamp::from_ms(5), LeaseTime::from_ms(6));
        let tick =
            Batch { kind: BatchKind::Tick, lsn: log.next_lsn(), count: 0, wall, lease, payload: Vec::new() };
        log.append(&[tick]).unwrap();
        drop(log);
        let (_, recovered, seen) = read(&disk, &meta, FIRST_LSN).unwrap();
        assert_eq!((seen.len(), recovered.was_sealed), (6 + usize::from(is_closed), false));
    }
}

#[test]
fn a_log_without_room_waits_until_segments_come_back_and_ends_when_it_is_closed() {
    for is_freed in [true, false] {
        let mut bench = Bench::new();
        bench.disk.set_capacity(SEGMENT * 4 + 2_000);
        // Until the last segment is begun.
        while bench.commit.closed().bytes_from(FIRST_LSN) < SEGMENT * 3 {
            let (done, is_done) = mpsc::channel();
            let batch = bench.batch(20_000);
            bench.commit.push(batch, Box::new(move |committed| done.send(committed).unwrap()));
            assert_eq!(is_done.recv().unwrap(), Committed::Durable);
        }
        let waiting: Vec<Lsn> = (0..4).map(|_| bench.push(20_000)).collect();
        if is_freed {
            let upto = bench.commit.closed().upto();
            bench.commit.closed().recycle_below(upto).unwrap();
            let (done, is_done) = mpsc::channel();
            bench.commit.when_durable(waiting[3], Box::new(move |committed| done.send(committed).unwrap()));
            assert_eq!(is_done.recv().unwrap(), Committed::Durable);
            bench.close().unwrap();
            assert!(bench.told().iter().all(|(_, _, committed)| *committed == Committed::Durable));
        } else {
            assert!(bench.close().is_err() && bench.commit.is_full());
            let told = bench.told();
            assert_eq!(told.len(), 4);
            assert_eq!(told[3], ("writer", waiting[3], Committed::NotWritten));
        }
    }
}

#[test]
fn a_panic_of_whoever_is_told_is_a_failure_of_the_log() {
    let mut bench = Bench::new();
    let batch = bench.batch(10);
    bench.commit.push(batch, Box::new(|_| panic!("on purpose")));
    assert!(bench.close().unwrap_err().why.contains("panicked"));
    assert_eq!(bench.notices.lock().unwrap().len(), 1);
}
