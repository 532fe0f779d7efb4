//! What is kept for a while: outcomes, dead letters, what deleted queues and streams left.
//!
//! Lives here: how long, and what it is good for until then. Not here: trims (`trimming.rs`).

use naven_core::{DeadReason, View};

use super::bench::{Bench, beat, create, delete, fail, fatal, named, redrive};
use super::streams::{delete_stream, reset, stream, to_stream};
use crate::engine::Budget;
use crate::queue::{QueueRef, QueueSettings};
use crate::read::{Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Append, DeleteOp, Due, From, OpKind, SettleStep};

const DAY: i64 = 86_400;

fn gone(bench: &Bench, event: naven_api::EventId) -> bool {
    bench.read(Read::Event { event, payload: false }) == Err(Refused::EventNotFound.into())
}

pub fn a_done_event_is_remembered_for_a_day_and_then_forgotten(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.done_retention_seconds = 0);
    bench.publish("mail", 1);
    let grant = bench.finish("mail");
    bench.after(DAY - 1);
    bench.tend();
    assert!(bench.must(&grant, SettleStep::Ack).replayed);
    assert_eq!(bench.say(&grant, fail()), Err(Refused::Settled.into()));
    assert_eq!(bench.must(&grant, beat(9)).state, View::Done);
    assert_eq!(bench.view("mail").counts.of(View::Done), 1);
    bench.after(1);
    assert_eq!(bench.tend().rows, 1);
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::EventNotFound.into()));
    assert!(gone(bench, grant.event));
    assert_eq!(bench.view("mail").counts.of(View::Done), 0);
}

pub fn a_longer_memory_may_be_asked_for(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.done_retention_seconds = 3 * DAY as u32);
    bench.publish("mail", 1);
    let grant = bench.finish("mail");
    bench.after(3 * DAY - 1);
    assert_eq!(bench.tend().rows, 0);
    assert!(bench.must(&grant, SettleStep::Ack).replayed);
    bench.after(1);
    assert_eq!(bench.tend().rows, 1);
    assert!(gone(bench, grant.event));
}

pub fn an_event_is_forgotten_when_its_last_queue_forgets_it(bench: &Bench) {
    bench.queue("mail");
    bench.queue_on_with("bill", "mail", From::Start, |settings| {
        settings.done_retention_seconds = 2 * DAY as u32
    });
    let event = bench.spread("mail", 1);
    bench.finish("mail");
    let bill = bench.finish("bill");
    bench.after(DAY);
    bench.tend();
    assert_eq!(bench.delivery(event).queue_id, bill.queue);
    bench.after(DAY);
    bench.tend();
    assert!(gone(bench, event));
}

pub fn dead_letters_are_given_up_after_their_time(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.dead_retention_seconds = 3_600);
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, fatal());
    bench.after(3_599);
    bench.tend();
    assert_eq!(bench.dead_letters(&named("mail"), 5).len(), 1);
    bench.after(1);
    bench.tend();
    assert!(bench.dead_letters(&named("mail"), 5).is_empty());
    assert_eq!(bench.view("mail").counts.unfinished(), 0);
    let view = bench.event(grant.event);
    assert_eq!((view.body, view.deliveries[0].dead), (None, Some(DeadReason::Fatal)));
    assert_eq!(bench.stream("mail").length, 0, "it is needed by nobody");
    assert!(bench.must(&grant, fatal()).replayed, "a late call is judged all the same");
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Settled.into()));
    assert_eq!(bench.ask(redrive(grant.event)), Err(Refused::WrongState.into()));
    bench.after(DAY);
    bench.tend();
    assert!(gone(bench, grant.event));
}

pub fn retention_goes_on_in_bounded_steps(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 7);
    (0..7).for_each(|_| drop(bench.finish("mail")));
    bench.after(DAY);
    let tend = || bench.block_on(bench.engine.tend(Budget { rows: 2 })).expect("it runs");
    let first = tend();
    assert_eq!((first.rows, first.more), (2, true));
    assert_eq!(bench.view("mail").counts.of(View::Done), 5);
    while tend().more {}
    assert_eq!(bench.view("mail").counts.of(View::Done), 0);
}

