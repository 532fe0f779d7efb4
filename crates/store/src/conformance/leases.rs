//! Leases: heartbeats, ends, expiry, the queue's bounds on them.
//!
//! Lives here: what happens with time. Not here: what other callers are told (`settling.rs`).

use naven_api::limits::CLAIM_EXPIRES_MAX;
use naven_core::{DeadReason, Ending, View};

use super::bench::{Bench, append, beat, claim};
use crate::engine::{Budget, Tended};
use crate::reply::Refused;
use crate::txn::{Due, SettleStep, Txn};

pub fn a_heartbeat_moves_the_end_and_keeps_the_token(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.after(20);
    let beaten = bench.must(&grant, beat(40));
    assert_eq!(beaten.lease_expires_at, Some(bench.wall().plus_ms(40_000)));
    assert_eq!((beaten.state, beaten.settled_at, beaten.next_at), (View::Leased, None, None));
    assert!(!beaten.replayed && !beaten.cancel_requested);
    bench.after(39);
    assert_eq!(bench.try_claim("mail"), None);
    assert_eq!(bench.must(&grant, SettleStep::Ack).state, View::Done);
}

pub fn a_heartbeat_may_shorten_a_lease(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, beat(1));
    bench.after(1);
    assert_eq!(bench.claim("mail").event, grant.event);
}

pub fn a_lease_s_end_is_exclusive(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.after_ms(29_999);
    assert_eq!(bench.must(&grant, beat(30)).state, View::Leased);
    bench.after(30);
    assert_eq!(bench.say(&grant, beat(30)), Err(Refused::Expired.into()));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Expired.into()));
}

pub fn an_expired_lease_is_redelivered_at_once_and_counted(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let first = bench.claim("mail");
    bench.after(30);
    let second = bench.claim("mail");
    assert_eq!((second.event, second.fence, second.attempts, second.expiries), (event, 2, 2, 1));
    assert_ne!(first.token, second.token, "each hold has its own proof");
    let delivery = bench.delivery(event);
    let ends: Vec<_> = delivery.log.iter().map(|past| past.ended.map(|(_, ending)| ending)).collect();
    assert_eq!(ends, [Some(Ending::Expired), None]);
    assert_eq!(bench.say(&first, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.must(&second, SettleStep::Ack).state, View::Done);
}

pub fn tending_expires_leases_before_anybody_claims(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.claim("mail");
    bench.after(29);
    assert_eq!(bench.tend().rows, 0, "nothing is due yet");
    bench.after(1);
    assert_eq!(bench.delivery(event).state, View::Leased, "not recorded yet");
    assert_eq!(bench.tend().rows, 1);
    assert_eq!(bench.tend().rows, 0, "twice is harmless");
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.expiries), (View::Ready, 1));
    assert_eq!(delivery.next_attempt_at, Some(bench.wall()), "an expiry is due at once");
}

pub fn tending_keeps_to_its_budget_and_says_that_more_waits(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    bench.claim_up_to("mail", 3);
    bench.after(30);
    let tend = |rows| bench.block_on(bench.engine.tend(Budget { rows })).expect("the engine runs");
    assert_eq!(tend(1), Tended { rows: 1, more: true });
    assert_eq!(bench.view("mail").counts.of(View::Leased), 2);
    assert_eq!(tend(100), Tended { rows: 2, more: false });
}

pub fn a_claim_expires_no_more_leases_than_its_bound(bench: &Bench) {
    bench.queue("mail");
    let held = CLAIM_EXPIRES_MAX as u64 + 1;
    bench.submit(Txn::each((0..held).map(|_| append("mail", "{}", Due::Now))));
    while !bench.claim_up_to("mail", 100).is_empty() {}
    bench.after(30);
    bench.claim("mail");
    let counts = bench.view("mail").counts;
    assert_eq!((counts.of(View::Leased), counts.of(View::Ready)), (2, held - 2), "one is left for the next");
    bench.claim("mail");
    assert_eq!(bench.view("mail").counts.of(View::Leased), 2);
}

pub fn an_expiry_goes_behind_what_became_due_before_it(bench: &Bench) {
    bench.queue("mail");
    let slow = bench.publish("mail", 1);
    bench.claim("mail");
    bench.after(10);
    let young = bench.publish("mail", 2);
    bench.after(20);
    let got: Vec<_> = bench.claim_up_to("mail", 2).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [young, slow]);
}

pub fn a_lease_that_expires_on_the_last_attempt_is_a_dead_letter(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(1));
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.after(30);
    assert_eq!(bench.try_claim("mail"), None, "the claim itself gives it up");
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.dead), (View::Dead, Some(DeadReason::ExpiredAttempts)));
    assert_eq!(delivery.settled_at, Some(bench.wall()));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Expired.into()));
}

pub fn the_queue_bounds_the_whole_hold(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_lease_seconds = 40);
    bench.publish("mail", 1);
    let start = bench.wall();
    let grant = bench.claimed(claim("mail", 1, 60)).leases.remove(0);
    assert_eq!(grant.lease_expires_at, Some(start.plus_ms(40_000)), "a claim is cut");
    bench.after(30);
    let beaten = bench.must(&grant, beat(30));
    assert_eq!(beaten.lease_expires_at, Some(start.plus_ms(40_000)), "a heartbeat too");
    bench.after(10);
    assert_eq!(bench.say(&grant, beat(30)), Err(Refused::Expired.into()));
}

pub fn a_late_holder_is_served_within_the_grace_while_nobody_else_has_it(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.late_ack_grace_seconds = 10);
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.after(35);
    bench.tend();
    assert_eq!(bench.delivery(event).expiries, 1);
    let revived = bench.must(&grant, beat(30));
    assert_eq!((revived.state, revived.lease_expires_at), (View::Leased, Some(bench.wall().plus_ms(30_000))));
    assert_eq!(bench.delivery(event).expiries, 0, "the same hold lives on");
    assert_eq!(bench.try_claim("mail"), None);
    bench.after(39);
    assert_eq!(bench.must(&grant, SettleStep::Ack).state, View::Done);
}

pub fn the_grace_ends_with_its_time_or_with_the_next_hold(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.late_ack_grace_seconds = 10);
    bench.publish("mail", 1);
    let first = bench.claim("mail");
    bench.after(40);
    assert_eq!(bench.say(&first, SettleStep::Ack), Err(Refused::Expired.into()));
    let second = bench.claim("mail");
    bench.after(31);
    let third = bench.claim("mail");
    assert_eq!(bench.say(&second, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.must(&third, SettleStep::Ack).state, View::Done);
}

pub fn a_leased_event_shows_who_has_it_until_when(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.consumer.as_deref()), (View::Leased, Some("w1")));
    assert_eq!(delivery.lease_expires_at, grant.lease_expires_at);
    assert_eq!((delivery.next_attempt_at, delivery.settled_at), (None, None));
    bench.must(&grant, SettleStep::Ack);
    let delivery = bench.delivery(event);
    assert_eq!((delivery.consumer, delivery.lease_expires_at), (None, None));
}
