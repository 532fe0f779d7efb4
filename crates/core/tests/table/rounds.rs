//! Rounds, and what operators may do.
//!
//! Lives here: redrive, cancel, break, bury. Not here: what holders say (`cells.rs`).

use naven_core::{Bearer, DeadReason, Delivery, Ending, Refusal, State, Step};

use crate::scene::{Scene, error, failing, heartbeat, wall};

const REDRIVE: Step = Step::Redrive { reset_attempts: true };

#[test]
fn a_redrive_opens_a_round_with_attempts_anew_and_the_fence_going_on() {
    let dead = Scene::new().failed_to_death().after(60);
    let redriven = dead.step(REDRIVE);
    let Delivery { state, round, fence, attempts, expiries, due, last, over_at, log, .. } =
        redriven.delivery.clone();
    assert_eq!((state, round, fence, attempts, expiries), (State::Ready, 1, 3, 0, 0));
    assert_eq!((due, last, over_at, log.len()), (wall(75_000), None, None, 0));
    let again = redriven.leased();
    assert_eq!((again.delivery.fence, again.delivery.attempts), (4, 1));
    let failed = again.failed().after(5).step(Step::FallDue).delivery;
    assert_eq!((failed.round, failed.due), (1, wall(75_000 + 5_000)), "backoff begins anew too");
}

#[test]
fn a_redrive_that_keeps_the_attempts_grants_one_hold_more() {
    let kept = Scene::new().failed_to_death().step(Step::Redrive { reset_attempts: false });
    assert_eq!((kept.delivery.attempts, kept.delivery.state), (3, State::Ready));
    let dead = kept.leased().failed().delivery;
    assert_eq!((dead.attempts, dead.state), (4, State::Dead(DeadReason::AttemptsUsedUp)));
}

#[test]
fn only_the_dead_are_redriven() {
    for scene in [
        Scene::new(),
        Scene::new().leased(),
        Scene::new().held(1),
        Scene::new().leased().failed(),
        Scene::new().leased().acked(),
        Scene::new().step(Step::Cancel { reason: None }),
    ] {
        assert_eq!(scene.would(&REDRIVE), Err(Refusal::WrongState), "{:?}", scene.delivery.state);
    }
}

#[test]
fn only_the_dead_are_discarded_and_stay_dead() {
    for scene in [
        Scene::new(),
        Scene::new().leased(),
        Scene::new().held(1),
        Scene::new().leased().failed(),
        Scene::new().leased().acked(),
        Scene::new().step(Step::Cancel { reason: None }),
    ] {
        assert_eq!(scene.would(&Step::Discard), Err(Refusal::WrongState), "{:?}", scene.delivery.state);
    }
    let discarded = Scene::new().failed_to_death().after(60).step(Step::Discard).delivery;
    assert_eq!((discarded.state, discarded.round), (State::Dead(DeadReason::AttemptsUsedUp), 1));
    assert_eq!((discarded.last, discarded.over_at), (None, Some(wall(75_000))));
}

#[test]
fn what_is_over_changes_by_nothing_but_a_redrive() {
    for scene in [
        Scene::new().leased().acked(),
        Scene::new().failed_to_death(),
        Scene::new().step(Step::Cancel { reason: None }),
        Scene::new().leased().step(Step::Break),
    ] {
        let over = scene.after(86_400);
        for step in [
            Step::FallDue,
            Step::Take { hold: naven_core::Hold::NoAck, consumer: None },
            crate::scene::take_over(1, false),
            crate::scene::take_over(1, true),
            heartbeat(Bearer::Last),
            Step::Ack { by: Bearer::Last, result: None },
            Step::AckUnfenced,
            crate::scene::fail(Bearer::Last),
            crate::scene::fatal(Bearer::Last),
            crate::scene::release(Bearer::Last),
            Step::GiveBack { by: Bearer::Last },
            Step::Expire,
            Step::Cancel { reason: None },
            Step::Break,
            Step::Bury(DeadReason::QueueDeleted),
        ] {
            let left = over.would(&step).unwrap_or_else(|_| over.delivery.clone());
            assert_eq!(left, over.delivery, "{step:?}");
        }
    }
}

#[test]
fn a_cancel_ends_what_nobody_holds_and_asks_the_holder_of_the_rest() {
    for free in [Scene::new(), Scene::new().leased().failed()] {
        assert_eq!(free.step(Step::Cancel { reason: None }).delivery.state, State::Cancelled);
    }
    let asked = Scene::new().leased().step(Step::Cancel { reason: None });
    assert!(asked.delivery.cancel_requested && asked.delivery.is_held());
    let beaten = asked.clone().after(1).step(heartbeat(Bearer::Last));
    assert!(beaten.delivery.cancel_requested, "every beat says so");
    assert_eq!(asked.acked().delivery.state, State::Done, "the holder may still finish");
    let over = Scene::new().leased().acked();
    assert_eq!(over.would(&Step::Cancel { reason: None }), Err(Refusal::WrongState));
}

#[test]
fn a_burial_ends_the_hold_and_an_earlier_outcome_is_still_known() {
    let bury = || Step::Bury(DeadReason::ConsumerDeleted);
    let held = Scene::new().held(1).step(bury()).delivery;
    assert_eq!(held.state, State::Dead(DeadReason::ConsumerDeleted));
    assert_eq!(held.log[0].ended.unwrap().1, Ending::Broken);
    let failure = failing(error("boom"), None);
    let failed = Scene::new().leased().step(Step::Fail { by: Bearer::Last, failure }).step(bury());
    assert_eq!(failed.delivery.over_at, Some(wall(0)));
    let again = crate::scene::fail(Bearer::Last);
    assert!(failed.delivery.is_repeat_of(&again), "who failed it is answered as before");
    assert_eq!(failed.delivery.log[0].ended.unwrap().1, Ending::Failed);
    assert_eq!(failed.step(REDRIVE).delivery.round, 1);
}

#[test]
fn a_new_round_and_a_purge_ask_nobody_to_stop_any_more() {
    let asked = Scene::new().leased().step(Step::Cancel { reason: error("too late") });
    let dead = asked.step(Step::Bury(DeadReason::QueueDeleted));
    assert!(dead.delivery.cancel_requested && dead.delivery.cancel_reason.is_some());
    let redriven = dead.clone().step(REDRIVE).delivery;
    assert_eq!((redriven.cancel_requested, redriven.cancel_reason), (false, None));
    let purged = dead.step(Step::Purge).delivery;
    assert_eq!((purged.state, purged.cancel_requested), (State::Cancelled, false));
}
