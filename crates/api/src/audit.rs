//! What operators changed.
//!
//! Lives here: one entry of the audit log. Not here: who may read it (`naven-server`).

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One change that an operator made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditReply {
    /// 1, 2, ... without a gap.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The public part of the key that was used.
    pub by: String,
    /// What was done: `queue.create` and the like. More may come.
    pub action: String,
    /// To what: a name or an id.
    pub target: String,
    /// The request that asked for it.
    pub request_id: String,
    /// The hash of the entry before, in hexadecimal; zeros for the first.
    pub previous_hash: String,
    /// SHA-256, in hexadecimal, over the previous hash, the number and the time in ms (8 bytes each, big
    /// endian), and by, action, target and request id, each behind its length in 8 bytes.
    pub hash: String,
}
