//! Fences, attempts, and events that nobody published.

use super::story::*;
use crate::checker::Kind;
use crate::history::{Answer, Ask, Publish};

#[test]
fn a_fence_that_does_not_rise_is_found() {
    let nacked = || Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1));
    nacked().granted(6, 7, 1, 2).breaks(Kind::FenceNotRising);
    nacked().granted(6, 7, 2, 2).is_right();
    Story::new().granted(2, 3, 1, 1).granted(4, 5, 1, 1).breaks(Kind::FenceNotRising);
    Story::new()
        .granted(2, 3, 1, 1)
        .done(4, 5, fatal(1))
        .done(6, 7, REDRIVE)
        .granted(8, 9, 1, 1)
        .breaks(Kind::FenceNotRising);
}

#[test]
fn a_fence_that_nothing_explains_is_found() {
    Story::new().granted(2, 3, 2, 1).breaks(Kind::FenceJumped);
    Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1)).granted(6, 7, 3, 3).breaks(Kind::FenceJumped);
    // One claim without an answer explains one hold, given back or run out.
    Story::new().lost(2, CLAIM).granted(3, 4, 2, 1).is_right();
    Story::new().lost(2, CLAIM).granted(3, 4, 2, 2).is_right();
    Story::new().lost(2, CLAIM).granted(3, 4, 3, 3).breaks(Kind::FenceJumped);
    Story::new().lost(2, CLAIM).lost(2, CLAIM).granted(3, 4, 3, 2).is_right();
    Story::new().granted(3, 4, 2, 1).lost(5, CLAIM).breaks(Kind::FenceJumped);
}

#[test]
fn an_attempt_that_is_miscounted_is_found() {
    Story::new().granted(2, 3, 1, 2).breaks(Kind::AttemptsMiscounted);
    let nacked = || Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1));
    nacked().granted(6, 7, 2, 1).breaks(Kind::AttemptsMiscounted);
    nacked().granted(6, 7, 2, 3).breaks(Kind::AttemptsMiscounted);
    let released = || Story::new().granted(2, 3, 1, 1).done(4, 5, release(1));
    released().granted(6, 7, 2, 2).breaks(Kind::AttemptsMiscounted);
    released().granted(6, 7, 2, 1).is_right();
    let back = Ask::GiveBack { event: EVENT, fence: 1 };
    Story::new().granted(2, 3, 1, 1).done(4, 5, back).granted(6, 7, 2, 1).is_right();
    Story::new().granted(2, 3, 1, 1).done(4, 5, back).granted(6, 7, 2, 2).breaks(Kind::AttemptsMiscounted);
    let kept = Ask::Redrive { event: Some(EVENT), reset_attempts: false };
    let dead = || Story::new().granted(2, 3, 1, 1).done(4, 5, fatal(1));
    dead().done(6, 7, kept).granted(8, 9, 2, 2).is_right();
    dead().done(6, 7, kept).granted(8, 9, 2, 1).breaks(Kind::AttemptsMiscounted);
}

#[test]
fn an_attempt_too_many_is_found() {
    let once = || Story::new().attempts(1).granted(2, 3, 1, 1);
    once().nacked(4, 5, 1, 10).breaks(Kind::TooManyAttempts);
    once().done(4, 5, nack(1)).granted(6, 7, 2, 2).breaks(Kind::DeadDelivered);
    once().granted(1_003, 1_004, 2, 2).breaks(Kind::DeadDelivered);
    Story::new().attempts(2).granted(2, 3, 1, 3).breaks(Kind::TooManyAttempts);
    Story::new().attempts(2).granted(2, 3, 1, 1).nacked(4, 5, 1, 5).granted(6, 7, 2, 2).is_right();
    // The event's own bound counts, not the queue's.
    let own = || Story::with(Publish { max_attempts: Some(2), ..Publish::default() }).attempts(1);
    own().granted(2, 3, 1, 1).nacked(4, 5, 1, 5).granted(6, 7, 2, 2).is_right();
    own()
        .granted(2, 3, 1, 1)
        .nacked(4, 5, 1, 5)
        .granted(6, 7, 2, 2)
        .nacked(8, 9, 2, 9)
        .breaks(Kind::TooManyAttempts);
}

#[test]
fn an_event_from_nowhere_is_found() {
    let claimed = || Story::default().granted(2, 3, 1, 1).done(4, 5, ack(1));
    claimed().breaks(Kind::FromNowhere);
    claimed().lost(4, Ask::Publish(Publish::default())).breaks(Kind::FromNowhere);
    claimed().lost(1, Ask::Publish(Publish::default())).is_right();
    Story::default().call(2, 3, ack(1), Answer::DONE).breaks(Kind::FromNowhere);
}

#[test]
fn a_publish_without_an_answer_explains_one_event() {
    let mut twice = Story::default().lost(0, Ask::Publish(Publish::default())).granted(2, 3, 1, 1);
    twice.is_right();
    let mut other = twice.history.calls[1].clone();
    if let Answer::Claimed(grants) = &mut other.answer {
        grants[0].event = naven_api::EventId::from_bits(2);
    }
    twice.history.calls.push(other);
    twice.breaks(Kind::PublishedTwice);
    twice.lost(0, Ask::Publish(Publish::default())).is_right();
}
