//! What a queue and an event ask of the rules.
//!
//! Lives here: the settings that [`Delivery::apply`](crate::Delivery::apply) reads. Not here: how
//! they are stored and changed.

use naven_api::{Backoff, Timestamp};

use crate::planted::{Bug, has};

/// The settings that bear on one delivery, the event's own already put over the queue's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Failed or expired holds after which the delivery is dead; none: never.
    pub max_attempts: Option<u32>,
    /// Spacing of retries.
    pub backoff: Backoff,
    /// Longest total hold of one lease, in ms; none: no bound.
    pub max_lease_ms: Option<i64>,
    /// How long after its end the last holder may still settle or revive, in ms.
    pub grace_ms: i64,
    /// How long a Redis consumer may hold before an HTTP claim may take over, in ms; none: for ever. A hold
    /// keeps the end that it was given until it is renewed.
    pub redis_lease_ms: Option<i64>,
    /// After this instant the event is not delivered again.
    pub expires_at: Option<Timestamp>,
}

impl Policy {
    /// True where after so many attempts there is none left.
    pub(crate) fn is_used_up(&self, attempts: u32) -> bool {
        let spare = u32::from(has(Bug::AttemptsOneMore));
        self.max_attempts.is_some_and(|max| attempts >= max.saturating_add(spare))
    }
}
