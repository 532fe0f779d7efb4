//! Settling late, within the queue's grace.
//!
//! Lives here: what is undone and what is not. Not here: the answers cell by cell (`cells.rs`).

use naven_core::{Bearer, Delivery, Ending, LeaseTime, Refusal, State, Step};

use crate::scene::{LEASE_S, Scene, fail, fatal, heartbeat, release};

fn late() -> Scene {
    Scene::with(|policy| policy.grace_ms = 10_000).expired().after(3)
}

#[test]
fn a_late_heartbeat_revives_the_same_hold_and_undoes_the_counted_expiry() {
    let revived = late().step(heartbeat(Bearer::Last));
    assert_eq!(revived.lease_left_ms(), LEASE_S * 1_000);
    let Delivery { fence, attempts, expiries, last, log, .. } = &revived.delivery;
    assert_eq!((*fence, *attempts, *expiries, *last), (1, 1, 0, None));
    assert_eq!(log.len(), 1, "no new hold began");
    assert_eq!((log[0].ended, log[0].heartbeats.len()), (None, 1), "it is open again");
    revived.after(LEASE_S - 1).acked();
}

#[test]
fn a_late_settle_undoes_the_counted_expiry_too() {
    let after = |step: Step| late().step(step).delivery;
    let acked = after(Step::Ack { by: Bearer::Last, result: None });
    assert_eq!((acked.state, acked.attempts, acked.expiries), (State::Done, 1, 0));
    let failed = after(fail(Bearer::Last));
    assert_eq!((failed.state, failed.attempts, failed.expiries), (State::Retrying, 1, 0));
    let released = after(release(Bearer::Last));
    assert_eq!((released.state, released.attempts, released.expiries), (State::Ready, 0, 0));
    let dead = after(fatal(Bearer::Last));
    assert_eq!((dead.attempts, dead.expiries), (1, 0));
    let ended = |delivery: &Delivery| delivery.log[0].ended.map(|(_, ending)| ending);
    assert_eq!(ended(&acked), Some(Ending::Acked), "the log forgets the expiry");
    assert_eq!(ended(&failed), Some(Ending::Failed));
}

#[test]
fn a_lease_revived_before_and_after_its_end_was_recorded_goes_on_alike() {
    let scene = Scene::with(|policy| policy.grace_ms = 10_000);
    let unrecorded = scene.overdue().after(3).step(heartbeat(Bearer::Last)).delivery;
    let recorded = late().step(heartbeat(Bearer::Last)).delivery;
    assert_eq!(Delivery { due: recorded.due, ..unrecorded }, recorded);
}

#[test]
fn the_grace_ends_with_the_next_hold() {
    let again = late().leased();
    assert_eq!(again.would(&Step::Ack { by: Bearer::Other, result: None }), Err(Refusal::Lost));
    assert_eq!(again.delivery.expiries, 1, "the expiry stays counted");
}

#[test]
fn nothing_is_revived_past_the_bound_of_the_whole_hold() {
    let set = |policy: &mut naven_core::Policy| {
        (policy.grace_ms, policy.max_lease_ms) = (10_000, Some(LEASE_S * 1_000));
    };
    for over in [Scene::with(set).expired(), Scene::with(set).overdue()] {
        assert_eq!(over.would(&heartbeat(Bearer::Last)), Err(Refusal::Expired));
        assert!(
            over.would(&Step::Ack { by: Bearer::Last, result: None }).is_ok(),
            "a late ack needs no time"
        );
    }
    let set = |policy: &mut naven_core::Policy| {
        (policy.grace_ms, policy.max_lease_ms) = (10_000, Some(LEASE_S * 1_000 + 5_000));
    };
    let cut = Scene::with(set).expired().after(3).step(heartbeat(Bearer::Last));
    assert_eq!(cut.lease_left_ms(), 2_000, "revived, up to the bound");
}

#[test]
fn the_grace_is_counted_from_the_lease_s_end_not_from_its_recording() {
    let slow = Scene::with(|policy| policy.grace_ms = 10_000).overdue().after(9).step(Step::Expire);
    assert!(slow.would(&Step::Ack { by: Bearer::Last, result: None }).is_ok());
    assert_eq!(slow.after(1).would(&Step::Ack { by: Bearer::Last, result: None }), Err(Refusal::Expired));
}

#[test]
fn the_grace_follows_the_lease_clock_alone() {
    let mut stepped = late();
    stepped.now.wall = stepped.now.wall.plus_ms(86_400_000);
    assert!(stepped.would(&Step::Ack { by: Bearer::Last, result: None }).is_ok());
    stepped.now.lease = LeaseTime::from_ms(stepped.now.lease.as_ms() + 7_000);
    assert_eq!(stepped.would(&Step::Ack { by: Bearer::Last, result: None }), Err(Refusal::Expired));
}

#[test]
fn a_hold_that_a_redis_consumer_let_run_out_has_no_grace() {
    let set = |policy: &mut naven_core::Policy| {
        (policy.grace_ms, policy.redis_lease_ms) = (10_000, Some(5_000));
    };
    let over = Scene::with(set).held(1).after(5).step(Step::Expire);
    assert_eq!(over.would(&Step::Ack { by: Bearer::Last, result: None }), Err(Refusal::Expired));
}
