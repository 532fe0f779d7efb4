//! What an operator's cancel does, however the hold ends then.
//!
//! Lives here: the cells of the table whose event was called off. Not here: burials and new rounds
//! (`rounds.rs`).

use naven_core::{Bearer, Ending, Refusal, State, Step, View};

use crate::scene::{LEASE_S, Scene, error, fail, failing, fatal, heartbeat, release, seconds, take_over};

const ACK: Step = Step::Ack { by: Bearer::Last, result: None };

fn cancel(reason: Option<&str>) -> Step {
    Step::Cancel { reason: reason.and_then(error) }
}

/// Leased, and asked to stop.
fn asked() -> Scene {
    Scene::new().leased().step(cancel(Some("no use")))
}

fn reason(scene: &Scene) -> Option<&str> {
    scene.delivery.cancel_reason.as_ref().map(|reason| reason.as_str())
}

#[test]
fn what_nobody_holds_is_cancelled_at_once_with_its_reason() {
    for free in [Scene::new(), Scene::new().leased().failed(), Scene::new().expired(), Scene::new().overdue()]
    {
        let over = free.step(cancel(Some("no use")));
        assert_eq!(over.delivery.state, State::Cancelled);
        assert_eq!((reason(&over), over.delivery.over_at), (Some("no use"), Some(over.now.wall)));
        let again = over.clone().step(cancel(Some("another")));
        assert_eq!(again.delivery, over.delivery, "repeated, it changes nothing");
    }
}

#[test]
fn a_holder_is_asked_once_and_the_first_reason_stands() {
    for held in [Scene::new().leased(), Scene::new().held(1)] {
        let asked = held.step(cancel(Some("no use")));
        assert!(asked.delivery.is_held() && asked.delivery.cancel_requested);
        let again = asked.clone().step(cancel(None));
        assert_eq!((reason(&again), &again.delivery), (Some("no use"), &asked.delivery));
    }
}

#[test]
fn what_is_done_or_dead_cannot_be_cancelled() {
    for over in [
        Scene::new().leased().acked(),
        Scene::new().leased().step(fatal(Bearer::Last)),
        Scene::with(|policy| policy.max_attempts = Some(1)).overdue(),
    ] {
        assert_eq!(over.would(&cancel(None)), Err(Refusal::WrongState), "{:?}", over.delivery.state);
    }
}

#[test]
fn however_a_hold_ends_but_by_an_ack_its_event_is_cancelled() {
    assert_eq!(asked().step(ACK).delivery.state, State::Done);
    let failure = failing(error("boom"), Some(60));
    for (step, ending) in [
        (Step::Fail { by: Bearer::Last, failure }, Ending::Failed),
        (fatal(Bearer::Last), Ending::Fatal),
        (release(Bearer::Last), Ending::Released),
        (Step::GiveBack { by: Bearer::Last }, Ending::GivenBack),
    ] {
        let over = asked().step(step.clone());
        let last = over.delivery.last.expect("a hold ended");
        assert_eq!((over.delivery.state, last.ending, last.next_at), (State::Cancelled, ending, None));
        assert_eq!((reason(&over), over.delivery.over_at), (Some("no use"), Some(over.now.wall)), "{step:?}");
    }
    let expired = asked().after(LEASE_S).step(Step::Expire).delivery;
    assert_eq!(
        (expired.state, expired.expiries, expired.last.unwrap().ending),
        (State::Cancelled, 1, Ending::Expired)
    );
    // Neither the last attempt nor the event's own end makes a dead letter of it.
    for set in [
        |policy: &mut naven_core::Policy| policy.max_attempts = Some(1),
        |policy: &mut naven_core::Policy| {
            policy.expires_at = Some(crate::scene::wall(1));
        },
    ] {
        let last = Scene::with(set).leased().step(cancel(None)).after(1);
        assert_eq!(last.clone().failed().delivery.state, State::Cancelled);
        assert_eq!(last.after(LEASE_S).step(Step::Expire).delivery.state, State::Cancelled);
    }
}

#[test]
fn late_words_on_a_cancelled_event_are_judged_as_on_any_other() {
    let failed = asked().failed();
    assert!(failed.delivery.is_repeat_of(&fail(Bearer::Last)));
    assert_eq!(failed.clone().failed().delivery, failed.delivery, "the first answer again");
    assert_eq!(failed.would(&ACK), Err(Refusal::Settled));
    assert_eq!(failed.clone().step(heartbeat(Bearer::Last)).delivery, failed.delivery);
    let expired = Scene::with(|policy| policy.grace_ms = 10_000).leased().step(cancel(None)).after(LEASE_S);
    for late in [expired.clone(), expired.step(Step::Expire)] {
        for step in [ACK, heartbeat(Bearer::Last), fail(Bearer::Last), release(Bearer::Last)] {
            assert_eq!(late.would(&step), Err(Refusal::Expired), "no grace: {step:?}");
        }
    }
    let given_back = asked().step(Step::GiveBack { by: Bearer::Last });
    assert_eq!(given_back.would(&ACK), Err(Refusal::Lost));
    let broken = asked().step(Step::Break);
    for step in [ACK, heartbeat(Bearer::Last), fail(Bearer::Last), release(Bearer::Last)] {
        assert_eq!(broken.would(&step), Err(Refusal::Lost), "{step:?}");
    }
}

#[test]
fn a_redis_consumer_that_was_asked_to_stop_hands_nothing_on() {
    let asked = || Scene::new().held(1).step(cancel(None));
    assert_eq!(asked().step(Step::AckUnfenced).delivery.state, State::Done);
    for just_id in [false, true] {
        assert_eq!(asked().step(take_over(2, just_id)).delivery.view(asked().now), View::Cancelled);
    }
    let renewed = asked().step(take_over(1, true)).delivery;
    assert!(renewed.is_held() && renewed.cancel_requested, "renewing its own changes no owner");
}

#[test]
fn a_new_hold_was_never_asked_to_stop() {
    let again = Scene::new().leased().failed().after(60).step(Step::FallDue).leased();
    assert!(!again.delivery.cancel_requested && again.delivery.cancel_reason.is_none());
    let beat = Step::Extend { by: Bearer::Last, hold: seconds(5), progress: None };
    assert!(asked().step(beat).delivery.cancel_requested, "every beat says so");
}
