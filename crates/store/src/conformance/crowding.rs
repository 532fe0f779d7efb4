//! More at once than one operation does.
//!
//! Lives here: that bounds change no order. Not here: the bounds of tending (`leases.rs`, `keeping.rs`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::View;

use super::bench::Bench;
use super::streams::to_queue;
use crate::txn::{Append, Due, OpKind, Txn};

pub fn what_is_published_behind_a_crowd_of_due_events_does_not_overtake_it(bench: &Bench) {
    bench.queue("mail");
    let crowd = PLACES_PER_OP_MAX + 2;
    let due = Due::In(5.try_into().expect("in bounds"));
    let delayed = || OpKind::Append(Append { due, ..to_queue("mail", "{}") });
    for start in (0..crowd).step_by(2_500) {
        let count = 2_500.min(crowd - start);
        let answers = bench.submit(Txn::all((0..count).map(|_| delayed())));
        assert!(answers.iter().all(Result::is_ok));
    }
    bench.after(5);
    let last = bench.publish_due("mail", 1, Due::Now);
    assert_eq!(last.place, None, "its place comes behind those that are due");
    let counts = bench.view("mail").counts;
    assert_eq!((counts.of(View::Ready), counts.of(View::Scheduled)), (PLACES_PER_OP_MAX as u64, 3));
    let next = bench.publish("mail", 2);
    assert_eq!(bench.view("mail").counts.of(View::Ready), crowd as u64 + 2);
    let places: Vec<_> = [last.id, next].map(|event| bench.event(event).place).into();
    assert!(places[0].is_some() && places[0] < places[1]);
}
