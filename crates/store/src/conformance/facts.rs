//! A stream's own facts: its last place, its name, its version.
//!
//! Lives here: setting and watching them. Not here: entries that come (`entries.rs`) and go (`references.rs`).

use bytes::Bytes;

use super::bench::{Bench, named};
use super::entries::at;
use super::streams::{create_on, delete_stream, stream, to_stream};
use crate::queue::QueueRef;
use crate::read::{Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{From, GroupOp, GroupStart, OpKind, Place, PlaceWish, Rename, SetId, StreamRef, Txn};

fn set_id(last: Place, added: Option<u64>, max_deleted: Option<Place>) -> OpKind {
    OpKind::SetId(SetId { stream: stream("s"), last, added, max_deleted })
}

fn rename(from: &str, to: &str) -> OpKind {
    OpKind::Rename(Rename { stream: stream(from), to: stream(to) })
}

fn group(bench: &Bench, on: &str, name: &'static str, start: GroupStart) {
    let (stream, group) = (stream(on), Bytes::from_static(name.as_bytes()));
    let op = GroupOp::CreateGroup { stream, group, make_stream: true, start, entries_read: None };
    bench.ask(OpKind::Group(op)).expect("it is new");
}

fn of_group(on: &'static str, name: &'static str) -> QueueRef {
    QueueRef::Group { stream: on.into(), group: name.into() }
}

pub fn a_stream_s_last_place_may_be_set(bench: &Bench) {
    assert_eq!(bench.ask(set_id(at(1, 1), None, None)), Err(Refused::StreamNotFound.into()));
    (1..=4).for_each(|ms| bench.add_at("s", ms, ms));
    bench.ask(super::streams::delete_entry("s", at(4, 4))).expect("it is there");
    assert_eq!(bench.stream("s").max_deleted, at(4, 4));
    for (refused, set) in [
        (Refused::BeforeDeleted, set_id(at(2, 1), None, None)),
        (Refused::BeforeDeleted, set_id(at(3, 4), Some(1), None)),
        (Refused::FactsWrong, set_id(at(5, 5), Some(2), None)),
        (Refused::FactsWrong, set_id(at(5, 5), None, Some(at(6, 0)))),
    ] {
        assert_eq!(bench.ask(set.clone()), Err(refused.into()), "{set:?}");
    }
    let version = bench.stream("s").version;
    assert_eq!(bench.ask(set_id(at(5, 5), Some(8), Some(at(2, 9)))), Ok(OpReply::Done));
    let view = bench.stream("s");
    assert_eq!((view.last, view.added_told, view.max_deleted), (at(5, 5), 8, at(2, 9)));
    assert_eq!((view.added, view.length), (4, 3));
    assert!(view.version > version);
    assert_eq!(bench.ask(set_id(at(3, 2), None, None)), Err(Refused::PlaceBehind.into()));
    assert_eq!(bench.ask(set_id(at(3, 3), None, Some(at(0, 0)))), Ok(OpReply::Done));
    assert_eq!(bench.stream("s").max_deleted, at(2, 9));
    bench.add_at("s", 3, 4);
    assert_eq!(bench.stream("s").added_told, 9);
}

pub fn a_queue_is_ahead_of_a_stream_that_was_set_back(bench: &Bench) {
    bench.queue_on_with("mail", "s", From::Start, |settings| settings.protect_unread = false);
    bench.queue_on_with("late", "s", From::Start, |settings| settings.protect_unread = false);
    bench.add_at("s", 5, 5);
    bench.finish("mail");
    bench.ask(super::streams::trim_to("s", 0)).expect("it is there");
    bench.ask(set_id(at(1, 1), None, None)).expect("nothing is behind it");
    bench.add_at("s", 2, 2);
    assert_eq!(bench.try_claim("mail"), None, "it was handed out more than that");
    assert_eq!(bench.take("late", 9).len(), 1);
    bench.add_at("s", 5, 6);
    assert_eq!(bench.take("mail", 9).len(), 1);
}

pub fn a_renamed_stream_takes_its_groups_along(bench: &Bench) {
    group(bench, "s", "g", GroupStart::At(Place::default()));
    bench.queue_on("mail", "s", From::Start);
    let event = bench.append(to_stream("s", "{}")).id;
    assert_eq!(bench.ask(rename("nowhere", "s")), Err(Refused::StreamNotFound.into()));
    assert_eq!(bench.ask(rename("s", "s")), Ok(OpReply::Done));
    let before = bench.stream("s").version;
    assert_eq!(bench.ask(rename("s", "a/b")), Ok(OpReply::Done));
    assert_eq!(bench.read(Read::Stream(stream("s"))), Err(Refused::StreamNotFound.into()));
    let names: Vec<_> = bench.groups("a/b").into_iter().map(|group| group.queue.name).collect();
    assert_eq!(names, ["a%2Fb/g", "mail"]);
    assert!(bench.stream("a/b").version > before);
    assert!(bench.read(Read::Queue(of_group("a/b", "g"))).is_ok());
    assert_eq!(bench.read(Read::Queue(named("s/g"))), Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.claim("a%2Fb/g").event, event);
    group(bench, "s", "g", GroupStart::Last);
    assert_eq!(bench.stream("s").length, 0, "the old name is free");
}

pub fn a_stream_that_is_written_over_is_deleted(bench: &Bench) {
    group(bench, "s", "g", GroupStart::Last);
    group(bench, "t", "g", GroupStart::Last);
    let old = bench.groups("t")[0].queue.id;
    let event = bench.append(to_stream("t", "{}")).id;
    bench.append(to_stream("s", "{}"));
    assert_eq!(bench.ask(rename("s", "t")), Ok(OpReply::Done));
    assert_eq!(bench.dead_letters(&QueueRef::Id(old), 5)[0].id, event);
    let groups = bench.groups("t");
    assert_eq!((groups.len(), groups[0].queue.name.as_str()), (1, "t/g"));
    assert!(groups[0].queue.id != old);
    // Another queue's name is nobody else's.
    bench.ask(create_on("u/g", "elsewhere", From::Start, Default::default())).expect("it is new");
    assert_eq!(bench.ask(rename("t", "u")), Err(Refused::NameTaken.into()));
    assert_eq!(bench.stream("t").length, 1);
}

pub fn a_transaction_is_refused_where_a_stream_that_it_watches_changed(bench: &Bench) {
    let watching = |watch: Vec<(StreamRef, u64)>| {
        let op = OpKind::Append(super::entries::entry("own", PlaceWish::Next));
        bench.submit(Txn { watch, ..Txn::each([op.clone(), op]) })
    };
    let done = |replies: Vec<Result<OpReply, OpError>>| replies.iter().all(Result::is_ok);
    let changed: Vec<Result<OpReply, OpError>> = vec![Err(Refused::Changed.into()); 2];
    assert!(done(watching(vec![(stream("s"), 0)])));
    assert_eq!(watching(vec![(stream("s"), 1)]), changed);
    bench.add_at("s", 1, 1);
    assert_eq!(watching(vec![(stream("s"), 0)]), changed);
    let version = || bench.stream("s").version;
    let mut known = version();
    assert!(done(watching(vec![(stream("s"), known), (stream("nowhere"), 0)])));
    let changes: [&dyn Fn(); 8] = [
        &|| bench.add_at("s", 2, 2),
        &|| bench.add_at("s", 3, 3),
        &|| drop(bench.ask(super::streams::delete_entry("s", at(2, 2))).expect("it is there")),
        &|| drop(bench.ask(super::streams::trim_to("s", 1)).expect("it is there")),
        &|| drop(bench.ask(set_id(at(9, 9), None, None)).expect("it is ahead")),
        &|| group(bench, "s", "g", GroupStart::Last),
        &|| drop(bench.ask(super::bench::delete("s/g", true)).expect("it is there")),
        &|| {
            bench.ask(delete_stream("s", true)).expect("it is there");
            bench.add_at("s", 1, 1);
        },
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        change();
        assert!(version() > known, "change {nth}");
        assert_eq!(watching(vec![(stream("s"), known)]), changed, "change {nth}");
        known = version();
    }
    assert_eq!(bench.stream("own").length, 4, "a refusal changes nothing");
}

pub fn a_page_of_entries_is_bounded_in_bytes(bench: &Bench) {
    (1..=3).for_each(|seq| bench.add_at("s", 1, seq));
    let page = |max_bytes, payload| {
        let (start, end, reverse, limit) = (Place::default(), Place::LAST, false, 9);
        match bench.read(Read::Entries {
            stream: stream("s"),
            start,
            end,
            reverse,
            limit,
            max_bytes,
            payload,
        }) {
            Ok(Page::Entries(items, more)) => (items.len(), more),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(page(0, true), (1, true), "the first is shown whatever its size");
    assert_eq!(page(4, true), (2, true));
    assert_eq!(page(6, true), (3, false));
    assert_eq!(page(0, false), (3, false), "content that is not asked for counts nothing");
}
