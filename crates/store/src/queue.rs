//! A queue as engines keep it.
//!
//! Lives here: its reference, settings and changes. Not here: their JSON (`naven-server`).

use naven_api::{Backoff, LeaseSeconds, QueueId};

/// A queue, by id or by its unique name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum QueueRef {
    /// By id.
    Id(QueueId),
    /// By name.
    Name(String),
}

impl QueueRef {
    /// What a path segment names: an id where it begins with `evq_`, else a name. Text that cannot
    /// be either names nothing, which the engine answers as "not found".
    pub fn from_text(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }
}

/// What a queue asks of the rules. Bounds are in `naven_api::limits`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    /// For people: at most 1 KiB.
    pub description: String,
    /// The lease of a claim or heartbeat that names none.
    pub default_lease: LeaseSeconds,
    /// Longest total hold of one lease, in seconds; 0: none.
    pub max_lease_seconds: u32,
    /// Attempts of an event; none: no bound.
    pub max_attempts: Option<u32>,
    /// Spacing of retries.
    pub backoff: Backoff,
    /// How long after its end the last holder may still settle, in seconds.
    pub late_ack_grace_seconds: u32,
}

impl Default for QueueSettings {
    fn default() -> Self {
        use naven_api::limits;
        Self {
            description: String::new(),
            default_lease: LeaseSeconds::try_from(limits::LEASE_SECONDS_DEFAULT)
                .expect("the default lease is inside its bounds"),
            max_lease_seconds: 0,
            max_attempts: Some(limits::MAX_ATTEMPTS_DEFAULT),
            backoff: Backoff::default(),
            late_ack_grace_seconds: 0,
        }
    }
}

/// Settings to change; what is none stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueChanges {
    /// See [`QueueSettings`].
    pub description: Option<String>,
    /// See [`QueueSettings`].
    pub default_lease: Option<LeaseSeconds>,
    /// See [`QueueSettings`].
    pub max_lease_seconds: Option<u32>,
    /// See [`QueueSettings`]; the inner none lifts the bound.
    pub max_attempts: Option<Option<u32>>,
    /// See [`QueueSettings`].
    pub backoff: Option<Backoff>,
    /// See [`QueueSettings`].
    pub late_ack_grace_seconds: Option<u32>,
}

impl QueueChanges {
    /// `settings` with these changes made.
    #[must_use]
    pub fn made_to(self, settings: &QueueSettings) -> QueueSettings {
        QueueSettings {
            description: self.description.unwrap_or_else(|| settings.description.clone()),
            default_lease: self.default_lease.unwrap_or(settings.default_lease),
            max_lease_seconds: self.max_lease_seconds.unwrap_or(settings.max_lease_seconds),
            max_attempts: self.max_attempts.unwrap_or(settings.max_attempts),
            backoff: self.backoff.unwrap_or(settings.backoff),
            late_ack_grace_seconds: self.late_ack_grace_seconds.unwrap_or(settings.late_ack_grace_seconds),
        }
    }
}
