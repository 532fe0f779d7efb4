//! What operators do to what waits: another due time, another bound on attempts, and at once.
//!
//! Lives here: rescheduling and running now. Not here: due times that were there from the start (`scheduling.rs`).

use std::time::Duration;

use naven_api::{EventId, Timestamp};
use naven_core::View;

use super::bench::{Bench, claim, delete, fail_in, fatal, named};
use super::streams::{to_queue, to_stream};
use crate::engine::{Hint, WaitSet};
use crate::queue::QueueRef;
use crate::read::EventView;
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{AdminOp, Append, Due, From, OpKind, SettleStep};

/// So long a missing hint is waited for before the case fails; a present one takes no time.
const PATIENCE: Duration = Duration::from_secs(20);

fn put_off(bench: &Bench, event: EventId, queue: Option<&str>, due: Due) -> Result<EventView, OpError> {
    changed(bench, event, queue.map(named), Some(due), None)
}

fn changed(
    bench: &Bench,
    event: EventId,
    queue: Option<QueueRef>,
    due: Option<Due>,
    max_attempts: Option<Option<u32>>,
) -> Result<EventView, OpError> {
    seen(bench.ask(OpKind::Admin(AdminOp::Reschedule { event, queue, due, max_attempts })))
}

fn run_now(bench: &Bench, event: EventId, queue: Option<&str>) -> Result<EventView, OpError> {
    seen(bench.ask(OpKind::Admin(AdminOp::RunNow { event, queue: queue.map(named) })))
}

fn seen(answer: Result<OpReply, OpError>) -> Result<EventView, OpError> {
    match answer? {
        OpReply::Event(view) => Ok(*view),
        other => panic!("no event: {other:?}"),
    }
}

fn at(bench: &Bench, seconds: i64) -> Timestamp {
    bench.wall().plus_ms(seconds * 1_000)
}

pub fn a_scheduled_event_moves_to_its_new_time(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish_due("mail", 1, Due::At(at(bench, 60))).id;
    let later = at(bench, 120);
    let view = put_off(bench, event, None, Due::At(later)).expect("it waits");
    let delivery = &view.deliveries[0];
    assert_eq!((view.scheduled_at, delivery.next_attempt_at), (later, Some(later)));
    assert_eq!((delivery.state, view.body), (View::Scheduled, None));
    bench.after(119);
    assert!(bench.try_claim("mail").is_none());
    bench.after(1);
    assert_eq!(bench.claim("mail").event, event);
    let other = bench.publish_due("mail", 2, Due::At(at(bench, 60))).id;
    let past = at(bench, -9);
    let view = put_off(bench, other, None, Due::At(past)).expect("it waits");
    assert_eq!((view.scheduled_at, view.deliveries[0].state), (past, View::Ready), "a past time is now");
    assert_eq!(view.deliveries[0].next_attempt_at, Some(bench.wall()));
    assert_eq!(bench.claim("mail").event, other);
}

pub fn what_is_ready_is_put_off_and_keeps_its_place(bench: &Bench) {
    bench.queue("mail");
    let [first, second, third] = [1, 2, 3].map(|n| bench.publish("mail", n));
    let place = bench.event(second).place;
    let due = at(bench, 30);
    let view = put_off(bench, second, None, Due::At(due)).expect("it is ready");
    assert_eq!((view.deliveries[0].state, view.scheduled_at), (View::Retrying, due));
    let counts = bench.view("mail").counts;
    assert_eq!((counts.of(View::Ready), counts.of(View::Retrying)), (2, 1));
    let got: Vec<_> = bench.claim_up_to("mail", 9).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [first, third]);
    let wait = bench.claimed(claim("mail", 1, 30)).due_in;
    assert_eq!(wait.map(|wait| wait.as_secs()), Some(30));
    bench.after(30);
    bench.tend();
    assert_eq!(bench.event(second).place, place);
    let grant = bench.claimed(claim("mail", 9, 30)).leases.into_iter().find(|one| one.event == second);
    let grant = grant.expect("its time has come");
    assert_eq!((grant.attempts, grant.fence, grant.scheduled_at), (1, 1, due));
    assert!(bench.say(&grant, SettleStep::Ack).is_ok(), "its token is worth something");
}

pub fn a_retry_is_moved_either_way(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail_in("no", 60));
    let earlier = at(bench, 5);
    let view = put_off(bench, event, Some("mail"), Due::At(earlier)).expect("it is retried");
    assert_eq!((view.deliveries[0].state, view.deliveries[0].attempts), (View::Retrying, 1));
    bench.after(5);
    bench.must(&bench.claim("mail"), fail_in("no", 60));
    let view = put_off(bench, event, None, Due::Now).expect("it is retried");
    assert_eq!((view.deliveries[0].state, view.scheduled_at), (View::Ready, bench.wall()));
    assert_eq!(bench.claim("mail").attempts, 3);
}

pub fn an_event_s_bound_on_attempts_may_change(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(5));
    let event = bench.publish("mail", 1);
    for _ in 0..2 {
        bench.must(&bench.claim("mail"), fail_in("no", 1));
        bench.after(1);
    }
    let bound =
        |max| changed(bench, event, None, None, Some(max)).expect("it is retried").deliveries.remove(0);
    let before = bench.delivery(event);
    let now = bound(Some(1));
    assert_eq!(
        (now.max_attempts, now.state, now.attempts),
        (Some(1), View::Ready, 2),
        "nothing happens at once"
    );
    assert_eq!(now.next_attempt_at, before.next_attempt_at);
    assert_eq!(bound(None).max_attempts, Some(5), "the queue's");
    bound(Some(2));
    bench.must(&bench.claim("mail"), fail_in("no", 1));
    assert_eq!(bench.delivery(event).state, View::Dead);
}

