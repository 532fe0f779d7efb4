//! Entries by their places, as readers of a stream read, finish, give up and take them over.
//!
//! Lives here: a case for each rule. Not here: groups and consumers themselves (`groups.rs`,
//! `consumers.rs`), the commands that ask for it (the Redis door).

use bytes::Bytes;
use naven_core::{DeadReason, View};

use super::bench::{Bench, fail, named};
use super::groups::{create_group, group_on};
use super::streams::{to_stream, trim_to};
use crate::queue::QueueRef;
use crate::read::{EventView, PENDING_HTTP, Page, PendingRead, PendingSummary, PendingView, Read};
use crate::reply::{Fate, HeldEntry, OpReply, QueueRead, Refused, Transferred};
use crate::txn::{
    AckEntries, From, GivingUp, GroupFrom, GroupOp, GroupStart, NackEntries, OpKind, Place, ReadGroup,
    ReaderOp, ScanTransfer, SettleStep, Since, Transfer,
};

pub(super) const NAME: &str = "orders/g";

pub(super) fn g() -> QueueRef {
    group_on("orders", "g")
}

/// A stream with a group at its start and so many entries, and where they are.
pub(super) fn entries(bench: &Bench, count: u32) -> Vec<EventView> {
    bench.queue_on("first", "orders", From::Start);
    let made = bench.ask(create_group("orders", "g", GroupStart::At(Place::default())));
    assert!(made.is_ok(), "{made:?}");
    (0..count).map(|n| bench.append(to_stream("orders", &format!("{{\"n\":{n}}}")))).collect()
}

pub(super) fn places(sent: &[EventView]) -> Vec<Place> {
    sent.iter().map(|view| view.place.expect("it is due")).collect()
}

pub(super) fn reading(consumer: &str, count: u64, after: Option<Place>) -> ReadGroup {
    ReadGroup {
        consumer: Bytes::copy_from_slice(consumer.as_bytes()),
        count: Some(count),
        max_bytes: u64::MAX,
        no_ack: false,
        idle_ms: None,
        from: vec![GroupFrom { queue: g(), after }],
    }
}

#[track_caller]
pub(super) fn read(bench: &Bench, read: ReadGroup) -> QueueRead {
    match bench.ask(OpKind::Reader(ReaderOp::Read(read))) {
        Ok(OpReply::Read(mut reads)) if reads.len() == 1 => reads.remove(0),
        other => panic!("not read: {other:?}"),
    }
}

fn seen(entries: &[HeldEntry]) -> Vec<Place> {
    entries.iter().map(|entry| entry.place).collect()
}

/// What a consumer reads of what is new.
#[track_caller]
pub(super) fn new(bench: &Bench, consumer: &str, count: u64) -> Vec<Place> {
    seen(&read(bench, reading(consumer, count, None)).entries)
}

#[track_caller]
pub(super) fn ack(bench: &Bench, places: &[Place]) -> Vec<Fate> {
    let ack = AckEntries { queue: g(), places: places.to_vec(), delete: None };
    match bench.ask(OpKind::Reader(ReaderOp::Ack(ack))) {
        Ok(OpReply::Fates(fates)) => fates,
        other => panic!("not acked: {other:?}"),
    }
}

fn nacking(places: &[Place], how: GivingUp) -> NackEntries {
    let (delay_ms, redis_count) = (None, None);
    NackEntries { queue: g(), places: places.to_vec(), how, delay_ms, error: None, redis_count }
}

#[track_caller]
fn nack(bench: &Bench, nack: NackEntries) -> Vec<Fate> {
    match bench.ask(OpKind::Reader(ReaderOp::Nack(nack))) {
        Ok(OpReply::Fates(fates)) => fates,
        other => panic!("not given up: {other:?}"),
    }
}

pub(super) fn taking(consumer: &str, places: &[Place]) -> Transfer {
    Transfer {
        queue: g(),
        consumer: Bytes::copy_from_slice(consumer.as_bytes()),
        min_idle_ms: 0,
        places: places.to_vec(),
        just_id: false,
        force: false,
        since: None,
        redis_count: None,
        last: None,
    }
}

pub(super) fn scanning(consumer: &str, count: u64) -> ScanTransfer {
    ScanTransfer {
        queue: g(),
        consumer: Bytes::copy_from_slice(consumer.as_bytes()),
        min_idle_ms: 0,
        start: Place::default(),
        count,
        max_bytes: u64::MAX,
        just_id: false,
    }
}

