//! Holds of Redis consumers: read, acked, taken over, run out.
//!
//! Lives here: what XREADGROUP, XACK, XCLAIM and XAUTOCLAIM mean for one delivery. Not here: idle
//! times and ranges (the engines).

use naven_core::{
    ConsumerNo, DeadReason, Delivery, Ending, GivenUp, GivingUp, Hold, LeaseTime, Refusal, State, Step,
};

use crate::scene::{LEASE_S, Scene, error, failing, take_over, wall};

/// Fence, attempts, expiries, and Redis' own counter.
fn counted(scene: &Scene) -> (u64, u32, u32, u64) {
    let Delivery { fence, attempts, expiries, redis_count, .. } = scene.delivery;
    (fence, attempts, expiries, redis_count)
}

fn holder(scene: &Scene) -> u32 {
    match scene.delivery.state {
        State::Held { consumer: ConsumerNo(no), .. } => no,
        other => panic!("not held: {other:?}"),
    }
}

#[test]
fn a_hold_by_name_counts_on_both_scales_and_has_no_end() {
    let held = Scene::new().held(1).after(10 * 86_400);
    assert_eq!(counted(&held), (1, 1, 0, 1));
    assert_eq!(held.would(&Step::Expire), Err(Refusal::NotDue));
    assert_eq!(counted(&Scene::new().leased()), (1, 1, 0, 0), "a lease is none of Redis' deliveries");
}

#[test]
fn an_xack_finishes_what_a_consumer_holds_or_nobody_owns() {
    assert_eq!(Scene::new().held(1).step(Step::AckUnfenced).delivery.state, State::Done);
    for unowned in [Scene::new().expired(), Scene::new().leased().failed()] {
        assert_eq!(unowned.step(Step::AckUnfenced).delivery.state, State::Done);
    }
}

#[test]
fn an_xack_of_an_unowned_entry_leaves_its_log_as_it_was() {
    let failure = failing(error("boom"), None);
    let failed = Scene::new().leased().step(Step::Fail { by: naven_core::Bearer::Last, failure });
    let done = failed.clone().after(3).step(Step::AckUnfenced).delivery;
    assert_eq!(done.log, failed.delivery.log);
    assert_eq!((done.over_at, done.last.unwrap().ending), (Some(wall(3_000)), Ending::Broken));
}

#[test]
fn an_xack_finishes_nothing_of_a_lease_nor_of_what_was_never_delivered() {
    assert_eq!(Scene::new().leased().would(&Step::AckUnfenced), Err(Refusal::Lost));
    assert_eq!(Scene::new().would(&Step::AckUnfenced), Err(Refusal::NotDue));
    assert_eq!(Scene::new().leased().acked().would(&Step::AckUnfenced), Err(Refusal::WrongState));
}

#[test]
fn an_xack_treats_a_lease_that_ran_out_as_unowned_recorded_or_not() {
    let unrecorded = Scene::new().overdue().step(Step::AckUnfenced).delivery;
    let recorded = Scene::new().expired().step(Step::AckUnfenced).delivery;
    assert_eq!(unrecorded, recorded);
    let used_up = Scene::with(|policy| policy.max_attempts = Some(1)).overdue();
    assert_eq!(used_up.would(&Step::AckUnfenced), Err(Refusal::WrongState), "it is dead");
}

#[test]
fn a_read_without_ack_is_done_at_delivery() {
    let take = Step::Take { hold: Hold::NoAck, consumer: Some("c1".to_owned()) };
    let done = Scene::new().after(2).step(take).delivery;
    assert_eq!((done.state, done.fence, done.attempts), (State::Done, 1, 1));
    assert_eq!(done.over_at, Some(wall(2_000)));
    assert_eq!(done.log[0].ended, Some((wall(2_000), Ending::Acked)));
}

#[test]
fn a_take_over_ends_the_old_hold_as_expired_and_opens_one() {
    let taken = Scene::new().held(1).after(5).step(take_over(2, false));
    assert_eq!((holder(&taken), counted(&taken)), (2, (2, 2, 1, 2)));
    let ends: Vec<_> = taken.delivery.log.iter().map(|past| past.ended).collect();
    assert_eq!(ends, [Some((wall(5_000), Ending::Expired)), None]);
    assert_eq!(taken.delivery.log[1].consumer.as_deref(), Some("c2"));
    let by_itself = Scene::new().held(1).step(take_over(1, false));
    assert_eq!(counted(&by_itself), (2, 2, 1, 2), "an owner's own XCLAIM counts as well");
}

