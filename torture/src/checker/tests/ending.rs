//! How events end, and that they stay ended.

use super::story::*;
use crate::checker::Kind;
use crate::history::{Answer, Ask, Publish, QueueSettings, Reason, Seen};

fn acked() -> Story {
    Story::new().granted(2, 3, 1, 1).done(4, 5, ack(1))
}

fn dead() -> Story {
    Story::new().granted(2, 3, 1, 1).done(4, 5, fatal(1))
}

#[test]
fn an_ack_that_is_undone_is_found() {
    acked().granted(6, 7, 2, 2).breaks(Kind::AckUndone);
    acked().granted(5_000, 5_001, 2, 2).breaks(Kind::AckUndone);
    acked().call(6, 7, LOOK, Answer::Saw(Seen::Waiting)).breaks(Kind::AckUndone);
    acked().call(6, 7, LOOK, Answer::Saw(Seen::Done)).is_right();
    // The ack was not answered: it may have come too late, or never.
    Story::new().granted(2, 3, 1, 1).lost(4, ack(1)).granted(1_004, 1_005, 2, 2).is_right();
    // It came in time, as its own repetition says.
    Story::new()
        .granted(2, 3, 1, 1)
        .lost(4, ack(1))
        .done(1_004, 1_005, ack(1))
        .granted(1_006, 1_007, 2, 2)
        .breaks(Kind::AckUndone);
}

#[test]
fn an_event_that_ends_twice_is_found() {
    acked().done(6, 7, nack(1)).breaks(Kind::TerminalTwice);
    acked().done(6, 7, fatal(1)).breaks(Kind::TerminalTwice);
    dead().done(6, 7, ack(1)).breaks(Kind::TerminalTwice);
    dead().done(6, 7, nack(1)).is_right();
    // Two holders, each of them told that it is done.
    Story::new()
        .granted(2, 3, 1, 1)
        .granted(1_003, 1_004, 2, 2)
        .done(1_005, 1_006, ack(2))
        .done(1_007, 1_008, ack(1))
        .breaks(Kind::TerminalTwice);
    Story::new()
        .granted(2, 3, 1, 1)
        .granted(1_003, 1_004, 2, 2)
        .done(1_005, 1_006, ack(2))
        .refused(1_007, 1_008, ack(1), Reason::Lost)
        .is_right();
}

#[test]
fn an_answered_publish_that_is_lost_is_found() {
    Story::new().call(2, 3, LOOK, Answer::NotFound).breaks(Kind::PublishLost);
    Story::new()
        .granted(2, 3, 1, 1)
        .done(4, 5, nack(1))
        .call(6, 7, LOOK, Answer::NotFound)
        .breaks(Kind::PublishLost);
    Story::new().done(2, 3, Ask::Delete).call(4, 5, LOOK, Answer::NotFound).is_right();
    Story::new().lost(2, Ask::Purge).call(4, 5, LOOK, Answer::NotFound).is_right();
    Story::new()
        .granted(2, 3, 1, 1)
        .lost(4, Ask::Purge)
        .call(5, 6, LOOK, Answer::NotFound)
        .breaks(Kind::PublishLost);
}

#[test]
fn an_outcome_that_is_forgotten_too_early_is_found() {
    acked().call(6, 7, ack(1), Answer::NotFound).breaks(Kind::OutcomeForgotten);
    let kept = acked().set(QueueSettings { keep_outcomes_ms: 60_000, ..QueueSettings::default() });
    kept.clone().call(60_002, 60_003, ack(1), Answer::NotFound).breaks(Kind::OutcomeForgotten);
    kept.call(60_004, 60_005, ack(1), Answer::NotFound).is_right();
}

