//! Saving what is left of a damaged data folder.
//!
//! Lives here: what single damages cost, and what is said of them. Not here: folders that are whole
//! (`salvage_whole.rs`), and damage in many places (`salvage_anywhere.rs`).

use std::sync::Arc;

use naven_api::{EventId, Timestamp};
use naven_core::{DeadReason, View};
use naven_store::conformance::bench::{fail_in, redrive};
use naven_store::conformance::streams::to_stream;
use naven_store::conformance::{Bench, ManualClock, SeededRandom};
use naven_store::embedded::backup::BackupError;
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::embedded::meta::{Meta, Secret};
use naven_store::embedded::salvage::{Salvaged, salvage};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::verify::verify;
use naven_store::read::Read;
use naven_store::reply::{OpError, Refused};
use naven_store::txn::{From, SettleStep};

use crate::audit::dead_letters;
use crate::folder::{Store, contents, scripted, spoil};

/// Saves what is on `disk` into `to`; the damaged folder stays as it was.
pub(crate) fn try_save(disk: &Arc<MemDisk>, to: &Arc<MemDisk>) -> Result<Salvaged, BackupError> {
    let before = contents(disk);
    let (from, into): (Arc<dyn Disk>, Arc<dyn Disk>) = (disk.clone(), to.clone());
    let said = salvage(from, Some(into), &SeededRandom::new(9), &mut |_| {});
    assert!(contents(disk) == before, "the damaged folder was written to");
    said
}

/// Saves what is on `disk`; the new store opens and passes its own check.
pub(crate) fn saved(disk: &Arc<MemDisk>, wall: Timestamp) -> (Bench, Salvaged) {
    let to = Arc::new(MemDisk::new());
    let said = try_save(disk, &to).expect("something is left");
    let on: Arc<dyn Disk> = to.clone();
    let report = verify(on, &mut |_| {}).unwrap();
    assert_eq!((&report.findings[..], report.store), (&[][..], said.made), "after {said:?}");
    assert_ne!(report.store, Some(said.store), "it has an id of its own");
    let clock = Arc::new(ManualClock::default());
    clock.set(wall, 0);
    (crate::script::open(&to, &clock), said)
}

pub(crate) fn ended(store: Store) -> (Vec<EventId>, Timestamp) {
    let Store { bench, engine, ids } = store;
    let wall = bench.wall();
    drop((bench, engine));
    (ids, wall)
}

fn names(said: &Salvaged, table: &str, what: &str) -> bool {
    let mut findings = said.findings.iter();
    findings.any(|finding| finding.table.as_deref() == Some(table) && finding.what.contains(what))
}

#[test]
fn an_event_whose_content_is_lost_is_a_dead_letter_and_nothing_else_is_missing() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 80);
    let lost = store.publish(777);
    store.publish(100);
    store.engine.make_checkpoint().unwrap();
    let ready = store.bench.view("mail").counts.of(View::Ready);
    let (ids, wall) = ended(store);
    assert!(spoil(&disk, "cold.redb", &format!("\"{}\"", "y".repeat(777))) > 0);
    let (bench, said) = saved(&disk, wall);
    assert!(names(&said, "Body", "content"), "{said:?}");
    assert_eq!(said.streams.iter().map(|stream| stream.damaged).sum::<u64>(), 1, "{said:?}");
    for id in ids.iter().filter(|id| **id != lost) {
        assert!(bench.read(Read::Event { event: *id, payload: true }).is_ok(), "{id}");
    }
    assert_eq!(bench.view("mail").counts.of(View::Ready), ready);
    while let Some(grant) = bench.try_claim("mail") {
        assert_ne!(grant.event, lost, "nothing is made up");
    }
    let dead = dead_letters(&bench, "mail");
    let lost = dead.iter().find(|view| view.id == lost).expect("it is there");
    assert_eq!((lost.deliveries[0].dead, &lost.body), (Some(DeadReason::Damaged), &None));
}

#[test]
fn a_delivery_that_is_lost_is_delivered_again() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    let event = store.publish(10);
    let grant = store.bench.claim("mail");
    store.bench.must(&grant, fail_in("an error to be found", 60));
    store.engine.make_checkpoint().unwrap();
    let (_, wall) = ended(store);
    assert!(spoil(&disk, "cold.redb", "an error to be found") > 0);
    let (bench, said) = saved(&disk, wall);
    assert!(names(&said, "Delivery", "delivered again"), "{said:?}");
    assert_eq!(said.queues.iter().map(|queue| queue.again).sum::<u64>(), 1);
    let again = bench.claim("mail");
    assert_eq!(again.event, event);
    assert!((again.round, again.fence) > (grant.round, grant.fence), "{} {}", again.fence, grant.fence);
    bench.must(&again, SettleStep::Ack);
    assert!(bench.try_claim("mail").is_none());
}

