//! A queue as engines keep it.
//!
//! Lives here: its reference, settings and changes. Not here: their JSON (`naven-server`).

use bytes::Bytes;
use naven_api::{Backoff, LeaseSeconds, QueueId};

mod group_name;
pub use group_name::{group_name, group_queue_name, stream_and_group};

/// A queue, by id or by its unique name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum QueueRef {
    /// By id.
    Id(QueueId),
    /// By name.
    Name(String),
    /// By the name that it has among the queues of a stream: what was made under this name by a reader of the
    /// stream, or else the queue of this name, where it is on that stream.
    Group {
        /// The stream's name.
        stream: Bytes,
        /// The name there.
        group: Bytes,
    },
}

impl QueueRef {
    /// What a path segment names: an id where it begins with `evq_`, else a name. Text that cannot
    /// be either names nothing, which the engine answers as "not found".
    pub fn from_text(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }

    /// The same, in words: the id, or the name among all queues.
    pub fn to_text(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Name(name) => name.clone(),
            Self::Group { stream, group } => group_queue_name(stream, group),
        }
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
    /// How long a Redis consumer's hold lasts before a claim may take the event; none: for ever. A hold keeps the
    /// end that it was given until it is renewed.
    pub redis_lease: Option<LeaseSeconds>,
    /// True where a done event keeps its payload for as long as it is remembered.
    pub keep_done_payload: bool,
    /// True where entries that this queue has not read are kept for it when they are trimmed.
    pub protect_unread: bool,
    /// How long a done event is remembered, in seconds: at least a day, whatever is said here.
    pub done_retention_seconds: u32,
    /// How long a dead letter is kept, in seconds.
    pub dead_retention_seconds: u32,
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
            redis_lease: None,
            keep_done_payload: false,
            protect_unread: true,
            done_retention_seconds: limits::DONE_RETENTION_SECONDS_DEFAULT,
            dead_retention_seconds: limits::DEAD_RETENTION_SECONDS_DEFAULT,
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
    /// See [`QueueSettings`]; the inner none lifts the bound.
    pub redis_lease: Option<Option<LeaseSeconds>>,
    /// See [`QueueSettings`].
    pub keep_done_payload: Option<bool>,
    /// See [`QueueSettings`].
    pub protect_unread: Option<bool>,
    /// See [`QueueSettings`].
    pub done_retention_seconds: Option<u32>,
    /// See [`QueueSettings`].
    pub dead_retention_seconds: Option<u32>,
}

/// When entries leave a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Once every queue has settled them.
    Consumed,
    /// When they are trimmed.
    Trim,
}

/// What a stream is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSettings {
    /// When its entries leave.
    pub retention: Retention,
    /// How long a dedupe key is remembered, in seconds.
    pub dedupe_window_seconds: u32,
}

impl Default for StreamSettings {
    fn default() -> Self {
        let dedupe_window_seconds = naven_api::limits::DEDUPE_WINDOW_SECONDS_DEFAULT;
        Self { retention: Retention::Consumed, dedupe_window_seconds }
    }
}

/// Settings of a stream to change; what is none stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamChanges {
    /// See [`StreamSettings`].
    pub retention: Option<Retention>,
    /// See [`StreamSettings`].
    pub dedupe_window_seconds: Option<u32>,
}

impl StreamChanges {
    /// `settings` with these changes made.
    #[must_use]
    pub fn made_to(self, settings: StreamSettings) -> StreamSettings {
        StreamSettings {
            retention: self.retention.unwrap_or(settings.retention),
            dedupe_window_seconds: self.dedupe_window_seconds.unwrap_or(settings.dedupe_window_seconds),
        }
    }
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
            redis_lease: self.redis_lease.unwrap_or(settings.redis_lease),
            keep_done_payload: self.keep_done_payload.unwrap_or(settings.keep_done_payload),
            protect_unread: self.protect_unread.unwrap_or(settings.protect_unread),
            done_retention_seconds: self.done_retention_seconds.unwrap_or(settings.done_retention_seconds),
            dead_retention_seconds: self.dead_retention_seconds.unwrap_or(settings.dead_retention_seconds),
        }
    }
}
