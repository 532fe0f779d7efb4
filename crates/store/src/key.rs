//! A bearer key as engines keep it: digests, never secrets.
//!
//! Lives here: the stored record. Not here: making, parsing and checking keys (`naven-server`).

use naven_api::{KeyId, Timestamp};

/// One stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id.
    pub id: KeyId,
    /// Its unique name, which it keeps: `admin` is the one installed at start.
    pub name: String,
    /// What it is known by, newest first: more than one while a rotation's overlap lasts.
    pub secrets: Vec<KeySecret>,
    /// What it may do: `produce`, `consume`, `read`, `admin`.
    pub scopes: Vec<String>,
    /// Which queues and streams it reaches: names, `*` at the end for any ending.
    pub queues: Vec<String>,
    /// From when on it is no key any more, where there is such a time.
    pub expires_at: Option<Timestamp>,
    /// Calls of a second that it may make; none: no bound.
    pub rate_limit: Option<u32>,
    /// Rises by one with each change; 1 when it is made.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One secret of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySecret {
    /// The public part by which it is looked up: `nvk_` and 26 characters.
    pub prefix: String,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// From when on it is not taken any more: that of a secret that was rotated out.
    pub until: Option<Timestamp>,
}

impl KeyRecord {
    /// A key with one secret, which may do nothing yet.
    pub fn new(id: KeyId, name: String, secret: KeySecret, now: Timestamp) -> Self {
        Self {
            id,
            name,
            secrets: vec![secret],
            scopes: Vec::new(),
            queues: Vec::new(),
            expires_at: None,
            rate_limit: None,
            revision: 1,
            created_at: now,
            updated_at: now,
        }
    }
}

/// What has to be there for a key to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCondition {
    /// Whatever is there is replaced.
    Any,
    /// No key of this name.
    Absent,
    /// The same key, at this revision.
    Revision(u64),
}
