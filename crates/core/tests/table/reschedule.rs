//! What operators do to what nobody has: another due time, and its end.
//!
//! Lives here: the rules of rescheduling and purging. Not here: cancelling (`cancel.rs`), redriving and discarding
//! (`rounds.rs`).

use naven_core::{Refusal, State, Step};

use crate::scene::{Scene, wall};

fn to(ms: i64) -> Step {
    Step::Reschedule { due: wall(ms) }
}

#[test]
fn what_nobody_has_waits_for_its_new_time_and_is_ready_where_that_has_come() {
    let later = Scene::new().step(to(60_000)).delivery;
    assert_eq!((later.state, later.due), (State::Retrying, wall(60_000)));
    assert_eq!((later.round, later.attempts), (0, 0));
    let retried = Scene::new().leased().failed();
    let earlier = retried.clone().step(to(-1)).delivery;
    assert_eq!((earlier.state, earlier.due), (State::Ready, retried.now.wall), "a past time is now");
    assert_eq!(earlier.attempts, 1, "attempts stay as they are");
    let overdue = Scene::new().leased().after(60).step(to(600_000)).delivery;
    assert_eq!((overdue.state, overdue.expiries), (State::Retrying, 1), "its time is over, recorded or not");
}

#[test]
fn what_is_ready_keeps_its_turn() {
    let ready = Scene::new().after(60);
    assert_eq!(ready.would(&to(1)), Ok(ready.delivery.clone()));
    let back = Scene::new().step(to(60_000)).after(90).step(to(0)).delivery;
    assert_eq!((back.state, back.due), (State::Ready, wall(60_000)), "as if it had fallen due by itself");
}

#[test]
fn what_somebody_has_and_what_is_over_keeps_its_time() {
    for scene in [
        Scene::new().leased(),
        Scene::new().held(1),
        Scene::new().leased().acked(),
        Scene::new().failed_to_death(),
        Scene::new().step(Step::Cancel { reason: None }),
    ] {
        assert_eq!(scene.would(&to(600_000)), Err(Refusal::WrongState), "{:?}", scene.delivery.state);
    }
}

#[test]
fn a_purge_ends_what_nobody_has_and_says_why() {
    for scene in [Scene::new(), Scene::new().leased().failed(), Scene::new().failed_to_death()] {
        let purged = scene.after(60).step(Step::Purge).delivery;
        assert_eq!((purged.state, purged.round, purged.last), (State::Cancelled, 1, None));
        assert_eq!(purged.cancel_reason.as_ref().map(|why| why.as_str()), Some("purged"));
        assert!(purged.over_at.is_some());
    }
    for scene in [
        Scene::new().leased(),
        Scene::new().held(1),
        Scene::new().leased().acked(),
        Scene::new().step(Step::Cancel { reason: None }),
    ] {
        assert_eq!(scene.would(&Step::Purge), Err(Refusal::WrongState), "{:?}", scene.delivery.state);
    }
}
