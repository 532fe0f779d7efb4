//! Groups as readers of a stream make them, send them about and destroy them.
//!
//! Lives here: where they begin and go on, and whose names they bear. Not here: queues as the HTTP door makes
//! them (`starting.rs`), consumers otherwise (`consumers.rs`).

use bytes::Bytes;
use naven_core::{DeadReason, View};

use super::bench::{Bench, create, named};
use super::consumers::{read_as, without};
use super::streams::{create_on, delete_stream, stream, to_stream};
use crate::queue::{QueueRef, QueueSettings, Retention};
use crate::read::{EventView, GroupView, PENDING_HTTP, PENDING_NOBODY, Page, QueueView, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{DeleteOp, From, GroupOp, GroupStart, OpKind, Place, SettleStep};

/// A queue, as the readers of `on` call it.
pub fn group_on(on: &str, group: &str) -> QueueRef {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    QueueRef::Group { stream: bytes(on), group: bytes(group) }
}

/// Making a group.
pub fn create_group(on: &str, group: &str, start: GroupStart) -> OpKind {
    let group = Bytes::copy_from_slice(group.as_bytes());
    OpKind::Group(GroupOp::CreateGroup {
        stream: stream(on),
        group,
        make_stream: false,
        start,
        entries_read: None,
    })
}

fn place_of(view: &EventView) -> Place {
    view.place.expect("it is due")
}

fn made(bench: &Bench, op: OpKind) -> QueueView {
    match bench.ask(op) {
        Ok(OpReply::Queue(view)) => *view,
        other => panic!("no queue was made: {other:?}"),
    }
}

fn set_place(bench: &Bench, group: &str, start: GroupStart) {
    let queue = group_on("orders", group);
    let op = OpKind::Group(GroupOp::SetPlace { queue, start, entries_read: None });
    assert!(matches!(bench.ask(op), Ok(OpReply::Queue(_))));
}

/// A stream of `count` entries that are trimmed by nobody, and where they are.
fn entries(bench: &Bench, count: u32) -> Vec<EventView> {
    bench.queue_on("first", "orders", From::Start);
    (0..count)
        .map(|n| {
            bench.after(1);
            bench.append(to_stream("orders", &format!("{{\"n\":{n}}}")))
        })
        .collect()
}

fn group(bench: &Bench, name: &str) -> GroupView {
    let found = bench.groups("orders").into_iter().find(|group| *group.name == *name.as_bytes());
    found.expect("the group is there")
}

pub fn a_group_begins_behind_any_place(bench: &Bench) {
    let sent = entries(bench, 3);
    let ids: Vec<_> = sent.iter().map(|view| view.id).collect();
    let middle = place_of(&sent[1]);
    let ahead = Place { ms: place_of(&sent[2]).ms + 60_000, seq: 3 };
    let starts = [
        (GroupStart::Last, &ids[3..], place_of(&sent[2])),
        (GroupStart::At(Place::default()), &ids[..], Place::default()),
        (GroupStart::At(middle), &ids[2..], middle),
        (GroupStart::At(Place { seq: middle.seq + 9, ..middle }), &ids[2..], Place { seq: 9, ..middle }),
        (GroupStart::At(ahead), &ids[3..], ahead),
    ];
    for (at, (start, expected, last)) in starts.into_iter().enumerate() {
        let view = made(bench, create_group("orders", &format!("g{at}"), start));
        assert_eq!(view.name, format!("orders/g{at}"));
        assert_eq!((view.settings.max_attempts, view.settings.protect_unread), (None, false));
        assert_eq!(view.counts.of(View::Ready), expected.len() as u64, "{start:?}");
        let shown = group(bench, &format!("g{at}"));
        assert_eq!((shown.lag, shown.last_delivered), (expected.len() as u64, last), "{start:?}");
        assert_eq!(bench.take(&view.name, 9), expected, "{start:?}");
    }
}

pub fn a_group_s_name_is_taken_by_whatever_its_readers_would_find(bench: &Bench) {
    entries(bench, 1);
    let taken = |op: OpKind| assert_eq!(bench.ask(op), Err(Refused::NameTaken.into()));
    taken(create_group("orders", "first", GroupStart::Last));
    let view = made(bench, create_group("orders", "mail", GroupStart::Last));
    taken(create_group("orders", "mail", GroupStart::Last));
    taken(create_on("mail", "orders", From::Start, QueueSettings::default()));
    // Elsewhere the name is free.
    made(bench, create("mail", QueueSettings::default()));
    made(bench, create_on("sms", "others", From::Start, QueueSettings::default()));
    made(bench, create_group("others", "first", GroupStart::Last));
    made(bench, create_group("orders", "sms", GroupStart::Last));
    let found = |queue| match bench.read(Read::Queue(queue)) {
        Ok(Page::Queue(found)) => found.id,
        other => panic!("no queue: {other:?}"),
    };
    assert_eq!(found(group_on("orders", "mail")), view.id);
    assert_eq!(found(named("orders/mail")), view.id);
    assert_ne!(found(group_on("mail", "mail")), view.id);
}

pub fn a_group_needs_its_stream_or_makes_it(bench: &Bench) {
    let op = create_group("orders", "mail", GroupStart::Last);
    assert_eq!(bench.ask(op.clone()), Err(Refused::StreamNotFound.into()));
    let OpKind::Group(GroupOp::CreateGroup { stream, group, start, .. }) = op else { unreachable!() };
    let (make_stream, entries_read) = (true, Some(5));
    let op = OpKind::Group(GroupOp::CreateGroup { stream, group, make_stream, start, entries_read });
    let view = made(bench, op);
    assert_eq!(view.stream_settings.retention, Retention::Trim);
    let sent = bench.spread("orders", 1);
    assert_eq!(bench.take("orders/mail", 9), [sent]);
}

pub fn sent_back_a_group_hands_out_again_what_is_over_and_keeps_what_is_pending(bench: &Bench) {
    let sent = entries(bench, 5);
    made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    let name = "orders/g";
    let held = read_as(bench, name, "c1", 1);
    let leases = bench.claim_up_to(name, 3);
    bench.must(&leases[0], SettleStep::Ack);
    bench.must(&leases[1], super::bench::fatal());
    let counts = |ready| {
        [View::Ready, View::Held, View::Leased, View::Dead, View::Done]
            .map(|view| bench.view(name).counts.of(view) - if view == View::Ready { ready } else { 0 })
    };
    assert_eq!(counts(1), [0, 1, 1, 1, 1]);
    set_place(bench, "g", GroupStart::At(Place::default()));
    assert_eq!(counts(3), [0, 1, 1, 0, 0], "what was done or given up is to be read again");
    let shown = group(bench, "g");
    assert_eq!((shown.lag, shown.pending, shown.last_delivered), (3, 2, Place::default()));
    assert!(bench.dead_letters(&group_on("orders", "g"), 9).is_empty());
    // A word that comes late meets another round; holds go on.
    assert_eq!(bench.say(&leases[0], SettleStep::Ack), Err(OpError::Refused(Refused::Lost)));
    assert_eq!(bench.take(name, 9), [sent[1].id, sent[2].id, sent[4].id]);
    for (event, lease) in [(&sent[1], &leases[0]), (&sent[2], &leases[1])] {
        let again = bench.event(event.id).deliveries.into_iter().find(|one| one.queue == name);
        assert!(again.is_some_and(|again| again.fence > lease.fence), "no fence is given twice");
    }
    bench.must(&leases[2], SettleStep::Ack);
    assert_eq!(held[0].event, sent[0].id);
    assert_eq!(bench.view(name).counts.of(View::Held), 1);
}

pub fn sent_forward_a_group_passes_what_it_has_not_read(bench: &Bench) {
    let sent = entries(bench, 4);
    made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    let held = read_as(bench, "orders/g", "c1", 1);
    set_place(bench, "g", GroupStart::At(place_of(&sent[2])));
    let shown = group(bench, "g");
    assert_eq!((shown.lag, shown.pending, shown.last_delivered), (1, 1, place_of(&sent[2])));
    assert_eq!(bench.view("orders/g").counts.of(View::Ready), 1);
    assert_eq!(bench.take("orders/g", 9), [sent[3].id]);
    // To where it stands, nothing changes, and no round begins.
    set_place(bench, "g", GroupStart::Last);
    assert_eq!(group(bench, "g").lag, 0);
    assert_eq!(held[0].event, sent[0].id);
    bench.spread("orders", 7);
    assert_eq!(bench.claim("orders/g").round, 0);
    // All of them at once, by what was given back.
    set_place(bench, "g", GroupStart::At(Place::default()));
    assert_eq!(group(bench, "g").lag, 2, "the passed ones were nobody's");
}

pub fn what_readers_made_of_a_deleted_stream_is_not_a_later_one_s(bench: &Bench) {
    let sent = entries(bench, 2);
    let old = made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    read_as(bench, "orders/g", "c1", 1);
    assert!(bench.ask(delete_stream("orders", true)).is_ok());
    let dead = bench.dead_letters(&QueueRef::Id(old.id), 9);
    let reasons: Vec<_> = dead.iter().map(|event| event.deliveries[0].dead).collect();
    assert_eq!(reasons, [Some(DeadReason::StreamDeleted); 2]);
    assert_eq!(bench.ask(create_group("orders", "g", GroupStart::Last)), Err(Refused::StreamNotFound.into()));
    bench.queue_on("first", "orders", From::Start);
    let new = made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    assert_ne!(new.id, old.id);
    assert_eq!((new.counts.unfinished(), group(bench, "g").last_delivered), (0, Place::default()));
    let consumer = OpKind::Group(GroupOp::MakeConsumer {
        queue: group_on("orders", "g"),
        name: Bytes::from_static(b"c1"),
    });
    assert_eq!(bench.ask(consumer), Ok(OpReply::Made(true)), "nobody is known there");
    let destroy = OpKind::Delete(DeleteOp::Queue {
        queue: group_on("orders", "g"),
        force: true,
        reason: DeadReason::GroupDestroyed,
        revision: None,
    });
    assert_eq!(bench.ask(destroy.clone()), Ok(OpReply::Done));
    assert_eq!(bench.ask(destroy), Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.dead_letters(&QueueRef::Id(old.id), 9).len(), sent.len(), "the old ones are kept");
}

pub fn a_consumer_is_made_once(bench: &Bench) {
    entries(bench, 1);
    made(bench, create_group("orders", "g", GroupStart::Last));
    let make = |group: &str| {
        let (queue, name) = (group_on("orders", group), Bytes::from_static(b"c1"));
        bench.ask(OpKind::Group(GroupOp::MakeConsumer { queue, name }))
    };
    assert_eq!((make("g"), make("g")), (Ok(OpReply::Made(true)), Ok(OpReply::Made(false))));
    assert_eq!(make("none"), Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.ask(without("orders/g", "c1")), Ok(OpReply::Removed(0)));
    assert_eq!(make("g"), Ok(OpReply::Made(true)));
}

pub fn what_a_deleted_consumer_held_ahead_is_handed_out_again(bench: &Bench) {
    let sent = entries(bench, 3);
    made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    let held = read_as(bench, "orders/g", "c1", 3);
    set_place(bench, "g", GroupStart::At(place_of(&sent[1])));
    assert_eq!(bench.ask(without("orders/g", "c1")), Ok(OpReply::Removed(3)));
    let counts = bench.view("orders/g").counts;
    assert_eq!((counts.of(View::Dead), counts.of(View::Ready), counts.of(View::Held)), (2, 1, 0));
    let grant = bench.claim("orders/g");
    assert_eq!(grant.event, sent[2].id);
    assert!(held.len() == 3 && grant.fence > 1 && grant.round > 0, "{grant:?}");
}

pub fn consumers_are_listed_with_who_else_has_something_pending(bench: &Bench) {
    entries(bench, 3);
    made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    let began = bench.wall();
    let make = GroupOp::MakeConsumer { queue: group_on("orders", "g"), name: Bytes::from_static(b"c9") };
    assert_eq!(bench.ask(OpKind::Group(make)), Ok(OpReply::Made(true)));
    read_as(bench, "orders/g", "c1", 1);
    let lease = bench.claim("orders/g");
    bench.after(2);
    let list = || match bench.read(Read::Consumers(group_on("orders", "g"))) {
        Ok(Page::Consumers(list)) => list,
        other => panic!("no consumers: {other:?}"),
    };
    let short = || -> Vec<_> { list().into_iter().map(|one| (one.name, one.pending, one.seen_at)).collect() };
    let row = |name: &'static [u8], pending, seen_at| (Bytes::from_static(name), pending, seen_at);
    let known = [row(b"c1", 1, began), row(b"c9", 0, began)];
    assert_eq!(short(), [&[row(PENDING_HTTP, 1, began)][..], &known].concat());
    assert_eq!(list()[2].active_at, None, "it was never handed out anything");
    assert_eq!(group(bench, "g").consumers, 3);
    bench.must(&lease, super::bench::beat(30));
    let now = bench.wall();
    assert_eq!(short(), [&[row(PENDING_HTTP, 1, now)][..], &known].concat(), "it was heard of");
    bench.must(&lease, super::bench::release());
    bench.after(1);
    assert_eq!(short()[1..], known);
    assert_eq!((list()[0].name.clone(), list()[0].pending), (Bytes::from_static(PENDING_NOBODY), 1));
    assert!(list().iter().all(|one| one.now == bench.wall()));
    bench.claim_up_to("orders/g", 9).iter().for_each(|grant| {
        bench.must(grant, SettleStep::Ack);
    });
    assert_eq!((short(), group(bench, "g").consumers), (known.to_vec(), 2));
    let none = bench.read(Read::Consumers(group_on("orders", "none")));
    assert_eq!(none, Err(Refused::QueueNotFound.into()));
}

pub fn readers_are_told_how_many_entries_were_read(bench: &Bench) {
    entries(bench, 3);
    let queue = || group_on("orders", "g");
    made(bench, create_group("orders", "g", GroupStart::At(Place::default())));
    let told = || {
        let shown = group(bench, "g");
        (shown.entries_read, shown.entries_lag)
    };
    assert_eq!(told(), (None, Some(3)));
    let set = |start, entries_read| {
        let op = OpKind::Group(GroupOp::SetPlace { queue: queue(), start, entries_read });
        assert!(matches!(bench.ask(op), Ok(OpReply::Queue(_))));
    };
    set(GroupStart::At(Place::default()), Some(0));
    bench.claim("orders/g");
    assert_eq!(told(), (Some(1), Some(2)));
    set(GroupStart::Last, None);
    assert_eq!(told(), (None, Some(0)));
    set(GroupStart::Last, Some(1));
    assert_eq!(told(), (Some(1), Some(2)), "it is taken at its word");
    set(GroupStart::At(Place { ms: u64::MAX, seq: 0 }), None);
    assert_eq!(told(), (None, None));
}
