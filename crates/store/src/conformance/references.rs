//! What becomes of queues' dealing with entries that leave their stream.
//!
//! Lives here: deletions, trims and acks with references kept, dropped or heeded, and what is held of an entry
//! that is gone. Not here: what leaves at all (`trimming.rs`).

use bytes::Bytes;

use super::bench::Bench;
use super::entries::{at, entry};
use super::streams::{stream, to_queue};
use crate::queue::QueueRef;
use crate::reply::{Fate, OpReply};
use crate::txn::{
    AckEntries, AdminOp, Append, DeleteEntries, DeleteOp, EntryWish, From, GivingUp, GroupFrom, GroupOp,
    GroupStart, Keep, NackEntries, OpKind, Place, PlaceWish, ReadGroup, ReaderOp, References, Trim, Trimming,
};

fn of(group: &'static str) -> QueueRef {
    QueueRef::Group { stream: "s".into(), group: group.into() }
}

fn groups(bench: &Bench, names: &[&'static str]) {
    for name in names {
        let op = GroupOp::CreateGroup {
            stream: stream("s"),
            group: Bytes::from_static(name.as_bytes()),
            make_stream: true,
            start: GroupStart::At(Place::default()),
            entries_read: None,
        };
        bench.ask(OpKind::Group(op)).expect("it is new");
    }
}

fn read(bench: &Bench, group: &'static str, after: Option<Place>) -> Vec<(Place, bool)> {
    let op = ReaderOp::Read(ReadGroup {
        consumer: "c".into(),
        count: None,
        max_bytes: u64::MAX,
        no_ack: false,
        idle_ms: None,
        from: vec![GroupFrom { queue: of(group), after }],
    });
    match bench.ask(OpKind::Reader(op)) {
        Ok(OpReply::Read(reads)) => {
            reads[0].entries.iter().map(|entry| (entry.place, entry.body.is_some())).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// What a consumer of the group has, and whether its content is there.
fn held(bench: &Bench, group: &'static str) -> Vec<(Place, bool)> {
    read(bench, group, Some(Place::default()))
}

fn ack(bench: &Bench, group: &'static str, place: Place, delete: Option<References>) -> Fate {
    let op = ReaderOp::Ack(AckEntries { queue: of(group), places: vec![place], delete });
    match bench.ask(OpKind::Reader(op)) {
        Ok(OpReply::Fates(fates)) => fates[0],
        other => panic!("{other:?}"),
    }
}

fn delete(bench: &Bench, places: &[Place], references: References) -> Vec<Fate> {
    let op = DeleteEntries { stream: stream("s"), places: places.to_vec(), references };
    match bench.ask(OpKind::DeleteEntries(op)) {
        Ok(OpReply::Fates(fates)) => fates,
        other => panic!("{other:?}"),
    }
}

pub fn a_deletion_keeps_what_is_held_and_takes_its_content(bench: &Bench) {
    groups(bench, &["g", "h"]);
    (1..=2).for_each(|seq| bench.add_at("s", 1, seq));
    read(bench, "g", None);
    let first = at(1, 1);
    assert_eq!(
        delete(bench, &[first, first, at(7, 7)], References::Keep),
        [Fate::Done, Fate::Missing, Fate::Missing]
    );
    assert_eq!(bench.stream("s").max_deleted, first);
    assert_eq!(held(bench, "g"), [(first, false), (at(1, 2), true)]);
    assert_eq!(read(bench, "h", None), [(at(1, 2), true)], "it was not there any more");
    assert_eq!(ack(bench, "g", first, None), Fate::Done);
    assert_eq!(held(bench, "g"), [(at(1, 2), true)]);
    bench.ask(super::streams::trim_to("s", 0)).expect("it is there");
    assert_eq!(bench.stream("s").max_deleted, first, "a trim tells nothing of single entries");
    assert_eq!(held(bench, "g"), [(at(1, 2), false)]);
}

pub fn a_deletion_may_drop_what_is_held_everywhere(bench: &Bench) {
    groups(bench, &["g", "h"]);
    (1..=3).for_each(|seq| bench.add_at("s", 1, seq));
    for group in ["g", "h"] {
        read(bench, group, None);
    }
    assert_eq!(delete(bench, &[at(1, 1)], References::Drop), [Fate::Done]);
    assert_eq!((held(bench, "g").len(), held(bench, "h").len()), (2, 2));
    delete(bench, &[at(1, 2)], References::Keep);
    assert_eq!(delete(bench, &[at(1, 2)], References::Drop), [Fate::Missing]);
    assert_eq!((held(bench, "g"), held(bench, "h").len()), (vec![(at(1, 3), true)], 1));
    let how = Trimming { references: References::Drop, ..Trimming::to(Keep::Newest(0)) };
    assert_eq!(bench.ask(OpKind::Trim(Trim { stream: stream("s"), how })), Ok(OpReply::Removed(1)));
    assert_eq!((held(bench, "g").len(), held(bench, "h").len()), (0, 0));
}

pub fn a_deletion_may_leave_what_is_not_finished_everywhere(bench: &Bench) {
    groups(bench, &["g", "h"]);
    (1..=3).for_each(|seq| bench.add_at("s", 1, seq));
    let all = [at(1, 1), at(1, 2), at(1, 3), at(9, 9)];
    let kept = [Fate::Kept, Fate::Kept, Fate::Kept, Fate::Missing];
    assert_eq!(delete(bench, &all, References::Acked), kept, "nobody read them");
    read(bench, "g", None);
    for &place in &all[..3] {
        assert_eq!(ack(bench, "g", place, None), Fate::Done);
    }
    assert_eq!(delete(bench, &all, References::Acked), kept, "the other did not");
    read(bench, "h", None);
    assert_eq!(delete(bench, &all, References::Acked), kept, "it has not finished");
    ack(bench, "h", at(1, 2), None);
    let how = Trimming { references: References::Acked, ..Trimming::to(Keep::Newest(0)) };
    assert_eq!(bench.ask(OpKind::Trim(Trim { stream: stream("s"), how })), Ok(OpReply::Removed(1)));
    ack(bench, "h", at(1, 1), None);
    assert_eq!(delete(bench, &all[..2], References::Acked), [Fate::Done, Fate::Missing]);
    assert_eq!(bench.entries("s").len(), 1);
}

pub fn an_ack_may_take_the_entry_out_of_its_stream(bench: &Bench) {
    groups(bench, &["g", "h"]);
    (1..=4).for_each(|seq| bench.add_at("s", 1, seq));
    for group in ["g", "h"] {
        read(bench, group, None);
    }
    assert_eq!(ack(bench, "g", at(9, 9), Some(References::Drop)), Fate::Missing);
    assert_eq!(ack(bench, "g", at(1, 1), Some(References::Acked)), Fate::Kept);
    assert_eq!(ack(bench, "h", at(1, 1), Some(References::Acked)), Fate::Done);
    assert_eq!(ack(bench, "g", at(1, 2), Some(References::Keep)), Fate::Done);
    assert_eq!(held(bench, "h"), [(at(1, 2), false), (at(1, 3), true), (at(1, 4), true)]);
    assert_eq!(ack(bench, "g", at(1, 3), Some(References::Drop)), Fate::Done);
    assert_eq!(held(bench, "h").len(), 2);
    let places: Vec<_> = bench.entries("s").iter().map(|entry| entry.place).collect();
    assert_eq!(places, [at(1, 4)]);
}

pub fn what_is_held_of_a_deleted_entry_is_handed_out_to_nobody(bench: &Bench) {
    groups(bench, &["g"]);
    (1..=4).for_each(|seq| bench.add_at("s", 1, seq));
    let events: Vec<_> = bench.entries("s").iter().map(|entry| entry.event).collect();
    read(bench, "g", None);
    let places: Vec<_> = (1..=4).map(|seq| at(1, seq)).collect();
    delete(bench, &places, References::Keep);
    let nack = ReaderOp::Nack(NackEntries {
        queue: of("g"),
        places: vec![at(1, 1)],
        how: GivingUp::Release,
        delay_ms: None,
        error: None,
        redis_count: None,
    });
    bench.ask(OpKind::Reader(nack)).expect("it is held");
    let bury = AdminOp::Bury { event: events[1], queue: None, reason: naven_core::DeadReason::Damaged };
    bench.ask(OpKind::Admin(bury)).expect("it is held");
    assert_eq!(held(bench, "g").len(), 2);
    assert_eq!(bench.try_claim("s/g"), None);
    let name = Bytes::from_static(b"c");
    bench.ask(OpKind::Delete(DeleteOp::Consumer { queue: of("g"), name })).expect("it is there");
    assert!(bench.dead_letters(&of("g"), 9).is_empty());
    let missing = bench.read(crate::read::Read::Event { event: events[0], payload: true });
    assert_eq!(missing, Err(crate::reply::Refused::EventNotFound.into()));
}

pub fn a_reset_hands_out_no_entry_that_is_deleted(bench: &Bench) {
    groups(bench, &["g"]);
    (1..=3).for_each(|seq| bench.add_at("s", 1, seq));
    read(bench, "g", None);
    delete(bench, &[at(1, 2)], References::Keep);
    let reset = GroupOp::Reset { queue: of("g"), from: From::Start };
    bench.ask(OpKind::Group(reset)).expect("it is there");
    assert_eq!(read(bench, "g", None), [(at(1, 1), true), (at(1, 3), true)]);
    assert_eq!(held(bench, "g").len(), 2);
}

pub fn what_http_has_of_an_entry_outlives_its_deletion(bench: &Bench) {
    bench.queue_on_with("mail", "s", From::Start, |settings| settings.protect_unread = false);
    (1..=3).for_each(|seq| bench.add_at("s", 1, seq));
    let grants = bench.claim_up_to("mail", 3);
    bench.must(&grants[1], super::bench::fatal());
    bench.must(&grants[2], super::bench::fail_in("later", 5));
    delete(bench, &[at(1, 1), at(1, 2), at(1, 3)], References::Drop);
    assert!(bench.event(grants[0].event).body.is_some() && bench.event(grants[1].event).body.is_some());
    let forgotten = bench.read(crate::read::Read::Event { event: grants[2].event, payload: true });
    assert!(forgotten.is_err(), "nobody had it");
    bench.must(&grants[0], super::bench::release());
    assert_eq!(bench.take("mail", 9), [grants[0].event]);
}

pub fn an_entry_that_is_published_alone_is_held_with_its_content(bench: &Bench) {
    groups(bench, &["g", "h"]);
    bench.append(to_queue("s/g", "{}"));
    let lane = read(bench, "g", None);
    assert_eq!((lane.len(), lane[0].1), (1, true));
    let place = lane[0].0;
    let trim = Some(Trimming { references: References::Drop, ..Trimming::to(Keep::Newest(0)) });
    let wish = EntryWish { make_stream: false, place: PlaceWish::Next, trim };
    bench.append(Append { entry: Some(Box::new(wish)), ..entry("s", PlaceWish::Next) });
    assert_eq!(held(bench, "g"), [(place, true)], "it is none of the stream's entries");
    assert_eq!(delete(bench, &[place], References::Keep), [Fate::Missing]);
    assert_eq!(ack(bench, "g", place, None), Fate::Done);
}
