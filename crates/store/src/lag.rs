//! How far a queue has come in its stream, as Redis counts it.
//!
//! Lives here: the counting, for all engines. Not here: where the facts are kept (the engines). It is not the
//! count of what is ready, which engines know exactly.
//!
//! A stream knows how many entries it was ever given and how many are left, not where those that left were.
//! So the number of entries before a place is known only where no single entry behind it was deleted.

use crate::txn::Place;

/// What is known of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Entries that are there.
    pub(crate) length: u64,
    /// Entries that it was ever given, as its readers are told.
    pub(crate) added: u64,
    /// The first entry that is there.
    pub(crate) first: Option<Place>,
    /// The last place given.
    pub(crate) last: Place,
    /// The highest place of an entry that was deleted singly; zero where none was.
    pub(crate) max_deleted: Place,
}

impl Facts {
    /// How many entries were ever given up to `place`, if that is known.
    fn up_to(&self, place: Place) -> Option<u64> {
        if self.added == 0 {
            return Some(0);
        }
        let Some(first) = self.first.filter(|_| place != Place::default() || self.length > 0) else {
            return (place <= self.last).then_some(self.added);
        };
        if place != Place::default() && place < self.max_deleted {
            return None;
        }
        if place >= self.last {
            return (place == self.last).then_some(self.added);
        }
        let is_whole = self.max_deleted == Place::default() || self.max_deleted < first;
        match place.cmp(&first) {
            _ if !is_whole => None,
            std::cmp::Ordering::Less => Some(self.added - self.length),
            std::cmp::Ordering::Equal => Some(self.added - self.length + 1),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// True where a single entry at or behind `place` was deleted.
    fn has_gap_from(&self, place: Place) -> bool {
        self.length > 0 && self.max_deleted != Place::default() && place <= self.max_deleted
    }

    /// What a queue that had read `entries_read` entries, up to `last_delivered`, has read once it has been handed
    /// out the one at `place`, which is behind it.
    pub(crate) fn read_on(
        &self,
        entries_read: Option<u64>,
        last_delivered: Place,
        place: Place,
    ) -> Option<u64> {
        match entries_read {
            Some(read) if !self.has_gap_from(last_delivered) => Some(read + 1),
            // Of a stream that was never given anything nothing is to be learnt.
            known if self.added == 0 => known,
            _ => self.up_to(place),
        }
    }

    /// How many entries a queue has still to read, if that is known.
    pub(crate) fn lag(&self, entries_read: Option<u64>, last_delivered: Place) -> Option<u64> {
        if self.added == 0 {
            return Some(0);
        }
        let read = match entries_read {
            Some(read) if !self.has_gap_from(last_delivered) => Some(read),
            _ => self.up_to(last_delivered),
        };
        read.map(|read| self.added.saturating_sub(read))
    }
}
