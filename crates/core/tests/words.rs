//! The words of the contract for states, endings and reasons.
//!
//! Lives here: that each keeps its word: clients compare them. Not here: where they are shown.

use naven_core::{DeadReason, Ending, View};

#[test]
fn every_state_ending_and_reason_has_its_word() {
    let states = ["scheduled", "ready", "leased", "held", "retrying", "done", "dead", "cancelled"];
    assert_eq!(View::ALL.map(View::as_str), states);
    let endings = ["acked", "failed", "fatal", "released", "givenBack", "expired", "broken"];
    assert_eq!(Ending::ALL.map(Ending::as_str), endings);
    let reasons = [
        "attempts_used_up",
        "expired_attempts",
        "fatal",
        "event_expired",
        "queue_deleted",
        "consumer_deleted",
        "group_destroyed",
        "stream_deleted",
        "damaged",
    ];
    assert_eq!(DeadReason::ALL.map(DeadReason::as_str), reasons);
}
