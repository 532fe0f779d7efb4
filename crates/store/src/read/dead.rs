//! Questions on the dead letters of an open queue.
//!
//! Lives here: which are meant, their groups by error, and how many there are. Not here: finding them
//! (the engines), and the plain list of any queue's (`read.rs`).

use std::collections::BTreeMap;

use naven_api::limits::{self, DEAD_EXAMPLE_BYTES_MAX};
use naven_api::{EventId, Timestamp};
use naven_core::{DeadReason, Fingerprint};

use super::Cursor;
use crate::queue::QueueRef;

/// Which dead letters: those for which everything that it says holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeadFilter {
    /// They died for this.
    pub reason: Option<DeadReason>,
    /// Their fingerprint is this, or their last error contains it.
    pub error: Option<String>,
    /// They died at this instant or later.
    pub died_after: Option<Timestamp>,
    /// They died before this instant.
    pub died_before: Option<Timestamp>,
}

impl DeadFilter {
    /// True where it leaves nothing out.
    pub fn takes_all(&self) -> bool {
        *self == Self::default()
    }

    /// The instants at which those that are meant died: from the first on, before the second.
    pub(crate) fn died(&self) -> (i64, i64) {
        let from = self.died_after.map_or(i64::MIN, Timestamp::as_ms);
        (from, self.died_before.map_or(i64::MAX, Timestamp::as_ms))
    }

    /// Whether one that died in time for this reason with this error is meant.
    pub(crate) fn takes(&self, reason: DeadReason, error: Option<&str>) -> bool {
        let is_meant = |wanted: &String| is_error(wanted, Some(reason), error);
        self.reason.is_none_or(|wanted| wanted == reason) && self.error.as_ref().is_none_or(is_meant)
    }
}

/// Whether this last error contains `wanted`, or what died for this reason has `wanted` as its fingerprint.
pub(super) fn is_error(wanted: &str, reason: Option<DeadReason>, error: Option<&str>) -> bool {
    let is_print = |reason| wanted.len() == 16 && Fingerprint::of(reason, error).to_string() == wanted;
    error.is_some_and(|error| error.contains(wanted)) || reason.is_some_and(is_print)
}

/// A question on the dead letters of an open queue. Each looks at 20,000 of them at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadRead {
    /// They themselves, newest death first. A page may be short, or empty, and have a next one.
    List {
        /// Of which queue.
        queue: QueueRef,
        /// Which of them.
        filter: DeadFilter,
        /// Where the last page ended.
        cursor: Option<Cursor>,
        /// Most items: 1 to 500.
        limit: u32,
        /// True where the payloads are wanted too.
        payload: bool,
    },
    /// Their groups by error, the largest first.
    Groups {
        /// Of which queue.
        queue: QueueRef,
        /// Which of them.
        filter: DeadFilter,
        /// Most groups: 1 to 500.
        limit: u32,
    },
    /// How many of these events are among them.
    Among {
        /// Of which queue.
        queue: QueueRef,
        /// Which events: each counts once.
        events: Vec<EventId>,
    },
    /// How many there are.
    Count {
        /// Of which queue.
        queue: QueueRef,
        /// Which of them.
        filter: DeadFilter,
    },
}

/// Dead letters of one fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadGroup {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// Why they died.
    pub reason: DeadReason,
    /// The last error of one of them, cut at 1 KiB.
    pub example: Option<String>,
    /// How many they are.
    pub count: u64,
    /// When the first of them died.
    pub first_died: Timestamp,
    /// When the last of them died.
    pub last_died: Timestamp,
    /// The event of which the example is: the last that died.
    pub event: EventId,
}

/// Groups of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadGroups {
    /// The largest of them; of two that are as large, the one in which somebody died last first.
    pub groups: Vec<DeadGroup>,
    /// How many more there are.
    pub left_out: u64,
    /// True where not all dead letters were looked at.
    pub truncated: bool,
}

/// How many there are of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched {
    /// So many were found.
    pub count: u64,
    /// True where not all were looked at.
    pub truncated: bool,
}

/// Groups while their members are looked at, those that died last first.
#[derive(Debug, Default)]
pub(crate) struct Grouping(BTreeMap<Fingerprint, DeadGroup>);

impl Grouping {
    /// One more member.
    pub(crate) fn add(&mut self, event: EventId, reason: DeadReason, error: Option<&str>, died: Timestamp) {
        let fingerprint = Fingerprint::of(reason, error);
        let group = self.0.entry(fingerprint).or_insert_with(|| DeadGroup {
            fingerprint,
            reason,
            example: error.map(|error| error[..error.floor_char_boundary(DEAD_EXAMPLE_BYTES_MAX)].to_owned()),
            count: 0,
            first_died: died,
            last_died: died,
            event,
        });
        group.count += 1;
        group.first_died = died;
    }

    /// At most `limit` groups.
    pub(crate) fn into_groups(self, limit: u32, truncated: bool) -> DeadGroups {
        let mut groups: Vec<_> = self.0.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse((group.count, group.last_died, group.fingerprint)));
        let left_out = groups.len().saturating_sub(limit as usize) as u64;
        groups.truncate(limit as usize);
        DeadGroups { groups, left_out, truncated }
    }
}

/// Most rows that one question looks at.
pub(crate) const SCANS_MAX: usize = limits::SCANS_MAX as usize;
