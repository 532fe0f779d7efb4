//! Saving what is left wherever the damage is.
//!
//! Lives here: changed bytes all over each file, lost pages, and the law that holds for all of them. Not
//! here: what single damages cost (`salvage.rs`).
//!
//! The law: the damaged folder stays as it is, nothing panics, the new store is sound, no content is other
//! than it was published, nothing is missing in silence, and what nothing was said of is all there.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use naven_api::{EventId, Timestamp};
use naven_core::View;
use naven_store::Engine;
use naven_store::conformance::Bench;
use naven_store::embedded::disk::MemDisk;
use naven_store::embedded::salvage::Salvaged;
use naven_store::read::{EventView, Page, Read};
use naven_store::txn::SettleStep;

use crate::folder::scripted;
use crate::salvage::{ended, saved, try_save};

/// A store at rest, and everything that was published to it.
struct Known {
    disk: Arc<MemDisk>,
    wall: Timestamp,
    events: BTreeMap<EventId, EventView>,
    queues: Vec<String>,
}

fn event(bench: &Bench, id: EventId) -> Option<EventView> {
    match bench.read(Read::Event { event: id, payload: true }) {
        Ok(Page::Event(view)) => Some(*view),
        _ => None,
    }
}

fn known(steps: usize, checkpoint: bool) -> Known {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, steps);
    store.publish(100);
    if checkpoint {
        store.engine.make_checkpoint().unwrap();
    }
    for bytes in [50, 3_000, 70] {
        store.publish(bytes);
    }
    let events = store.ids.iter().filter_map(|id| Some((*id, event(&store.bench, *id)?))).collect();
    let listed = Read::Queues { name_prefix: String::new(), cursor: None, limit: 500 };
    let Ok(Page::Queues(views, _)) = store.bench.read(listed) else { panic!("queues are listed") };
    let queues = views.into_iter().map(|view| view.name).collect();
    store.bench.block_on(store.engine.close());
    let (_, wall) = ended(store);
    Known { disk, wall, events, queues }
}

/// How many events are missing.
fn hold_to_the_law(known: &Known, disk: &Arc<MemDisk>, what: &str) -> (usize, Salvaged) {
    let (bench, said) = saved(disk, known.wall);
    let mut missing = 0;
    for (id, before) in &known.events {
        match event(&bench, *id) {
            Some(now) => {
                // Of what was done the content is gone, unless that it was done is lost.
                let is_its = now.body.is_none() || before.body.is_none() || now.body == before.body;
                assert!(is_its, "{what}: {id} has another content");
                missing += usize::from(now.body.is_none() && before.body.is_some());
                if said.found == 0 {
                    let states = |view: &EventView| -> Vec<View> {
                        view.deliveries.iter().map(|delivery| delivery.state).collect()
                    };
                    assert_eq!(states(&now), states(before), "{what}: {id}");
                }
            }
            None => missing += 1,
        }
    }
    assert!(missing == 0 || said.found > 0, "{what}: {missing} events are missing in silence");
    let contents: Vec<&Bytes> =
        known.events.values().filter_map(|view| view.body.as_ref().map(|body| &body.bytes)).collect();
    for queue in &known.queues {
        for _ in 0..3 {
            let claim = naven_store::conformance::bench::claim(queue, 100, 30);
            let Ok(naven_store::reply::OpReply::Claimed(claimed)) =
                bench.ask(naven_store::txn::OpKind::Claim(claim))
            else {
                assert!(said.found > 0, "{what}: queue {queue} is missing in silence");
                break;
            };
            for grant in claimed.leases {
                let is_known = contents.contains(&&grant.body.bytes);
                // Every content of the script is of this form.
                let is_whole =
                    grant.body.bytes.starts_with(b"{\"x\":\"") && grant.body.bytes.ends_with(b"\"}");
                assert!(is_known || is_whole, "{what}: {} has a content of its own", grant.event);
                bench.must(&grant, SettleStep::Ack);
            }
            bench.after(40);
            bench.tend();
        }
    }
    (missing, said)
}

