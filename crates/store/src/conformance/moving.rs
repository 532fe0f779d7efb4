//! Dead letters whose content goes to another queue.
//!
//! Lives here: the end of the dead letter, and the new event. Not here: a new round in the same queue
//! (`dead_letters.rs`).

use naven_api::EventId;
use naven_core::View;

use super::bench::{Bench, beat, delete, fatal, named};
use super::streams::to_queue;
use crate::engine::Budget;
use crate::queue::QueueRef;
use crate::read::{DeadFilter, EventView, Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{
    AdminOp, Append, Bulk, Due, From, OpKind, OperationOp, OperationState, OperationView, SettleStep,
};

fn moved(bench: &Bench, event: EventId, queue: Option<QueueRef>, target: &str) -> Result<EventView, OpError> {
    match bench.ask(OpKind::Admin(AdminOp::MoveDead { event, queue, target: named(target) }))? {
        OpReply::Event(view) => Ok(*view),
        other => panic!("no event: {other:?}"),
    }
}

fn die(bench: &Bench, n: u32) -> EventId {
    let event = bench.publish("mail", n);
    bench.must(&bench.claim("mail"), fatal());
    event
}

fn begin(bench: &Bench, target: &str) -> Result<OperationView, OpError> {
    let bulk = Bulk::Move { filter: DeadFilter::default(), target: named(target) };
    match bench.ask(OpKind::Operation(OperationOp::Start { queue: named("mail"), bulk }))? {
        OpReply::Operation(view) => Ok(*view),
        other => panic!("not begun: {other:?}"),
    }
}

fn ended(bench: &Bench, operation: &OperationView) -> OperationView {
    while bench.block_on(bench.engine.tend(Budget { rows: 2 })).expect("it tends").more {}
    match bench.read(Read::Operation(operation.id)) {
        Ok(Page::Operation(view)) => *view,
        other => panic!("no operation: {other:?}"),
    }
}

pub fn a_dead_letter_s_content_is_a_new_event_of_the_target(bench: &Bench) {
    bench.queue("mail");
    bench.queue("repair");
    let headers = vec![("k".to_owned(), "v".to_owned())];
    let append = Append { headers: headers.clone(), max_attempts: Some(1), ..to_queue("mail", "{\"n\":7}") };
    let old = bench.append(append).id;
    let grant = bench.claim("mail");
    bench.must(&grant, fatal());
    bench.after(60);
    let view = moved(bench, old, None, "repair").expect("it is dead");
    assert_ne!(view.id, old);
    let delivery = &view.deliveries[0];
    assert_eq!((delivery.queue.as_str(), delivery.state, delivery.attempts), ("repair", View::Ready, 0));
    assert_eq!((view.created_at, view.scheduled_at), (bench.wall(), bench.wall()));
    assert_ne!(delivery.max_attempts, Some(1), "bounds are the target's");
    let new = bench.event(view.id);
    assert_eq!((new.headers, new.body), (headers, Some(super::bench::json("{\"n\":7}"))));
    assert!(bench.dead_letters(&named("mail"), 9).is_empty());
    assert_eq!(bench.view("mail").counts.of(View::Dead), 0);
    assert_eq!(bench.event(old).body, None, "its content went on");
    for step in [fatal(), SettleStep::Ack, beat(30)] {
        assert_eq!(bench.say(&grant, step), Err(Refused::Lost.into()));
    }
    assert_eq!(moved(bench, old, None, "repair"), Err(Refused::WrongState.into()), "it is gone");
    assert_eq!(bench.finish("repair").event, view.id);
}

pub fn what_is_not_dead_or_has_nowhere_to_go_stays(bench: &Bench) {
    bench.queue("mail");
    bench.queue("repair");
    let ready = bench.publish("mail", 1);
    assert_eq!(moved(bench, ready, None, "repair"), Err(Refused::WrongState.into()));
    let grant = bench.claim("mail");
    assert_eq!(moved(bench, ready, None, "repair"), Err(Refused::WrongState.into()));
    bench.must(&grant, fatal());
    assert_eq!(moved(bench, ready, None, "nowhere"), Err(Refused::QueueNotFound.into()));
    let elsewhere = Some(named("repair"));
    assert_eq!(moved(bench, ready, elsewhere, "repair"), Err(Refused::EventNotFound.into()));
    assert_eq!(bench.dead_letters(&named("mail"), 9).len(), 1);
    let same = moved(bench, ready, None, "mail").expect("it is dead");
    assert_eq!((same.id, same.deliveries[0].state), (ready, View::Ready), "a new round of itself");
}

pub fn what_a_deleted_queue_left_goes_on_elsewhere(bench: &Bench) {
    let mail = QueueRef::Id(bench.queue("mail"));
    bench.queue("repair");
    let dead = die(bench, 1);
    let leased = bench.publish("mail", 2);
    bench.claim("mail");
    let [first, second] = [3, 4].map(|n| bench.publish("mail", n));
    let waits = bench.publish_due("mail", 5, Due::In(600.try_into().expect("in bounds"))).id;
    bench.ask(delete("mail", true)).expect("it is forced");
    let all = [dead, leased, second, first, waits];
    for (gone, event) in (1..).zip(all) {
        let view = moved(bench, event, Some(mail.clone()), "repair").expect("it died with its queue");
        assert_eq!(view.deliveries[0].state, View::Ready);
        assert_eq!(bench.dead_letters(&mail, 2).len(), all.len() - gone);
        assert_eq!(moved(bench, event, Some(mail.clone()), "repair"), Err(Refused::WrongState.into()));
    }
    assert_eq!(bench.take("repair", 9).len(), all.len());
    bench.after(30 * 86_400);
    bench.tend();
    let read = Read::Event { event: first, payload: false };
    assert_eq!(bench.read(read), Err(Refused::EventNotFound.into()), "the deleted queue goes as it would");
}

pub fn what_waits_for_other_queues_too_stays_where_it_is(bench: &Bench) {
    let gone = QueueRef::Id(bench.queue_on("mail", "s", From::Start));
    bench.queue_on("other", "s", From::Start);
    bench.queue("repair");
    let later = Due::In(600.try_into().expect("in bounds"));
    let waits = bench.append(Append { due: later, ..super::streams::to_stream("s", "{}") }).id;
    let both = bench.spread("s", 1);
    bench.ask(delete("mail", true)).expect("it is forced");
    let refused = moved(bench, waits, Some(gone.clone()), "repair");
    assert_eq!(refused, Err(Refused::DueForAll.into()));
    moved(bench, both, Some(gone), "repair").expect("it died with its queue");
    assert_eq!(bench.take("other", 9), [both], "it is the other queue's still");
    assert_eq!(bench.take("repair", 9).len(), 1);
}

pub fn many_are_moved_by_an_operation(bench: &Bench) {
    bench.queue("mail");
    bench.queue("repair");
    for n in 0..5 {
        die(bench, n);
    }
    assert_eq!(begin(bench, "nowhere"), Err(Refused::QueueNotFound.into()));
    let operation = begin(bench, "repair").expect("both are there");
    assert_eq!((operation.kind.as_str(), operation.matched), ("redrive", Some(5)));
    let over = ended(bench, &operation);
    assert_eq!((over.state, over.done, over.failed), (OperationState::Done, 5, 0));
    assert_eq!(bench.view("mail").counts.of(View::Dead), 0);
    let bodies: Vec<_> = bench.claim_up_to("repair", 9).into_iter().map(|grant| grant.body).collect();
    let expected: Vec<_> = (0..5).map(|n| super::bench::json(&format!("{{\"n\":{n}}}"))).collect();
    assert_eq!(bodies, expected, "the first to die first");
}

pub fn an_operation_whose_target_is_deleted_has_failed(bench: &Bench) {
    bench.queue("mail");
    bench.queue("repair");
    die(bench, 1);
    let operation = begin(bench, "repair").expect("both are there");
    bench.ask(delete("repair", true)).expect("it is empty");
    let over = ended(bench, &operation);
    assert_eq!((over.state, over.done), (OperationState::Failed, 0));
    assert!(over.error.is_some_and(|error| error.contains("deleted")));
    assert_eq!(bench.view("mail").counts.of(View::Dead), 1, "it stays dead");
}
