//! What a client asks for.
//!
//! Lives here: the asks that bear on leases. Not here: what comes of them (`answer.rs`).

use naven_api::EventId;
use serde::{Deserialize, Serialize};

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Publish {
    /// When it is first due, in ms of the wall clock; none: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<i64>,
    /// Attempts of this event, over its queue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// From when on nobody gets it any more, in ms of the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
}

/// One thing asked of one queue.
///
/// A token is named by the fencing number of its hold: fences rise at every hold of an event, in all its
/// rounds, so that no two holds share one. A token that never was one has the fence 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Publish one event. A batch is one call for each of its events; so is an event of a stream for
    /// each of the stream's queues.
    Publish(Publish),
    /// Take what is due.
    Claim {
        /// The lease that was asked for, or the queue's default where none was.
        lease_ms: i64,
    },
    /// A heartbeat.
    Extend {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
        /// The lease ends this long from then on.
        lease_ms: i64,
    },
    /// Finished.
    Ack {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
    },
    /// Failed: counts the attempt.
    Nack {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
        /// The retry's delay; none: by the queue's backoff.
        delay_ms: Option<i64>,
    },
    /// Failed for good: a dead letter.
    Fatal {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
    },
    /// Given back by its holder: no attempt is counted.
    Release {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
    },
    /// Given back by the server: due and attempts are as before the claim. Simulations of the engine
    /// alone ask for it; a server does it unasked, with claims that were never answered.
    GiveBack {
        /// Which event.
        event: EventId,
        /// Whose token.
        fence: u64,
    },
    /// A dead letter begins a new round.
    Redrive {
        /// Which event; none: whatever is dead in the queue when its turn comes.
        event: Option<EventId>,
        /// Whether attempts begin again at none.
        reset_attempts: bool,
    },
    /// An operator calls it off: what nobody holds is cancelled at once, a holder is asked to stop.
    Cancel {
        /// Which event.
        event: EventId,
    },
    /// An operator ends the hold and the delivery at once.
    Break {
        /// Which event.
        event: EventId,
    },
    /// A dead letter is thrown away.
    Discard {
        /// Which event.
        event: EventId,
    },
    /// An operator names another due time, in ms of the wall clock, for what nobody has.
    Reschedule {
        /// Which event.
        event: EventId,
        /// The new due time.
        due_ms: i64,
    },
    /// All that is not held is thrown away, in the background: answered when that is over.
    Purge,
    /// The queue is deleted with all that is in it.
    Delete,
    /// A look at one event.
    Look {
        /// Which event.
        event: EventId,
    },
}

impl Ask {
    /// The one event that it is about; none where it is about whatever the queue holds.
    pub const fn event(&self) -> Option<EventId> {
        match self {
            Self::Extend { event, .. }
            | Self::Ack { event, .. }
            | Self::Nack { event, .. }
            | Self::Fatal { event, .. }
            | Self::Release { event, .. }
            | Self::GiveBack { event, .. }
            | Self::Cancel { event }
            | Self::Break { event }
            | Self::Discard { event }
            | Self::Reschedule { event, .. }
            | Self::Look { event } => Some(*event),
            Self::Redrive { event, .. } => *event,
            Self::Publish(_) | Self::Claim { .. } | Self::Purge | Self::Delete => None,
        }
    }
}