#[track_caller]
pub(super) fn taken(bench: &Bench, op: ReaderOp) -> Transferred {
    match bench.ask(OpKind::Reader(op)) {
        Ok(OpReply::Transferred(taken)) => taken,
        other => panic!("not taken over: {other:?}"),
    }
}

#[track_caller]
fn pending(bench: &Bench, set: impl FnOnce(&mut PendingRead)) -> (Vec<PendingView>, Option<Place>) {
    let end = Place { ms: u64::MAX, seq: u64::MAX };
    let mut read =
        PendingRead { queue: g(), start: Place::default(), end, limit: 100, consumer: None, min_idle_ms: 0 };
    set(&mut read);
    match bench.read(Read::Pending(read)) {
        Ok(Page::Pending(items, next)) => (items, next),
        other => panic!("not listed: {other:?}"),
    }
}

/// Who has what, and Redis' count of it.
#[track_caller]
pub(super) fn holds(bench: &Bench) -> Vec<(Place, Bytes, u64)> {
    let view = |view: PendingView| (view.place, view.consumer, view.redis_count);
    pending(bench, |_| {}).0.into_iter().map(view).collect()
}

pub(super) fn of(consumer: &'static str) -> Bytes {
    Bytes::from_static(consumer.as_bytes())
}

pub(super) fn count(bench: &Bench, view: View) -> u64 {
    bench.view(NAME).counts.of(view)
}

pub fn new_entries_come_once_in_the_order_of_places(bench: &Bench) {
    let places = places(&entries(bench, 3));
    let first = read(bench, reading("c1", 2, None));
    assert_eq!(seen(&first.entries), places[..2]);
    assert!(first.entries.iter().all(|entry| entry.body.is_some() && entry.was_idle.is_none()));
    assert_eq!(new(bench, "c2", 9), places[2..]);
    assert_eq!(new(bench, "c1", 9), []);
    let holds = holds(bench);
    assert_eq!(holds, [(places[0], of("c1"), 1), (places[1], of("c1"), 1), (places[2], of("c2"), 1)]);
}

pub fn one_queue_that_is_missing_leaves_all_unread(bench: &Bench) {
    entries(bench, 1);
    let from = [g(), named("nowhere")].map(|queue| GroupFrom { queue, after: None });
    let both = ReadGroup { from: from.into(), ..reading("c1", 9, None) };
    assert_eq!(bench.ask(OpKind::Reader(ReaderOp::Read(both))), Err(Refused::QueueNotFound.into()));
    assert_eq!((count(bench, View::Ready), count(bench, View::Held)), (1, 0));
}

pub fn a_read_without_ack_leaves_nothing_pending(bench: &Bench) {
    let places = places(&entries(bench, 2));
    let done = read(bench, ReadGroup { no_ack: true, ..reading("c1", 1, None) });
    assert_eq!(seen(&done.entries), places[..1]);
    assert_eq!((count(bench, View::Done), holds(bench)), (1, vec![]));
    assert_eq!(new(bench, "c1", 9), places[1..]);
}

pub fn a_read_keeps_to_its_bytes_and_a_pause_holds_it_up(bench: &Bench) {
    let places = places(&entries(bench, 2));
    let small = read(bench, ReadGroup { max_bytes: 1, ..reading("c1", 9, None) });
    assert_eq!(seen(&small.entries), places[..1], "the first one whatever its size");
    bench.ask(OpKind::Group(GroupOp::Pause { queue: g(), reason: None })).expect("it is there");
    assert_eq!(new(bench, "c1", 9), []);
    bench.ask(OpKind::Group(GroupOp::Resume { queue: g() })).expect("it is there");
    assert_eq!(new(bench, "c1", 9), places[1..]);
}

pub fn a_consumer_reads_again_what_it_holds(bench: &Bench) {
    let places = places(&entries(bench, 4));
    new(bench, "c1", 3);
    new(bench, "c2", 1);
    bench.after(5);
    let again = read(bench, reading("c1", 9, Some(places[0])));
    assert_eq!(seen(&again.entries), places[1..3]);
    let found = pending(bench, |_| {}).0;
    let facts: Vec<_> =
        found.iter().map(|one| (one.idle_ms, one.redis_count, one.attempts, one.fence)).collect();
    assert_eq!(facts, [(5_000, 1, 1, 1), (0, 2, 1, 1), (0, 2, 1, 1), (5_000, 1, 1, 1)]);
    assert_eq!(seen(&read(bench, reading("c1", 1, Some(Place::default()))).entries), places[..1]);
}

