//! Damage to the cold store's file: found when it is read, and never handed out as a payload.
//!
//! Lives here: flipped bits under a running engine's rows. Not here: the log's damage (`log_crash/`),
//! and real servers on damaged folders (`crates/cli/tests`).

use std::sync::Arc;

use naven_core::{DeadReason, View};
use naven_store::conformance::bench::{append, delete, named, redrive};
use naven_store::conformance::{Bench, ManualClock};
use naven_store::embedded::Pace;
use naven_store::embedded::disk::MemDisk;
use naven_store::embedded::storage_error::StorageError;
use naven_store::queue::QueueRef;
use naven_store::read::{EventFilter, EventRead, Page, Read, ScanBound, Wanted};
use naven_store::reply::OpReply;
use naven_store::txn::{Due, SettleStep};

use crate::script::{open_with, try_open};

/// A store of ten events in its cold file, each with its number as a word in its payload.
fn store() -> (Arc<MemDisk>, Vec<naven_api::EventId>) {
    let disk = Arc::new(MemDisk::new());
    let (bench, engine) = open_with(&disk, &Arc::new(ManualClock::default()), Pace::NEVER);
    bench.queue("mail");
    let publish = |n: usize| {
        let payload = format!("{{\"text\":\"the event of number {n:03}\"}}");
        match bench.ask(append("mail", &payload, Due::Now)) {
            Ok(OpReply::Event(view)) => view.id,
            other => panic!("publishing: {other:?}"),
        }
    };
    let events = (0..10).map(publish).collect();
    engine.make_checkpoint().expect("there is room");
    // A second one, so that the log does not hold the events any more.
    bench.publish("mail", 10);
    engine.make_checkpoint().expect("there is room");
    bench.block_on(bench.engine.close());
    (disk, events)
}

fn flip(disk: &MemDisk, text: &str) {
    let mut bytes = disk.peek("cold.redb").expect("it is there");
    let places: Vec<usize> =
        (0..bytes.len() - text.len()).filter(|&at| bytes[at..].starts_with(text.as_bytes())).collect();
    assert!(!places.is_empty(), "the text is in the file");
    for place in places {
        bytes[place] ^= 4;
    }
    disk.plant("cold.redb", &bytes);
}

fn reopened(disk: &Arc<MemDisk>) -> Bench {
    open_with(disk, &Arc::new(ManualClock::default()), Pace::NEVER).0
}

#[test]
fn a_damaged_event_becomes_a_dead_letter_and_the_others_go_on() {
    let (disk, events) = store();
    flip(&disk, "number 004");
    let bench = reopened(&disk);
    let leases = bench.claim_up_to("mail", 100);
    assert_eq!(leases.len(), 10, "all but the damaged one");
    assert!(leases.iter().all(|grant| grant.event != events[4]));
    for grant in &leases {
        bench.must(grant, SettleStep::Ack);
    }
    let dead = bench.dead_letters(&named("mail"), 10);
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].id, &dead[0].body), (events[4], &None), "without a payload");
    assert_eq!(dead[0].deliveries[0].dead, Some(DeadReason::Damaged));
    // A redrive cannot bring back what the disk has lost.
    assert!(matches!(bench.ask(redrive(events[4])), Ok(OpReply::Event(_))));
    assert!(bench.try_claim("mail").is_none());
    assert_eq!(bench.delivery(events[4]).dead, Some(DeadReason::Damaged));
    // And so it is after a checkpoint and another start.
    drop(bench);
    assert_eq!(reopened(&disk).delivery(events[4]).state, View::Dead);
}

#[test]
fn an_event_that_is_damaged_while_it_is_held_can_still_be_settled() {
    let (disk, events) = store();
    let (bench, engine) = open_with(&disk, &Arc::new(ManualClock::default()), Pace::NEVER);
    let grant = bench.claim("mail");
    assert_eq!(grant.event, events[0]);
    engine.make_checkpoint().expect("there is room");
    bench.block_on(bench.engine.close());
    drop((bench, engine));
    flip(&disk, "number 000");
    let bench = reopened(&disk);
    assert_eq!(bench.event(events[0]).body, None);
    bench.must(&grant, SettleStep::Ack);
    assert_eq!(bench.delivery(events[0]).state, View::Done);
}

#[test]
fn a_damaged_event_is_listed_without_its_payload_and_harms_no_list() {
    let (disk, events) = store();
    flip(&disk, "number 004");
    let bench = reopened(&disk);
    let list = |text: Option<&str>, states: &[View]| {
        let text = text.map(str::to_owned);
        let filter = EventFilter { text, states: states.to_vec(), ..EventFilter::default() };
        let wanted = Wanted::Items { limit: 500, payload: true };
        let bound = ScanBound::default();
        match bench.read(Read::Events(EventRead {
            queue: named("mail"),
            filter,
            cursor: None,
            wanted,
            bound,
        })) {
            Ok(Page::Events(page)) => page.items,
            other => panic!("no list: {other:?}"),
        }
    };
    let all = list(None, &[]);
    assert_eq!(all.len(), 11);
    let damaged = all.iter().find(|item| item.id == events[4]).expect("it is there");
    assert_eq!((&damaged.body, damaged.deliveries[0].state), (&None, View::Ready));
    assert_eq!(list(Some("number"), &[]).len(), 9, "a payload that is lost contains nothing");
    // A claim makes a dead letter of it, which is found by its state.
    assert_eq!(bench.claim_up_to("mail", 100).len(), 10);
    let dead = list(None, &[View::Dead]);
    assert_eq!((dead.len(), dead[0].id, &dead[0].body), (1, events[4], &None));
}

#[test]
fn a_damaged_event_is_among_the_dead_letters_that_a_deleted_queue_left() {
    let (disk, events) = store();
    flip(&disk, "number 004");
    let bench = reopened(&disk);
    let queue = QueueRef::Id(bench.view("mail").id);
    bench.ask(delete("mail", true)).expect("it is forced");
    let left = bench.dead_letters(&queue, 500);
    assert_eq!(left.len(), 11);
    let damaged = left.iter().find(|letter| letter.id == events[4]).expect("it is there");
    assert_eq!(damaged.body, None, "without a payload");
}

#[test]
fn a_file_in_which_rows_may_not_be_found_is_refused_by_name() {
    let (disk, _) = store();
    // Keys that end in 3: entries and events among them.
    let mut bytes = disk.peek("cold.redb").expect("it is there");
    let key = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3];
    let places: Vec<usize> =
        (0..bytes.len() - key.len()).filter(|&at| bytes[at..].starts_with(&key)).collect();
    assert!(!places.is_empty(), "such keys are in the file");
    for place in places {
        bytes[place + 11] ^= 64;
    }
    disk.plant("cold.redb", &bytes);
    let refused = try_open(&disk, &Arc::new(ManualClock::default()), Pace::NEVER).map(|_| ());
    match refused {
        Err(error @ (StorageError::Damage { .. } | StorageError::DamagedRow { .. })) => {
            assert!(error.to_string().contains("'cold.redb' is damaged"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