#[test]
fn a_dead_letter_that_is_lost_is_one_again() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    let event = store.publish(10);
    let grant = store.bench.claim("mail");
    let error = Some(naven_api::ErrorText::new("an error to be found"));
    store.bench.must(&grant, SettleStep::Fatal { error });
    store.engine.make_checkpoint().unwrap();
    let (_, wall) = ended(store);
    assert!(spoil(&disk, "cold.redb", "an error to be found") > 0);
    let (bench, said) = saved(&disk, wall);
    assert!(names(&said, "Delivery", "damaged"), "{said:?}");
    assert!(bench.try_claim("mail").is_none());
    let dead = dead_letters(&bench, "mail");
    assert_eq!((dead.len(), dead[0].id, dead[0].deliveries[0].dead), (1, event, Some(DeadReason::Damaged)));
    bench.ask(redrive(event)).expect("an operator sends it again");
    assert_eq!(bench.claim("mail").event, event);
}

#[test]
fn tokens_of_before_mean_nothing_and_their_events_come_again() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    let event = store.publish(10);
    let grant = store.bench.claim("mail");
    store.engine.make_checkpoint().unwrap();
    let (_, wall) = ended(store);
    let to = Arc::new(MemDisk::new());
    try_save(&disk, &to).expect("it is whole");
    let known_by = |disk: &MemDisk| (Meta::read(disk).unwrap().unwrap(), Secret::read(disk).unwrap());
    let ((before, old_secret), (after, secret)) = (known_by(&disk), known_by(&to));
    assert!(after.key_epoch > before.key_epoch && after.store != before.store && secret != old_secret);
    let (bench, said) = saved(&disk, wall);
    assert_eq!(said.found, 0);
    let lost = Err(OpError::Refused(Refused::Lost));
    for step in [SettleStep::Ack, SettleStep::Extend(None), fail_in("no", 1)] {
        assert_eq!(bench.say(&grant, step), lost);
    }
    bench.after(31);
    assert_eq!(bench.claim("mail").event, event);
}

#[test]
fn the_log_is_replayed_up_to_its_first_lost_batch_and_the_rest_is_published_anew() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    store.engine.make_checkpoint().unwrap();
    let ids: Vec<_> = (0..100).map(|n| store.publish(2_000 + n)).collect();
    let (_, wall) = ended(store);
    let names = disk.names();
    let places = names.iter().filter(|name| name.ends_with(".seg"));
    let hits: usize = places.map(|name| spoil(&disk, name, &format!("\"{}\"", "y".repeat(2_050)))).sum();
    assert_eq!(hits, 1);
    let (bench, said) = saved(&disk, wall);
    let lost = said.lost_log.expect("part of the log is lost");
    assert!(lost.from <= lost.upto && lost.upto - lost.from >= 48, "{said:?}");
    assert_eq!((said.lsn, said.under_new_ids), (lost.from - 1, 49), "{said:?}");
    for (n, id) in ids.iter().enumerate() {
        let found = bench.read(Read::Event { event: *id, payload: true }).is_ok();
        assert_eq!(found, n < 50, "event {n}");
    }
    let mut lengths = Vec::new();
    while let Some(grant) = bench.try_claim("mail") {
        assert!(ids[..50].contains(&grant.event) || !ids.contains(&grant.event), "an id means another event");
        lengths.push(grant.body.bytes.len() - "{\"x\":\"\"}".len());
    }
    let expected: Vec<usize> = (0..100).filter(|n| *n != 50).map(|n| 2_000 + n).collect();
    assert_eq!(lengths, expected);
}

#[test]
fn without_a_cold_store_a_whole_log_is_enough() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    let ids: Vec<_> = (0..10).map(|n| store.publish(100 + n)).collect();
    store.engine.make_checkpoint().unwrap();
    let (_, wall) = ended(store);
    disk.plant("cold.redb", b"not a store at all");
    let (bench, said) = saved(&disk, wall);
    assert!(said.findings.iter().any(|finding| finding.file == "cold.redb"), "{said:?}");
    for id in &ids {
        assert!(bench.read(Read::Event { event: *id, payload: true }).is_ok(), "{id}: {said:?}");
    }
}

