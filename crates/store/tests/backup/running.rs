//! Backups of an engine that serves meanwhile.
//!
//! Lives here: that all answered before the end is in it, and that nobody is kept from anything. Not
//! here: backups that are not whole (`damage.rs`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use naven_api::limits::BACKUP_PIECE_BYTES;
use naven_store::backup::BackupRefused;
use naven_store::conformance::bench::{append, beat, named};
use naven_store::conformance::{Bench, Fresh, ManualClock};
use naven_store::embedded::Pace;
use naven_store::embedded::disk::MemDisk;
use naven_store::read::Read;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{Due, SettleStep, Txn};
use naven_store::{Engine, Health};

use crate::audit::state;
use crate::folder::{Store, restore, scripted, whole};

fn store(steps: usize) -> Store {
    scripted(&Arc::new(MemDisk::new()), steps)
}

#[test]
fn a_restored_store_is_what_was_answered_before_the_last_piece() {
    let mut store = store(150);
    let mut backup = store.backup();
    let (mut bytes, mut states) = (Vec::new(), Vec::new());
    for round in 0.. {
        store.publish(100);
        if let Some(grant) = store.bench.try_claim("mail") {
            store.bench.must(&grant, SettleStep::Ack);
        }
        if round % 3 == 0 {
            store.engine.make_checkpoint().unwrap();
        }
        states.push((store.ids.len(), state(&store.bench, &store.ids)));
        match backup.next_piece().unwrap() {
            Some(piece) => bytes.extend_from_slice(&piece),
            None => break,
        }
    }
    assert!(states.len() > 4, "{} pieces", states.len());
    // The last call found the end; the one before it gave the last piece.
    let (known, expected) = &states[states.len() - 2];
    assert_eq!(state(&store.restored(&bytes), &store.ids[..*known]), *expected);
}

#[test]
fn publishes_and_acks_of_another_thread_are_in_it_up_to_its_end() {
    let mut store = store(40);
    let large = store.publish(3 * BACKUP_PIECE_BYTES);
    store.engine.make_checkpoint().unwrap();
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let worker = {
        let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
        let fresh = Fresh { engine: store.engine.clone(), guard: Box::new(()) };
        let clock = Arc::new(ManualClock::default());
        clock.set(store.bench.wall(), 0);
        std::thread::spawn(move || {
            let bench = Bench::of(fresh, clock);
            while !stop.load(Ordering::Acquire) {
                // Some are longer than a segment.
                let count = if answered.lock().unwrap().len() % 50 == 0 { 30 } else { 1 };
                let payload = format!("{{\"x\":\"{}\"}}", "y".repeat(3_000));
                let ops: Vec<_> = (0..count).map(|_| append("import", &payload, Due::Now)).collect();
                let replies = bench.submit(Txn::all(ops));
                let ids = replies.into_iter().filter_map(|reply| match reply {
                    Ok(OpReply::Event(view)) => Some(view.id),
                    _ => None,
                });
                answered.lock().unwrap().extend(ids);
            }
        })
    };
    let (mut bytes, mut before_last) = (Vec::new(), 0);
    let mut backup = store.backup();
    loop {
        let before = answered.lock().unwrap().len();
        match backup.next_piece().unwrap() {
            Some(piece) => {
                assert!(piece.len() <= BACKUP_PIECE_BYTES);
                bytes.extend_from_slice(&piece);
                before_last = before;
            }
            None => break,
        }
    }
    stop.store(true, Ordering::Release);
    worker.join().unwrap();
    let restored = store.restored(&bytes);
    let ids = answered.lock().unwrap()[..before_last].to_vec();
    println!("{} events while {} bytes were taken", ids.len(), bytes.len());
    for id in ids.into_iter().chain([large]) {
        let found = restored.read(Read::Event { event: id, payload: true });
        assert!(found.is_ok(), "{id} was answered before the last piece: {found:?}");
    }
}

#[test]
fn a_token_of_before_means_nothing_in_the_restored_store() {
    let mut store = store(0);
    store.publish(10);
    let grant = store.bench.claim("mail");
    let restored = store.restored(&whole(store.backup()));
    for step in [beat(5), SettleStep::Ack] {
        assert_eq!(restored.say(&grant, step), Err(OpError::Refused(Refused::Lost)));
    }
    store.bench.must(&grant, SettleStep::Ack);
    restored.after(3_600);
    let again = restored.claim("mail");
    assert_eq!(again.event, grant.event, "the lease ran out, and the event is delivered again");
    restored.must(&again, SettleStep::Ack);
}

