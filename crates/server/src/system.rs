//! The real clocks and the real randomness: the one file that reads them.
//!
//! Lives here: [`SystemClock`] and [`SystemRandom`]. Not here: anything that decides by them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use naven_api::Timestamp;
use naven_store::{Clock, Random};

/// The machine's own clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// The clocks; the monotonic one counts from now.
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clocks")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clocks")]
    fn wall(&self) -> Timestamp {
        let ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        Timestamp::from_ms(ms)
    }

    fn monotonic_ms(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// The operating system's random bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "this is the file that draws randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has random bits once it has booted");
    }
}

/// Bytes of memory that this process has, as the system counts them; 0 where it does not say.
pub(crate) fn resident_bytes() -> u64 {
    /// What Linux counts in on all machines that this runs on.
    const PAGE_BYTES: u64 = 4_096;
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    resident.map_or(0, |pages| pages * PAGE_BYTES)
}
