//! Holds of Redis consumers in a queue that bounds them: past the end a claim may take what they hold.
//!
//! Lives here: a case for each rule. Not here: holds otherwise (`readers.rs`), leases (`leases.rs`).

use std::time::Duration;

use naven_api::LeaseSeconds;
use naven_core::{DeadReason, View};

use super::bench::{Bench, claim, named};
use super::hints::wakes;
use super::readers::{
    NAME, ack, count, entries, g, holds, new, of, places, read, reading, scanning, taken, taking,
};
use super::streams::stream;
use crate::queue::{QueueChanges, StreamChanges};
use crate::read::PENDING_HTTP;
use crate::reply::{Fate, OpReply};
use crate::txn::{
    AdminOp, Claim, DeleteEntries, GroupOp, OpKind, Place, ReadGroup, ReaderOp, References, ScanTransfer,
    SettleStep, Since, Transfer,
};

fn lease(seconds: u32) -> LeaseSeconds {
    seconds.try_into().expect("tests stay within the bounds of leases")
}

#[track_caller]
fn change(bench: &Bench, changes: QueueChanges) {
    let (changes, stream) = (Box::new(changes), StreamChanges::default());
    let patch = GroupOp::Patch { queue: g(), changes, stream, revision: None };
    assert!(matches!(bench.ask(OpKind::Group(patch)), Ok(OpReply::Queue(_))));
}

#[track_caller]
fn bound(bench: &Bench, seconds: Option<u32>) {
    change(bench, QueueChanges { redis_lease: Some(seconds.map(lease)), ..QueueChanges::default() });
}

/// So many entries in a queue in which consumers hold for 5 s.
fn bounded(bench: &Bench, count: u32) -> Vec<Place> {
    let sent = entries(bench, count);
    bound(bench, Some(5));
    places(&sent)
}

/// How long a claim that gets nothing has to wait.
#[track_caller]
fn nothing_for(bench: &Bench) -> Option<Duration> {
    let claimed = bench.claimed(claim(NAME, 1, 30));
    assert_eq!(claimed.leases, []);
    claimed.due_in
}

pub fn past_its_end_a_claim_takes_what_a_consumer_held(bench: &Bench) {
    let places = bounded(bench, 2);
    let sent = new(bench, "c1", 2);
    assert_eq!(sent, places);
    assert_eq!(nothing_for(bench), Some(Duration::from_secs(5)));
    bench.after_ms(4_999);
    assert_eq!(nothing_for(bench), Some(Duration::from_millis(1)));
    bench.after_ms(1);
    let grant = bench.claim(NAME);
    assert_eq!((grant.fence, grant.attempts, grant.expiries), (2, 2, 1));
    assert_eq!(holds(bench), [(places[0], PENDING_HTTP.into(), 1), (places[1], of("c1"), 1)]);
    assert_eq!(ack(bench, &places), [Fate::Missing, Fate::Done], "the other was not claimed");
    bench.must(&grant, SettleStep::Ack);
    assert_eq!(count(bench, View::Done), 2);
}

pub fn until_a_claim_comes_a_consumer_has_it_past_its_end(bench: &Bench) {
    let sent = entries(bench, 1);
    bound(bench, Some(5));
    let places = places(&sent);
    new(bench, "c1", 1);
    let in_group = |view: crate::read::EventView| {
        view.deliveries.into_iter().find(|one| one.queue == NAME).expect("it is there")
    };
    let ends = in_group(bench.event(sent[0].id)).lease_expires_at;
    assert_eq!(ends, Some(bench.wall().plus_ms(5_000)));
    bench.after(60);
    assert_eq!(bench.tend().rows, 0);
    let other = read(bench, reading("c2", 9, None));
    assert_eq!((other.entries, other.due_in), (vec![], None), "a reader of what is new need not look for it");
    assert_eq!((holds(bench), count(bench, View::Held)), (vec![(places[0], of("c1"), 1)], 1));
    assert_eq!(in_group(bench.event(sent[0].id)).expiries, 0);
    assert_eq!(ack(bench, &places), [Fate::Done]);
    assert_eq!(nothing_for(bench), None);
}

pub fn whatever_hands_it_to_a_consumer_renews_the_end(bench: &Bench) {
    let places = bounded(bench, 1);
    new(bench, "c1", 1);
    let just_id = Transfer { just_id: true, ..taking("c1", &places) };
    let idle = ReadGroup { idle_ms: Some(1), ..reading("c3", 9, None) };
    let renewals = [
        ReaderOp::Transfer(just_id),
        ReaderOp::Transfer(taking("c1", &places)),
        ReaderOp::Read(reading("c1", 9, Some(Place::default()))),
        ReaderOp::Transfer(Transfer { just_id: true, ..taking("c2", &places) }),
        ReaderOp::ScanTransfer(scanning("c1", 9)),
        ReaderOp::Read(idle),
        ReaderOp::ScanTransfer(ScanTransfer { just_id: true, ..scanning("c3", 9) }),
    ];
    for renewal in renewals {
        bench.after(4);
        let what = format!("{renewal:?}");
        assert!(bench.ask(OpKind::Reader(renewal)).is_ok(), "{what}");
        assert_eq!(nothing_for(bench), Some(Duration::from_secs(5)), "{what}");
    }
    let earlier = Transfer { since: Some(Since::Idle(3_000)), ..taking("c1", &places) };
    taken(bench, ReaderOp::Transfer(earlier));
    assert_eq!(nothing_for(bench), Some(Duration::from_secs(2)), "its end counts from since when it is idle");
    bench.after(2);
    assert_eq!(bench.claim_up_to(NAME, 9).len(), 1);
}

