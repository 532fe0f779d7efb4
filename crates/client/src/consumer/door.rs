//! What the runtime needs of a server.
//!
//! Lives here: the calls, and what their answers mean for a lease. Not here: the door to Naven's HTTP calls (`http.rs`), and when
//! a call is made.

use std::future::Future;
use std::time::Duration;

use naven_api::{EventId, Headers, Payload, Progress, Timestamp, TraceContext};

use super::lost::LostReason;
use super::outcome::Outcome;

/// A server's calls. Each may be dropped at any time: then it may or may not have taken effect.
pub(super) trait Door: 'static {
    /// What proves a lease.
    type Token: Clone + 'static;

    /// Leases 1 to `most` events for `length`; none where none came within `wait`.
    fn claim(
        &self,
        most: usize,
        length: Duration,
        wait: Duration,
    ) -> impl Future<Output = Result<Vec<Claimed<Self::Token>>, Failed>>;

    /// Extends a lease: it holds `length` from now.
    fn beat(
        &self,
        event: EventId,
        token: &Self::Token,
        length: Duration,
        progress: Option<Progress>,
    ) -> impl Future<Output = Result<Beaten, Failed>>;

    /// Says how an attempt ended. The same may be said again under the same token.
    fn settle(
        &self,
        event: EventId,
        token: &Self::Token,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<(), Failed>>;
}

/// An event in our hands.
#[derive(Debug, Clone)]
pub(super) struct Claimed<T> {
    pub(super) token: T,
    pub(super) event: EventId,
    pub(super) queue: String,
    pub(super) payload: Payload,
    pub(super) headers: Headers,
    pub(super) attempt: u32,
    pub(super) fence: u64,
    pub(super) scheduled_at: Timestamp,
    pub(super) trace_context: Option<TraceContext>,
}

/// The answer to a heartbeat that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beaten {
    /// The lease holds.
    Held {
        /// True where somebody asked the handler to stop.
        cancel_requested: bool,
    },
    /// The attempt is over, for our own word was taken.
    Settled,
}

/// A call that did not succeed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The lease is over.
    Gone(LostReason),
    /// It may succeed later.
    Later {
        /// No sooner than this.
        after: Option<Duration>,
        /// True where it may have taken effect.
        may_have_applied: bool,
        why: crate::Error,
    },
    /// It never will.
    Never(crate::Error),
}
