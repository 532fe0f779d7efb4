//! Events past their `expiresAt`.
//!
//! Lives here: who still gets them, and when they are dead. Not here: the ends of holds (`leases.rs`).

use naven_core::{DeadReason, View};

use super::bench::{Bench, fail_in, named, release};
use super::streams::{to_queue, to_stream};
use crate::reply::Grant;
use crate::txn::{Append, Due, From, SettleStep};

fn ends_in(bench: &Bench, seconds: i64, append: Append) -> Append {
    Append { expires_at: Some(bench.wall().plus_ms(seconds * 1_000)), ..append }
}

fn is_expired(bench: &Bench, queue: &str) -> bool {
    let letters = bench.dead_letters(&named(queue), 5);
    letters.len() == 1 && letters[0].deliveries[0].dead == Some(DeadReason::EventExpired)
}

pub fn an_event_past_its_time_is_handed_out_to_nobody(bench: &Bench) {
    bench.queue("mail");
    let event = bench.append(ends_in(bench, 5, to_queue("mail", "{}")));
    assert_eq!(event.expires_at, Some(bench.wall().plus_ms(5_000)));
    let other = bench.publish("mail", 2);
    bench.after_ms(5_000);
    assert_eq!(bench.take("mail", 9), [other]);
    assert!(is_expired(bench, "mail"));
    let delivery = bench.delivery(event.id);
    assert_eq!((delivery.fence, delivery.attempts, delivery.settled_at), (0, 0, Some(bench.wall())));
}

pub fn an_event_in_time_is_handed_out(bench: &Bench) {
    bench.queue("mail");
    let event = bench.append(ends_in(bench, 5, to_queue("mail", "{}"))).id;
    bench.after_ms(4_999);
    assert_eq!(bench.take("mail", 9), [event]);
}

pub fn tending_ends_what_nobody_claims(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
    bench.spread("orders", 1);
    let direct = bench.append(ends_in(bench, 3, to_queue("bill", "{}"))).id;
    let event = bench.append(ends_in(bench, 5, to_stream("orders", "{}"))).id;
    let last = bench.spread("orders", 3);
    let held: Vec<Grant> = bench.claim_up_to("bill", 2);
    assert_eq!(held[1].event, direct);
    bench.after(5);
    assert_eq!(bench.tend().rows, 2);
    assert!(is_expired(bench, "mail") && is_expired(bench, "bill"));
    assert_eq!(bench.delivery_in(held[1].queue, direct).state, View::Leased, "who holds it goes on");
    assert_eq!(bench.view("mail").counts.of(View::Ready), 2);
    let mail = bench.take("mail", 9);
    assert!(mail.len() == 2 && mail[1] == last && !mail.contains(&event));
    assert_eq!(bench.take("bill", 9), [last]);
    assert_eq!(bench.must(&held[1], SettleStep::Ack).state, View::Done);
}

pub fn a_delayed_event_may_be_past_its_time_when_it_is_due(bench: &Bench) {
    bench.queue("mail");
    let due = Due::In(9.try_into().expect("in bounds"));
    bench.append(Append { due, ..ends_in(bench, 5, to_queue("mail", "{}")) });
    bench.after(6);
    assert_eq!(bench.tend().rows, 0);
    assert_eq!(bench.view("mail").counts.of(View::Scheduled), 1);
    bench.after(3);
    assert_eq!(bench.tend().rows, 2, "it has its place, and it is dead");
    assert!(is_expired(bench, "mail"));
}

pub fn what_comes_back_past_its_time_is_dead(bench: &Bench) {
    bench.queue("mail");
    bench.append(ends_in(bench, 5, to_queue("mail", "{}")));
    let grant = bench.claim("mail");
    bench.after(5);
    bench.must(&grant, release());
    assert!(is_expired(bench, "mail"));
}

pub fn a_retry_past_its_time_is_dead(bench: &Bench) {
    bench.queue("mail");
    bench.append(ends_in(bench, 5, to_queue("mail", "{}")));
    let grant = bench.claim("mail");
    bench.must(&grant, fail_in("x", 7));
    bench.after(7);
    assert_eq!(bench.try_claim("mail"), None);
    assert!(is_expired(bench, "mail"));
    assert_eq!(bench.view("mail").counts.unfinished(), 1);
}
