//! Reads: queues, keys and the engine itself.
//!
//! Lives here: lists and figures. Not here: dead letters (`dead_letters.rs`).

use naven_api::{KeyId, QueueId};

use super::bench::{Bench, delete, named};
use crate::key::{KeyCondition, KeyRecord, KeySecret};
use crate::queue::QueueRef;
use crate::read::{Page, Read};
use crate::reply::{OpReply, Refused};
use crate::txn::{AdminOp, From, OpKind};

fn names(bench: &Bench, prefix: &str, limit: u32) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let read = Read::Queues { name_prefix: prefix.to_owned(), cursor, limit };
        let Ok(Page::Queues(items, next)) = bench.read(read) else { panic!("a list of queues") };
        assert!(items.len() <= limit as usize, "a page keeps to its limit");
        all.extend(items.into_iter().map(|view| view.name));
        cursor = next;
        if cursor.is_none() {
            return all;
        }
    }
}

pub fn a_queue_is_found_by_name_and_by_id(bench: &Bench) {
    let id = bench.queue("mail");
    let by_name = bench.view("mail");
    assert_eq!((by_name.id, by_name.stream.as_str()), (id, "mail"));
    assert_eq!((by_name.created_at, by_name.updated_at), (bench.wall(), bench.wall()));
    let Ok(Page::Queue(by_id)) = bench.read(Read::Queue(QueueRef::Id(id))) else { panic!("by id") };
    assert_eq!(*by_id, by_name);
    let other = Read::Queue(QueueRef::Id(QueueId::from_bits(id.bits() ^ 1)));
    assert_eq!(bench.read(other), Err(Refused::QueueNotFound.into()));
}

pub fn a_queue_s_id_says_when_it_was_made(bench: &Bench) {
    let id = bench.queue("mail");
    assert_eq!((id.bits() >> 80) as i64, bench.wall().as_ms());
    assert_eq!((id.bits() >> 76) & 0xf, 7, "UUID version 7");
}

pub fn queues_are_listed_newest_first_in_pages_by_prefix(bench: &Bench) {
    for (name, step_ms) in [("a1", 1), ("b1", 0), ("a2", 0), ("a3", -5_000), ("b2", 0)] {
        bench.queue(name);
        bench.clock.step_wall_ms(step_ms);
    }
    for limit in [1, 2, 5, 500] {
        assert_eq!(names(bench, "", limit), ["b2", "a3", "a2", "b1", "a1"], "pages of {limit}");
        assert_eq!(names(bench, "a", limit), ["a3", "a2", "a1"]);
    }
    assert!(names(bench, "zz", 5).is_empty());
    bench.ask(delete("a3", true)).expect("it is there");
    assert_eq!(names(bench, "a", 1), ["a2", "a1"]);
}

pub fn a_key_is_stored_under_its_name_and_replaced_by_the_next(bench: &Bench) {
    let key = |name: &str, digest| {
        let secret = KeySecret { prefix: format!("nvk_{digest}"), digest: [digest; 32], until: None };
        KeyRecord {
            scopes: vec!["admin".to_owned(), "read".to_owned()],
            queues: vec!["*".to_owned()],
            ..KeyRecord::new(KeyId::from_bits(u128::from(digest)), name.to_owned(), secret, bench.wall())
        }
    };
    let stored = || match bench.read(Read::Keys) {
        Ok(Page::Keys(mut keys)) => {
            keys.sort_by(|a, b| a.name.cmp(&b.name));
            keys
        }
        other => panic!("keys: {other:?}"),
    };
    assert!(stored().is_empty());
    let put = |record, over| bench.ask(OpKind::Admin(AdminOp::PutKey { record, over }));
    for (name, digest) in [("worker", 1), ("admin", 2), ("admin", 3)] {
        assert_eq!(put(key(name, digest), KeyCondition::Any), Ok(OpReply::Done));
    }
    assert_eq!(stored(), [key("admin", 3), key("worker", 1)]);
    assert_eq!(put(key("worker", 4), KeyCondition::Absent), Err(Refused::NameTaken.into()));
    let changed = KeyRecord { revision: 2, rate_limit: Some(5), ..key("worker", 1) };
    assert_eq!(put(changed.clone(), KeyCondition::Revision(2)), Err(Refused::Stale.into()));
    assert_eq!(put(key("worker", 4), KeyCondition::Revision(1)), Err(Refused::KeyNotFound.into()));
    assert_eq!(put(key("nobody", 5), KeyCondition::Revision(1)), Err(Refused::KeyNotFound.into()));
    assert_eq!(put(changed.clone(), KeyCondition::Revision(1)), Ok(OpReply::Done));
    assert_eq!(stored(), [key("admin", 3), changed.clone()]);
    let delete = |digest, revision| {
        bench.ask(OpKind::Admin(AdminOp::DeleteKey { key: KeyId::from_bits(digest), revision }))
    };
    assert_eq!(delete(9, None), Err(Refused::KeyNotFound.into()));
    assert_eq!(delete(1, Some(1)), Err(Refused::Stale.into()));
    assert_eq!(delete(1, Some(2)), Ok(OpReply::Done));
    assert_eq!(delete(1, None), Err(Refused::KeyNotFound.into()));
    assert_eq!(stored(), [key("admin", 3)]);
    assert_eq!(put(key("worker", 6), KeyCondition::Absent), Ok(OpReply::Done), "the name is free again");
}

pub fn the_system_counts_queues_and_streams_that_are_not_deleted(bench: &Bench) {
    let counts = || match bench.read(Read::System) {
        Ok(Page::System(view)) => (view.queues, view.streams),
        other => panic!("the system: {other:?}"),
    };
    assert_eq!(counts(), (0, 0));
    bench.queue("a");
    bench.queue("b");
    bench.queue_on("c", "orders", From::Start);
    bench.queue_on("d", "orders", From::Start);
    assert_eq!(counts(), (4, 3));
    for queue in ["a", "c", "d"] {
        bench.ask(delete(queue, false)).expect("it is there");
    }
    assert_eq!(counts(), (1, 2), "a stream of a queue's own goes with it, another one stays");
}

pub fn a_read_sees_all_that_was_answered_before_it(bench: &Bench) {
    bench.queue("mail");
    for n in 0..20 {
        let event = bench.publish("mail", n);
        assert_eq!(bench.event(event).id, event);
        assert_eq!(bench.view("mail").counts.unfinished(), u64::from(n) + 1);
    }
}

pub fn a_payload_is_shown_where_it_is_asked_for(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let Ok(Page::Event(view)) = bench.read(Read::Event { event, payload: false }) else { panic!("there") };
    assert_eq!(view.body, None);
    assert_eq!(bench.event(event).body, Some(super::bench::json("{\"n\":1}")));
    let Ok(OpReply::Page(page)) = bench.ask(OpKind::Read(Read::Queue(named("mail")))) else {
        panic!("a read is an op too")
    };
    assert_eq!(*page, Page::Queue(Box::new(bench.view("mail"))));
}

pub fn a_closed_engine_takes_no_work(bench: &Bench) {
    bench.queue("mail");
    bench.block_on(bench.engine.close());
    let unavailable = crate::reply::OpError::Unavailable;
    assert_eq!(bench.ask(OpKind::Claim(super::bench::claim("mail", 1, 30))), Err(unavailable.clone()));
    assert_eq!(bench.read(Read::System), Err(unavailable));
}
