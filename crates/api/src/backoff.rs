//! How retries are spaced, as a queue says it.
//!
//! Lives here: the setting. Not here: the delay made from it (`naven-core`).

use crate::limits;

/// Exponential growth with a cap and jitter: `initial * factor^(n-1)`, at most `max`; then
/// `delay * (1 - jitter) + random * delay * jitter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first failure, in seconds: 0 to 86,400.
    pub initial_seconds: u32,
    /// Growth for each further failure, in thousandths: 1,000 to 10,000.
    pub factor_milli: u32,
    /// Longest delay, in seconds: 0 to 86,400.
    pub max_seconds: u32,
    /// Share of the delay that is drawn at random, in thousandths: 0 to 1,000.
    pub jitter_milli: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial_seconds: limits::BACKOFF_INITIAL_SECONDS_DEFAULT,
            factor_milli: limits::BACKOFF_FACTOR_MILLI_DEFAULT,
            max_seconds: limits::BACKOFF_MAX_SECONDS_DEFAULT,
            jitter_milli: limits::BACKOFF_JITTER_MILLI_MAX,
        }
    }
}
