//! The delivery log and its bounds.
//!
//! Lives here: what is remembered of each hold, and how much of it. Not here: who shows it.

use naven_api::limits::{ATTEMPT_ERROR_BYTES_MAX, LOG_DELIVERIES_MAX, LOG_HEARTBEATS_MAX};
use naven_core::{Bearer, Ending, Step};

use crate::scene::{Scene, error, failing, heartbeat, release, wall};

#[test]
fn a_hold_s_record_says_who_when_how_and_why() {
    let failure = failing(error("boom"), None);
    let scene = Scene::new().leased().after(2).step(heartbeat(Bearer::Last)).after(1);
    let failed = scene.step(Step::Fail { by: Bearer::Last, failure }).delivery;
    let [record] = failed.log.as_slice() else { panic!("one hold: {:?}", failed.log) };
    assert_eq!((record.fence, record.consumer.as_deref()), (1, Some("w1")));
    assert_eq!((record.leased_at, record.heartbeats.as_slice()), (wall(0), [wall(2_000)].as_slice()));
    assert_eq!(record.ended, Some((wall(3_000), Ending::Failed)));
    assert_eq!(record.error.as_deref(), Some("boom"));
    assert_eq!(failed.last_error, error("boom"));
}

#[test]
fn every_ending_has_its_own_word_in_the_log() {
    let ended = |scene: Scene| scene.delivery.log.last().unwrap().ended.unwrap().1;
    assert_eq!(ended(Scene::new().leased().acked()), Ending::Acked);
    assert_eq!(ended(Scene::new().expired()), Ending::Expired);
    assert_eq!(ended(Scene::new().leased().step(release(Bearer::Last))), Ending::Released);
    assert_eq!(ended(Scene::new().leased().step(Step::GiveBack { by: Bearer::Last })), Ending::GivenBack);
    assert_eq!(ended(Scene::new().leased().step(Step::Break)), Ending::Broken);
    assert_eq!(ended(Scene::new().leased().step(crate::scene::fatal(Bearer::Last))), Ending::Fatal);
}

#[test]
fn the_last_twenty_holds_are_remembered() {
    let mut scene = Scene::with(|policy| policy.max_attempts = None);
    for _ in 0..LOG_DELIVERIES_MAX {
        scene = scene.expired();
    }
    let fences = |scene: &Scene| -> Vec<u64> { scene.delivery.log.iter().map(|past| past.fence).collect() };
    assert_eq!(fences(&scene), (1..=20).collect::<Vec<_>>());
    assert_eq!(fences(&scene.leased()), (2..=21).collect::<Vec<_>>());
}

#[test]
fn the_last_ten_heartbeats_of_a_hold_are_remembered() {
    let mut scene = Scene::new().leased();
    for _ in 0..=LOG_HEARTBEATS_MAX {
        scene = scene.after(1).step(heartbeat(Bearer::Last));
    }
    let beats = &scene.delivery.log[0].heartbeats;
    assert_eq!(beats.as_slice(), (2..=11).map(|s| wall(s * 1_000)).collect::<Vec<_>>());
}

#[test]
fn an_attempt_s_error_is_cut_at_its_bound_and_the_last_error_is_whole() {
    let failed_with = |bytes: usize| {
        let failure = failing(error(&"x".repeat(bytes)), None);
        Scene::new().leased().step(Step::Fail { by: Bearer::Last, failure }).delivery
    };
    let kept = |bytes| failed_with(bytes).log[0].error.as_ref().unwrap().len();
    assert_eq!(kept(ATTEMPT_ERROR_BYTES_MAX), ATTEMPT_ERROR_BYTES_MAX);
    assert_eq!(kept(ATTEMPT_ERROR_BYTES_MAX + 1), ATTEMPT_ERROR_BYTES_MAX);
    let whole = failed_with(ATTEMPT_ERROR_BYTES_MAX + 1).last_error.unwrap();
    assert_eq!(whole.as_str().len(), ATTEMPT_ERROR_BYTES_MAX + 1);
}

#[test]
fn a_release_may_say_why_and_silence_leaves_the_last_error_alone() {
    let failure = failing(error("boom"), Some(0));
    let again = Scene::new().leased().step(Step::Fail { by: Bearer::Last, failure }).leased();
    let silent = again.clone().step(release(Bearer::Last)).delivery;
    assert_eq!(silent.last_error, error("boom"));
    let told = again.step(Step::Release { by: Bearer::Last, error: error("drain") }).delivery;
    assert_eq!(told.last_error, error("drain"));
    assert_eq!(told.log[1].error.as_deref(), Some("drain"));
}