#[test]
fn justid_renews_the_owner_s_own_hold_and_nothing_else_changes() {
    let held = Scene::new().held(1).after(5);
    let renewed = held.clone().step(take_over(1, true));
    let State::Held { since, .. } = renewed.delivery.state else { panic!("not held") };
    assert_eq!(since, held.now.lease);
    assert_eq!(Delivery { state: held.delivery.state, ..renewed.delivery }, held.delivery);
}

#[test]
fn justid_to_another_moves_the_hold_without_an_attempt() {
    let moved = Scene::new().held(1).after(5).step(take_over(2, true));
    assert_eq!((holder(&moved), counted(&moved)), (2, (2, 1, 0, 1)));
}

#[test]
fn a_take_over_of_an_unowned_entry_is_a_new_attempt_even_under_justid() {
    let unowned = Scene::new().expired();
    assert_eq!(counted(&unowned.clone().step(take_over(1, false))), (2, 2, 1, 1));
    let just_id = unowned.step(take_over(1, true));
    assert_eq!(counted(&just_id), (2, 2, 1, 0), "the live hold is always counted");
}

#[test]
fn a_take_over_when_attempts_are_used_up_makes_a_dead_letter_instead() {
    let last = Scene::with(|policy| policy.max_attempts = Some(1)).held(1).after(5);
    let dead = last.clone().step(take_over(2, false)).delivery;
    assert_eq!(dead.state, State::Dead(DeadReason::ExpiredAttempts));
    assert_eq!((dead.fence, dead.attempts, dead.expiries, dead.redis_count), (1, 1, 1, 1));
    assert_eq!(holder(&last.step(take_over(2, true))), 2, "a mere change of owner is no attempt");
}

#[test]
fn a_take_over_passes_over_a_live_lease_and_takes_one_that_ran_out() {
    for just_id in [false, true] {
        let live = Scene::new().leased().after(LEASE_S - 1);
        assert_eq!(live.would(&take_over(1, just_id)), Err(Refusal::Lost));
        let taken = Scene::new().overdue().step(take_over(1, just_id));
        assert_eq!((holder(&taken), counted(&taken).2), (1, 1), "the lease's end is counted");
        assert_eq!(taken.delivery.attempts, 2);
    }
}

#[test]
fn a_take_over_passes_over_what_is_due_later_or_over() {
    for just_id in [false, true] {
        for scene in [
            Scene::new().leased().failed().after(4),
            Scene::new().leased().acked(),
            Scene::new().failed_to_death(),
            Scene::new().step(Step::Cancel { reason: None }),
        ] {
            assert_eq!(scene.would(&take_over(1, just_id)), Err(Refusal::NotDue));
        }
    }
}

#[test]
fn a_hold_runs_out_for_an_http_claim_when_the_queue_bounds_it() {
    let held = Scene::with(|policy| policy.redis_lease_ms = Some(60_000)).held(1);
    assert_eq!(held.clone().after_ms(59_999).would(&Step::Expire), Err(Refusal::NotDue));
    let claimed = held.clone().after(60).step(Step::Expire).leased();
    assert_eq!(counted(&claimed), (2, 2, 1, 1));
    let renewed = held.clone().after(59).step(take_over(1, true)).after(59);
    assert_eq!(renewed.would(&Step::Expire), Err(Refusal::NotDue), "JUSTID renews it");
    assert!(renewed.after(1).would(&Step::Expire).is_ok());
    let moved = held.after(59).step(take_over(2, false)).after(59);
    assert_eq!(moved.would(&Step::Expire), Err(Refusal::NotDue), "so does XCLAIM");
}

#[test]
fn a_hold_keeps_the_end_that_it_was_given_until_it_is_renewed() {
    let mut held = Scene::with(|policy| policy.redis_lease_ms = Some(60_000)).held(1);
    held.policy.redis_lease_ms = None;
    assert!(held.clone().after(60).would(&Step::Expire).is_ok());
    for renewal in [take_over(1, true), take_over(1, false), take_over(2, true), Step::Reread] {
        let renewed = held.clone().after(60).step(renewal);
        assert_eq!(renewed.after(86_400).would(&Step::Expire), Err(Refusal::NotDue));
    }
    let mut endless = Scene::new().held(1);
    endless.policy.redis_lease_ms = Some(1);
    assert_eq!(endless.clone().after(60).would(&Step::Expire), Err(Refusal::NotDue));
    assert!(endless.step(Step::Reread).after(1).would(&Step::Expire).is_ok());
}

