//! How retries are spaced, as a queue says it.
//!
//! Lives here: the setting and its JSON. Not here: reading it from a request (`queue`), and the delay
//! made from it (`naven-core`).

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

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

impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Backoff", 4)?;
        fields.serialize_field("initialSeconds", &self.initial_seconds)?;
        fields.serialize_field("factor", &Milli(self.factor_milli))?;
        fields.serialize_field("maxSeconds", &self.max_seconds)?;
        fields.serialize_field("jitter", &Milli(self.jitter_milli))?;
        fields.end()
    }
}

/// Thousandths, shown as the number that they are.
struct Milli(u32);

impl Serialize for Milli {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1_000) {
            serializer.serialize_u32(self.0 / 1_000)
        } else {
            serializer.serialize_f64(f64::from(self.0) / 1_000.0)
        }
    }
}

impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown {
            initial_seconds: u32,
            factor: f64,
            max_seconds: u32,
            jitter: f64,
        }
        let shown = Shown::deserialize(deserializer)?;
        let milli = |number: f64| (number * 1_000.0).round() as u32;
        Ok(Self {
            initial_seconds: shown.initial_seconds,
            factor_milli: milli(shown.factor),
            max_seconds: shown.max_seconds,
            jitter_milli: milli(shown.jitter),
        })
    }
}
