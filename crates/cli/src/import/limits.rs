//! The bounds of an import.
//!
//! Lives here: how much is asked for at once, and how long an answer is waited for. Not here: what is asked.

use std::time::Duration;

/// Longest time until a connection stands, TLS and all.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Longest time until the answer to what was sent at once has come.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// Names that one SCAN looks at.
pub(super) const SCAN_NAMES: usize = 1_000;
/// Most streams of one import.
pub(super) const STREAMS_MAX: usize = 100_000;
/// Most names and patterns on one command line.
pub(super) const PATTERNS_MAX: usize = 1_000;

/// Entries of the first page of a stream: how large they are is not known yet.
pub(super) const PAGE_ENTRIES_FIRST: usize = 16;
/// Most entries of a page, however small those before it were.
pub(super) const PAGE_ENTRIES_MAX: usize = 256;
/// A page asks for so many entries as would have made about this many bytes of the page before it.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// Most rows of a pending list that are read, or written, at once.
pub(super) const PENDING_ROWS: usize = 1_000;
/// Most groups of a stream: XINFO GROUPS has no pages.
pub(super) const GROUPS_MAX: usize = 10_000;
/// Most consumers of a group: XINFO CONSUMERS has no pages either.
pub(super) const CONSUMERS_MAX: usize = 100_000;
