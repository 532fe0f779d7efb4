//! How strictly a history is judged.
//!
//! Lives here: the bounds and what may be told apart. Not here: the judging (`judge.rs`).

/// How strictly a history is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// By how much two readings of clocks may differ, in ms: 0 in virtual time, 1 where real clocks are
    /// cut to milliseconds.
    pub slack_ms: i64,
    /// By how much a crash may lengthen a lease beyond the time for which the server was down, in ms.
    pub crash_ms: i64,
    /// True where events may be older than the history.
    pub is_excerpt: bool,
    /// True where every event has to be over at the end.
    pub must_finish: bool,
    /// Steps that are tried for one life before it is left undecided.
    pub tries_max: u32,
    /// Threads that judge.
    pub threads: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            slack_ms: 1,
            crash_ms: 1_000,
            is_excerpt: false,
            must_finish: false,
            tries_max: 200_000,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        }
    }
}

impl Rules {
    /// For histories of virtual time.
    pub fn exact() -> Self {
        Self { slack_ms: 0, ..Self::default() }
    }
}
