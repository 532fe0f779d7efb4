//! A bearer key as engines keep it: its digest, never its secret.
//!
//! Lives here: the stored record. Not here: making, parsing and checking keys (`naven-server`).

use naven_api::{KeyId, Timestamp};

/// One stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id.
    pub id: KeyId,
    /// Its unique name: `admin` is the one installed at start.
    pub name: String,
    /// The public part by which it is looked up: `nvk_` and 26 characters.
    pub prefix: String,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// What it may do: `produce`, `consume`, `read`, `admin`.
    pub scopes: Vec<String>,
    /// Which queues and streams it reaches: names, `*` at the end for any ending.
    pub queues: Vec<String>,
    /// When it was stored.
    pub created_at: Timestamp,
}
