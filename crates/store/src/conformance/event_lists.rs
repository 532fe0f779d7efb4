//! Lists of a queue's events: whatever became of them, the last one first.
//!
//! Lives here: order, filters, pages, bounds. Not here: dead letters with what only they have
//! (`dead_letters.rs`, `operations.rs`).

use naven_api::{EventId, PayloadCondition};
use naven_core::{Fingerprint, View};

use super::bench::{Bench, append, beat, create, delete, fail_in, fatal, named, redrive};
use crate::queue::QueueSettings;
use crate::read::{Cursor, EventFilter, EventPage, EventRead, EventView, Page, Read, ScanBound, Wanted};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{AdminOp, Due, GroupOp, OpKind, SettleStep, StreamRef, Target};

/// Everything of `mail`, in one page.
fn all() -> EventRead {
    EventRead {
        queue: named("mail"),
        filter: EventFilter::default(),
        cursor: None,
        wanted: Wanted::Items { limit: 500, payload: false },
        bound: ScanBound::default(),
    }
}

fn in_states(states: &[View]) -> EventFilter {
    EventFilter { states: states.to_vec(), ..EventFilter::default() }
}

fn ask(bench: &Bench, read: EventRead) -> Result<EventPage, OpError> {
    match bench.read(Read::Events(read))? {
        Page::Events(page) => Ok(page),
        other => panic!("no events: {other:?}"),
    }
}

fn ids(items: &[EventView]) -> Vec<EventId> {
    items.iter().map(|item| item.id).collect()
}

/// All that a filter lets in, page by page.
#[track_caller]
fn listed(bench: &Bench, read: &EventRead) -> Vec<EventId> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = ask(bench, EventRead { cursor, ..read.clone() }).expect("it is there");
        assert_eq!(page.found, page.items.len() as u64);
        found.extend(ids(&page.items));
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

/// What a filter lets in, in pages of any size, by states or not, and how many they are.
#[track_caller]
fn lets_in(bench: &Bench, filter: &EventFilter, expected: &[EventId]) {
    for (limit, rows, by_state) in [(500, 20_000, 20_000), (1, 20_000, 0), (2, 1, 20_000), (500, 1, 0)] {
        let read = EventRead {
            filter: filter.clone(),
            wanted: Wanted::Items { limit, payload: false },
            bound: ScanBound { rows, by_state, ..ScanBound::default() },
            ..all()
        };
        assert_eq!(listed(bench, &read), expected, "{read:?}");
    }
    let count = EventRead { filter: filter.clone(), wanted: Wanted::Count, ..all() };
    let page = ask(bench, count).expect("it is there");
    assert_eq!((page.found, page.truncated), (expected.len() as u64, false), "{filter:?}");
}

pub fn events_are_listed_whatever_became_of_them(bench: &Bench) {
    bench.queue("mail");
    let done = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    let dead = bench.publish("mail", 2);
    bench.must(&bench.claim("mail"), fatal());
    let retrying = bench.publish("mail", 3);
    bench.must(&bench.claim("mail"), fail_in("later", 60));
    let held = bench.publish("mail", 4);
    assert_eq!(super::consumers::read_as(bench, "mail", "c", 1).len(), 1);
    let leased = bench.publish("mail", 5);
    assert_eq!(bench.claim("mail").event, leased);
    let scheduled = bench.publish_due("mail", 6, Due::In(60.try_into().expect("a delay"))).id;
    let cancelled = bench.publish("mail", 7);
    let cancel = AdminOp::Cancel { event: cancelled, queue: None, reason: None };
    bench.ask(OpKind::Admin(cancel)).expect("nobody has it");
    let ready = bench.publish("mail", 8);
    let each = [
        (View::Ready, ready),
        (View::Cancelled, cancelled),
        (View::Scheduled, scheduled),
        (View::Leased, leased),
        (View::Held, held),
        (View::Retrying, retrying),
        (View::Dead, dead),
        (View::Done, done),
    ];
    lets_in(bench, &EventFilter::default(), &each.map(|(_, event)| event));
    for (state, event) in each {
        lets_in(bench, &in_states(&[state]), &[event]);
        let page = ask(bench, EventRead { filter: in_states(&[state]), ..all() }).expect("it is there");
        assert_eq!(page.items[0].deliveries.len(), 1);
        assert_eq!(page.items[0].deliveries[0].state, state);
    }
    lets_in(bench, &in_states(&[View::Leased, View::Dead]), &[leased, dead]);
    lets_in(bench, &in_states(&[View::Leased, View::Done]), &[leased, done]);
}

