//! Keeping leases, and losing them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use naven_api::{Percent, Progress};
use tokio::time::{Instant, sleep};

use super::bench::{Bench, LEASE, Numbered, by_the_clock};
use super::server::{Asked, Server, event};
use crate::consumer::delivery::{Delivery, StopReason};
use crate::consumer::lost::{LostPhase, LostReason};
use crate::consumer::outcome::Outcome;

#[test]
fn a_handler_of_many_leases_has_one_attempt() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        let run = Bench::default().run(&server, |_| sleep(LEASE * 5)).await;
        assert_eq!(server.end_of(1), Some((Outcome::Done, 1)));
        assert_eq!(run.lost, []);
        // A third of the lease, and a tenth of that less at most.
        let beats = server.beats();
        assert!((15..=18).contains(&beats.len()), "{beats:?}");
        for pair in beats.windows(2) {
            assert!((2_700..=3_010).contains(&(pair[1] - pair[0])), "{beats:?}");
        }
    });
}

#[test]
fn a_lost_heartbeat_is_made_up_for_by_the_next() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().drop_beats = 3;
        let run = Bench::default().run(&server, |_| sleep(LEASE * 3)).await;
        assert_eq!((server.end_of(1), run.lost.len()), (Some((Outcome::Done, 1)), 0));
    });
}

#[test]
fn a_heartbeat_that_hangs_leaves_time_for_another() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().hang_beats = 1;
        let run = Bench::default().run(&server, |_| sleep(LEASE * 3)).await;
        assert_eq!((server.end_of(1), run.lost.len()), (Some((Outcome::Done, 1)), 0));
    });
}

#[test]
fn a_handler_is_told_to_stop_before_its_lease_is_over_and_its_word_counts_until_then() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().drop_beats = u32::MAX;
        let stopped_ms = Arc::new(AtomicU64::new(0));
        let stopped = Arc::clone(&stopped_ms);
        let handle = move |delivery: Delivery<Numbered>| {
            let stopped = Arc::clone(&stopped);
            async move {
                let began = Instant::now();
                let reason = delivery.cancelled().await;
                assert_eq!(reason, StopReason::LeaseLost);
                stopped.store(u64::try_from(began.elapsed().as_millis()).unwrap(), Ordering::Relaxed);
                Err::<(), _>("stopped")
            }
        };
        let bench = Bench { slots: 1, stop_after: LEASE - Duration::from_millis(10), ..Bench::default() };
        let run = bench.run(&server, handle).await;
        // A tenth of the lease before its end, which is counted from when the claim left.
        let stopped_ms = stopped_ms.load(Ordering::Relaxed);
        assert!((8_000..8_100).contains(&stopped_ms), "{stopped_ms}");
        assert_eq!(server.said(1), [Outcome::retry("stopped")], "the lease is held for a moment yet");
        assert_eq!(run.drained.not_done, 1);
    });
}

#[test]
fn a_handler_that_does_not_stop_is_dropped_and_its_loss_is_told() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().drop_beats = u32::MAX;
        let begun = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&begun);
        let handle = move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_secs(1_000_000))
        };
        let stop_after = LEASE + Duration::from_millis(500);
        let run = Bench { slots: 1, stop_after, ..Bench::default() }.run(&server, handle).await;
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        assert_eq!(server.said(1), []);
        let lost = &run.lost[0];
        assert_eq!((run.lost.len(), lost.event, lost.attempt, lost.fence), (1, event(1), 1, 1));
        assert_eq!((lost.reason, lost.phase), (LostReason::TimeOver, LostPhase::Running));
        assert_eq!(run.drained.lost, 1);
    });
}

#[test]
fn a_lease_is_over_when_it_is_though_a_heartbeat_hangs() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().hang_beats = u32::MAX;
        let run = Bench { slots: 1, stop_after: LEASE * 2, ..Bench::default() }
            .run(&server, |_| sleep(Duration::from_secs(1_000_000)))
            .await;
        // Its end, and the time that a handler may take to stop.
        assert!((9_990..=10_010).contains(&run.lost_at_ms[0]), "{:?}", run.lost_at_ms);
    });
}

#[test]
fn a_lease_is_counted_from_when_its_heartbeat_left() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().late_beats = Duration::from_secs(2);
        server.faults.borrow_mut().beats_until_cut = Some(3);
        let stop_after = LEASE * 4;
        let run = Bench { slots: 1, stop_after, ..Bench::default() }
            .run(&server, |_| sleep(Duration::from_secs(1_000_000)))
            .await;
        let last = server.beats()[2];
        assert!((last + 9_995..=last + 10_010).contains(&run.lost_at_ms[0]), "{last} {:?}", run.lost_at_ms);
    });
}

