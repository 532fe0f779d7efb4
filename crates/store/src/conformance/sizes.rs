//! Sizes: how much one claim takes.
//!
//! Lives here: bounds on events and bytes of one answer. Not here: bounds on requests (the doors).

use super::bench::{Bench, append, claim};
use crate::txn::{Claim, Due};

fn publish_bytes(bench: &Bench, sizes: &[usize]) {
    for &size in sizes {
        bench.ask(append("mail", &"x".repeat(size), Due::Now)).expect("the queue is there");
    }
}

fn claimed_sizes(bench: &Bench, max: u32, max_bytes: usize) -> Vec<usize> {
    let claim = Claim { max_bytes, ..claim("mail", max, 30) };
    bench.claimed(claim).leases.iter().map(|grant| grant.body.bytes.len()).collect()
}

pub fn a_claim_takes_no_more_events_than_asked_for(bench: &Bench) {
    bench.queue("mail");
    publish_bytes(bench, &[1; 120]);
    assert_eq!(claimed_sizes(bench, 1, usize::MAX).len(), 1);
    assert_eq!(claimed_sizes(bench, 100, usize::MAX).len(), 100);
    assert_eq!(claimed_sizes(bench, 100, usize::MAX).len(), 19);
}

pub fn a_claim_stops_before_it_exceeds_its_bytes(bench: &Bench) {
    bench.queue("mail");
    publish_bytes(bench, &[10, 10, 10, 11, 1]);
    assert_eq!(claimed_sizes(bench, 9, 20), [10, 10], "exactly full");
    assert_eq!(claimed_sizes(bench, 9, 20), [10], "one byte too many is left for the next");
    assert_eq!(claimed_sizes(bench, 9, 20), [11, 1]);
}

pub fn the_first_event_is_taken_whatever_its_size(bench: &Bench) {
    bench.queue("mail");
    publish_bytes(bench, &[100, 1]);
    assert_eq!(claimed_sizes(bench, 9, 0), [100]);
    assert_eq!(claimed_sizes(bench, 9, 5), [1]);
}

pub fn a_small_event_does_not_overtake_a_large_one(bench: &Bench) {
    bench.queue("mail");
    publish_bytes(bench, &[10, 100, 10]);
    assert_eq!(claimed_sizes(bench, 9, 30), [10]);
    assert_eq!(claimed_sizes(bench, 9, 30), [100]);
}

pub fn large_payloads_come_back_whole(bench: &Bench) {
    bench.queue("mail");
    let large = naven_api::limits::PAYLOAD_BYTES_MAX;
    publish_bytes(bench, &[large, 0]);
    assert_eq!(claimed_sizes(bench, 9, usize::MAX), [large, 0]);
}
