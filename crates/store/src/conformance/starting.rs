//! Where a queue begins in its stream, and where a reset sends it.
//!
//! Lives here: `from` and its four words. Not here: what is left of what was trimmed (`trimming.rs`).

use naven_core::View;

use super::bench::{Bench, fail_in, fatal, named};
use super::streams::{reset, to_queue, to_stream};
use crate::reply::Refused;
use crate::txn::{Append, Due, From, Place, SettleStep};

fn three(bench: &Bench) -> Vec<crate::read::EventView> {
    bench.queue_on("first", "orders", From::Start);
    (0..3)
        .map(|n| {
            bench.after(1);
            bench.append(to_stream("orders", &format!("{{\"n\":{n}}}")))
        })
        .collect()
}

fn place(view: &crate::read::EventView) -> Place {
    view.place.expect("it is due")
}

pub fn a_queue_begins_where_it_is_told_to(bench: &Bench) {
    let sent = three(bench);
    let ids: Vec<_> = sent.iter().map(|view| view.id).collect();
    let time = From::Time(bench.wall().plus_ms(-1_000));
    let starts = [
        (From::New, &ids[3..]),
        (From::Start, &ids[..]),
        (time, &ids[1..]),
        (From::Time(bench.wall().plus_ms(-999)), &ids[2..]),
        (From::Time(bench.wall().plus_ms(1)), &ids[3..]),
        (From::Time(naven_api::Timestamp::from_ms(-5)), &ids[..]),
        (From::After(place(&sent[0])), &ids[1..]),
        (From::After(Place { seq: 7, ..place(&sent[0]) }), &ids[1..]),
        (From::After(place(&sent[2])), &ids[3..]),
        (From::After(Place::default()), &ids[..]),
    ];
    for (at, (from, expected)) in starts.into_iter().enumerate() {
        let name = format!("q{at}");
        bench.queue_on(&name, "orders", from);
        assert_eq!(bench.view(&name).counts.of(View::Ready), expected.len() as u64, "{from:?}");
        assert_eq!(bench.take(&name, 9), expected, "{from:?}");
    }
    let after = bench.spread("orders", 9);
    assert_eq!(bench.take("q0", 9), [after], "what comes later is new to every queue");
}

pub fn a_new_queue_sees_what_is_still_to_come(bench: &Bench) {
    bench.queue_on("first", "orders", From::Start);
    let due = Due::In(5.try_into().expect("in bounds"));
    let waits = bench.append(Append { due, ..to_stream("orders", "{}") }).id;
    bench.queue_on("late", "orders", From::New);
    assert_eq!(bench.view("late").counts.of(View::Scheduled), 1);
    bench.after(5);
    assert_eq!(bench.take("late", 9), [waits]);
}

pub fn what_is_due_has_its_place_before_a_queue_begins(bench: &Bench) {
    bench.queue_on("first", "orders", From::Start);
    let due = Due::In(5.try_into().expect("in bounds"));
    bench.append(Append { due, ..to_stream("orders", "{}") });
    bench.after(5);
    bench.queue_on("late", "orders", From::New);
    assert_eq!(bench.take("late", 9), []);
}

pub fn a_reset_begins_a_new_round_whatever_became_of_an_event(bench: &Bench) {
    let sent = three(bench);
    let grants = bench.claim_up_to("first", 3);
    bench.must(&grants[0], SettleStep::Ack);
    bench.must(&grants[1], fatal());
    bench.ask(reset("first", From::Start)).expect("it is there");
    let counts = bench.view("first").counts;
    assert_eq!((counts.of(View::Ready), counts.unfinished(), counts.of(View::Done)), (3, 3, 0));
    assert!(bench.dead_letters(&named("first"), 9).is_empty());
    for grant in &grants {
        assert_eq!(bench.say(grant, SettleStep::Ack), Err(Refused::Lost.into()), "old tokens are lost");
    }
    let again = bench.claim_up_to("first", 9);
    assert_eq!(again.iter().map(|one| one.event).collect::<Vec<_>>(), [sent[0].id, sent[1].id, sent[2].id]);
    for (old, new) in grants.iter().zip(&again) {
        assert!(new.fence > old.fence && new.round > old.round, "{old:?} {new:?}");
        assert_eq!(new.attempts, 1);
    }
}

pub fn a_reset_leaves_alone_what_lies_before_it(bench: &Bench) {
    let sent = three(bench);
    let grants = bench.claim_up_to("first", 3);
    bench.must(&grants[1], fail_in("x", 5));
    bench.ask(reset("first", From::After(place(&sent[1])))).expect("it is there");
    assert_eq!(bench.take("first", 9), [sent[2].id]);
    assert_eq!(bench.must(&grants[0], SettleStep::Ack).state, View::Done);
    assert_eq!(bench.say(&grants[2], SettleStep::Ack), Err(Refused::Lost.into()));
    bench.after(5);
    assert_eq!(bench.take("first", 9), [sent[1].id]);
}

pub fn a_reset_forwards_passes_by_what_was_not_read(bench: &Bench) {
    let sent = three(bench);
    bench.ask(reset("first", From::New)).expect("it is there");
    assert_eq!(bench.take("first", 9), []);
    let group = &bench.groups("orders")[0];
    assert_eq!((group.lag, group.trimmed_unread), (0, 0), "passed by, not lost");
    assert_eq!(group.last_delivered, place(&sent[2]));
    bench.ask(reset("first", From::Start)).expect("it is there");
    assert_eq!(bench.take("first", 9).len(), 3);
}

pub fn a_reset_of_consumed_events_brings_back_what_is_there(bench: &Bench) {
    bench.queue("mail");
    let sent = bench.publish_some("mail", 3);
    let grants = bench.claim_up_to("mail", 2);
    bench.must(&grants[1], SettleStep::Ack);
    bench.ask(reset("mail", From::Start)).expect("it is there");
    assert_eq!(bench.take("mail", 9), [sent[0], sent[2]], "what is done has left the stream");
    assert!(bench.must(&grants[1], SettleStep::Ack).replayed, "and is still known as done");
    let unread = bench.publish("mail", 3);
    bench.ask(reset("mail", From::New)).expect("it is there");
    let left: Vec<_> = bench.entries("mail").iter().map(|entry| entry.event).collect();
    assert_eq!(left, [sent[0], sent[2]], "what nobody is to read leaves; what is held stays");
    assert!(!left.contains(&unread));
}

pub fn a_reset_loses_nothing_of_a_lane(bench: &Bench) {
    three(bench);
    bench.queue_on("other", "orders", From::New);
    let read = bench.append(to_queue("other", "{}")).id;
    let held = bench.claim("other");
    let unread = bench.append(to_queue("other", "{}")).id;
    bench.ask(reset("other", From::New)).expect("it is there");
    assert_eq!(bench.take("other", 9), [unread], "what was not read still waits");
    bench.ask(reset("other", From::Start)).expect("it is there");
    assert_eq!(bench.view("other").counts.of(View::Ready), 5);
    let all = bench.take("other", 9);
    assert!(all.contains(&read) && all.contains(&unread), "what was held waits again");
    assert_eq!(bench.say(&held, SettleStep::Ack), Err(Refused::Lost.into()));
}
