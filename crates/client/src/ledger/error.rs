//! What an effect, and a call for one, may fail by.
//!
//! Lives here: the errors, and what is known where an effect is in doubt. Not here: when they arise (`turn.rs`).

use std::error::Error as StdError;
use std::fmt;

use super::effect::{EffectKey, NameError};
use super::store::StoreError;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Why an effect failed, and whether it may have happened all the same.
///
/// By `?` any error becomes one that is *unknown*: a call that timed out may have arrived. [`Failed::undone`] is for what
/// surely did not happen, such as an answer that says so.
pub struct Failed {
    pub(super) source: BoxError,
    pub(super) is_undone: bool,
}

impl Failed {
    /// Surely nothing happened: the next attempt runs the effect.
    pub fn undone(why: impl Into<BoxError>) -> Self {
        Self { source: why.into(), is_undone: true }
    }

    /// It may have happened: the effect is in doubt.
    pub fn unknown(why: impl Into<BoxError>) -> Self {
        Self { source: why.into(), is_undone: false }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::unknown(error)
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_undone { "undone" } else { "unknown" };
        write!(f, "{word}: {:?}", self.source)
    }
}

/// An effect that an earlier attempt began, and of which nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The key that the earlier attempt had too.
    pub key: EffectKey,
    /// The fencing number of the earlier attempt; one's own where it was an earlier call by the same lease. Who has it may
    /// be at it still.
    pub earlier_fence: u64,
    /// One's own.
    pub fence: u64,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, earlier_fence, fence } = self;
        write!(f, "{key} was begun under fence {earlier_fence} and may have happened (this is fence {fence})")
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// A name is outside of its rule. Nothing was run.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The lease is over here, or may be in a moment. Nothing was run: stop.
    #[error("the lease is over")]
    LeaseOver,
    /// A higher fencing number of the event has been seen: the event is in other hands. Stop.
    #[error("fence {fence} is stale: {seen} has been seen of this event")]
    Stale {
        /// One's own.
        fence: u64,
        /// The highest seen.
        seen: u64,
        /// True where the effect ran: it is not recorded, and is in doubt for whoever has the event now.
        ran: bool,
    },
    /// A call by the same lease, or by another bearer of the same fencing number, is at it. Nothing was run.
    #[error("this effect is being run already")]
    Running,
    /// An earlier attempt may have done it. Nothing was run.
    #[error("in doubt: {0}")]
    InDoubt(Doubt),
    /// Whoever was asked whether it happened did not say. Nothing was run.
    #[error("whether it happened could not be found out")]
    Unanswered(#[source] BoxError),
    /// The effect failed.
    #[error("the effect failed")]
    Failed {
        /// By what.
        #[source]
        source: BoxError,
        /// True where it may have happened: it is in doubt for the next attempt.
        in_doubt: bool,
    },
    /// The effect is done, and recorded as done, but its result cannot be kept. It will not be run again.
    #[error("the effect is done, without a result: {why}")]
    ResultNotKept {
        /// Why not.
        why: String,
    },
    /// The same, where effect and record are one step: nothing has happened.
    #[error("the effect was undone: {why}")]
    ResultUnfit {
        /// Why it cannot be kept.
        why: String,
    },
    /// The effect was done before, and its result does not read as what is asked for.
    #[error("the stored result is of another shape")]
    Unreadable(#[source] serde_json::Error),
    /// The effect ran; it is not known whether that was recorded.
    #[error("the effect ran, and may not be recorded")]
    Unrecorded(#[source] StoreError),
    /// The effect ran; another bearer of the same fencing number has recorded it, or is at it.
    #[error("the effect ran, and another bearer of the same fence has it")]
    Conflict,
    /// The store did not answer. Nothing was run.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OnceError {
    /// True where this very call may have done the effect.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Stale { ran, .. } => *ran,
            Self::Failed { in_doubt, .. } => *in_doubt,
            Self::ResultNotKept { .. } | Self::Unrecorded(_) | Self::Conflict => true,
            Self::Name(_) | Self::LeaseOver | Self::Running | Self::InDoubt(_) | Self::Unanswered(_) => false,
            Self::ResultUnfit { .. } | Self::Unreadable(_) | Self::Store(_) => false,
        }
    }
}