#[test]
fn a_backup_of_an_empty_store_is_an_empty_store() {
    let clock = Arc::new(ManualClock::default());
    let (bench, engine) = crate::script::open_with(&Arc::new(MemDisk::new()), &clock, Pace::NEVER);
    let store = Store { bench, engine, ids: Vec::new() };
    let restored = store.restored(&whole(store.backup()));
    assert!(restored.read(Read::Queue(named("mail"))).is_err());
    restored.queue("mail");
}

#[test]
fn a_backup_of_a_restored_store_is_restored_like_the_first() {
    let store = store(120);
    let expected = state(&store.bench, &store.ids);
    let mut bytes = whole(store.backup());
    for _ in 0..3 {
        let disk = Arc::new(MemDisk::new());
        restore(&disk, &bytes).unwrap();
        let clock = Arc::new(ManualClock::default());
        clock.set(store.bench.wall(), 0);
        let (bench, engine) = crate::script::open_with(&disk, &clock, Pace::NEVER);
        let again = Store { bench, engine, ids: store.ids.clone() };
        assert_eq!(state(&again.bench, &again.ids), expected);
        bytes = whole(again.backup());
    }
}

#[test]
fn there_is_one_at_a_time_and_giving_one_up_lets_the_next_begin() {
    let store = store(20);
    let first = store.backup();
    let second = store.bench.block_on(store.engine.backup());
    assert_eq!(second.err(), Some(BackupRefused::Running));
    drop(first);
    whole(store.backup());
    whole(store.backup());
}

#[test]
fn the_log_is_kept_while_a_backup_is_under_way_and_given_back_after_it() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 60);
    let segments = || disk.names().iter().filter(|name| name.ends_with(".seg")).count();
    let roll = |store: &mut Store, times: usize| {
        for _ in 0..times {
            for _ in 0..40 {
                store.publish(3_000);
            }
            store.engine.make_checkpoint().unwrap();
        }
    };
    roll(&mut store, 4);
    let few = segments();
    let mut backup = store.backup();
    backup.next_piece().unwrap();
    roll(&mut store, 4);
    let kept = segments();
    assert!(kept >= few + 4, "{few} segments became {kept}: all are kept");
    let ids = store.ids.clone();
    let mut bytes = Vec::new();
    drop(backup);
    roll(&mut store, 1);
    assert!(segments() <= few + 2, "{} segments are left", segments());
    let (mut backup, mut rolls) = (store.backup(), 8);
    while let Some(piece) = backup.next_piece().unwrap() {
        bytes.extend_from_slice(&piece);
        rolls -= u32::from(rolls > 0);
        if rolls > 0 {
            roll(&mut store, 1);
        }
    }
    let restored = state(&store.restored(&bytes), &ids);
    assert_eq!(restored, state(&store.bench, &ids));
}

#[test]
fn on_a_full_disk_serving_goes_before_the_backup() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 40);
    store.engine.make_checkpoint().unwrap();
    let mut backup = store.backup();
    let mut begun = backup.next_piece().unwrap().unwrap().to_vec();
    let used: usize = disk.names().iter().filter_map(|name| Some(disk.peek(name)?.len())).sum();
    disk.set_capacity(used as u64 + (700 << 10));
    let payload = format!("{{\"x\":\"{}\"}}", "y".repeat(3_000));
    let full = (0..10_000)
        .any(|_| matches!(store.bench.ask(append("mail", &payload, Due::Now)), Err(OpError::Full)));
    assert!(full, "a small disk fills up");
    drop(store.engine.make_checkpoint());
    disk.set_capacity(u64::MAX);
    let ended = loop {
        match backup.next_piece() {
            Ok(Some(piece)) => begun.extend_from_slice(&piece),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    // It was completed from what was still there, or it broke off and says so.
    match ended {
        Ok(()) => drop(store.restored(&begun)),
        Err(why) => assert!(why.contains("begin"), "{why}"),
    }
    assert_eq!(*store.engine.health().borrow(), Health::Well);
    drop(backup);
    // The log looks for room once a second.
    while store.bench.ask(append("mail", "{}", Due::Now)) == Err(OpError::Full) {
        store.bench.after_ms(100);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    store.publish(10);
    whole(store.backup());
}

#[test]
fn an_engine_that_was_closed_begins_none() {
    let store = store(5);
    store.bench.block_on(store.engine.close());
    let refused = store.bench.block_on(store.engine.backup());
    assert!(matches!(refused.err(), Some(BackupRefused::Unavailable(_))));
}