pub fn acks_are_answered_one_by_one(bench: &Bench) {
    let places = places(&entries(bench, 4));
    new(bench, "c1", 1);
    let leases = bench.claim_up_to(NAME, 2);
    bench.must(&leases[1], fail());
    let nowhere = Place { ms: 1, seq: 1 };
    let asked = [places[0], places[0], places[1], places[2], places[3], nowhere];
    let fates = [Fate::Done, Fate::Missing, Fate::Missing, Fate::Done, Fate::Missing, Fate::Missing];
    assert_eq!(ack(bench, &asked), fates, "not a lease, nor what was not handed out");
    assert_eq!((count(bench, View::Done), count(bench, View::Leased), count(bench, View::Ready)), (2, 1, 1));
}

pub fn what_is_given_up_waits_fails_or_dies(bench: &Bench) {
    let places = places(&entries(bench, 4));
    new(bench, "c1", 3);
    let released = NackEntries { delay_ms: Some(2_000), ..nacking(&places[..1], GivingUp::Release) };
    assert_eq!(nack(bench, released), [Fate::Done]);
    assert_eq!(nack(bench, nacking(&places[1..2], GivingUp::Fail)), [Fate::Done]);
    assert_eq!(nack(bench, nacking(&places[2..], GivingUp::Fatal)), [Fate::Done, Fate::Missing]);
    assert_eq!((count(bench, View::Retrying), count(bench, View::Dead)), (2, 1));
    let dead = bench.dead_letters(&named(NAME), 9);
    assert_eq!(dead[0].deliveries[0].dead, Some(DeadReason::Fatal));
    let attempts: Vec<_> =
        pending(bench, |_| {}).0.iter().map(|one| (one.attempts, one.redis_count)).collect();
    assert_eq!(attempts, [(0, 0), (1, 1)]);
    bench.after(2);
    assert_eq!(new(bench, "c1", 9), places[3..], "what waits is none that is new");
    assert_eq!(bench.take(NAME, 1).len(), 1, "nobody but a claim or a take-over gets it");
}

pub fn named_entries_go_over_when_they_were_idle(bench: &Bench) {
    let places = places(&entries(bench, 3));
    new(bench, "c1", 2);
    bench.after(3);
    let early = Transfer { min_idle_ms: 3_001, ..taking("c2", &places) };
    assert_eq!(taken(bench, ReaderOp::Transfer(early)).entries, []);
    let over = Transfer { min_idle_ms: 3_000, ..taking("c2", &places) };
    let over = taken(bench, ReaderOp::Transfer(over));
    assert_eq!(seen(&over.entries), places[..2], "not what is unread");
    let just = Transfer { just_id: true, since: Some(Since::Idle(700)), ..taking("c3", &places[..1]) };
    let just = taken(bench, ReaderOp::Transfer(just));
    assert!(just.entries.iter().all(|entry| entry.body.is_none()));
    let counted = Transfer { redis_count: Some(7), ..taking("c3", &places[1..2]) };
    taken(bench, ReaderOp::Transfer(counted));
    assert_eq!(holds(bench), [(places[0], of("c3"), 2), (places[1], of("c3"), 7)]);
    assert_eq!(pending(bench, |_| {}).0[0].idle_ms, 700);
}

pub fn a_live_lease_is_passed_over_and_an_unowned_entry_taken(bench: &Bench) {
    let places = places(&entries(bench, 2));
    let leases = bench.claim_up_to(NAME, 2);
    bench.must(&leases[1], SettleStep::Release { error: None });
    let over = taken(bench, ReaderOp::Transfer(taking("c1", &places)));
    assert_eq!(seen(&over.entries), places[1..]);
    assert_eq!(holds(bench), [(places[0], PENDING_HTTP.into(), 0), (places[1], of("c1"), 1)]);
}

