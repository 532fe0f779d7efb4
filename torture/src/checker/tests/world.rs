//! Due times, steps of the wall clock, crashes.

use super::story::*;
use crate::checker::Kind;
use crate::history::{Ask, Publish, Reason, WorldEvent};

fn due_at(due_ms: i64) -> Story {
    Story::with(Publish { due_ms: Some(due_ms), ..Publish::default() })
}

#[test]
fn a_delivery_before_its_time_is_found() {
    due_at(100).granted(90, 99, 1, 1).breaks(Kind::BeforeDue);
    due_at(100).granted(90, 100, 1, 1).is_right();
    Story::new().granted(2, 3, 1, 1).nacked(4, 5, 1, 500).granted(400, 499, 2, 2).breaks(Kind::BeforeDue);
    Story::new().granted(2, 3, 1, 1).nacked(4, 5, 1, 500).granted(400, 500, 2, 2).is_right();
    let delayed = || Story::new().granted(2, 3, 1, 1).done(10, 20, nack_for(1, 100));
    delayed().granted(90, 109, 2, 2).breaks(Kind::BeforeDue);
    delayed().granted(90, 110, 2, 2).is_right();
}

#[test]
fn another_due_time_counts_from_then_on() {
    let later = Ask::Reschedule { event: EVENT, due_ms: 500 };
    due_at(100).done(10, 11, later).granted(200, 201, 1, 1).breaks(Kind::BeforeDue);
    due_at(100).lost(10, later).granted(200, 201, 1, 1).is_right();
    let sooner = Ask::Reschedule { event: EVENT, due_ms: 0 };
    due_at(100).done(10, 11, sooner).granted(12, 13, 1, 1).is_right();
}

#[test]
fn due_times_follow_the_wall_clock_and_leases_do_not() {
    let ahead = WorldEvent::WallClock { at_ms: 50, offset_ms: 3_600_000 };
    due_at(3_000_000).world(ahead).granted(60, 61, 1, 1).is_right();
    due_at(3_000_000).world(ahead).granted(40, 49, 1, 1).breaks(Kind::BeforeDue);
    // What was due once stays so when the clock goes back.
    let back = WorldEvent::WallClock { at_ms: 70, offset_ms: -3_600_000 };
    due_at(3_000_000).world(ahead).world(back).granted(80, 81, 1, 1).is_right();
    due_at(60)
        .world(WorldEvent::WallClock { at_ms: 50, offset_ms: -100 })
        .granted(80, 81, 1, 1)
        .breaks(Kind::BeforeDue);
    Story::new().world(ahead).granted(2, 3, 1, 1).granted(60, 61, 2, 2).breaks(Kind::TwoLiveTokens);
    Story::new().world(ahead).granted(2, 3, 1, 1).done(60, 61, ack(1)).is_right();
}

fn crashed() -> Story {
    Story::new()
        .granted(2, 3, 1, 1)
        .world(WorldEvent::Crash { at_ms: 100 })
        .world(WorldEvent::Restart { at_ms: 400 })
}

#[test]
fn a_crash_lengthens_a_lease_and_never_shortens_it() {
    // 1,000 of its own, 300 for which the server was down, and up to a second.
    crashed().done(2_302, 2_303, ack(1)).is_right();
    crashed().done(2_303, 2_304, ack(1)).breaks(Kind::LateCallTaken);
    crashed().granted(900, 1_001, 2, 2).breaks(Kind::TwoLiveTokens);
    crashed().granted(900, 1_002, 2, 2).is_right();
    crashed().refused(900, 1_001, ack(1), Reason::Expired).breaks(Kind::RefusedWrongly);
}

#[test]
fn a_crash_undoes_nothing_that_was_answered() {
    crashed().granted(500, 501, 1, 1).breaks(Kind::FenceNotRising);
    Story::new()
        .granted(2, 3, 1, 1)
        .done(4, 5, ack(1))
        .world(WorldEvent::Crash { at_ms: 100 })
        .world(WorldEvent::Restart { at_ms: 400 })
        .granted(500, 501, 2, 2)
        .breaks(Kind::AckUndone);
    // What was not answered may be undone.
    crashed().lost(99, ack(1)).granted(2_500, 2_501, 2, 2).is_right();
}