#[test]
fn a_dead_letter_that_is_delivered_is_found() {
    dead().granted(6, 7, 2, 2).breaks(Kind::DeadDelivered);
    dead().call(6, 7, LOOK, Answer::Saw(Seen::Leased)).breaks(Kind::DeadDelivered);
    dead().done(6, 7, REDRIVE).granted(8, 9, 2, 1).is_right();
    dead().lost(6, REDRIVE).granted(8, 9, 2, 1).is_right();
    dead().granted(8, 9, 2, 1).lost(10, REDRIVE).breaks(Kind::DeadDelivered);
    let all = Ask::Redrive { event: None, reset_attempts: false };
    dead().done(6, 9, all).granted(8, 9, 2, 2).is_right();
}

#[test]
fn a_cancelled_event_that_is_delivered_is_found() {
    let cancel = Ask::Cancel { event: EVENT };
    Story::new().done(2, 3, cancel).granted(4, 5, 1, 1).breaks(Kind::GoneDelivered);
    Story::new().done(2, 3, Ask::Delete).granted(4, 5, 1, 1).breaks(Kind::GoneDelivered);
    Story::new().done(2, 6, cancel).granted(4, 5, 1, 1).done(6, 7, ack(1)).is_right();
    // A holder that was asked to stop may still finish; what it fails is called off.
    let asked = || Story::new().granted(2, 3, 1, 1).done(4, 5, cancel);
    asked().done(6, 7, ack(1)).is_right();
    asked().done(6, 7, nack(1)).granted(8, 9, 2, 2).breaks(Kind::GoneDelivered);
    asked().granted(1_003, 1_004, 2, 2).breaks(Kind::GoneDelivered);
}

#[test]
fn an_event_past_its_use_that_is_delivered_is_found() {
    let useful = || Story::with(Publish { expires_at_ms: Some(100), ..Publish::default() });
    useful().granted(100, 101, 1, 1).breaks(Kind::ExpiredDelivered);
    useful().granted(99, 101, 1, 1).is_right();
    useful().granted(2, 3, 1, 1).done(200, 201, nack(1)).granted(202, 203, 2, 2).breaks(Kind::DeadDelivered);
    useful().granted(2, 3, 1, 1).done(200, 201, ack(1)).is_right();
    useful().call(101, 102, LOOK, Answer::Saw(Seen::Dead)).is_right();
    useful().call(98, 99, LOOK, Answer::Saw(Seen::Dead)).breaks(Kind::Unexplained);
}

#[test]
fn an_event_that_never_ends_is_found() {
    Story::new().must_finish().breaks(Kind::Unfinished);
    Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1)).must_finish().breaks(Kind::Unfinished);
    Story::new().is_right();
    acked().must_finish().is_right();
    Story::new().granted(2, 3, 1, 1).lost(4, ack(1)).must_finish().is_right();
    Story::new()
        .attempts(1)
        .granted(2, 3, 1, 1)
        .call(2_000, 2_001, CLAIM, Answer::Claimed(vec![]))
        .must_finish()
        .is_right();
}

#[test]
fn what_a_purge_may_have_met_is_found_either_way() {
    let gone = || Story::new().done(2, 10, Ask::Purge);
    gone().call(11, 12, LOOK, Answer::NotFound).is_right();
    gone().granted(11, 12, 1, 1).is_right();
    gone().granted(3, 4, 1, 1).refused(5, 6, ack(1), Reason::Lost).breaks(Kind::RefusedWrongly);
    gone().granted(3, 4, 1, 1).done(5, 6, nack(1)).refused(7, 8, nack(1), Reason::Lost).is_right();
}

#[test]
fn a_life_of_thousands_of_steps_is_judged() {
    let mut long = Story::new().granted(2, 3, 1, 1);
    for at in 1..20_000 {
        long = long.done(at * 100, at * 100 + 1, extend(1));
    }
    long.clone().done(2_000_000, 2_000_001, ack(1)).is_right();
    let undone = long.done(2_000_000, 2_000_001, ack(1)).granted(2_000_002, 2_000_003, 2, 2);
    undone.breaks(Kind::AckUndone);
    assert!(undone.report().to_string().lines().count() < 50, "only the last calls are shown");
}