#[test]
fn an_event_that_went_to_another_is_not_settled_and_frees_its_slot() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(20);
        let taken = std::rc::Rc::clone(&server);
        tokio::task::LocalSet::new()
            .run_until(async {
                tokio::task::spawn_local(async move {
                    sleep(Duration::from_secs(1)).await;
                    taken.reassign(1);
                });
                let told = Arc::new(AtomicU32::new(0));
                let count = Arc::clone(&told);
                let handle = move |delivery: Delivery<Numbered>| {
                    let count = Arc::clone(&count);
                    async move {
                        if delivery.payload().n > 1 {
                            return Outcome::Done;
                        }
                        assert_eq!(delivery.cancelled().await, StopReason::LeaseLost);
                        count.fetch_add(1, Ordering::Relaxed);
                        Outcome::retry("it was stopped")
                    }
                };
                let run = Bench { slots: 1, ..Bench::default() }.run(&server, handle).await;
                assert_eq!(run.lost.len(), 1);
                assert_eq!(
                    (run.lost[0].reason, run.lost[0].phase),
                    (LostReason::Reassigned, LostPhase::Running)
                );
                assert_eq!(server.said(1), []);
                assert!((2..=20).all(|number| server.end_of(number) == Some((Outcome::Done, 1))));
            })
            .await;
    });
}

#[test]
fn no_handler_begins_on_a_claim_that_came_late_before_a_heartbeat_was_answered() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        // The lease is over before its claim is answered, then it is not.
        server.faults.borrow_mut().late_claims = LEASE + Duration::from_secs(1);
        let late = std::rc::Rc::clone(&server);
        tokio::task::LocalSet::new()
            .run_until(async {
                tokio::task::spawn_local(async move {
                    sleep(LEASE).await;
                    late.faults.borrow_mut().late_claims = LEASE / 2;
                });
                let begun = Arc::new(AtomicU32::new(0));
                let counted = Arc::clone(&begun);
                let handle = move |_| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    async {}
                };
                let run = Bench { slots: 1, ..Bench::default() }.run(&server, handle).await;
                assert_eq!((begun.load(Ordering::Relaxed), server.end_of(1)), (1, Some((Outcome::Done, 2))));
                assert_eq!(run.lost.len(), 1);
                assert_eq!(
                    (run.lost[0].reason, run.lost[0].phase),
                    (LostReason::Expired, LostPhase::NotBegun)
                );
            })
            .await;
    });
}

#[test]
fn the_newest_word_of_how_far_the_work_came_goes_out_and_never_an_older_one_after_it() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().drop_beats = 2;
        let handle = |delivery: Delivery<Numbered>| async move {
            for percent in [10, 20, 30, 40] {
                let progress = Progress::new(Percent::try_from(percent).ok(), None);
                delivery.progress(progress.expect("one of both is there"));
                sleep(Duration::from_secs(4)).await;
            }
            sleep(LEASE).await;
        };
        Bench::default().run(&server, handle).await;
        let said: Vec<u8> = server
            .asked()
            .into_iter()
            .filter_map(|(_, asked)| match asked {
                Asked::Beat(_, percent) => percent,
                Asked::Claim { .. } | Asked::Settle(..) => None,
            })
            .collect();
        assert!(said.is_sorted() && said.last() == Some(&40), "{said:?}");
        assert_eq!(said.iter().filter(|percent| **percent == 40).count(), 1, "{said:?}");
    });
}

#[test]
fn that_a_lease_is_lost_outweighs_that_the_handler_was_asked_to_stop() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().cancel = true;
        server.faults.borrow_mut().beats_until_cut = Some(1);
        let lost = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&lost);
        let handle = move |delivery: Delivery<Numbered>| {
            let count = Arc::clone(&count);
            async move {
                assert_eq!(delivery.cancelled().await, StopReason::CancelRequested);
                delivery.lease_lost().await;
                assert_eq!(delivery.stop_reason(), Some(StopReason::LeaseLost));
                count.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_secs(1_000_000)).await;
            }
        };
        let run = Bench { slots: 1, stop_after: LEASE * 2, ..Bench::default() }.run(&server, handle).await;
        assert_eq!((lost.load(Ordering::Relaxed), run.lost.len()), (1, 1));
    });
}

#[test]
fn a_cancel_that_was_asked_for_stops_the_handler_whose_word_counts() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        server.faults.borrow_mut().cancel = true;
        let handle = |delivery: Delivery<Numbered>| async move {
            assert_eq!(delivery.cancelled().await, StopReason::CancelRequested);
            Outcome::Done
        };
        Bench::default().run(&server, handle).await;
        assert_eq!(server.end_of(1), Some((Outcome::Done, 1)));
    });
}

#[test]
fn a_lease_that_the_server_bounds_is_believed_for_no_longer() {
    by_the_clock(|| async {
        let server = Server::new();
        server.publish(1);
        // Its first heartbeat is the last that gets through, and moves the end by a second.
        {
            let mut faults = server.faults.borrow_mut();
            (faults.hold_at_most, faults.beats_until_cut) = (Some(Duration::from_secs(1)), Some(1));
        }
        let handle = |delivery: Delivery<Numbered>| async move {
            delivery.lease_lost().await;
        };
        let run = Bench::default().run(&server, handle).await;
        assert_eq!(run.lost.first().map(|lost| lost.reason), Some(LostReason::TimeOver));
        assert!(run.lost_at_ms[0] < 4_100, "a third of the lease, and a second: {:?}", run.lost_at_ms);
    });
}