/// Every so many bytes of a file that are in use, one bit is changed.
fn flip(known: &Known, file: &str, step: usize) -> (usize, usize) {
    let whole = known.disk.peek(file).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (mut tries, mut lost) = (0, 0);
    for at in (0..used).step_by(step).filter(|at| whole[*at] != 0 || *at % 3 == 0) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        known.disk.plant(file, &bytes);
        let (missing, _) = hold_to_the_law(known, &known.disk, &format!("{file} byte {at}"));
        tries += 1;
        lost += usize::from(missing > 0);
    }
    known.disk.plant(file, &whole);
    (tries, lost)
}

#[test]
fn wherever_a_bit_of_the_cold_store_is_changed() {
    let (mut tries, mut lost) = (0, 0);
    for steps in [60, 150] {
        let (tried, cost) = flip(&known(steps, true), "cold.redb", 397);
        (tries, lost) = (tries + tried, lost + cost);
    }
    assert!(tries > 150 && lost > 0, "{tries} {lost}");
}

#[test]
fn wherever_a_page_of_the_cold_store_is_lost() {
    let known = known(100, true);
    let whole = known.disk.peek("cold.redb").unwrap();
    let mut lost = 0;
    for page in 1..whole.len() / 4_096 {
        for fill in [0_u8, 0xa5] {
            let mut bytes = whole.clone();
            bytes[page * 4_096..(page + 1) * 4_096].fill(fill);
            if bytes == whole {
                continue;
            }
            known.disk.plant("cold.redb", &bytes);
            let (missing, _) = hold_to_the_law(&known, &known.disk, &format!("page {page} of {fill}"));
            lost += usize::from(missing > 0);
        }
    }
    println!("{lost} pages cost events");
    assert!(lost > 0);
}

#[test]
fn wherever_a_bit_of_the_log_is_changed() {
    let known = known(30, false);
    let segments: Vec<String> =
        known.disk.names().into_iter().filter(|name| name.ends_with(".seg")).collect();
    let tries: usize = segments.iter().map(|file| flip(&known, file, 211).0).sum();
    assert!(tries > 50, "{tries}");
}

#[test]
fn a_segment_of_the_log_that_is_lost_or_cut() {
    let known = known(60, false);
    let segments: Vec<String> =
        known.disk.names().into_iter().filter(|name| name.ends_with(".seg")).collect();
    for (nth, file) in segments.iter().enumerate() {
        let whole = known.disk.peek(file).unwrap();
        let cut = Arc::new(known.disk.copy());
        cut.plant(file, &whole[..whole.len() / 3]);
        hold_to_the_law(&known, &cut, &format!("{file} is cut"));
        if nth + 1 == segments.len() {
            // One that was made ready and not written to looks like this: nobody can tell.
            continue;
        }
        let lost = Arc::new(known.disk.copy());
        lost.plant(file, &vec![0; whole.len()]);
        hold_to_the_law(&known, &lost, &format!("{file} is empty"));
    }
}

#[test]
fn wherever_a_bit_of_meta_is_changed_or_secret_is_lost() {
    let known = known(20, true);
    let whole = known.disk.peek("meta").unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        known.disk.plant("meta", &bytes);
        let (missing, said) = hold_to_the_law(&known, &known.disk, &format!("meta byte {at}"));
        assert!(missing == 0 && said.findings.iter().any(|finding| finding.file == "meta"), "{at}: {said:?}");
    }
    known.disk.plant("meta", &whole[..20]);
    assert_eq!(hold_to_the_law(&known, &known.disk, "meta is cut").0, 0);
    known.disk.plant("meta", &whole);
    known.disk.plant("secret", b"");
    assert_eq!(hold_to_the_law(&known, &known.disk, "secret is lost").0, 0);
    // Nothing is left that tells which store it was.
    known.disk.plant("meta", &[]);
    for file in known.disk.names().into_iter().filter(|name| name.contains('.')) {
        known.disk.plant(&file, &[0; 65_536]);
    }
    try_save(&known.disk, &Arc::new(MemDisk::new())).expect_err("nothing is made up");
}