pub fn force_makes_pending_what_nobody_has(bench: &Bench) {
    let places = places(&entries(bench, 3));
    new(bench, "c1", 1);
    ack(bench, &places[..1]);
    let asked = [places[0], places[2], Place { ms: 1, seq: 1 }];
    let force = Transfer { force: true, ..taking("c2", &asked) };
    assert_eq!(seen(&taken(bench, ReaderOp::Transfer(force)).entries), [places[0], places[2]]);
    assert_eq!(holds(bench), [(places[0], of("c2"), 2), (places[2], of("c2"), 2)]);
    assert_eq!(pending(bench, |_| {}).0[0].fence, 2, "no fence is given twice");
    assert_eq!(bench.try_claim(NAME).map(|grant| grant.event), Some(bench_event(bench, places[1])));
    assert_eq!(bench.try_claim(NAME), None, "no claim takes what is pending");
    nack(bench, nacking(&places[2..], GivingUp::Fatal));
    assert_eq!(count(bench, View::Dead), 1);
    let again = Transfer { force: true, ..taking("c3", &places[2..]) };
    assert_eq!(seen(&taken(bench, ReaderOp::Transfer(again)).entries), places[2..]);
    assert_eq!((count(bench, View::Dead), count(bench, View::Held)), (0, 2), "what was given up is taken up");
}

fn bench_event(bench: &Bench, place: Place) -> naven_api::EventId {
    pending(bench, |read| (read.start, read.end) = (place, place)).0[0].event
}

pub fn what_force_made_pending_comes_to_readers_again(bench: &Bench) {
    let places = places(&entries(bench, 3));
    let force = |consumer, places| ReaderOp::Transfer(Transfer { force: true, ..taking(consumer, places) });
    taken(bench, force("c2", &places[1..]));
    assert_eq!(new(bench, "c1", 2), places[..2]);
    assert_eq!(holds(bench), [(places[0], of("c1"), 1), (places[1], of("c1"), 1), (places[2], of("c2"), 2)]);
    // Acked before a reader came to it, it is as if nobody had had it.
    assert_eq!(ack(bench, &places[2..]), [Fate::Done]);
    assert_eq!(count(bench, View::Ready), 1);
    assert_eq!(new(bench, "c3", 9), places[2..]);
}

pub fn what_force_made_pending_once_more_is_done_by_its_ack(bench: &Bench) {
    let places = places(&entries(bench, 2));
    let leases = bench.claim_up_to(NAME, 2);
    // Both lie ahead of the group now; one of them is finished there by its holder.
    let start = GroupStart::At(Place::default());
    let back = OpKind::Group(GroupOp::SetPlace { queue: g(), start, entries_read: None });
    assert!(bench.ask(back).is_ok());
    bench.must(&leases[1], SettleStep::Ack);
    let force = Transfer { force: true, ..taking("c1", &places[1..]) };
    assert_eq!(seen(&taken(bench, ReaderOp::Transfer(force)).entries), places[1..]);
    assert_eq!(ack(bench, &places[1..]), [Fate::Done]);
    assert_eq!((count(bench, View::Ready), count(bench, View::Done)), (0, 1));
    bench.must(&leases[0], SettleStep::Ack);
    assert_eq!(new(bench, "c1", 9), [], "what was dealt with is passed over");
}

pub fn a_read_without_ack_leaves_what_is_pending_where_it_is(bench: &Bench) {
    let places = places(&entries(bench, 2));
    let force = Transfer { force: true, ..taking("c2", &places[1..]) };
    taken(bench, ReaderOp::Transfer(force));
    let done = read(bench, ReadGroup { no_ack: true, ..reading("c1", 9, None) });
    assert_eq!(seen(&done.entries), places);
    assert_eq!(holds(bench), [(places[1], of("c2"), 2)]);
    assert_eq!(new(bench, "c1", 9), []);
}

pub fn a_transfer_may_send_the_queue_forwards_only(bench: &Bench) {
    let places = places(&entries(bench, 3));
    let last = |place| ReaderOp::Transfer(Transfer { last: Some(place), ..taking("c1", &[]) });
    taken(bench, last(places[1]));
    taken(bench, last(places[0]));
    assert_eq!(new(bench, "c1", 9), places[2..]);
}

