//! One call of one client, and all of them together.
//!
//! Lives here: when a call began and ended. Not here: what was asked (`ask.rs`) and answered
//! (`answer.rs`), files (`file.rs`).

use std::collections::BTreeMap;

use naven_api::QueueId;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::ask::Ask;
use super::world::{QueueSettings, WorldEvent};

/// One call.
///
/// A client that sends the same call again under the same idempotency key, until it is answered, makes
/// one call: begun with the first request, ended with the answer. A request that the network doubled
/// is a second call, with the same begin and the answer [`Answer::Unknown`].
///
/// The closer both ends are to the instant of its effect, the more is found. A claim that waited begins where
/// its answer tells that the lease began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Whose call it is.
    pub client: u32,
    /// Not later than the request left.
    pub begun_ms: i64,
    /// Not earlier than the answer came; none where none ever came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// Of which queue it was asked.
    pub queue: QueueId,
    /// What was asked.
    pub ask: Ask,
    /// What was answered.
    pub answer: Answer,
}

impl Call {
    /// The last instant at which it may have taken effect; none: at any later time, or never.
    pub const fn latest_ms(&self) -> Option<i64> {
        match self.answer {
            Answer::Unknown => None,
            _ => self.ended_ms,
        }
    }
}

/// All that is known of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The settings of each queue, fixed for the run; a queue that is not named has the defaults.
    pub queues: BTreeMap<QueueId, QueueSettings>,
    /// What befell the world, by time.
    pub world: Vec<WorldEvent>,
    /// The calls, in any order.
    pub calls: Vec<Call>,
}
