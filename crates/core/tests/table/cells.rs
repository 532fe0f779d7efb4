//! Every row of the table against heartbeat, ack and the three modes of nack.
//!
//! Lives here: rows whose judgement needs only the delivery. Not here: rows about ids, tokens that
//! do not parse and fields that are missing (the engines' suite and the HTTP door's tests).

use naven_core::{Bearer, Refusal, Step, View};

use crate::scene::{LEASE_S, Scene, fail, fatal, heartbeat, release};

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It was done, and the delivery shows this now.
    Done(View),
    /// 200, and nothing changed.
    NoOp(View),
    /// 200 with `replayed`, and nothing changed.
    Replayed(View),
    /// 409.
    No(Refusal),
}

use Answer::{Done, NoOp, Replayed};
const EXPIRED: Answer = Answer::No(Refusal::Expired);
const LOST: Answer = Answer::No(Refusal::Lost);
const SETTLED: Answer = Answer::No(Refusal::Settled);
/// The call goes through as by a holder in time.
const AS_HOLDER: [Answer; 5] =
    [Done(View::Leased), Done(View::Done), Done(View::Retrying), Done(View::Dead), Done(View::Ready)];
/// The same by a holder that was asked to stop.
const AS_ASKED: [Answer; 5] = [
    Done(View::Leased),
    Done(View::Done),
    Done(View::Cancelled),
    Done(View::Cancelled),
    Done(View::Cancelled),
];
const ALL_LOST: [Answer; 5] = [LOST; 5];
const ALL_EXPIRED: [Answer; 5] = [EXPIRED; 5];

/// Heartbeat, ack, nack `fail`, nack `fatal`, nack `release`, in the order of the rows' answers.
fn calls(by: Bearer) -> [Step; 5] {
    [heartbeat(by), Step::Ack { by, result: None }, fail(by), fatal(by), release(by)]
}

fn answer(scene: &Scene, call: &Step) -> Answer {
    match scene.would(call) {
        Err(refusal) => Answer::No(refusal),
        Ok(next) if next != scene.delivery => Done(next.view(scene.now)),
        Ok(next) if scene.delivery.is_repeat_of(call) => Replayed(next.view(scene.now)),
        Ok(next) => NoOp(next.view(scene.now)),
    }
}

#[track_caller]
fn row(name: &str, scene: &Scene, by: Bearer, expected: [Answer; 5]) {
    let got: Vec<Answer> = calls(by).iter().map(|call| answer(scene, call)).collect();
    assert_eq!(got, expected, "{name}: heartbeat, ack, fail, fatal, release");
}

#[track_caller]
fn last(name: &str, scene: &Scene, expected: [Answer; 5]) {
    row(name, scene, Bearer::Last, expected);
}

#[test]
fn a_holder_in_time_may_do_everything() {
    // A second later, so that a heartbeat moves the end.
    last("just leased", &Scene::new().leased().after_ms(1), AS_HOLDER);
    last("the last ms", &Scene::new().leased().after_ms(LEASE_S * 1_000 - 1), AS_HOLDER);
    let extended = Scene::new().leased().after(20).step(heartbeat(Bearer::Last)).after(LEASE_S - 1);
    last("past the first end, in the second", &extended, AS_HOLDER);
}

#[test]
fn a_holder_whose_time_is_over_is_told_so() {
    last("not recorded", &Scene::new().overdue(), ALL_EXPIRED);
    last("recorded", &Scene::new().expired(), ALL_EXPIRED);
    last("long ago", &Scene::new().expired().after(86_400), ALL_EXPIRED);
}

#[test]
fn a_holder_whose_time_is_over_is_served_within_the_grace() {
    let scene = || Scene::with(|policy| policy.grace_ms = 10_000);
    for recorded in [false, true] {
        let over = if recorded { scene().expired() } else { scene().overdue() };
        last("at the end itself", &over, AS_HOLDER);
        last("the grace's last ms", &over.clone().after_ms(9_999), AS_HOLDER);
        last("the grace is over", &over.after_ms(10_000), ALL_EXPIRED);
    }
}

#[test]
fn who_held_before_the_present_or_last_holder_has_lost_it() {
    let again = Scene::new().expired().leased();
    row("redelivered", &again, Bearer::Other, ALL_LOST);
    row("redelivered and done", &again.clone().acked(), Bearer::Other, ALL_LOST);
    row("redelivered and failed", &again.clone().failed(), Bearer::Other, ALL_LOST);
    row("redelivered and dead", &again.step(fatal(Bearer::Last)), Bearer::Other, ALL_LOST);
    row("never held", &Scene::new(), Bearer::Other, ALL_LOST);
}

#[test]
fn who_acked_may_ask_again_and_cannot_take_it_back() {
    let acked = Scene::new().leased().acked().after(100);
    last("acked", &acked, [NoOp(View::Done), Replayed(View::Done), SETTLED, SETTLED, SETTLED]);
}