pub fn a_hold_keeps_its_end_until_it_is_renewed(bench: &Bench) {
    let places = places(&entries(bench, 2));
    new(bench, "c1", 1);
    bound(bench, Some(5));
    bench.after(60);
    assert_eq!(nothing_for_but(bench, &places[1..]), None, "it began without an end");
    taken(bench, ReaderOp::Transfer(Transfer { just_id: true, ..taking("c1", &places[..1]) }));
    bound(bench, Some(900));
    assert_eq!(nothing_for(bench), Some(Duration::from_secs(5)));
    bound(bench, None);
    bench.after(5);
    assert_eq!(bench.claim_up_to(NAME, 9).len(), 1, "it keeps the end that it had");
}

/// The same where these are read and finished before.
#[track_caller]
fn nothing_for_but(bench: &Bench, places: &[Place]) -> Option<Duration> {
    assert_eq!(new(bench, "c9", 9), places);
    ack(bench, places);
    nothing_for(bench)
}

pub fn what_cannot_be_claimed_past_its_end_is_given_up(bench: &Bench) {
    let sent = entries(bench, 2);
    bound(bench, Some(5));
    new(bench, "c1", 2);
    let cancel = AdminOp::Cancel { event: sent[1].id, queue: Some(named(NAME)), reason: None };
    assert!(bench.ask(OpKind::Admin(cancel)).is_ok());
    change(bench, QueueChanges { max_attempts: Some(Some(1)), ..QueueChanges::default() });
    bench.after(5);
    assert_eq!(nothing_for(bench), None);
    assert_eq!(holds(bench), []);
    let dead = bench.dead_letters(&named(NAME), 9);
    assert_eq!(dead.iter().map(|view| view.id).collect::<Vec<_>>(), [sent[0].id]);
    assert_eq!(dead[0].deliveries[0].dead, Some(DeadReason::ExpiredAttempts));
    assert_eq!((count(bench, View::Dead), count(bench, View::Cancelled)), (1, 1));
}

pub fn past_its_end_it_is_due_since_then(bench: &Bench) {
    let first = entries(bench, 2);
    bound(bench, Some(5));
    new(bench, "c1", 1);
    bench.after(6);
    let later = bench.spread("orders", 9);
    bench.after(1);
    let order: Vec<_> = bench.claim_up_to(NAME, 9).iter().map(|grant| grant.event).collect();
    assert_eq!(order, [first[1].id, first[0].id, later]);
}

pub fn what_a_claim_has_no_room_for_stays_with_its_consumer(bench: &Bench) {
    let places = bounded(bench, 2);
    new(bench, "c1", 2);
    bench.after(5);
    let small = Claim { max_bytes: 1, ..claim(NAME, 9, 30) };
    assert_eq!(bench.claimed(small).leases.len(), 1, "the first one whatever its size");
    assert_eq!(holds(bench), [(places[0], PENDING_HTTP.into(), 1), (places[1], of("c1"), 1)]);
    assert_eq!(count(bench, View::Held), 1);
}

pub fn a_hold_without_content_ends_with_nothing(bench: &Bench) {
    let places = bounded(bench, 1);
    let first = bench.claim("first");
    bench.must(&first, SettleStep::Ack);
    new(bench, "c1", 1);
    let delete = DeleteEntries { stream: stream("orders"), places, references: References::Keep };
    assert_eq!(bench.ask(OpKind::DeleteEntries(delete)), Ok(OpReply::Fates(vec![Fate::Done])));
    assert_eq!(holds(bench).len(), 1);
    bench.after(5);
    assert_eq!(nothing_for(bench), None);
    assert_eq!(holds(bench), []);
}

pub fn a_hold_that_ends_wakes_who_waits_to_claim(bench: &Bench) {
    let places = bounded(bench, 1);
    let queue = bench.view(NAME).id;
    let read = || ReaderOp::Read(reading("c1", 9, None));
    let again = || ReaderOp::Read(reading("c1", 9, Some(Place::default())));
    let over = || ReaderOp::Transfer(taking("c2", &places));
    let scan = || ReaderOp::ScanTransfer(scanning("c3", 9));
    for (what, op) in [("read", read()), ("read again", again()), ("over", over()), ("scan", scan())] {
        wakes(bench, queue, what, || assert!(bench.ask(OpKind::Reader(op)).is_ok()));
    }
}
