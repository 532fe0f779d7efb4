//! Who holds an event, and what a token is worth.

use super::story::*;
use crate::checker::Kind;
use crate::history::{Answer, Ask, QueueSettings, Reason};

#[test]
fn a_plain_life_is_right() {
    Story::new().granted(2, 3, 1, 1).done(4, 5, extend(1)).done(6, 7, ack(1)).is_right();
    Story::new().granted(2, 3, 1, 1).granted(1_003, 1_004, 2, 2).done(1_005, 1_006, ack(2)).is_right();
}

#[test]
fn two_live_tokens_are_found() {
    Story::new().granted(2, 3, 1, 1).granted(4, 5, 2, 2).breaks(Kind::TwoLiveTokens);
    // The second claim is answered one ms before the first lease can be over.
    Story::new().granted(2, 3, 1, 1).granted(900, 1_001, 2, 2).breaks(Kind::TwoLiveTokens);
    Story::new().granted(2, 3, 1, 1).granted(900, 1_002, 2, 2).is_right();
    // A heartbeat moves the end.
    let beaten = Story::new().granted(2, 3, 1, 1).done(500, 501, extend(1));
    beaten.clone().granted(1_003, 1_499, 2, 2).breaks(Kind::TwoLiveTokens);
    beaten.granted(1_003, 1_500, 2, 2).is_right();
}

#[test]
fn a_lost_call_that_frees_the_event_explains_a_second_token() {
    Story::new().granted(2, 3, 1, 1).lost(4, nack(1)).granted(5, 6, 2, 2).is_right();
    Story::new().granted(2, 3, 1, 1).lost(4, release(1)).granted(5, 6, 2, 1).is_right();
    Story::new().granted(2, 3, 1, 1).lost(4, extend(1)).granted(5, 6, 2, 2).breaks(Kind::TwoLiveTokens);
    // It left too late for that.
    Story::new().granted(2, 3, 1, 1).granted(5, 6, 2, 2).lost(7, nack(1)).breaks(Kind::TwoLiveTokens);
}

#[test]
fn overlapping_calls_are_explained_in_either_order() {
    Story::new().granted(2, 3, 1, 1).done(4, 10, nack(1)).granted(4, 10, 2, 2).is_right();
    Story::new().granted(4, 10, 2, 2).done(4, 10, nack(1)).granted(2, 3, 1, 1).is_right();
    Story::new().granted(2, 3, 1, 1).granted(4, 10, 2, 2).done(11, 12, nack(1)).breaks(Kind::TwoLiveTokens);
}

#[test]
fn a_call_taken_after_its_lease_is_found() {
    Story::new().granted(2, 3, 1, 1).done(1_003, 1_004, ack(1)).breaks(Kind::LateCallTaken);
    Story::new().granted(2, 3, 1, 1).done(1_002, 1_004, ack(1)).is_right();
    Story::new().granted(2, 3, 1, 1).done(1_500, 1_501, extend(1)).breaks(Kind::LateCallTaken);
    // It was told that its time is over, and then that it is not.
    Story::new()
        .granted(2, 500, 1, 1)
        .refused(1_100, 1_101, extend(1), Reason::Expired)
        .done(1_102, 1_103, ack(1))
        .breaks(Kind::LateCallTaken);
}

#[test]
fn a_grace_lets_late_calls_in_and_no_later_ones() {
    let graced = || Story::new().grace(200).granted(2, 3, 1, 1);
    graced().done(1_202, 1_204, ack(1)).is_right();
    graced().done(1_203, 1_204, ack(1)).breaks(Kind::LateCallTaken);
    graced().done(1_100, 1_101, extend(1)).done(2_000, 2_001, ack(1)).is_right();
    graced().refused(1_100, 1_101, ack(1), Reason::Expired).breaks(Kind::RefusedWrongly);
    graced().refused(1_100, 1_202, ack(1), Reason::Expired).is_right();
    // Another has it meanwhile.
    graced().granted(1_010, 1_011, 2, 2).done(1_100, 1_101, ack(1)).breaks(Kind::StaleCallTaken);
    // What is dead is not revived.
    let dead = Story::new()
        .set(QueueSettings { grace_ms: 200, max_attempts: Some(1), ..QueueSettings::default() })
        .granted(2, 3, 1, 1);
    dead.clone().done(1_100, 1_101, ack(1)).breaks(Kind::LateCallTaken);
    dead.refused(1_100, 1_101, ack(1), Reason::Expired).is_right();
}

#[test]
fn a_call_taken_from_a_former_holder_is_found() {
    let reassigned = || Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1)).granted(6, 7, 2, 2);
    reassigned().done(8, 9, ack(1)).breaks(Kind::StaleCallTaken);
    reassigned().done(8, 9, extend(1)).breaks(Kind::StaleCallTaken);
    reassigned().refused(8, 9, ack(1), Reason::Lost).done(10, 11, ack(2)).is_right();
    // The same nack again came before the second claim.
    Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1)).granted(6, 7, 2, 2).done(6, 8, nack(1)).is_right();
}

#[test]
fn a_live_token_that_is_refused_is_found() {
    let held = || Story::new().granted(2, 3, 1, 1);
    for reason in [Reason::Expired, Reason::Lost, Reason::Settled] {
        held().refused(4, 5, ack(1), reason).breaks(Kind::RefusedWrongly);
    }
    held().call(4, 5, extend(1), Answer::NotFound).breaks(Kind::RefusedWrongly);
    held().refused(900, 1_001, nack(1), Reason::Expired).breaks(Kind::RefusedWrongly);
    held().refused(900, 1_002, nack(1), Reason::Expired).is_right();
    held().lost(4, Ask::Break { event: EVENT }).refused(5, 6, ack(1), Reason::Lost).is_right();
    held().refused(4, 5, ack(2), Reason::Lost).is_right();
}

#[test]
fn a_repeated_call_gets_its_first_answer() {
    let acked = || Story::new().granted(2, 3, 1, 1).done(4, 5, ack(1));
    acked().done(6, 7, ack(1)).done(8, 9, extend(1)).is_right();
    acked().refused(6, 7, ack(1), Reason::Lost).breaks(Kind::RefusedWrongly);
    acked().refused(6, 7, nack(1), Reason::Settled).is_right();
    acked().refused(6, 7, nack(1), Reason::Lost).breaks(Kind::WrongReason);
    let nacked = || Story::new().granted(2, 3, 1, 1).done(4, 5, nack(1));
    nacked().done(6, 7, fatal(1)).granted(8, 9, 2, 2).is_right();
    nacked().refused(6, 7, release(1), Reason::Settled).is_right();
    nacked().refused(6, 7, ack(1), Reason::Expired).breaks(Kind::WrongReason);
}

#[test]
fn a_bound_on_the_whole_hold_cuts_heartbeats() {
    let bounded = || {
        let settings = QueueSettings { max_lease_ms: Some(1_500), ..QueueSettings::default() };
        Story::new().set(settings).granted(2, 3, 1, 1).done(900, 901, extend(1))
    };
    bounded().done(1_502, 1_503, ack(1)).is_right();
    bounded().done(1_503, 1_504, ack(1)).breaks(Kind::LateCallTaken);
    bounded().granted(1_500, 1_502, 2, 2).is_right();
    bounded().granted(1_400, 1_501, 2, 2).breaks(Kind::TwoLiveTokens);
}