pub fn a_scan_goes_on_where_it_ended(bench: &Bench) {
    let places = places(&entries(bench, 5));
    new(bench, "c1", 4);
    let first = taken(bench, ReaderOp::ScanTransfer(scanning("c2", 2)));
    assert_eq!((seen(&first.entries), first.next), (places[..2].to_vec(), places[2]));
    let rest = ScanTransfer { start: first.next, ..scanning("c2", 2) };
    let rest = taken(bench, ReaderOp::ScanTransfer(rest));
    assert_eq!((seen(&rest.entries), rest.next), (places[2..4].to_vec(), Place::default()));
    let early = ScanTransfer { min_idle_ms: 1, ..scanning("c3", 9) };
    assert_eq!(taken(bench, ReaderOp::ScanTransfer(early)).entries, []);
}

pub fn a_scan_looks_at_ten_times_what_it_takes(bench: &Bench) {
    let places = places(&entries(bench, 12));
    new(bench, "c1", 12);
    let early = ScanTransfer { min_idle_ms: 1, ..scanning("c2", 1) };
    let looked = taken(bench, ReaderOp::ScanTransfer(early));
    assert_eq!((looked.entries, looked.next), (vec![], places[10]));
}

pub fn idle_entries_come_before_new_ones(bench: &Bench) {
    let places = places(&entries(bench, 3));
    new(bench, "c1", 1);
    bench.after(4);
    new(bench, "c1", 1);
    let both = ReadGroup { idle_ms: Some(4_000), ..reading("c2", 2, None) };
    let both = read(bench, both);
    assert_eq!(seen(&both.entries), [places[0], places[2]]);
    assert_eq!(both.entries.iter().map(|one| one.was_idle).collect::<Vec<_>>(), [Some((4_000, 1)), None]);
    let soon = read(bench, ReadGroup { idle_ms: Some(9_000), ..reading("c2", 2, None) });
    assert_eq!(soon.due_in, Some(std::time::Duration::from_secs(9)));
}

pub fn what_is_pending_is_listed_by_whose_it_is(bench: &Bench) {
    let places = places(&entries(bench, 5));
    new(bench, "c1", 2);
    bench.claim(NAME);
    new(bench, "c2", 1);
    let whose = |name: &[u8]| {
        let (found, _) = pending(bench, |read| read.consumer = Some(Bytes::copy_from_slice(name)));
        found.iter().map(|one| one.place).collect::<Vec<_>>()
    };
    assert_eq!((whose(b"c1"), whose(PENDING_HTTP)), (places[..2].to_vec(), places[2..3].to_vec()));
    assert_eq!((whose(b""), whose(b"nobody")), (vec![], vec![]));
    let (page, next) = pending(bench, |read| read.limit = 3);
    assert_eq!((page.len(), next), (3, Some(places[3])));
    bench.after(1);
    ack(bench, &places[..1]);
    assert_eq!(pending(bench, |read| read.min_idle_ms = 1_001).0, []);
    let summary = PendingSummary {
        count: 3,
        range: Some((places[1], places[3])),
        consumers: vec![(PENDING_HTTP.into(), 1), (of("c1"), 1), (of("c2"), 1)],
    };
    assert_eq!(bench.read(Read::PendingSummary(g())), Ok(Page::PendingSummary(Box::new(summary))));
}

pub fn a_held_entry_that_left_the_stream_has_no_content_whoever_else_keeps_it(bench: &Bench) {
    let places = places(&entries(bench, 3));
    new(bench, "c1", 3);
    bench.ask(trim_to("orders", 0)).expect("it is there");
    let unread = bench.take("first", 1);
    assert!(bench.event(unread[0]).body.is_some(), "the other queue keeps what it has not read");
    let again = read(bench, reading("c1", 9, Some(Place::default()))).entries;
    assert!(seen(&again) == places && again.iter().all(|entry| entry.body.is_none()), "{again:?}");
    assert!(holds(bench).iter().all(|(.., redis_count)| *redis_count == 1), "it was not handed out again");
    let named = taken(bench, ReaderOp::Transfer(taking("c2", &places[..1])));
    assert_eq!((named.entries, named.deleted), (vec![], places[..1].to_vec()));
    let scanned = taken(bench, ReaderOp::ScanTransfer(scanning("c2", 9)));
    assert_eq!((scanned.entries, scanned.deleted), (vec![], places[1..].to_vec()));
    assert_eq!((holds(bench), bench.take("first", 9).len()), (vec![], 2), "nothing is lost for others");
}
