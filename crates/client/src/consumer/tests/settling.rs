//! Saying how an attempt ended.

use std::time::Duration;

use super::bench::{Bench, LEASE, Numbered, by_the_clock};
use super::server::{Asked, Server};
use crate::consumer::delivery::Delivery;
use crate::consumer::lost::{LostPhase, LostReason};
use crate::consumer::outcome::Outcome;

#[test]
fn an_ack_whose_answer_is_lost_is_said_again_and_never_becomes_a_nack() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().lose_settle_answers = 5;
        let run = Bench::default().run(&server, |_| async {}).await;
        assert_eq!(server.said(1), vec![Outcome::Done; 6]);
        assert_eq!((run.drained.done, run.lost.len()), (1, 0));
    });
}

#[test]
fn a_lease_is_kept_while_its_outcome_is_said() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().lose_settles = 30;
        let run = Bench { stop_after: LEASE * 20, ..Bench::default() }.run(&server, |_| async {}).await;
        // Far longer than a lease, with pauses of up to 5 s.
        assert_eq!(server.said(1), vec![Outcome::Done; 31]);
        assert_eq!((server.end_of(1), run.lost.len()), (Some((Outcome::Done, 1)), 0));
    });
}

#[test]
fn a_heartbeat_that_says_that_an_ack_was_taken_is_its_answer() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().lose_settle_answers = u32::MAX;
        let run = Bench::default().run(&server, |_| async {}).await;
        assert!(server.said(1).iter().all(Outcome::is_done));
        assert_eq!((run.drained.done, run.lost.len()), (1, 0));
    });
}

#[test]
fn a_refused_outcome_is_said_once_and_what_is_known_is_told() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        let other = std::rc::Rc::clone(&server);
        tokio::task::LocalSet::new()
            .run_until(async {
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    other.reassign(1);
                });
                let handle = |_| tokio::time::sleep(Duration::from_secs(1));
                let run = Bench::default().run(&server, handle).await;
                assert_eq!(server.said(1), [Outcome::Done]);
                let phase = LostPhase::Settling { done: true, may_be_known: false };
                assert_eq!(
                    (run.lost.len(), run.lost[0].reason, run.lost[0].phase),
                    (1, LostReason::Reassigned, phase)
                );
            })
            .await;
    });
}

#[test]
fn errors_panics_and_payloads_that_are_none_are_told_in_words() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(3);
        server.publish_one(4, "{\"n\":\"four\"}");
        let handle = |delivery: Delivery<Numbered>| async move {
            match delivery.payload().n {
                1 => Err("no route".to_owned()),
                2 => panic!("at the {}nd", 2),
                _ => Ok(Outcome::dead_letter("never")),
            }
        };
        Bench { slots: 1, ..Bench::default() }.run(&server, handle).await;
        assert_eq!(server.end_of(1), Some((Outcome::retry("no route"), 1)));
        assert_eq!(server.end_of(2), Some((Outcome::retry("the handler panicked: at the 2nd"), 1)));
        assert_eq!(server.end_of(3), Some((Outcome::dead_letter("never"), 1)));
        let Some((Outcome::DeadLetter { error }, 1)) = server.end_of(4) else {
            panic!("{:?}", server.end_of(4))
        };
        assert!(
            error.starts_with("the payload is not what the handler takes: invalid type: string"),
            "{error}"
        );
    });
}

#[test]
fn nothing_is_said_of_an_event_after_its_end() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(50);
        Bench::default().run(&server, |_| tokio::time::sleep(LEASE / 2)).await;
        for number in 1..=50 {
            let said: Vec<Asked> = server.asked().into_iter().map(|(_, asked)| asked).collect();
            let last = |wanted: fn(u64, &Asked) -> bool| said.iter().rposition(|asked| wanted(number, asked));
            let beat = last(|number, asked| matches!(asked, Asked::Beat(of, _) if *of == number));
            let end = last(|number, asked| matches!(asked, Asked::Settle(of, _) if *of == number));
            assert!(end.is_none() || beat < end, "{number}");
        }
    });
}
