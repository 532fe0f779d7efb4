//! Claiming for free slots, and going on after failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::bench::{Bench, LEASE, Numbered, by_the_clock};
use super::server::{Asked, Server};
use crate::consumer::delivery::Delivery;
use crate::consumer::outcome::Outcome;

#[test]
fn events_are_claimed_for_free_slots_only() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(200);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (at_once, peak) = (Arc::clone(&now), Arc::clone(&most));
        let handle = move |delivery: Delivery<Numbered>| {
            let (at_once, peak) = (Arc::clone(&at_once), Arc::clone(&peak));
            async move {
                peak.fetch_max(at_once.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                sleep(Duration::from_millis(20 + delivery.payload().n % 7)).await;
                at_once.fetch_sub(1, Ordering::Relaxed);
            }
        };
        let run = Bench { slots: 5, ..Bench::default() }.run(&server, handle).await;
        assert_eq!((most.load(Ordering::Relaxed), run.drained.done), (5, 200));
        let claims = server.asked().into_iter().filter_map(|(_, asked)| match asked {
            Asked::Claim { most } => Some(most),
            Asked::Beat(..) | Asked::Settle(..) => None,
        });
        assert!(claims.into_iter().all(|most| (1..=5).contains(&most)));
    });
}

#[test]
fn a_claim_that_does_not_wait_is_not_made_again_at_once() {
    by_the_clock(|| async {
        let server = Server::new();
        let (wait, stop_after) = (Duration::ZERO, Duration::from_secs(10));
        Bench { wait, stop_after, ..Bench::default() }.run(&server, |_| async {}).await;
        let claims = server.asked().iter().filter(|(at, _)| *at < 10_000).count();
        assert!((45..=51).contains(&claims), "{claims}");
    });
}

#[test]
fn a_claim_that_fails_is_repeated_and_not_before_the_server_wants_it() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().fail_claims = (3, Some(Duration::from_secs(7)));
        let run = Bench::default().run(&server, |_| async {}).await;
        assert_eq!(run.drained.done, 1);
        let claims: Vec<u64> = server
            .asked()
            .into_iter()
            .filter_map(|(at, asked)| matches!(asked, Asked::Claim { .. }).then_some(at))
            .take(4)
            .collect();
        assert!(claims.windows(2).all(|pair| pair[1] - pair[0] >= 7_000), "{claims:?}");
    });
}

#[test]
fn a_claim_whose_answer_is_lost_is_asked_again_and_its_events_wait_for_no_lease() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(6);
        server.faults.borrow_mut().lose_claim_answers = 2;
        let stop_after = LEASE / 2;
        let run = Bench { stop_after, ..Bench::default() }.run(&server, |_| async {}).await;
        assert_eq!((run.drained.done, run.drained.lost), (6, 0));
        assert!((1..=6).all(|number| server.end_of(number) == Some((Outcome::Done, 1))));
    });
}

#[test]
fn what_a_lost_answer_took_is_not_forgotten_over_a_failure_that_took_nothing() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(4);
        server.faults.borrow_mut().lose_claim_answers = 1;
        server.faults.borrow_mut().fail_claims_after_a_lost_one = 3;
        let stop_after = LEASE / 2;
        let run = Bench { stop_after, ..Bench::default() }.run(&server, |_| async {}).await;
        assert_eq!((run.drained.done, run.drained.lost), (4, 0));
        assert!((1..=4).all(|number| server.end_of(number) == Some((Outcome::Done, 1))));
        // Each was asked about before its handler began: the server might have had it back.
        assert_eq!(server.beats().len(), 4);
    });
}

#[test]
fn claims_that_are_refused_for_good_end_it_after_what_is_in_flight() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        let refusing = std::rc::Rc::clone(&server);
        tokio::task::LocalSet::new()
            .run_until(async {
                tokio::task::spawn_local(async move {
                    sleep(Duration::from_secs(1)).await;
                    refusing.faults.borrow_mut().refuse_claims = true;
                });
                let run = Bench::default().run(&server, |_| sleep(Duration::from_secs(25))).await;
                assert!(run.refused);
                assert_eq!(server.end_of(1), Some((Outcome::Done, 1)));
            })
            .await;
    });
}