pub fn what_is_held_or_over_is_not_moved(bench: &Bench) {
    bench.queue("mail");
    let refused = |event| {
        for answer in [
            put_off(bench, event, None, Due::Now),
            changed(bench, event, None, None, Some(Some(3))),
            run_now(bench, event, None),
        ] {
            assert_eq!(answer, Err(Refused::WrongState.into()));
        }
        let nothing = changed(bench, event, None, None, None).expect("nothing is asked");
        assert_eq!(nothing.id, event);
    };
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    refused(event);
    bench.must(&grant, fatal());
    refused(event);
    let left = bench.publish("mail", 2);
    bench.ask(delete("mail", true)).expect("it is forced");
    refused(left);
    let missing = EventId::from_bits(1);
    assert_eq!(run_now(bench, missing, None), Err(Refused::EventNotFound.into()));
    assert_eq!(run_now(bench, left, Some("nowhere")), Err(Refused::QueueNotFound.into()));
}

pub fn an_event_of_several_queues_waits_for_all_alike(bench: &Bench) {
    bench.queue_on("a", "s", From::Start);
    bench.queue_on("b", "s", From::Start);
    let event = bench.append(Append { due: Due::At(at(bench, 60)), ..to_stream("s", "{}") }).id;
    let later = at(bench, 90);
    assert_eq!(put_off(bench, event, Some("a"), Due::At(later)), Err(Refused::DueForAll.into()));
    assert_eq!(run_now(bench, event, Some("a")), Err(Refused::DueForAll.into()));
    let bound = changed(bench, event, Some(named("a")), None, Some(Some(7))).expect("it is no time");
    assert!(bound.deliveries.iter().all(|one| one.max_attempts == Some(7)), "it is all queues'");
    let view = put_off(bench, event, None, Due::At(later)).expect("it waits");
    assert!(view.deliveries.iter().all(|one| one.next_attempt_at == Some(later)));
    run_now(bench, event, None).expect("it waits");
    let shown = bench.event(event).scheduled_at;
    assert_eq!(shown, bench.wall());
    assert_eq!(
        put_off(bench, event, None, Due::Now),
        Err(Refused::QueueNeeded.into()),
        "it is ready in both"
    );
    let view = put_off(bench, event, Some("b"), Due::At(later)).expect("it is ready");
    let next: Vec<_> = view.deliveries.iter().map(|one| (one.queue.as_str(), one.state)).collect();
    assert_eq!(next, [("a", View::Ready), ("b", View::Retrying)]);
    assert_eq!(view.scheduled_at, shown, "the event's own time is all queues'");
    assert_eq!((bench.claim("a").event, bench.try_claim("b").is_none()), (event, true));
}

pub fn what_waits_runs_now_and_what_is_ready_stays(bench: &Bench) {
    bench.queue("mail");
    let first = bench.publish("mail", 1);
    let scheduled = bench.publish_due("mail", 2, Due::At(at(bench, 600))).id;
    bench.after(1);
    let view = run_now(bench, scheduled, None).expect("it waits");
    assert_eq!((view.deliveries[0].state, view.scheduled_at), (View::Ready, bench.wall()));
    let before = bench.event(first);
    run_now(bench, first, None).expect("it is ready");
    assert_eq!(bench.event(first), before);
    let got: Vec<_> = bench.claim_up_to("mail", 9).into_iter().collect();
    assert_eq!(got.iter().map(|grant| grant.event).collect::<Vec<_>>(), [first, scheduled]);
    bench.must(&got[0], fail_in("no", 600));
    assert_eq!(run_now(bench, first, Some("mail")).expect("it is retried").deliveries[0].state, View::Ready);
    assert_eq!(bench.claim("mail").attempts, 2);
}

pub fn running_now_wakes_those_who_wait(bench: &Bench) {
    bench.queue("mail");
    let scheduled = bench.publish_due("mail", 1, Due::At(at(bench, 600))).id;
    let id = bench.view("mail").id;
    let wakes = |why: &str| {
        let mut hints = bench.engine.hints(WaitSet::Queues(vec![id]));
        run_now(bench, scheduled, None).expect(why);
        let next = async { tokio::time::timeout(PATIENCE, hints.next()).await };
        assert_eq!(bench.block_on(next).expect("a hint comes"), Some(Hint::Queue(id)), "{why}");
    };
    wakes("it waits");
    bench.must(&bench.claim("mail"), fail_in("no", 600));
    wakes("it is retried");
}

pub fn what_is_put_off_past_its_own_end_is_dead(bench: &Bench) {
    bench.queue("mail");
    let expires_at = Some(at(bench, 20));
    let view = bench.append(Append { due: Due::At(at(bench, 10)), expires_at, ..to_queue("mail", "{}") });
    put_off(bench, view.id, None, Due::At(at(bench, 60))).expect("it waits");
    bench.after(59);
    bench.tend();
    assert_eq!(bench.delivery(view.id).state, View::Scheduled);
    bench.after(1);
    bench.tend();
    bench.tend();
    assert_eq!(bench.delivery(view.id).state, View::Dead);
}
