//! Counts by state, and the age of the oldest ready event.
//!
//! Lives here: what a queue says of its load. Not here: single events.

use naven_core::View;

use super::bench::{Bench, fail_in, fatal};
use crate::txn::{Due, SettleStep};

/// Scheduled, ready, leased, retrying, done, dead.
fn counts(bench: &Bench) -> [u64; 6] {
    let counts = bench.view("mail").counts;
    let states = [View::Scheduled, View::Ready, View::Leased, View::Retrying, View::Done, View::Dead];
    states.map(|view| counts.of(view))
}

pub fn every_event_is_counted_once_wherever_it_stands(bench: &Bench) {
    bench.queue("mail");
    assert_eq!(counts(bench), [0; 6]);
    bench.publish_due("mail", 0, Due::In(60.try_into().expect("in bounds")));
    bench.publish_some("mail", 5);
    assert_eq!(counts(bench), [1, 5, 0, 0, 0, 0]);
    let grants = bench.claim_up_to("mail", 4);
    assert_eq!(counts(bench), [1, 1, 4, 0, 0, 0]);
    bench.must(&grants[0], SettleStep::Ack);
    bench.must(&grants[1], fail_in("x", 90));
    bench.must(&grants[2], fatal());
    assert_eq!(counts(bench), [1, 1, 1, 1, 1, 1]);
    bench.must(&grants[0], SettleStep::Ack);
    bench.must(&grants[1], fail_in("x", 90));
    assert_eq!(counts(bench), [1, 1, 1, 1, 1, 1], "a repeated call counts nothing");
    bench.after(60);
    assert_eq!(counts(bench), [1, 1, 1, 1, 1, 1], "counts change where something is recorded");
    bench.tend();
    assert_eq!(counts(bench), [0, 3, 0, 1, 1, 1], "the scheduled one and the expired lease are ready");
}

pub fn a_redrive_takes_one_from_the_dead(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    assert_eq!(counts(bench), [0, 0, 0, 0, 0, 1]);
    bench.ask(super::bench::redrive(event)).expect("it is dead");
    assert_eq!(counts(bench), [0, 1, 0, 0, 0, 0]);
}

pub fn a_release_and_a_give_back_make_ready_again(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 2);
    let grants = bench.claim_up_to("mail", 2);
    bench.must(&grants[0], super::bench::release());
    bench.must(&grants[1], SettleStep::GiveBack);
    assert_eq!(counts(bench), [0, 2, 0, 0, 0, 0]);
}

pub fn the_oldest_ready_event_is_the_one_that_a_claim_would_take(bench: &Bench) {
    bench.queue("mail");
    let oldest = || bench.view("mail").oldest_ready;
    assert_eq!(oldest(), None);
    let start = bench.wall();
    bench.publish("mail", 1);
    bench.after(5);
    bench.publish("mail", 2);
    assert_eq!(oldest(), Some(start));
    let grant = bench.claim("mail");
    assert_eq!(oldest(), Some(start.plus_ms(5_000)));
    bench.after(5);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    assert_eq!(oldest(), None);
    bench.must(&grant, super::bench::release());
    assert_eq!(oldest(), Some(start.plus_ms(10_000)), "since it became due again");
    assert_eq!(bench.view("mail").now, bench.wall());
}
