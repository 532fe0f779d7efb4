//! What came of a call, as its client knows it.
//!
//! Lives here: the answers, with what the checker needs of them. Not here: what was asked (`ask.rs`).

use naven_api::EventId;
use serde::{Deserialize, Serialize};

/// One event that a claim handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Which event.
    pub event: EventId,
    /// The fencing number of the hold (`deliveryCount`).
    pub fence: u64,
    /// Attempts as told: the failed and expired holds of the round, and this one.
    pub attempt: u32,
    /// The round, where the caller can know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// Why a call was answered 409.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// 40900: the caller was the last holder and its time is over.
    Expired,
    /// 40901: another has or had it since, or an operator ended the hold.
    Lost,
    /// 40902: the caller itself settled it the other way.
    Settled,
    /// Not in a state that allows this; what operators are told.
    WrongState,
}

/// How an event looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Scheduled, ready or retrying: nobody has it.
    Waiting,
    /// Somebody has it.
    Leased,
    /// Finished.
    Done,
    /// A dead letter.
    Dead,
    /// Called off.
    Cancelled,
}

/// What a client was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Published, under this id.
    Published {
        /// The id.
        event: EventId,
    },
    /// A claim's events; empty where nothing was due.
    Claimed(Vec<Grant>),
    /// It was done.
    Done {
        /// When the event is due again, in ms of the wall clock, for a nack; none where it is dead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_at_ms: Option<i64>,
        /// True where the caller was told that it only repeats itself.
        #[serde(default, skip_serializing_if = "is_false")]
        replayed: bool,
    },
    /// What a look saw.
    Saw(Seen),
    /// 409.
    Conflict(Reason),
    /// 404.
    NotFound,
    /// It certainly had no effect: 400, 429, 503 with "nothing was written", or a connection that was
    /// refused.
    Refused,
    /// It may have had its effect, or may have it later, or never: no answer, a broken connection, 504.
    Unknown,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Answer {
    /// Done, and nothing more to say.
    pub const DONE: Self = Self::Done { next_at_ms: None, replayed: false };
}
