//! What a handler is given.
//!
//! Lives here: the event with its lease, as its handler sees them. Not here: keeping the lease (`lease.rs`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use naven_api::{EventId, Headers, Payload, Progress, Timestamp, TraceContext};

use super::hold::{Hold, News};
use crate::ledger::Holder;

/// An event in the hands of a handler, with its payload as a `T`.
///
/// The lease is kept for as long as the handler runs. What happens outside, and has to happen once, should be guarded by
/// [`fence`](Self::fence) or by [`event`](Self::event), or by the [ledger](crate::ledger): the event may be delivered again.
pub struct Delivery<T> {
    pub(super) payload: T,
    pub(super) facts: Arc<Facts>,
    pub(super) hold: Arc<Hold>,
    pub(super) news: News,
}

/// What is known of an event from its claim on.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) event: EventId,
    pub(super) queue: String,
    pub(super) raw: Payload,
    pub(super) headers: Headers,
    pub(super) attempt: u32,
    pub(super) fence: u64,
    pub(super) scheduled_at: Timestamp,
    pub(super) trace_context: Option<TraceContext>,
}

/// Why a handler is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The lease is over, or may be over in a moment: another consumer may have the event. No more side effects.
    LeaseLost,
    /// Somebody asked for it (the event was cancelled). The lease is held: what the handler answers counts.
    CancelRequested,
    /// The consumer ends, and its time to drain is over. The lease is held: what the handler answers in time counts.
    Draining,
}

impl<T> Delivery<T> {
    /// What was published.
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// The same, given away.
    pub fn into_payload(self) -> T {
        self.payload
    }

    /// The payload as it was published, byte for byte.
    pub fn raw(&self) -> &Payload {
        &self.facts.raw
    }

    /// The event's id: the same at each of its deliveries.
    pub fn event(&self) -> EventId {
        self.facts.event
    }

    /// Its queue's name.
    pub fn queue(&self) -> &str {
        &self.facts.queue
    }

    /// Which attempt this is, from 1 on. It begins anew when a dead letter is redriven.
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// The fencing number: it rises at each delivery of the event and never falls. A store that refuses a smaller one
    /// than it has seen is safe from a handler that is late.
    pub fn fence(&self) -> u64 {
        self.facts.fence
    }

    /// Names and texts that travel with the event.
    pub fn headers(&self) -> &Headers {
        &self.facts.headers
    }

    /// When the event was first due.
    pub fn scheduled_at(&self) -> Timestamp {
        self.facts.scheduled_at
    }

    /// Where in its publisher's trace it was published, to link a span to.
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.facts.trace_context.as_ref()
    }

    /// Waits until this handler is to stop, and says why.
    ///
    /// Cancel safety: harmless, it only looks.
    pub async fn cancelled(&self) -> StopReason {
        self.hold.until_stopped().await
    }

    /// Waits until the lease is lost: for a handler that was told to stop for another reason, and still has something to
    /// undo.
    ///
    /// Cancel safety: harmless, it only looks.
    pub async fn lease_lost(&self) {
        self.hold.until_lost().await;
    }

    /// Why this handler is to stop, where it is: that the lease is lost outweighs all else. It asks the clock too: a handler that never awaits may ask this before each
    /// side effect.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.hold.stopped()
    }

    /// True where this handler is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.stop_reason().is_some()
    }

    /// For how long the lease is surely held, were no further heartbeat to get through.
    pub fn lease_remaining(&self) -> Duration {
        self.hold.remaining()
    }

    /// Says how far the work came: it goes out with the next heartbeat, and of several before that the last one does.
    pub fn progress(&self, progress: Progress) {
        self.news.say(progress);
    }
}

/// The lease as an effect ledger sees it: `ledger.lease(&delivery)`.
impl<T> From<&Delivery<T>> for Holder {
    fn from(delivery: &Delivery<T>) -> Self {
        let (facts, hold) = (&delivery.facts, Arc::clone(&delivery.hold));
        Self::new(&facts.queue, facts.event, facts.fence)
            .sharing(Arc::clone(hold.effects()))
            .watched(move || hold.stopped() == Some(StopReason::LeaseLost))
    }
}

impl<T> fmt::Debug for Delivery<T> {
    /// Without the payload, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("event", &self.facts.event)
            .field("queue", &self.facts.queue)
            .field("attempt", &self.facts.attempt)
            .field("fence", &self.facts.fence)
            .finish_non_exhaustive()
    }
}
