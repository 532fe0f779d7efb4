//! How a hold or a delivery ended.
//!
//! Lives here: the endings and why a delivery is dead, with their words. Not here: deciding them.

use naven_api::Timestamp;

use crate::delivery::Lease;

/// How one hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The holder finished it.
    Acked,
    /// The holder failed it; it is retried, or dead when attempts are used up.
    Failed,
    /// The holder said that no retry will help.
    Fatal,
    /// The holder gave it back, without using up an attempt.
    Released,
    /// The server gave it back because the claim's answer could not be delivered.
    GivenBack,
    /// The hold's time ran out, or another consumer took it over.
    Expired,
    /// An operator ended it.
    Broken,
}

impl Ending {
    /// Every ending, in the order of their numbers on disk.
    pub const ALL: [Ending; 7] = [
        Self::Acked,
        Self::Failed,
        Self::Fatal,
        Self::Released,
        Self::GivenBack,
        Self::Expired,
        Self::Broken,
    ];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Failed => "failed",
            Self::Fatal => "fatal",
            Self::Released => "released",
            Self::GivenBack => "givenBack",
            Self::Expired => "expired",
            Self::Broken => "broken",
        }
    }
}

/// Why a delivery is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadReason {
    /// Its last attempt failed.
    AttemptsUsedUp,
    /// Its last attempt ran out of time.
    ExpiredAttempts,
    /// Its holder said that no retry will help.
    Fatal,
    /// The event's own `expiresAt` passed.
    EventExpired,
    /// Its queue was deleted.
    QueueDeleted,
    /// Its Redis consumer was deleted.
    ConsumerDeleted,
    /// Its Redis group was destroyed.
    GroupDestroyed,
    /// Its stream was deleted.
    StreamDeleted,
    /// Its stored row was damaged.
    Damaged,
}

impl DeadReason {
    /// Every reason, in the order of their numbers on disk.
    pub const ALL: [DeadReason; 9] = [
        Self::AttemptsUsedUp,
        Self::ExpiredAttempts,
        Self::Fatal,
        Self::EventExpired,
        Self::QueueDeleted,
        Self::ConsumerDeleted,
        Self::GroupDestroyed,
        Self::StreamDeleted,
        Self::Damaged,
    ];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttemptsUsedUp => "attempts_used_up",
            Self::ExpiredAttempts => "expired_attempts",
            Self::Fatal => "fatal",
            Self::EventExpired => "event_expired",
            Self::QueueDeleted => "queue_deleted",
            Self::ConsumerDeleted => "consumer_deleted",
            Self::GroupDestroyed => "group_destroyed",
            Self::StreamDeleted => "stream_deleted",
            Self::Damaged => "damaged",
        }
    }
}

/// How the last hold of the present round ended: what a repeated or late call is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// When that was recorded.
    pub at: Timestamp,
    /// When the next delivery was due then; none where there is to be none.
    pub next_at: Option<Timestamp>,
    /// The lease that ran out: kept for an expiry, so that a late holder's grace can be judged.
    pub lapsed: Option<Lease>,
}
