//! What publishers and holders tell of their work: traces, progress, results.
//!
//! Lives here: how each comes back, and for how long. Not here: the rules for one delivery
//! (`naven-core`) and which texts are traces or results (`naven-api`).

use bytes::Bytes;
use naven_api::limits::{BATCH_ITEMS_MAX, RESULT_BYTES_MAX};
use naven_api::{AckResult, Percent, Progress, TraceContext};
use naven_core::View;

use super::bench::{Bench, fatal, named, redrive, release, settle, token};
use super::streams::{reset, retention, to_queue, to_stream};
use crate::queue::Retention;
use crate::read::DeliveryView;
use crate::reply::{Grant, OpReply, Settled};
use crate::txn::{Append, DedupeKey, DedupeSpace, From, OpKind, Proof, Settle, SettleStep, Txn};

/// A trace; another one for each number.
pub fn trace(number: Option<u32>) -> TraceContext {
    let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{:016x}-01", number.unwrap_or(0) + 1);
    TraceContext::stored(parent, number.map(|number| format!("a={number}")))
}

/// A result of this text.
pub fn result(text: &str) -> AckResult {
    AckResult::parse(text).expect("tests write JSON within the bounds")
}

/// So many hundredths, and what is done just then.
pub fn progress(percent: u32) -> Progress {
    let percent = Percent::try_from(percent).expect("tests stay within the bounds of percentages");
    Progress::of(percent).with_note("reading")
}

fn report(percent: u32) -> SettleStep {
    SettleStep::Report(None, Box::new(progress(percent)))
}

fn traced(number: u32, append: Append) -> Append {
    Append { trace: Some(Box::new(trace(Some(number)))), ..append }
}

#[track_caller]
fn shows(delivery: &DeliveryView, percent: u32, at: naven_api::Timestamp) {
    let said = delivery.progress.as_deref().expect("something was said");
    assert_eq!((&said.progress, said.at), (&progress(percent), at));
}

pub fn a_trace_travels_with_its_event(bench: &Bench) {
    for queue in ["mail", "bills"] {
        bench.queue_on(queue, "orders", From::New);
    }
    bench.ask(retention("mail", Retention::Consumed)).expect("the queue is there");
    let (one, plain) = (bench.append(traced(1, to_stream("orders", "{}"))), to_stream("orders", "{}"));
    let plain = bench.append(plain);
    let expected = Some(Box::new(trace(Some(1))));
    assert_eq!((&one.trace, &plain.trace), (&expected, &None));
    for queue in ["mail", "bills"] {
        let grants = bench.claim_up_to(queue, 2);
        assert_eq!((&grants[0].trace, &grants[1].trace), (&expected, &None), "{queue}");
        bench.must(&grants[0], SettleStep::Ack);
    }
    let done = bench.event(one.id);
    assert_eq!((done.body, done.trace), (None, expected), "it outlives the payload");
    assert_eq!(bench.event(plain.id).trace, None);
}

pub fn a_trace_is_the_first_publish_s(bench: &Bench) {
    bench.queue("mail");
    let dedupe = Some(DedupeKey { space: DedupeSpace::Http, key: Bytes::from_static(b"order 7") });
    let publish = |number| {
        let append = Append { dedupe: dedupe.clone(), ..to_queue("mail", "{}") };
        bench.ask(OpKind::Append(traced(number, append)))
    };
    let Ok(OpReply::Event(first)) = publish(1) else { panic!("not published") };
    let Ok(OpReply::Deduped(again)) = publish(2) else { panic!("not known") };
    let expected = Some(Box::new(trace(Some(1))));
    assert_eq!((again.id, &again.trace, &first.trace), (first.id, &expected, &expected));
}

pub fn a_redriven_event_keeps_its_trace(bench: &Bench) {
    bench.queue("mail");
    let event = bench.append(traced(1, to_queue("mail", "{}")));
    bench.must(&bench.claim("mail"), fatal());
    let expected = Some(Box::new(trace(Some(1))));
    assert_eq!(bench.dead_letters(&named("mail"), 5)[0].trace, expected);
    bench.ask(redrive(event.id)).expect("it is dead");
    assert_eq!(bench.claim("mail").trace, expected);
}

