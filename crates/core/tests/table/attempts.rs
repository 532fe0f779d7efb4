//! Attempts, expiries, the fence and the spacing of retries.
//!
//! Lives here: what is counted, when it is used up, and when the next delivery is due. Not here:
//! rounds (`rounds.rs`), Redis holds (`redis.rs`).

use naven_core::{Bearer, DeadReason, Delivery, Ending, Refusal, State, Step, View};

use crate::scene::{LEASE_S, Scene, error, fail, failing, fatal, release, wall};

fn counted(scene: &Scene) -> (u64, u32, u32) {
    let Delivery { fence, attempts, expiries, .. } = scene.delivery;
    (fence, attempts, expiries)
}

#[test]
fn the_first_delivery_is_attempt_one_under_fence_one() {
    assert_eq!(counted(&Scene::new()), (0, 0, 0));
    assert_eq!(counted(&Scene::new().leased()), (1, 1, 0));
}

#[test]
fn a_failure_and_an_expiry_each_use_up_an_attempt() {
    let failed = Scene::new().leased().failed().after(5).step(Step::FallDue);
    assert_eq!(counted(&failed), (1, 1, 0));
    let expired = failed.expired();
    assert_eq!(counted(&expired), (2, 2, 1));
    assert_eq!(counted(&expired.leased()), (3, 3, 1));
}

#[test]
fn a_release_and_a_give_back_use_up_none_yet_the_fence_goes_on() {
    for step in [release(Bearer::Last), Step::GiveBack { by: Bearer::Last }] {
        let freed = Scene::new().leased().step(step);
        assert_eq!(counted(&freed), (1, 0, 0));
        assert_eq!(counted(&freed.leased()), (2, 1, 0));
    }
}

#[test]
fn the_last_attempt_s_failure_or_expiry_is_its_death() {
    let used_up = Scene::new().failed_to_death().delivery;
    assert_eq!(used_up.state, State::Dead(DeadReason::AttemptsUsedUp));
    assert_eq!((used_up.attempts, used_up.over_at), (3, Some(wall(15_000))));
    let lapsed = Scene::new().expired().expired().expired().delivery;
    assert_eq!(lapsed.state, State::Dead(DeadReason::ExpiredAttempts));
    assert_eq!((lapsed.attempts, lapsed.expiries), (3, 3));
    let endless = Scene::with(|policy| policy.max_attempts = None);
    assert_eq!(endless.expired().expired().expired().expired().delivery.state, State::Ready);
}

#[test]
fn a_fatal_failure_is_its_death_at_once() {
    let dead = Scene::new().leased().after(2).step(Step::Fatal { by: Bearer::Last, error: error("no") });
    assert_eq!(dead.delivery.state, State::Dead(DeadReason::Fatal));
    assert_eq!(dead.delivery.last_error, error("no"));
    assert_eq!(dead.delivery.over_at, Some(wall(2_000)));
}

#[test]
fn retries_are_spaced_by_the_queue_s_backoff_and_the_attempts_so_far() {
    let first = Scene::new().leased().after(1).failed();
    assert_eq!(first.delivery.due, wall(1_000 + 5_000));
    assert_eq!(first.delivery.last.unwrap().next_at, Some(wall(6_000)));
    let second = first.after(5).step(Step::FallDue).leased().failed();
    assert_eq!(second.delivery.due, wall(6_000 + 10_000));
}

#[test]
fn the_jitter_is_what_the_engine_drew() {
    let jittery = Scene::with(|policy| policy.backoff.jitter_milli = 500).leased();
    let due = |draw| {
        let failure = naven_core::Failure { draw, ..failing(None, None) };
        jittery.would(&Step::Fail { by: Bearer::Last, failure }).unwrap().due
    };
    assert_eq!((due(0), due(u32::MAX)), (wall(2_500), wall(5_000)));
}

#[test]
fn a_nack_s_own_delay_wins_over_the_backoff_and_none_is_ready_at_once() {
    let with_delay = |delay| {
        let failure = failing(None, Some(delay));
        Scene::new().leased().step(Step::Fail { by: Bearer::Last, failure }).delivery
    };
    assert_eq!((with_delay(7).state, with_delay(7).due), (State::Retrying, wall(7_000)));
    assert_eq!((with_delay(0).state, with_delay(0).due), (State::Ready, wall(0)));
    let mut no_backoff = Scene::new();
    no_backoff.policy.backoff.initial_seconds = 0;
    assert_eq!(no_backoff.leased().failed().delivery.state, State::Ready);
}