pub fn what_a_deleted_queue_left_goes_after_the_dead_retention(bench: &Bench) {
    let id = bench.queue_on_with("mail", "orders", From::Start, |settings| {
        settings.dead_retention_seconds = 2 * DAY as u32;
    });
    bench.queue_on("bill", "orders", From::Start);
    let events: Vec<_> = (0..3).map(|n| bench.spread("orders", n)).collect();
    let due = Due::In((9 * DAY as u32).try_into().expect("in bounds"));
    let waits = bench.append(Append { due, ..to_stream("orders", "{}") }).id;
    let direct = bench.append(Append { due, ..super::streams::to_queue("mail", "{}") }).id;
    let grant = bench.claim("mail");
    let reason = DeadReason::GroupDestroyed;
    let destroy = DeleteOp::Queue { queue: named("mail"), force: true, reason, revision: None };
    bench.ask(OpKind::Delete(destroy)).expect("it is there");
    let letters = bench.dead_letters(&QueueRef::Id(id), 2);
    assert_eq!(letters.len(), 5);
    assert!(letters.iter().all(|letter| letter.deliveries[0].dead == Some(reason)));
    bench.after(2 * DAY - 1);
    bench.tend();
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.event(waits).deliveries.len(), 2);
    bench.after(1);
    bench.tend();
    let read = Read::DeadLetters { queue: QueueRef::Id(id), cursor: None, limit: 9, payload: false };
    assert_eq!(bench.read(read), Err(Refused::QueueNotFound.into()));
    assert!(gone(bench, direct));
    assert_eq!((bench.event(waits).deliveries.len(), bench.event(events[0]).deliveries.len()), (1, 1));
    assert_eq!(bench.take("bill", 9), events);
}

pub fn a_purge_goes_on_in_bounded_steps(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 5);
    bench.claim_up_to("mail", 2);
    bench.ask(delete("mail", true)).expect("it is there");
    bench.after(14 * DAY);
    let tend = || bench.block_on(bench.engine.tend(Budget { rows: 2 })).expect("it runs");
    let mut steps = 0;
    while tend().more {
        steps += 1;
        assert!(steps < 20, "it has an end");
    }
    assert!(events.iter().all(|&event| gone(bench, event)));
    bench.queue("mail");
    assert_eq!(bench.try_claim("mail"), None);
}

pub fn a_scheduled_event_of_a_deleted_queue_stays_its_dead_letter(bench: &Bench) {
    let id = bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
    let due = Due::In(5.try_into().expect("in bounds"));
    let event = bench.append(Append { due, ..to_stream("orders", "{}") }).id;
    bench.ask(delete("mail", true)).expect("it is there");
    let after = bench.spread("orders", 2);
    bench.after(5);
    assert_eq!(bench.take("bill", 9), [after, event], "the other queue gets it at its time");
    let letters = bench.dead_letters(&QueueRef::Id(id), 9);
    assert_eq!((letters.len(), letters[0].id), (1, event));
    assert_eq!(bench.event(after).deliveries.len(), 1);
}

pub fn a_deleted_stream_takes_its_queues_along(bench: &Bench) {
    let id = bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
    let event = bench.spread("orders", 1);
    let grant = bench.claim("mail");
    assert_eq!(bench.ask(delete_stream("orders", false)), Err(Refused::NotEmpty.into()));
    assert_eq!(bench.ask(delete_stream("orders", true)), Ok(OpReply::Done));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.ask(OpKind::Append(to_stream("orders", "{}"))), Err(Refused::StreamNotFound.into()));
    assert_eq!(bench.ask(delete_stream("orders", true)), Err(Refused::StreamNotFound.into()));
    assert_eq!(bench.ask(reset("mail", From::Start)), Err(Refused::QueueNotFound.into()));
    let letters = bench.dead_letters(&QueueRef::Id(id), 9);
    assert_eq!((letters[0].id, letters[0].deliveries[0].dead), (event, Some(DeadReason::StreamDeleted)));
    let again = bench.queue_on("mail", "orders", From::Start);
    assert_ne!(again, id);
    assert_eq!((bench.try_claim("mail"), bench.stream("orders").added), (None, 0), "nothing is shared");
    bench.after(14 * DAY);
    bench.tend();
    assert!(gone(bench, event));
}

pub fn a_stream_without_unfinished_events_is_deleted_without_force(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    let event = bench.spread("orders", 1);
    bench.finish("mail");
    assert_eq!(bench.ask(delete_stream("orders", false)), Ok(OpReply::Done));
    assert_eq!(bench.read(Read::Stream(stream("orders"))), Err(Refused::StreamNotFound.into()));
    let all = Read::Streams { name_prefix: bytes::Bytes::new(), cursor: None, limit: 9 };
    assert!(matches!(bench.read(all), Ok(Page::Streams(items, None)) if items.is_empty()));
    assert!(!gone(bench, event), "what its queues remember stays for its time");
    bench.after(14 * DAY);
    bench.tend();
    assert!(gone(bench, event));
}

pub fn a_stream_of_consumed_events_closes_with_its_last_queue(bench: &Bench) {
    bench.queue("mail");
    bench.queue_on("bill", "mail", From::Start);
    bench.ask(delete("mail", false)).expect("it is empty");
    assert_eq!(bench.stream("mail").queues, 1);
    let taken: Result<OpReply, OpError> = Err(Refused::NameTaken.into());
    assert_eq!(bench.ask(create("mail", QueueSettings::default())), taken);
    bench.ask(delete("bill", false)).expect("it is empty");
    assert_eq!(bench.read(Read::Stream(stream("mail"))), Err(Refused::StreamNotFound.into()));
    bench.queue("mail");
}
