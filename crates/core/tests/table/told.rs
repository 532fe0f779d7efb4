//! What a holder says beside its heartbeats and its ack: how far it came, and what came of it.
//!
//! Lives here: for how long each is kept, and who may say it. Not here: their bounds (`naven-api`).

use naven_api::{AckResult, Percent, Progress};
use naven_core::{Bearer, Refusal, State, Step};

use crate::scene::{LEASE_S, Scene, fatal, heartbeat, release, seconds, take_over, wall};

fn told(percent: u32) -> Progress {
    Progress::of(Percent::try_from(percent).expect("tests stay within the bounds"))
}

fn beat(by: Bearer, percent: u32) -> Step {
    Step::Extend { by, hold: seconds(LEASE_S), progress: Some(Box::new(told(percent))) }
}

fn ack(by: Bearer, text: &str) -> Step {
    Step::Ack { by, result: AckResult::parse(text) }
}

/// What it shows of the way: how far, and when that was said in ms of the scene.
#[track_caller]
fn shows(scene: &Scene, expected: Option<(u32, i64)>) {
    let expected = expected.map(|(percent, at_ms)| (told(percent), wall(at_ms)));
    let found = scene.delivery.progress.as_deref().map(|said| (said.progress.clone(), said.at));
    assert_eq!(found, expected);
}

fn halfway() -> Scene {
    Scene::new().leased().after(1).step(beat(Bearer::Last, 50))
}

#[test]
fn the_last_word_of_a_hold_stands() {
    shows(&Scene::new().leased().step(heartbeat(Bearer::Last)), None);
    let scene = halfway();
    shows(&scene, Some((50, 1_000)));
    let scene = scene.after(1).step(heartbeat(Bearer::Last));
    shows(&scene, Some((50, 1_000)));
    // It may say less than before: it is its word, and no promise.
    shows(&scene.after(1).step(beat(Bearer::Last, 10)), Some((10, 3_000)));
}

#[test]
fn it_is_still_shown_when_the_hold_ended() {
    let ends = [
        fatal(Bearer::Last),
        release(Bearer::Last),
        crate::scene::fail(Bearer::Last),
        Step::Ack { by: Bearer::Last, result: None },
        Step::Break,
    ];
    for end in ends {
        shows(&halfway().step(end), Some((50, 1_000)));
    }
    let expired = halfway().after(LEASE_S).step(Step::Expire);
    shows(&expired, Some((50, 1_000)));
}

#[test]
fn the_next_hold_begins_with_none() {
    let again = halfway().step(release(Bearer::Last)).leased();
    shows(&again, None);
    let taken_over = halfway().after(LEASE_S).step(take_over(1, false));
    assert!(matches!(taken_over.delivery.state, State::Held { .. }));
    shows(&taken_over, None);
}

#[test]
fn a_new_round_begins_with_none() {
    let dead = halfway().step(fatal(Bearer::Last));
    shows(&dead.clone().step(Step::Redrive { reset_attempts: false }), None);
    shows(&dead.step(Step::Discard), None);
}

#[test]
fn what_counts_for_nothing_says_nothing() {
    let done = halfway().after(1).acked();
    shows(&done.step(beat(Bearer::Last, 90)), Some((50, 1_000)));
    assert_eq!(halfway().would(&beat(Bearer::Other, 90)), Err(Refusal::Lost));
    assert_eq!(halfway().after(LEASE_S).would(&beat(Bearer::Last, 90)), Err(Refusal::Expired));
}

#[test]
fn a_result_stays_with_the_outcome() {
    let done = Scene::new().leased().step(ack(Bearer::Last, r#"{"id": 7}"#));
    assert_eq!(done.delivery.result, AckResult::parse(r#"{"id": 7}"#));
    assert_eq!(Scene::new().leased().acked().delivery.result, None);
    // Within the grace it is an ack like any other.
    let late = Scene::with(|policy| policy.grace_ms = 5_000).expired().after(1).step(ack(Bearer::Last, "1"));
    assert_eq!(late.delivery.result, AckResult::parse("1"));
}

#[test]
fn the_first_result_stands() {
    for first in [ack(Bearer::Last, "1"), Step::Ack { by: Bearer::Last, result: None }] {
        let done = Scene::new().leased().step(first);
        let again = ack(Bearer::Last, "2");
        assert!(done.delivery.is_repeat_of(&again));
        assert_eq!(done.clone().step(again).delivery, done.delivery);
    }
}

#[test]
fn a_result_of_one_who_does_not_hold_it_is_refused_with_its_ack() {
    assert_eq!(Scene::new().leased().would(&ack(Bearer::Other, "1")), Err(Refusal::Lost));
    assert_eq!(Scene::new().leased().failed().would(&ack(Bearer::Last, "1")), Err(Refusal::Settled));
}
