//! What the runtime needs of a server.
//!
//! Lives here: the calls, and what their answers mean for a lease. Not here: the door to Naven's HTTP calls (`http.rs`), and when
//! a call is made.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::time::Duration;

use naven_api::{IdempotencyKey, Progress};

use super::lost::LostReason;
use super::outcome::Outcome;

/// A server's calls. Each may be dropped at any time: then it may or may not have taken effect.
pub(crate) trait Door: 'static {
    /// What names an event.
    type Id: Clone + Debug + Display + Send + Sync + 'static;
    /// What is known of an event from its claim on.
    type Facts: Known<Id = Self::Id>;
    /// What proves a lease.
    type Token: Clone + 'static;
    /// Why a call did not succeed.
    type Error: std::error::Error + Send + 'static;

    /// Leases events. The same may be asked again where the answer did not come: it gives the same leases then, as
    /// long as they are held, where the server can tell.
    fn claim(&self, ask: &Ask) -> impl Future<Output = Result<Vec<Claimed<Self>>, Failed<Self::Error>>>;

    /// Extends a lease: it holds `length` from now.
    fn beat(
        &self,
        event: &Self::Id,
        token: &Self::Token,
        length: Duration,
        progress: Option<Progress>,
    ) -> impl Future<Output = Result<Beaten, Failed<Self::Error>>>;

    /// Says how an attempt ended. The same may be said again under the same token.
    fn settle(
        &self,
        event: &Self::Id,
        token: &Self::Token,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<(), Failed<Self::Error>>>;

    /// Tidies up, once nothing is in work any more. It is not waited for long.
    fn close(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// What the runtime itself asks of what is known of an event.
pub(crate) trait Known: Send + Sync + 'static {
    /// What names it.
    type Id;

    /// Which event it is: the same at each of its deliveries.
    fn event(&self) -> &Self::Id;

    /// Where it came from.
    fn queue(&self) -> &str;

    /// Which attempt this is, from 1 on.
    fn attempt(&self) -> u32;

    /// The fencing number of this attempt.
    fn fence(&self) -> u64;
}

/// What is asked of a claim.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// Which claim it is, however often it is asked.
    pub(crate) key: IdempotencyKey,
    /// At least one event is asked for, and no more than this.
    pub(crate) most: usize,
    /// How long each is to be leased.
    pub(crate) length: Duration,
    /// How long to wait for one.
    pub(crate) wait: Duration,
    /// It is asked for the last time, for what it may have taken and for nothing new, where the server can tell.
    pub(crate) is_last: bool,
}

/// An event in our hands.
pub(crate) struct Claimed<D: Door + ?Sized> {
    pub(crate) token: D::Token,
    pub(crate) facts: D::Facts,
    /// How long the lease holds from the claim on, where that may not be what was asked for: the server may bound it.
    pub(crate) length: Option<Duration>,
}

/// The answer to a heartbeat that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beaten {
    /// The lease holds.
    Held {
        /// How long from now on: less than was asked for where the server bounds it.
        length: Duration,
        /// True where somebody asked the handler to stop.
        cancel_requested: bool,
    },
    /// The attempt is over, for our own word was taken.
    Settled,
}

/// A call that did not succeed.
#[derive(Debug)]
pub(crate) enum Failed<E> {
    /// The lease is over.
    Gone(LostReason),
    /// It may succeed later.
    Later {
        /// No sooner than this.
        after: Option<Duration>,
        /// True where it may have taken effect.
        may_have_applied: bool,
        why: E,
    },
    /// It never will.
    Never(E),
}
