//! What a run does: its knobs, its queues, its events.
//!
//! Lives here: the numbers that size the test, and everything that the seed alone decides. Not here:
//! what clients choose while they run (`load.rs`).

use std::time::Duration;

use crate::chance::Chance;
use crate::clock::wall_ms;

/// Clients at once, each with a connection of its own that it keeps.
pub(crate) const CONNECTIONS: usize = 10;
/// Clients publish only while fewer events than this are not over.
pub(crate) const BACKLOG_MAX: usize = 800;
/// Most leases that one client keeps in its hands.
pub(crate) const HAND_MAX: usize = 24;
/// Attempts of an event that names no bound itself: far more than it can use up.
pub(crate) const ATTEMPTS_PLENTY: u32 = 1_000;
/// Longest pause that clients and the queues' backoff ask for.
pub(crate) const DELAY_SECONDS_MAX: u32 = 2;

/// The engine reads its clocks once for a batch of calls, so a call may be stamped with an instant a
/// little before it was sent: a few microseconds, or as long as a crowded machine lets nobody run.
pub(crate) const STAMP_AGE_MS: i64 = 500;

/// A queue of the run.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: &'static str,
    pub(crate) lease_seconds: u32,
}

/// Two with leases that outlive many kills, one with leases that run out all the time.
pub(crate) const QUEUES: [Queue; 3] = [
    Queue { name: "mail", lease_seconds: 30 },
    Queue { name: "bills", lease_seconds: 30 },
    Queue { name: "beacons", lease_seconds: 1 },
];

/// The knobs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) cycles: u64,
    pub(crate) seed: u64,
}

impl Plan {
    /// From `NAVEN_KILL_CYCLES` and `NAVEN_KILL_SEED`: 150 cycles and a new seed where they are unset.
    pub(crate) fn read() -> Self {
        let cycles = knob("NAVEN_KILL_CYCLES").unwrap_or(150);
        let seed = knob("NAVEN_KILL_SEED").unwrap_or_else(|| wall_ms().unsigned_abs());
        Self { cycles, seed }
    }

    /// How far into the load of a cycle the process is killed.
    pub(crate) fn kill_after(self, cycle: u64) -> Duration {
        Duration::from_millis(Chance::new(self.seed, &[1, cycle]).between(100, 1_500))
    }

    /// The choices of one client in one cycle.
    pub(crate) fn client(self, cycle: u64, client: usize) -> Chance {
        Chance::new(self.seed, &[2, cycle, client as u64])
    }

    /// The choices of one auditor after one cycle.
    pub(crate) fn auditor(self, cycle: u64, auditor: usize) -> Chance {
        Chance::new(self.seed, &[3, cycle, auditor as u64])
    }
}

/// The payload of the event with this number, written so that only a copy byte for byte is equal.
pub(crate) fn payload(number: usize) -> String {
    let mut chance = Chance::new(number as u64, &[4]);
    let pieces = if chance.is(1) { 6_000 } else { chance.below(40) };
    let words = ["a", "é", "\\u0041", " ", "\\n", "zz", "\\/", "0"];
    let text: String = (0..pieces).map(|_| words[chance.place(words.len())]).collect();
    format!("{{\"number\":{number} ,  \"odd\":1e3,\"text\":\"{text}\"}}")
}

#[expect(clippy::disallowed_methods, reason = "a test run's knobs, read nowhere else")]
fn knob(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not '{text}'")))
}