pub fn few_in_a_state_are_found_among_many_others(bench: &Bench) {
    bench.queue("mail");
    let first = bench.publish("mail", 0);
    assert_eq!(bench.claim("mail").event, first);
    bench.publish_some("mail", 30);
    let bound = ScanBound { rows: 3, ..ScanBound::default() };
    let leased = EventRead { filter: in_states(&[View::Leased]), bound, ..all() };
    let page = ask(bench, leased.clone()).expect("it is there");
    assert_eq!((ids(&page.items), page.looked.rows, page.truncated), (vec![first], 1, false));
    assert_eq!(page.next, None);
    // Where they are too many for that, they are found by looking at all, as far as one may.
    let bound = ScanBound { by_state: 0, ..bound };
    let page = ask(bench, EventRead { bound, ..leased }).expect("it is there");
    assert_eq!((ids(&page.items), page.looked.rows, page.truncated), (vec![], 3, true));
    assert!(page.next.is_some());
}

pub fn each_filter_of_events_lets_in_what_it_says(bench: &Bench) {
    bench.queue("mail");
    let publish = |text: &str| match bench.ask(append("mail", text, Due::Now)) {
        Ok(OpReply::Event(view)) => view.id,
        other => panic!("publishing: {other:?}"),
    };
    let first = publish(r#"{"user":{"id":7,"name":"Ann"},"tags":["x"]}"#);
    bench.must(&bench.claim("mail"), fail_in("no user 1", 60));
    bench.after(10);
    let later = bench.wall();
    let second = publish(r#"{"user":{"id":"7"},"paid":true}"#);
    bench.must(&bench.claim("mail"), fatal());
    let done = publish(r#"{"user":{"id":7}}"#);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    let dead = bench.delivery(second);
    let print = Fingerprint::of(dead.dead.expect("it is dead"), dead.last_error.as_deref()).to_string();
    let any = EventFilter::default();
    let condition = |path: &str, value: &str| PayloadCondition {
        path: path.parse().expect("a path"),
        value: value.to_owned(),
    };
    let has = |conditions: &[(&str, &str)]| EventFilter {
        payload: conditions.iter().map(|(path, value)| condition(path, value)).collect(),
        ..EventFilter::default()
    };
    for (filter, expected) in [
        (EventFilter { created_after: Some(later), ..any.clone() }, vec![done, second]),
        (EventFilter { created_before: Some(later), ..any.clone() }, vec![first]),
        (EventFilter { error: Some("no user".to_owned()), ..any.clone() }, vec![first]),
        (EventFilter { error: Some("no".to_owned()), ..any.clone() }, vec![second, first]),
        (EventFilter { error: Some(print), ..any.clone() }, vec![second]),
        // The payload of what is done is not there any more.
        (has(&[("user.id", "7")]), vec![second, first]),
        (has(&[("user.id", "7"), ("paid", "true")]), vec![second]),
        (has(&[("user.name", "Ann"), ("paid", "true")]), vec![]),
        (EventFilter { text: Some("\"tags\":[".to_owned()), ..any.clone() }, vec![first]),
        (EventFilter { text: Some("user".to_owned()), ..in_states(&[View::Dead]) }, vec![second]),
        (EventFilter { text: Some("nothing".to_owned()), ..any.clone() }, vec![]),
    ] {
        lets_in(bench, &filter, &expected);
    }
}

pub fn a_page_of_events_is_stable_while_others_come(bench: &Bench) {
    bench.queue("mail");
    let mut before = bench.publish_some("mail", 5);
    let two = EventRead { wanted: Wanted::Items { limit: 2, payload: true }, ..all() };
    let page = ask(bench, two.clone()).expect("it is there");
    assert_eq!((ids(&page.items), page.truncated), (vec![before[4], before[3]], false));
    assert_eq!(page.items[0].body, Some(super::bench::json("{\"n\":4}")));
    bench.publish_some("mail", 3);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    assert_eq!(listed(bench, &two).len(), 8, "whoever begins anew sees all of them");
    let next = ask(bench, EventRead { cursor: page.next, ..two.clone() }).expect("it is there");
    assert_eq!(ids(&next.items), [before[2], before[1]]);
    let last = ask(bench, EventRead { cursor: next.next, ..two.clone() }).expect("it is there");
    assert_eq!((ids(&last.items), last.next), (vec![before.remove(0)], None));
    for bad in [vec![], vec![1, 2, 3], vec![0; 9]] {
        let bad = EventRead { cursor: Some(Cursor(bad)), ..two.clone() };
        assert_eq!(ask(bench, bad), Err(Refused::BadCursor.into()));
    }
}

pub fn a_page_of_events_ends_where_it_has_looked_far_enough(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 10);
    let filter = EventFilter { text: Some("\"n\":1}".to_owned()), ..EventFilter::default() };
    let far = |bound| EventRead { filter: filter.clone(), bound, ..all() };
    let rows = far(ScanBound { rows: 4, ..ScanBound::default() });
    let page = ask(bench, rows.clone()).expect("it is there");
    assert_eq!((page.items.len(), page.truncated, page.looked.rows), (0, true, 4));
    let page = ask(bench, EventRead { cursor: page.next, ..rows.clone() }).expect("it is there");
    assert_eq!((page.items.len(), page.truncated), (0, true));
    let page = ask(bench, EventRead { cursor: page.next, ..rows.clone() }).expect("it is there");
    assert_eq!((ids(&page.items), page.truncated, page.next), (vec![events[1]], false, None));
    // A payload has 7 bytes: the fifth row is not looked at any more.
    let bytes = far(ScanBound { payload_bytes: 28, ..ScanBound::default() });
    let page = ask(bench, bytes).expect("it is there");
    assert_eq!((page.truncated, page.looked.rows, page.looked.payload_bytes), (true, 4, 28));
    let count = EventRead { wanted: Wanted::Count, ..rows };
    let page = ask(bench, count).expect("it is there");
    assert_eq!((page.found, page.truncated), (0, true));
    let page = ask(bench, far(ScanBound { rows: 10, ..ScanBound::default() })).expect("it is there");
    assert_eq!((page.truncated, page.next), (false, None), "there is nothing behind the last row");
}

pub fn an_event_of_another_s_lane_is_none_of_a_queue_s(bench: &Bench) {
    for name in ["mail", "other"] {
        let stream = StreamRef(bytes::Bytes::from_static(b"s"));
        let OpKind::Group(GroupOp::Create { name, settings, stream: changes, .. }) =
            create(name, QueueSettings::default())
        else {
            panic!("a creation")
        };
        let on = Some(crate::txn::Reading { stream, from: crate::txn::From::Start });
        bench.ask(OpKind::Group(GroupOp::Create { name, settings, on, stream: changes })).expect("it is new");
    }
    let OpKind::Append(mut to_all) = append("mail", "{}", Due::Now) else { panic!("a publish") };
    to_all.to = Target::Stream(StreamRef(bytes::Bytes::from_static(b"s")));
    let Ok(OpReply::Event(shared)) = bench.ask(OpKind::Append(to_all)) else { panic!("it is there") };
    let own = bench.publish("mail", 1);
    let others = bench.publish("other", 2);
    let later = bench.publish_due("other", 3, Due::In(60.try_into().expect("a delay"))).id;
    let own_later = bench.publish_due("mail", 4, Due::In(60.try_into().expect("a delay"))).id;
    lets_in(bench, &EventFilter::default(), &[own_later, own, shared.id]);
    lets_in(bench, &in_states(&[View::Scheduled]), &[own_later]);
    let theirs = EventRead { queue: named("other"), ..all() };
    assert_eq!(listed(bench, &theirs), [later, others, shared.id]);
    assert_eq!(bench.claim_up_to("other", 1)[0].event, shared.id);
    lets_in(bench, &in_states(&[View::Ready]), &[own, shared.id]);
}

pub fn a_dead_letter_that_was_given_up_is_not_listed(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    lets_in(bench, &EventFilter::default(), &[event]);
    bench.ask(redrive(event)).expect("it is dead");
    let grant = bench.claim("mail");
    bench.must(&grant, beat(60));
    lets_in(bench, &in_states(&[View::Leased]), &[event]);
    bench.must(&grant, fatal());
    bench.ask(OpKind::Admin(AdminOp::Discard { event, queue: named("mail") })).expect("it is dead");
    lets_in(bench, &EventFilter::default(), &[]);
    lets_in(bench, &in_states(&[View::Dead]), &[]);
}

pub fn a_closed_queue_s_events_are_not_listed(bench: &Bench) {
    let id = bench.queue("mail");
    bench.publish("mail", 1);
    bench.ask(delete("mail", true)).expect("it is forced");
    for queue in [named("mail"), crate::queue::QueueRef::Id(id), named("nowhere")] {
        assert_eq!(ask(bench, EventRead { queue, ..all() }), Err(Refused::QueueNotFound.into()));
    }
}
