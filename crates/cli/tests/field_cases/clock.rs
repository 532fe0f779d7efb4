//! Time as these tests see it.
//!
//! Lives here: the clock, waiting, and how a measured time is judged. Not here: the server's clock.

use std::time::{Duration, Instant};

/// Crowded machines are late, but not by more than this many times the figure of a case.
const CROWDED: u32 = 3;
/// What the server counts leases and delays in. It counts from the tick in which a call falls, so by a
/// stopwatch that was started within that tick they may be up to one shorter.
const TICK: Duration = millis(1);
/// Pause between two looks at something that is about to come true.
const LOOK_EVERY: Duration = Duration::from_millis(2);

#[expect(clippy::disallowed_methods, reason = "the one place where these tests read a clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The shortest that a lease or a delay of `time` may be by a stopwatch.
pub(crate) fn counted(time: Duration) -> Duration {
    time - TICK
}

pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

pub(crate) fn sleep_until(at: Instant) {
    sleep(at.saturating_duration_since(now()));
}

/// Prints what was measured. It must not be before `from`, nor later than `to` by more than a crowded
/// machine explains.
pub(crate) fn assert_between(what: &str, measured: Duration, from: Duration, to: Duration) {
    let latest = from + (to - from) * CROWDED;
    println!("{what}: {measured:?} (figure {from:?} to {to:?}, held at {latest:?})");
    assert!((from..=latest).contains(&measured), "{what}: {measured:?} is not {from:?} to {latest:?}");
}

/// The same where sooner is better.
pub(crate) fn assert_within(what: &str, measured: Duration, figure: Duration) {
    assert_between(what, measured, Duration::ZERO, figure);
}

/// Looks until `is_so`, and gives the time that it took; gives up after `patience`.
pub(crate) fn until(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = now();
    while !is_so() {
        assert!(began.elapsed() < patience, "{what}: not after {patience:?}");
        sleep(LOOK_EVERY);
    }
    began.elapsed()
}

/// The smallest, the middle, the 99th of a hundred, and the largest, for people.
pub(crate) fn spread(mut measured: Vec<Duration>) -> String {
    measured.sort_unstable();
    let Some(last) = measured.len().checked_sub(1) else { return "nothing measured".to_owned() };
    let at = |share: usize| measured[last * share / 100];
    format!("{} measured: min {:?} p50 {:?} p99 {:?} max {:?}", last + 1, at(0), at(50), at(99), at(100))
}