pub fn what_a_holder_says_of_its_way_is_shown(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    assert_eq!(bench.delivery(event).progress, None);
    bench.after(1);
    let told = bench.must(&grant, report(40));
    assert_eq!(told.state, View::Leased);
    let at = bench.wall();
    shows(&bench.delivery(event), 40, at);
    bench.after(1);
    bench.must(&grant, SettleStep::Extend(None));
    shows(&bench.delivery(event), 40, at);
    bench.must(&grant, report(60));
    let at = bench.wall();
    bench.must(&grant, fatal());
    bench.after(5);
    // A heartbeat that raced the settle call says nothing any more.
    assert_eq!(bench.must(&grant, report(99)).state, View::Dead);
    shows(&bench.delivery(event), 60, at);
    shows(&bench.dead_letters(&named("mail"), 5)[0].deliveries[0], 60, at);
    bench.ask(redrive(event)).expect("it is dead");
    assert_eq!(bench.delivery(event).progress, None);
}

pub fn the_next_holder_begins_at_nothing(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let first = bench.claim("mail");
    bench.must(&first, report(40));
    let at = bench.wall();
    bench.must(&first, release());
    shows(&bench.delivery(event), 40, at);
    let second = bench.claim("mail");
    assert_eq!(bench.delivery(event).progress, None);
    assert!(bench.say(&first, report(50)).is_err(), "it lost the event");
    assert_eq!(bench.delivery(event).progress, None);
    bench.must(&second, SettleStep::Ack);
}

pub fn a_result_is_remembered_as_long_as_the_outcome(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    assert_eq!(bench.delivery(event).result, None);
    let first = bench.must(&grant, SettleStep::AckWith(result("{ \"sum\": 0.10 }")));
    assert_eq!((first.state, first.replayed), (View::Done, false));
    let again = bench.must(&grant, SettleStep::AckWith(result("7")));
    assert_eq!(again, Settled { replayed: true, ..first.clone() });
    assert_eq!(bench.must(&grant, SettleStep::Ack), again);
    bench.after(86_000);
    bench.tend();
    assert_eq!(bench.delivery(event).result, Some(result("{ \"sum\": 0.10 }")), "byte for byte");
    bench.after(401);
    bench.tend();
    assert!(bench.read(crate::read::Read::Event { event, payload: false }).is_err(), "all of it is gone");
}

pub fn a_reset_begins_without_a_result(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.ask(retention("mail", Retention::Trim)).expect("the queue is there");
    let event = bench.append(to_stream("orders", "{}")).id;
    let grant = bench.claim("mail");
    bench.must(&grant, report(40));
    bench.must(&grant, SettleStep::AckWith(result("1")));
    let told = bench.delivery(event);
    assert!(told.result.is_some() && told.progress.is_some());
    bench.ask(reset("mail", From::Start)).expect("the queue is there");
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.result, delivery.progress), (View::Ready, None, None));
}

pub fn a_reader_without_proof_leaves_no_result(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    assert_eq!(super::consumers::read_as(bench, "mail", "c1", 1).len(), 1);
    let step = SettleStep::AckWith(result("1"));
    bench
        .ask(OpKind::Settle(Settle { event, proof: Proof::Group { queue: named("mail") }, step }))
        .expect("a reader finishes what a consumer holds");
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.result), (View::Done, None));
}

pub fn a_batch_of_results_fits_in_one_transaction(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", BATCH_ITEMS_MAX as u32);
    let mut grants = Vec::new();
    while grants.len() < BATCH_ITEMS_MAX {
        grants.extend(bench.claim_up_to("mail", 100));
    }
    let largest = result(&format!("\"{}\"", "x".repeat(RESULT_BYTES_MAX - 2)));
    let ack = |grant: &Grant| settle(grant.event, token(grant), SettleStep::AckWith(largest.clone()));
    let replies = bench.submit(Txn::each(grants.iter().map(ack)));
    assert!(replies.iter().all(|reply| matches!(reply, Ok(OpReply::Settled(_)))), "{:?}", replies[0]);
    for grant in [&grants[0], &grants[BATCH_ITEMS_MAX - 1]] {
        assert_eq!(bench.delivery(grant.event).result.as_ref(), Some(&largest));
    }
}