#[test]
fn who_nacked_may_ask_again_and_cannot_ack() {
    let nacked = |view| [NoOp(view), SETTLED, Replayed(view), Replayed(view), SETTLED];
    let failed = Scene::new().leased().failed();
    last("failed, due later", &failed, nacked(View::Retrying));
    last("failed, due again", &failed.clone().after(5), nacked(View::Ready));
    last("failed, made ready", &failed.after(5).step(Step::FallDue), nacked(View::Ready));
    last("failed, attempts used up", &Scene::new().failed_to_death(), nacked(View::Dead));
    last("fatal", &Scene::new().leased().step(fatal(Bearer::Last)), nacked(View::Dead));
}

#[test]
fn who_released_may_ask_again_and_do_nothing_else() {
    let released = Scene::new().leased().step(release(Bearer::Last)).after(1);
    let expected = [NoOp(View::Ready), SETTLED, SETTLED, SETTLED, Replayed(View::Ready)];
    last("released", &released, expected);
}

#[test]
fn a_broken_lease_is_lost() {
    last("broken", &Scene::new().leased().step(Step::Break), ALL_LOST);
    let buried = Step::Bury(naven_core::DeadReason::StreamDeleted);
    last("buried", &Scene::new().leased().step(buried), ALL_LOST);
}

#[test]
fn a_holder_who_was_asked_to_stop_still_holds() {
    last("cancel requested", &Scene::new().leased().after(1).step(Step::Cancel { reason: None }), AS_ASKED);
}

#[test]
fn there_is_no_grace_once_dead() {
    let scene = || Scene::with(|policy| (policy.grace_ms, policy.max_attempts) = (10_000, Some(1)));
    last("used up, recorded", &scene().expired(), ALL_EXPIRED);
    last("used up, not recorded", &scene().overdue(), ALL_EXPIRED);
}

#[test]
fn what_the_server_gave_back_or_an_operator_redrove_is_lost() {
    let given_back = Scene::new().leased().step(Step::GiveBack { by: Bearer::Last });
    last("given back", &given_back, ALL_LOST);
    let redriven = Scene::new().failed_to_death().step(Step::Redrive { reset_attempts: true });
    last("redriven, if the proof still matched", &redriven, ALL_LOST);
    row("redriven", &redriven, Bearer::Other, ALL_LOST);
    let discarded = Scene::new().failed_to_death().step(Step::Discard);
    row("discarded", &discarded, Bearer::Other, ALL_LOST);
    let purged = Scene::new().leased().failed().step(Step::Purge);
    row("purged", &purged, Bearer::Other, ALL_LOST);
}

#[test]
fn an_event_that_expires_while_leased_stays_with_its_holder_and_is_not_retried() {
    let scene = Scene::with(|policy| policy.expires_at = Some(crate::scene::wall(5_000)));
    let past = scene.clone().leased().after(6);
    let dead = Done(View::Dead);
    last("expiresAt passed", &past, [Done(View::Leased), Done(View::Done), dead, dead, dead]);
    let reason = |step| past.would(&step).unwrap().state;
    for step in [fail(Bearer::Last), release(Bearer::Last)] {
        assert_eq!(reason(step), naven_core::State::Dead(naven_core::DeadReason::EventExpired));
    }
    last("and then its time is over", &past.after(LEASE_S), ALL_EXPIRED);
    let released = scene.leased().after(6).step(release(Bearer::Last));
    let repeated = [NoOp(View::Dead), SETTLED, SETTLED, SETTLED, Replayed(View::Dead)];
    last("released into death", &released, repeated);
}

#[test]
fn a_lease_is_never_longer_than_the_queue_bounds_the_whole_hold() {
    let scene = |max_s: i64| Scene::with(|policy| policy.max_lease_ms = Some(max_s * 1_000));
    assert_eq!(scene(20).leased().lease_left_ms(), 20_000, "a claim is cut too");
    let cut = scene(40).leased().after(20).step(heartbeat(Bearer::Last));
    assert_eq!(cut.lease_left_ms(), 20_000, "40 s from the claim, not 30 s from now");
    last("at the bound", &cut.after(20), ALL_EXPIRED);
    // A bound that was lowered meanwhile stops heartbeats at once; the lease itself still holds.
    let mut lowered = Scene::new().leased().after(10);
    lowered.policy.max_lease_ms = Some(5_000);
    let [_, ack, fail, fatal, release] = AS_HOLDER;
    last("past a lowered bound", &lowered, [EXPIRED, ack, fail, fatal, release]);
}

#[test]
fn what_a_redis_consumer_holds_is_lost_to_every_token() {
    let held = Scene::new().expired().held(1);
    row("held", &held, Bearer::Other, ALL_LOST);
    last("held, by its own fence", &held, ALL_LOST);
    let xacked = Scene::new().expired().held(1).step(Step::AckUnfenced);
    row("held and acked there", &xacked, Bearer::Other, ALL_LOST);
    let unowned = Scene::new().leased().failed().step(Step::AckUnfenced);
    last("done by another while nobody held it", &unowned, ALL_LOST);
}
