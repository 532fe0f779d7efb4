//! Events that are due later, and places in the stream.
//!
//! Lives here: when a scheduled event becomes claimable and where it stands then. Not here: cron.

use naven_api::DelaySeconds;
use naven_core::View;

use super::bench::{Bench, claim};
use crate::txn::{Due, Place};

fn delay(seconds: u32) -> DelaySeconds {
    seconds.try_into().expect("tests stay within the bounds of delays")
}

fn later(seconds: u32) -> Due {
    Due::In(delay(seconds))
}

pub fn a_delayed_event_comes_at_its_time_and_not_before(bench: &Bench) {
    bench.queue("mail");
    let sent = bench.publish_due("mail", 1, later(10));
    let due = bench.wall().plus_ms(10_000);
    assert_eq!((sent.scheduled_at, sent.place), (due, None));
    let delivery = &sent.deliveries[0];
    assert_eq!((delivery.state, delivery.next_attempt_at), (View::Scheduled, Some(due)));
    bench.after_ms(9_999);
    assert_eq!(bench.try_claim("mail"), None);
    bench.after_ms(1);
    assert_eq!(bench.delivery(sent.id).state, View::Ready, "shown before it is recorded");
    let grant = bench.claim("mail");
    assert_eq!((grant.event, grant.scheduled_at), (sent.id, due));
}

pub fn an_instant_ahead_is_waited_for_and_one_past_is_kept_as_given(bench: &Bench) {
    bench.queue("mail");
    let ahead = bench.wall().plus_ms(1);
    let sent = bench.publish_due("mail", 1, Due::At(ahead));
    assert_eq!((sent.scheduled_at, sent.deliveries[0].state), (ahead, View::Scheduled));
    let past = bench.wall().plus_ms(-86_400_000);
    let sent = bench.publish_due("mail", 2, Due::At(past));
    assert_eq!((sent.scheduled_at, sent.deliveries[0].state), (past, View::Ready));
    assert_eq!(sent.deliveries[0].next_attempt_at, Some(bench.wall()), "due now");
    let grant = bench.claim("mail");
    assert_eq!((grant.event, grant.scheduled_at), (sent.id, past));
    let now = bench.publish_due("mail", 3, Due::At(bench.wall()));
    assert_eq!(now.deliveries[0].state, View::Ready);
    assert_eq!(bench.publish_due("mail", 4, later(0)).deliveries[0].state, View::Ready);
}

pub fn scheduled_events_come_in_due_order_and_equal_ones_as_published(bench: &Bench) {
    bench.queue("mail");
    let third = bench.publish_due("mail", 1, later(3)).id;
    let first = bench.publish_due("mail", 2, later(1)).id;
    let fourth = bench.publish_due("mail", 3, later(3)).id;
    let second = bench.publish_due("mail", 4, later(2)).id;
    bench.after(5);
    let fifth = bench.publish("mail", 5);
    let got: Vec<_> = bench.claim_up_to("mail", 9).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [first, second, third, fourth, fifth]);
}

pub fn places_rise_and_are_given_when_an_event_becomes_due(bench: &Bench) {
    bench.queue("mail");
    let ms = bench.wall().as_ms() as u64;
    let place = |view: &crate::read::EventView| view.place;
    let scheduled = bench.publish_due("mail", 1, later(5));
    assert_eq!(place(&bench.publish_due("mail", 2, Due::Now)), Some(Place { ms, seq: 0 }));
    assert_eq!(place(&bench.publish_due("mail", 3, Due::Now)), Some(Place { ms, seq: 1 }));
    bench.after(5);
    let placed_by_append = bench.publish_due("mail", 4, Due::Now);
    let ms = ms + 5_000;
    assert_eq!(place(&bench.event(scheduled.id)), Some(Place { ms, seq: 0 }), "before the new one");
    assert_eq!(place(&placed_by_append), Some(Place { ms, seq: 1 }));
}

pub fn a_claim_and_tending_give_places_too(bench: &Bench) {
    bench.queue("mail");
    let first = bench.publish_due("mail", 1, later(1)).id;
    let second = bench.publish_due("mail", 2, later(9)).id;
    bench.after(2);
    assert_eq!(bench.event(first).place, None);
    bench.claim("mail");
    let ms = bench.wall().as_ms() as u64;
    assert_eq!(bench.event(first).place, Some(Place { ms, seq: 0 }), "the time of its placing");
    bench.after(8);
    assert_eq!(bench.tend().rows, 1);
    let ms = bench.wall().as_ms() as u64;
    assert_eq!(bench.event(second).place, Some(Place { ms, seq: 0 }));
}

pub fn a_retry_keeps_its_place(bench: &Bench) {
    bench.queue("mail");
    let sent = bench.publish_due("mail", 1, Due::Now);
    bench.must(&bench.claim("mail"), super::bench::fail_in("x", 5));
    bench.after(5);
    bench.claim("mail");
    assert_eq!(bench.event(sent.id).place, sent.place);
}

pub fn a_far_future_is_a_long_wait_and_no_trouble(bench: &Bench) {
    bench.queue("mail");
    bench.publish_due("mail", 1, later(DelaySeconds::MAX));
    let claimed = bench.claimed(claim("mail", 1, 30));
    assert_eq!(claimed.due_in.map(|wait| wait.as_secs()), Some(u64::from(DelaySeconds::MAX)));
}
