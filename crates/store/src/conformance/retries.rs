//! Failures: spacing, order and the end of attempts.
//!
//! Lives here: what a queue does with events that fail. Not here: the arithmetic (`naven-core`).

use naven_core::{DeadReason, View};

use super::bench::{Bench, append, fail, fail_in, fatal};
use crate::reply::OpReply;
use crate::txn::{Due, OpKind, SettleStep};

pub fn retries_are_spaced_by_the_queue_s_backoff(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    for seconds in [5, 10, 20] {
        let grant = bench.claim("mail");
        let settled = bench.must(&grant, fail());
        assert_eq!(settled.next_at, Some(bench.wall().plus_ms(seconds * 1_000)));
        bench.after_ms(seconds * 1_000 - 1);
        assert_eq!(bench.try_claim("mail"), None, "not a ms early");
        bench.after_ms(1);
    }
    assert_eq!(bench.claim("mail").event, event);
}

pub fn the_jitter_is_drawn_anew_for_each_failure(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.backoff.jitter_milli = 1_000);
    let delays: Vec<i64> = (0..8)
        .map(|n| {
            bench.publish("mail", n);
            let settled = bench.must(&bench.claim("mail"), fail());
            settled.next_at.map_or(0, |at| at.as_ms() - bench.wall().as_ms())
        })
        .collect();
    assert!(delays.iter().all(|ms| (0..=5_000).contains(ms)), "{delays:?}");
    assert!(delays.iter().any(|ms| *ms != delays[0]), "{delays:?}");
}

pub fn a_nack_s_own_delay_wins_and_none_is_ready_at_once(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let settled = bench.must(&bench.claim("mail"), fail_in("x", 2));
    assert_eq!(settled.next_at, Some(bench.wall().plus_ms(2_000)));
    bench.after(2);
    let settled = bench.must(&bench.claim("mail"), fail_in("x", 0));
    assert_eq!((settled.state, settled.next_at), (View::Ready, Some(bench.wall())));
    assert_eq!(bench.claim("mail").attempts, 3);
}

pub fn a_retry_re_enters_at_its_new_time_behind_what_was_due_before(bench: &Bench) {
    bench.queue("mail");
    let failed = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail_in("x", 5));
    let early = bench.publish("mail", 2);
    bench.after(6);
    let late = bench.publish("mail", 3);
    let got: Vec<_> = bench.claim_up_to("mail", 3).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [early, failed, late]);
}

pub fn a_retry_whose_time_has_come_is_shown_ready_before_it_is_recorded(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail_in("x", 5));
    bench.after(5);
    assert_eq!(bench.delivery(event).state, View::Ready);
    assert_eq!(bench.view("mail").counts.of(View::Retrying), 1, "counts say what is recorded");
    assert_eq!(bench.tend().rows, 1);
    let counts = bench.view("mail").counts;
    assert_eq!((counts.of(View::Retrying), counts.of(View::Ready)), (0, 1));
}

pub fn a_repeated_nack_is_still_answered_when_the_retry_is_due_again(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let first = bench.must(&grant, fail_in("x", 5));
    bench.after(6);
    bench.tend();
    let again = bench.must(&grant, fail_in("x", 5));
    assert!(again.replayed);
    assert_eq!((again.state, again.next_at), (View::Ready, first.next_at));
}

pub fn the_last_attempt_s_failure_is_a_dead_letter(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(2));
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail_in("x", 1));
    bench.after(1);
    let last = bench.claim("mail");
    let settled = bench.must(&last, fail_in("end", 1));
    assert_eq!((settled.state, settled.next_at, settled.settled_at), (View::Dead, None, Some(bench.wall())));
    assert!(bench.must(&last, fail_in("end", 1)).replayed);
    let delivery = bench.delivery(event);
    assert_eq!((delivery.dead, delivery.attempts), (Some(DeadReason::AttemptsUsedUp), 2));
    assert!(bench.event(event).body.is_some(), "a dead letter keeps its payload");
    bench.after(86_400);
    assert_eq!(bench.try_claim("mail"), None);
}

pub fn a_fatal_failure_is_a_dead_letter_at_once(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let settled = bench.must(&bench.claim("mail"), fatal());
    assert_eq!((settled.state, settled.next_at), (View::Dead, None));
    let delivery = bench.delivery(event);
    assert_eq!(delivery.dead, Some(DeadReason::Fatal));
    assert_eq!(delivery.last_error.as_deref(), Some("no retry helps"));
}

pub fn an_event_s_own_attempts_go_over_the_queue_s(bench: &Bench) {
    bench.queue("mail");
    let OpKind::Append(plain) = append("mail", "{}", Due::Now) else { panic!("an append") };
    let once = OpKind::Append(crate::txn::Append { max_attempts: Some(1), ..plain });
    let Ok(OpReply::Event(event)) = bench.ask(once) else { panic!("not published") };
    assert_eq!(bench.must(&bench.claim("mail"), fail()).state, View::Dead);
    assert_eq!(bench.delivery(event.id).max_attempts, Some(1));
}

pub fn attempts_without_a_bound_never_end(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = None);
    let event = bench.publish("mail", 1);
    for n in 1..=25 {
        let grant = bench.claim("mail");
        assert_eq!((grant.attempts, grant.fence), (n, u64::from(n)));
        bench.must(&grant, fail_in("x", 0));
    }
    let delivery = bench.delivery(event);
    assert_eq!((delivery.log.len(), delivery.log[0].fence), (20, 6), "the last twenty are kept");
    let last = bench.claim("mail");
    assert_eq!(bench.must(&last, SettleStep::Ack).state, View::Done);
}
