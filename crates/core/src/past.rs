//! The log of a delivery: its last holds.
//!
//! Lives here: one hold's record, and the bound on how many are kept. Not here: deciding anything.

use naven_api::limits::{ATTEMPT_ERROR_BYTES_MAX, LOG_DELIVERIES_MAX, LOG_HEARTBEATS_MAX};
use naven_api::{ErrorText, Timestamp};

use crate::outcome::Ending;

/// One hold of a delivery, open while `ended` is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The hold's fencing number.
    pub fence: u64,
    /// Who held it, as it named itself.
    pub consumer: Option<String>,
    /// When it began.
    pub leased_at: Timestamp,
    /// The last ten heartbeats.
    pub heartbeats: Vec<Timestamp>,
    /// When and how it ended.
    pub ended: Option<(Timestamp, Ending)>,
    /// What the holder said went wrong, cut at 1 KiB.
    pub error: Option<String>,
}

/// Opens a record, dropping the oldest past the bound.
pub(crate) fn open(log: &mut Vec<Past>, fence: u64, consumer: Option<String>, at: Timestamp) {
    // A hold that only changed its owner was never ended: it ends where the next one begins.
    if let Some(last) = log.last_mut().filter(|last| last.ended.is_none()) {
        last.ended = Some((at, Ending::Expired));
    }
    if log.len() >= LOG_DELIVERIES_MAX {
        log.remove(0);
    }
    log.push(Past { fence, consumer, leased_at: at, heartbeats: Vec::new(), ended: None, error: None });
}

/// Closes the newest record, over an ending that a grace undid.
pub(crate) fn close(log: &mut [Past], at: Timestamp, ending: Ending, error: Option<&ErrorText>) {
    if let Some(last) = log.last_mut() {
        last.ended = Some((at, ending));
        last.error = error.map(|text| text.head(ATTEMPT_ERROR_BYTES_MAX));
    }
}

/// Notes a heartbeat of the newest record and opens it again where a grace revived it.
pub(crate) fn beat(log: &mut [Past], at: Timestamp) {
    if let Some(last) = log.last_mut() {
        last.ended = None;
        if last.heartbeats.len() >= LOG_HEARTBEATS_MAX {
            last.heartbeats.remove(0);
        }
        last.heartbeats.push(at);
    }
}
