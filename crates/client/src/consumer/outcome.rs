//! How a handler says that an attempt ended.
//!
//! Lives here: the outcomes. Not here: what turns into one (`handler.rs`), and saying it to the server (`settling.rs`).

use std::time::Duration;

use naven_api::{AckResult, DelaySeconds};

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The event is finished: an ack.
    Done,
    /// The same, with what came of it: shown with the event as long as it is remembered.
    DoneWith(AckResult),
    /// Not this time. The attempt counts, and the event is delivered again by its queue's backoff, or is a dead letter
    /// where this was its last attempt.
    Retry {
        /// Why, for people: more than 8 KiB is cut.
        error: String,
        /// When to try again; by the queue's backoff where it is none.
        delay: Option<DelaySeconds>,
    },
    /// It will never work: a dead letter at once.
    DeadLetter {
        /// Why, for people: more than 8 KiB is cut.
        error: String,
    },
    /// Not begun, or undone: it is due at once for anybody, and no attempt is counted.
    Release,
}

impl Outcome {
    /// The attempt failed; retry by the queue's backoff.
    pub fn retry(error: impl Into<String>) -> Self {
        Self::Retry { error: error.into(), delay: None }
    }

    /// The attempt failed; retry no sooner than `delay` from now, in whole seconds: a part of one counts as one, and
    /// more than 10 years is 10 years.
    pub fn retry_after(delay: Duration, error: impl Into<String>) -> Self {
        let seconds = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX).min(naven_api::limits::DELAY_SECONDS_MAX);
        Self::Retry { error: error.into(), delay: DelaySeconds::try_from(seconds).ok() }
    }

    /// No attempt will ever work: a dead letter at once.
    pub fn dead_letter(because: impl Into<String>) -> Self {
        Self::DeadLetter { error: because.into() }
    }

    /// True where the event is finished.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::DoneWith(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_whole_seconds_rounded_up_and_bounded() {
        let after = |delay| match Outcome::retry_after(delay, "busy") {
            Outcome::Retry { delay, .. } => delay.map(u32::from),
            other => panic!("{other:?}"),
        };
        assert_eq!(after(Duration::ZERO), Some(0));
        assert_eq!(after(Duration::from_millis(1_001)), Some(2));
        assert_eq!(after(Duration::MAX), Some(naven_api::limits::DELAY_SECONDS_MAX));
    }
}