#[test]
fn a_repeated_nack_answers_the_first_outcome_whatever_it_says_now() {
    let failed = Scene::new().leased().failed().after(2);
    for again in [
        Step::Fail { by: Bearer::Last, failure: failing(error("other"), Some(9)) },
        Step::Fatal { by: Bearer::Last, error: error("other") },
    ] {
        assert_eq!(failed.would(&again), Ok(failed.delivery.clone()));
        assert!(failed.delivery.is_repeat_of(&again));
    }
    assert_eq!(failed.delivery.last.unwrap().next_at, Some(wall(5_000)));
}

#[test]
fn a_release_is_due_now_and_a_give_back_keeps_its_due_time() {
    let leased = Scene::new().leased().after(4);
    assert_eq!(leased.would(&release(Bearer::Last)).unwrap().due, wall(4_000));
    let back = leased.would(&Step::GiveBack { by: Bearer::Last }).unwrap();
    assert_eq!((back.due, back.state), (wall(0), State::Ready));
    assert_eq!(back.last.unwrap().ending, Ending::GivenBack);
}

#[test]
fn only_the_live_holder_s_lease_can_be_given_back() {
    let give_back = |by| Step::GiveBack { by };
    assert_eq!(Scene::new().leased().would(&give_back(Bearer::Other)), Err(Refusal::Lost));
    assert_eq!(Scene::new().held(1).would(&give_back(Bearer::Last)), Err(Refusal::Lost));
    for over in [Scene::new().leased().acked(), Scene::new().leased().failed(), Scene::new()] {
        assert_eq!(over.would(&give_back(Bearer::Last)), Err(Refusal::Lost));
    }
}

#[test]
fn an_expiry_is_due_at_once_without_backoff() {
    let over = Scene::new().overdue().after(7).step(Step::Expire).delivery;
    assert_eq!((over.state, over.due), (State::Ready, wall(LEASE_S * 1_000 + 7_000)));
}

#[test]
fn a_lease_does_not_expire_before_its_end_and_expires_at_it() {
    let leased = Scene::new().leased();
    assert_eq!(leased.clone().after_ms(LEASE_S * 1_000 - 1).would(&Step::Expire), Err(Refusal::NotDue));
    assert!(leased.after(LEASE_S).would(&Step::Expire).is_ok());
}

#[test]
fn a_retry_falls_due_at_its_time_and_cannot_be_taken_before_it_did() {
    let failed = Scene::new().leased().failed();
    assert_eq!(failed.clone().after_ms(4_999).would(&Step::FallDue), Err(Refusal::NotDue));
    assert_eq!(failed.clone().after_ms(4_999).delivery.view(failed.now), View::Retrying);
    let due = failed.after(5);
    assert_eq!(due.delivery.view(due.now), View::Ready, "people see it ready before it is recorded");
    let take = Step::Take { hold: naven_core::Hold::NoAck, consumer: None };
    assert_eq!(due.would(&take), Err(Refusal::NotDue));
    assert!(due.step(Step::FallDue).would(&take).is_ok());
}

#[test]
fn due_times_follow_the_wall_and_leases_the_lease_clock() {
    let mut leased = Scene::new().leased();
    leased.now.wall = wall(86_400_000);
    assert_eq!(leased.would(&Step::Expire), Err(Refusal::NotDue), "a step of the wall ends no lease");
    let mut failed = Scene::new().leased().failed();
    failed.now.lease = failed.now.lease.plus_ms(86_400_000);
    assert_eq!(failed.would(&Step::FallDue), Err(Refusal::NotDue), "lease time makes no retry due");
}

#[test]
fn what_is_held_or_over_cannot_be_taken() {
    let take = Step::Take { hold: naven_core::Hold::Lease(crate::scene::seconds(1)), consumer: None };
    for scene in [
        Scene::new().leased(),
        Scene::new().overdue(),
        Scene::new().held(1),
        Scene::new().leased().acked(),
        Scene::new().leased().step(fatal(Bearer::Last)),
        Scene::new().step(Step::Cancel { reason: None }),
        Scene::new().leased().step(fail(Bearer::Last)),
    ] {
        assert_eq!(scene.would(&take), Err(Refusal::NotDue), "{:?}", scene.delivery.state);
    }
}
