//! Ack and nack: who is told what, and what is left.
//!
//! Lives here: the rows of the contract's table that need an engine. Not here: those of one delivery
//! alone (`naven-core`), and proofs that lead elsewhere (`tokens.rs`).

use naven_core::View;

use super::bench::{Bench, beat, fail, fail_in, fatal, release};
use crate::reply::{Grant, OpError, Refused};
use crate::txn::SettleStep;

const LOST: OpError = OpError::Refused(Refused::Lost);
const SETTLED: OpError = OpError::Refused(Refused::Settled);

fn leased(bench: &Bench) -> Grant {
    bench.queue("mail");
    bench.publish("mail", 1);
    bench.claim("mail")
}

pub fn an_ack_is_done_and_drops_the_payload(bench: &Bench) {
    let grant = leased(bench);
    bench.after(3);
    let settled = bench.must(&grant, SettleStep::Ack);
    assert_eq!((settled.state, settled.settled_at), (View::Done, Some(bench.wall())));
    assert_eq!((settled.next_at, settled.lease_expires_at, settled.replayed), (None, None, false));
    assert_eq!(settled.queue, grant.queue);
    let event = bench.event(grant.event);
    assert_eq!((event.body, event.deliveries[0].state), (None, View::Done));
    assert_eq!(event.deliveries[0].settled_at, Some(bench.wall()));
    bench.after(86_400);
    assert_eq!(bench.try_claim("mail"), None, "done is done");
}

pub fn a_repeated_ack_is_answered_as_the_first_and_says_so(bench: &Bench) {
    let grant = leased(bench);
    let first = bench.must(&grant, SettleStep::Ack);
    bench.after(60);
    let again = bench.must(&grant, SettleStep::Ack);
    assert!(again.replayed);
    assert_eq!((again.state, again.settled_at), (View::Done, first.settled_at));
    assert_eq!(bench.must(&grant, beat(30)).state, View::Done, "a heartbeat that raced it is no fault");
}

pub fn a_nack_after_an_ack_never_brings_the_event_back(bench: &Bench) {
    let grant = leased(bench);
    bench.must(&grant, SettleStep::Ack);
    for step in [fail(), fatal(), release()] {
        assert_eq!(bench.say(&grant, step), Err(SETTLED));
    }
    bench.after(86_400);
    assert_eq!(bench.try_claim("mail"), None);
}

pub fn a_failure_retries_later_and_a_repeated_one_answers_the_first(bench: &Bench) {
    let grant = leased(bench);
    let first = bench.must(&grant, fail_in("boom", 7));
    let due = bench.wall().plus_ms(7_000);
    assert_eq!((first.state, first.next_at, first.settled_at), (View::Retrying, Some(due), None));
    let delivery = bench.delivery(grant.event);
    assert_eq!((delivery.state, delivery.next_attempt_at), (View::Retrying, Some(due)));
    assert_eq!(delivery.last_error.as_deref(), Some("boom"));
    bench.after(1);
    for step in [fail_in("other", 99), fatal()] {
        let again = bench.must(&grant, step);
        assert!(again.replayed);
        assert_eq!((again.state, again.next_at), (View::Retrying, Some(due)));
    }
    assert_eq!(bench.say(&grant, release()), Err(SETTLED));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(SETTLED));
    let beaten = bench.must(&grant, beat(30));
    assert_eq!((beaten.state, beaten.lease_expires_at), (View::Retrying, None));
}

pub fn a_release_is_due_at_once_and_counts_no_attempt(bench: &Bench) {
    let grant = leased(bench);
    bench.after(2);
    let released = bench.must(&grant, release());
    assert_eq!((released.state, released.next_at), (View::Ready, Some(bench.wall())));
    assert!(bench.must(&grant, release()).replayed);
    assert_eq!(bench.say(&grant, fail()), Err(SETTLED));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(SETTLED));
    assert_eq!(bench.must(&grant, beat(30)).state, View::Ready);
    let again = bench.claim("mail");
    assert_eq!((again.event, again.fence, again.attempts), (grant.event, 2, 1));
}

pub fn who_lost_the_event_is_told_so_whatever_became_of_it(bench: &Bench) {
    let first = leased(bench);
    bench.after(30);
    let second = bench.claim("mail");
    let calls = || [beat(30), SettleStep::Ack, fail(), fatal(), release(), SettleStep::GiveBack];
    let all_lost = |what: &str| {
        for step in calls() {
            assert_eq!(bench.say(&first, step.clone()), Err(LOST), "{what}: {step:?}");
        }
    };
    all_lost("held by another");
    bench.must(&second, fail_in("later", 5));
    all_lost("failed by another");
    bench.after(5);
    let third = bench.claim("mail");
    bench.must(&third, SettleStep::Ack);
    all_lost("done by another");
    assert_eq!(bench.say(&second, fail()), Err(LOST), "and so is the second");
}

pub fn a_settle_of_one_event_touches_no_other(bench: &Bench) {
    bench.queue("mail");
    let sent: Vec<_> = (0..3).map(|n| bench.publish("mail", n)).collect();
    let grants = bench.claim_up_to("mail", 3);
    bench.must(&grants[1], SettleStep::Ack);
    let states: Vec<_> = sent.iter().map(|&event| bench.delivery(event).state).collect();
    assert_eq!(states, [View::Leased, View::Done, View::Leased]);
}