#[test]
fn past_its_end_a_hold_is_still_its_consumer_s_to_finish_and_nobody_s_to_put_off() {
    let past = Scene::with(|policy| policy.redis_lease_ms = Some(1_000)).held(1).after(60);
    assert_eq!(past.clone().step(Step::AckUnfenced).delivery.state, State::Done);
    assert_eq!(past.would(&Step::Reschedule { due: wall(99_000) }), Err(Refusal::WrongState));
    let cancelled = past.step(Step::Cancel { reason: None }).delivery;
    assert_eq!((cancelled.state, cancelled.expiries), (State::Cancelled, 1), "nobody is left to be asked");
}

#[test]
fn a_hold_that_runs_out_on_the_last_attempt_is_a_dead_letter() {
    let set = |policy: &mut naven_core::Policy| {
        (policy.max_attempts, policy.redis_lease_ms) = (Some(1), Some(60_000));
    };
    let dead = Scene::with(set).held(1).after(60).step(Step::Expire).delivery;
    assert_eq!(dead.state, State::Dead(DeadReason::ExpiredAttempts));
}

fn give_up(how: GivingUp, delay_ms: Option<u64>) -> Step {
    Step::GiveUp(GivenUp { how, delay_ms, error: None, redis_count: None, draw: u32::MAX })
}

#[test]
fn a_take_over_may_name_its_beginning_and_redis_count() {
    let held = Scene::new().held(1).after(9);
    for just_id in [false, true] {
        for to in [1, 2] {
            let (since, redis_count) = (Some(LeaseTime::from_ms(5)), Some(7));
            let (to, consumer) = (ConsumerNo(to), "c".to_owned());
            let taken = held.clone().step(Step::TakeOver { to, consumer, just_id, since, redis_count });
            assert_eq!(taken.delivery.redis_count, 7);
            let State::Held { since, .. } = taken.delivery.state else { panic!("not held") };
            assert_eq!(since, LeaseTime::from_ms(5));
        }
    }
}

#[test]
fn a_retry_that_is_due_is_taken_over_recorded_or_not() {
    let due = Scene::new().leased().failed().after(5);
    assert_eq!(holder(&due.clone().step(take_over(1, false))), 1);
    assert_eq!(holder(&due.step(Step::FallDue).step(take_over(1, false))), 1);
}

#[test]
fn a_consumer_that_reads_again_counts_on_redis_scale_alone() {
    let read = Scene::new().held(1).after(5).step(Step::Reread);
    assert_eq!((holder(&read), counted(&read)), (1, (1, 1, 0, 2)));
    let State::Held { since, .. } = read.delivery.state else { panic!("not held") };
    assert_eq!(since, read.now.lease);
    for other in [Scene::new().leased(), Scene::new(), Scene::new().expired()] {
        assert_eq!(other.would(&Step::Reread), Err(Refusal::NotDue));
    }
}

#[test]
fn what_is_released_counts_no_attempt_and_waits_as_long_as_asked() {
    let held = Scene::new().held(1).after(5);
    let at_once = held.clone().step(give_up(GivingUp::Release, None));
    assert_eq!((at_once.delivery.state, counted(&at_once)), (State::Ready, (1, 0, 0, 0)));
    let later = held.step(give_up(GivingUp::Release, Some(2_500)));
    assert_eq!((later.delivery.state, later.delivery.due), (State::Retrying, wall(7_500)));
    let unowned = Scene::new().leased().failed().after(5).step(give_up(GivingUp::Release, None));
    assert_eq!(
        (unowned.delivery.state, unowned.delivery.attempts),
        (State::Ready, 1),
        "nothing to take back"
    );
}

#[test]
fn a_failure_without_a_proof_is_retried_by_the_backoff_or_dead() {
    let held = Scene::new().held(1);
    let failed = held.clone().step(give_up(GivingUp::Fail, None));
    assert_eq!((failed.delivery.state, failed.delivery.due), (State::Retrying, wall(5_000)));
    assert_eq!(counted(&failed), (1, 1, 0, 1));
    let used_up = Scene::with(|policy| policy.max_attempts = Some(1)).held(1);
    let dead = used_up.step(give_up(GivingUp::Fail, Some(0))).delivery;
    assert_eq!(dead.state, State::Dead(DeadReason::AttemptsUsedUp));
    let fatal = held.step(give_up(GivingUp::Fatal, None)).delivery;
    assert_eq!(fatal.state, State::Dead(DeadReason::Fatal));
    assert_eq!(fatal.log[0].ended, Some((wall(0), Ending::Fatal)));
}

#[test]
fn nobody_gives_up_a_live_lease_nor_what_is_over() {
    let release = give_up(GivingUp::Release, None);
    assert_eq!(Scene::new().leased().would(&release), Err(Refusal::Lost));
    assert_eq!(Scene::new().leased().acked().would(&release), Err(Refusal::WrongState));
    assert_eq!(Scene::new().overdue().step(release).delivery.state, State::Ready);
}
