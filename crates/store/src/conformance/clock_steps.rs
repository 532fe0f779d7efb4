//! Steps of the wall clock, forwards and back.
//!
//! Lives here: that leases do not move with it, and that nothing is lost. Not here: time that goes
//! on as it should.

use naven_core::View;

use super::bench::{Bench, beat, claim, fail_in};
use crate::txn::{Due, Place, SettleStep};

const HOUR_MS: i64 = 3_600_000;

pub fn a_step_of_the_wall_clock_ends_no_lease_and_prolongs_none(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    for step_ms in [HOUR_MS, -3 * HOUR_MS] {
        bench.clock.step_wall_ms(step_ms);
        assert_eq!(bench.try_claim("mail"), None);
        assert_eq!(bench.tend().rows, 0);
        let beaten = bench.must(&grant, beat(30));
        assert_eq!(beaten.lease_expires_at, Some(bench.wall().plus_ms(30_000)), "shown by the new wall");
    }
    bench.after(29);
    let shown = bench.delivery(grant.event).lease_expires_at;
    assert_eq!(shown, Some(bench.wall().plus_ms(1_000)), "what is left stays the same");
    bench.after(1);
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(crate::reply::Refused::Expired.into()));
    assert_eq!(bench.claim("mail").event, grant.event);
}

pub fn a_step_forwards_makes_due_what_was_to_come(bench: &Bench) {
    bench.queue("mail");
    let scheduled = bench.publish_due("mail", 1, Due::In(60.try_into().expect("in bounds"))).id;
    let retried = bench.publish("mail", 2);
    bench.must(&bench.claim("mail"), fail_in("x", 30));
    bench.clock.step_wall_ms(HOUR_MS);
    let got: Vec<_> = bench.claim_up_to("mail", 9).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [retried, scheduled]);
}

pub fn a_step_back_delays_what_was_to_come_and_hides_nothing_that_was_due(bench: &Bench) {
    bench.queue("mail");
    let ready = bench.publish("mail", 1);
    let retried = bench.publish("mail", 2);
    let grants = bench.claim_up_to("mail", 2);
    bench.must(&grants[1], fail_in("x", 5));
    bench.must(&grants[0], super::bench::release());
    bench.clock.step_wall_ms(-HOUR_MS);
    assert_eq!(bench.claim("mail").event, ready, "what was ready stays so");
    assert_eq!(bench.delivery(retried).state, View::Retrying);
    let wait = bench.claimed(claim("mail", 1, 7_200)).due_in;
    assert_eq!(wait.map(|wait| wait.as_secs()), Some(30), "the lease ends long before that");
    bench.after(30);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    bench.after(3_575);
    assert_eq!(bench.claim("mail").event, retried);
}

pub fn places_rise_whatever_the_wall_clock_does(bench: &Bench) {
    bench.queue("mail");
    let ms = bench.wall().as_ms() as u64;
    let place = |n| bench.publish_due("mail", n, Due::Now).place;
    assert_eq!(place(1), Some(Place { ms, seq: 0 }));
    bench.clock.step_wall_ms(-HOUR_MS);
    assert_eq!(place(2), Some(Place { ms, seq: 1 }));
    bench.after_ms(HOUR_MS);
    assert_eq!(place(3), Some(Place { ms, seq: 2 }), "back at the same ms");
    bench.after_ms(1);
    assert_eq!(place(4), Some(Place { ms: ms + 1, seq: 0 }));
}

pub fn events_that_nobody_held_yet_come_by_place_even_after_a_step_back(bench: &Bench) {
    bench.queue("mail");
    let mut sent = bench.publish_some("mail", 2);
    bench.clock.step_wall_ms(-HOUR_MS);
    sent.push(bench.publish("mail", 3));
    let got: Vec<_> = bench.claim_up_to("mail", 9).iter().map(|grant| grant.event).collect();
    assert_eq!(got, sent);
}
