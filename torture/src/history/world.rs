//! What befell the world while clients called.
//!
//! Lives here: crashes, steps of the wall clock and the settings of queues, as far as they loosen or
//! tighten what a history has to keep. Not here: calls (`call.rs`).

use serde::{Deserialize, Serialize};

/// One event of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorldEvent {
    /// From here on, or a little later, the server did not run. Kills, power cuts and planned stops
    /// alike: leases stand still until the restart, and may last up to a second longer.
    Crash {
        /// Not later than the kill.
        at_ms: i64,
    },
    /// The server ran again.
    Restart {
        /// Not earlier than its first answer.
        at_ms: i64,
    },
    /// From here on the server's wall clock shows the clock of the history plus this much. Before the first of
    /// these the two are one. Where real clocks drift apart, it is said again; at the instant itself both count.
    WallClock {
        /// When.
        at_ms: i64,
        /// By how much it is ahead.
        offset_ms: i64,
    },
    /// From here on nothing goes wrong any more, and there are consumers enough.
    Healed {
        /// When.
        at_ms: i64,
    },
}

impl WorldEvent {
    /// When it happened.
    pub const fn at_ms(&self) -> i64 {
        match self {
            Self::Crash { at_ms }
            | Self::Restart { at_ms }
            | Self::WallClock { at_ms, .. }
            | Self::Healed { at_ms } => *at_ms,
        }
    }
}

/// What a queue asks of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Failed or expired holds after which an event is dead; none: never.
    pub max_attempts: Option<u32>,
    /// Longest total hold of one lease, in ms; none: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lease_ms: Option<i64>,
    /// How long after its end the last holder may still settle or revive, in ms.
    #[serde(default)]
    pub grace_ms: i64,
    /// How long outcomes are kept, so that a late call is judged rather than answered 404, in ms.
    pub keep_outcomes_ms: i64,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { max_attempts: None, max_lease_ms: None, grace_ms: 0, keep_outcomes_ms: 24 * 60 * 60 * 1_000 }
    }
}
