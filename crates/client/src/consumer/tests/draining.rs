//! The end of a consumer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::bench::{Bench, LEASE, Numbered, by_the_clock};
use super::server::{Asked, Server};
use crate::consumer::delivery::{Delivery, StopReason};
use crate::consumer::outcome::Outcome;

#[test]
fn leases_are_kept_until_their_handlers_have_settled_and_nothing_is_claimed() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(8);
        let stop_after = Duration::from_secs(2);
        let bench = Bench { stop_after, drain_limit: LEASE * 10, ..Bench::default() };
        let run = bench.run(&server, |_| sleep(LEASE * 3)).await;
        assert_eq!((run.drained.done, run.drained.lost), (4, 0));
        assert!((1..=4).all(|number| server.end_of(number) == Some((Outcome::Done, 1))));
        let is_late = |(at, asked): &(u64, Asked)| *at > 2_000 && matches!(asked, Asked::Claim { .. });
        assert!(!server.asked().iter().any(is_late));
        assert!(run.ended_after < LEASE * 3);
    });
}

#[test]
fn a_claim_that_waits_is_dropped_and_the_end_comes_soon() {
    by_the_clock(|| async {
        let server = Server::new();
        let stop_after = Duration::from_secs(2);
        let run = Bench { stop_after, ..Bench::default() }.run(&server, |_| async {}).await;
        assert!(run.ended_after <= Duration::from_millis(260), "{:?}", run.ended_after);
    });
}

#[test]
fn what_a_dropped_claim_had_taken_goes_back_at_once() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(3);
        server.faults.borrow_mut().late_claims = Duration::from_millis(100);
        let stop_after = Duration::from_millis(50);
        let run = Bench { stop_after, ..Bench::default() }.run(&server, |_| async {}).await;
        assert_eq!((run.drained.done, run.drained.not_done), (0, 3));
        for number in 1..=3 {
            assert_eq!(server.said(number), [Outcome::Release]);
        }
        assert!(run.ended_after <= Duration::from_millis(260), "{:?}", run.ended_after);
    });
}

#[test]
fn what_does_not_end_in_time_is_given_back_without_an_attempt() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(2);
        let handle = |delivery: Delivery<Numbered>| async move {
            match delivery.payload().n {
                // It stops when it is told to, and says how far it is.
                1 => {
                    assert_eq!(delivery.cancelled().await, StopReason::Draining);
                    Outcome::retry("half of it is done")
                }
                _ => {
                    sleep(Duration::from_secs(1_000_000)).await;
                    Outcome::Done
                }
            }
        };
        let (stop_after, drain_limit) = (Duration::from_secs(2), Duration::from_secs(20));
        let run = Bench { stop_after, drain_limit, ..Bench::default() }.run(&server, handle).await;
        assert_eq!(server.end_of(1), Some((Outcome::retry("half of it is done"), 1)));
        assert_eq!(server.said(2), [Outcome::Release]);
        assert!(run.ended_after <= drain_limit, "{:?}", run.ended_after);
        assert_eq!(run.lost, []);
    });
}

#[test]
fn without_time_to_drain_all_is_dropped_and_given_back_at_once() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(4);
        let dropped = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&dropped);
        let handle = move |_| for_ever(CountsDrop(Arc::clone(&count)));
        let (stop_after, drain_limit) = (Duration::from_secs(2), Duration::ZERO);
        let run = Bench { stop_after, drain_limit, ..Bench::default() }.run(&server, handle).await;
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
        assert!((1..=4).all(|number| server.said(number) == [Outcome::Release]));
        assert_eq!((run.drained.not_done, run.drained.abandoned), (4, 0));
        assert!(run.ended_after <= Duration::from_millis(300), "{:?}", run.ended_after);
    });
}

#[test]
fn a_lease_that_is_lost_late_in_the_drain_is_told_of_and_its_handler_dropped() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().beats_until_cut = Some(1);
        let dropped = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&dropped);
        let handle = move |_| for_ever(CountsDrop(Arc::clone(&count)));
        // The lease is over some 12 s after its claim; the grace is longer than what is left of the drain then.
        let (stop_after, drain_limit, grace) = (Duration::from_secs(2), Duration::from_secs(12), LEASE);
        let run = Bench { stop_after, drain_limit, grace, ..Bench::default() }.run(&server, handle).await;
        assert_eq!((dropped.load(Ordering::Relaxed), run.lost.len()), (1, 1));
        assert!(run.ended_after <= drain_limit, "{:?}", run.ended_after);
    });
}

#[test]
fn what_the_server_cannot_be_told_in_time_is_counted() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().lose_settles = u32::MAX;
        let (stop_after, drain_limit) = (Duration::from_secs(2), Duration::from_secs(4));
        let run = Bench { stop_after, drain_limit, ..Bench::default() }.run(&server, |_| async {}).await;
        assert_eq!((run.drained.abandoned, run.drained.done), (1, 0));
        assert!(run.ended_after <= drain_limit + Duration::from_millis(1), "{:?}", run.ended_after);
    });
}

/// A handler that does not end by itself, and counts where it is dropped.
async fn for_ever(told: CountsDrop) {
    sleep(Duration::from_secs(1_000_000)).await;
    drop(told);
}

struct CountsDrop(Arc<AtomicU32>);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