#[test]
fn a_queue_whose_row_is_lost_is_found_by_its_name_and_keeps_what_it_did() {
    let disk = Arc::new(MemDisk::new());
    let store = scripted(&disk, 0);
    for queue in ["q-one", "q-two"] {
        store.bench.queue_on(queue, "shared-by-both", From::Start);
    }
    let text = "the row to be found";
    let settings =
        naven_store::queue::QueueChanges { description: Some(text.to_owned()), ..Default::default() };
    let patch = naven_store::txn::GroupOp::Patch {
        queue: naven_store::conformance::bench::named("q-one"),
        changes: Box::new(settings),
        stream: Default::default(),
        revision: None,
    };
    store.bench.ask(naven_store::txn::OpKind::Group(patch)).expect("it is changed");
    let ids: Vec<_> = (0..3)
        .map(|n| store.bench.append(to_stream("shared-by-both", &format!("{{\"n\":{n}}}"))).id)
        .collect();
    let done = store.bench.finish("q-one");
    store.engine.make_checkpoint().unwrap();
    let (_, wall) = ended(store);
    assert!(spoil(&disk, "cold.redb", text) > 0);
    let (bench, said) = saved(&disk, wall);
    assert!(names(&said, "Queue", "made anew"), "{said:?}");
    assert_eq!(done.event, ids[0]);
    let rest: Vec<_> = bench.claim_up_to("q-one", 10).into_iter().map(|grant| grant.event).collect();
    assert_eq!(rest, ids[1..], "what is done stays done");
    let all: Vec<_> = bench.claim_up_to("q-two", 10).into_iter().map(|grant| grant.event).collect();
    assert_eq!(all, ids);
}

#[test]
fn a_cut_short_salvage_leaves_no_store_and_is_begun_anew() {
    use naven_store::embedded::disk::{Loss, Replay};
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 40);
    store.publish(100);
    store.engine.make_checkpoint().unwrap();
    store.publish(100);
    let (ids, wall) = ended(store);
    let to = Arc::new(MemDisk::recorded());
    try_save(&disk, &to).expect("it is whole");
    let recording = to.recording();
    let (mut walk, mut refused, mut stores) = (Replay::new(&recording), 0, 0);
    loop {
        let image: Arc<MemDisk> = walk.image(Loss::None);
        let clock = Arc::new(ManualClock::default());
        clock.set(wall, 0);
        let opened =
            crate::script::try_open(&image.copy().into(), &clock, naven_store::embedded::Pace::NEVER);
        match opened {
            Ok((bench, engine)) if walk.at() > 10 => {
                let there =
                    ids.iter().filter(|id| bench.read(Read::Event { event: **id, payload: true }).is_ok());
                assert!(there.count() > 0, "made anew, late: at {}", walk.at());
                drop((bench, engine));
                stores += 1;
            }
            Ok(_) => {}
            Err(StorageError::NotOurs { why }) => {
                assert!(why.contains("cut short"), "{why}");
                if refused % 5 == 0 {
                    let said = try_save(&disk, &image).expect("the next one takes the folder");
                    assert_eq!(said.found, 0);
                    let bench = crate::script::open(&image, &clock);
                    assert!(bench.read(Read::Event { event: ids[0], payload: true }).is_ok());
                }
                refused += 1;
            }
            Err(error) => panic!("at {}: {error}", walk.at()),
        }
        if !walk.advance() {
            break;
        }
    }
    println!("{refused} refused, {stores} whole");
    assert!(refused > 10 && stores > 0, "{refused} {stores}");
}

#[test]
fn folders_in_use_strangers_and_full_ones_are_refused() {
    let disk = Arc::new(MemDisk::new());
    let store = scripted(&disk, 0);
    let to = Arc::new(MemDisk::new());
    let refused = |said: Result<Salvaged, BackupError>| match said {
        Err(BackupError::Store(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(try_save(&disk, &to)), StorageError::InUse));
    drop(store);
    to.plant("notes.txt", b"mine");
    assert!(matches!(refused(try_save(&disk, &to)), StorageError::NotEmpty { .. }));
    assert!(matches!(refused(try_save(&to, &disk)), StorageError::NotOurs { .. }));
    assert_eq!(to.names(), ["notes.txt"]);
}
