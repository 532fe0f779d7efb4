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
        // Entries between a place before the first and that one may have been trimmed away unread.
        let is_before_first = self.first.is_some_and(|first| last_delivered < first);
        match entries_read {
            Some(read) if !is_before_first && !self.has_gap_from(last_delivered) => Some(read + 1),
            // Of a stream that was never given anything nothing is to be learnt.
            known if self.added == 0 => known,
            _ => self.up_to(place),
        }
    }

    /// How many entries a queue has still to read, if that is known; fewer than none where a reader said that it has
    /// read more than there were.
    pub(crate) fn lag(&self, entries_read: Option<u64>, last_delivered: Place) -> Option<i64> {
        if self.added == 0 {
            return Some(0);
        }
        let read = match entries_read {
            Some(read) if !self.has_gap_from(last_delivered) => Some(read),
            _ => self.up_to(last_delivered),
        };
        read.map(|read| self.added.wrapping_sub(read) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, seq: u64) -> Place {
        Place { ms, seq }
    }

    fn facts(length: u64, added: u64, first: Option<Place>, last: Place, max_deleted: Place) -> Facts {
        Facts { length, added, first, last, max_deleted }
    }

    // The figures of these cases were read off Valkey 9.1.

    #[test]
    fn a_reader_that_lost_trimmed_entries_counts_them_read() {
        let one = facts(1, 2, Some(at(2, 1)), at(2, 1), at(0, 0));
        assert_eq!(one.read_on(Some(0), at(0, 0), at(2, 1)), Some(2));
        let many = facts(1, 14, Some(at(6, 4)), at(6, 4), at(2, 2));
        assert_eq!(many.read_on(Some(10), at(6, 3), at(6, 4)), Some(14));
        // What it has still to read is told by what it is said to have read.
        let trimmed = facts(1, 21, Some(at(10, 0)), at(10, 0), at(6, 0));
        assert_eq!(trimmed.lag(Some(15), at(9, 2)), Some(6));
    }

    #[test]
    fn a_known_count_goes_on_behind_what_was_deleted() {
        let stream = facts(3, 5, Some(at(1, 0)), at(5, 0), at(2, 0));
        assert_eq!(stream.read_on(Some(3), at(3, 0), at(4, 0)), Some(4));
        assert_eq!(stream.lag(Some(3), at(3, 0)), Some(2));
        // Before it nobody knows, until the last one is reached.
        assert_eq!(stream.read_on(Some(1), at(1, 0), at(3, 0)), None);
        assert_eq!(stream.lag(Some(1), at(1, 0)), None);
        assert_eq!(stream.read_on(None, at(3, 0), at(5, 0)), Some(5));
    }

    #[test]
    fn a_stream_that_was_never_given_anything_tells_nothing() {
        let empty = facts(0, 0, None, at(0, 0), at(0, 0));
        assert_eq!((empty.lag(None, at(0, 0)), empty.lag(Some(7), at(9, 9))), (Some(0), Some(0)));
        let emptied = facts(0, 3, None, at(3, 0), at(3, 0));
        assert_eq!((emptied.lag(None, at(1, 0)), emptied.lag(None, at(4, 0))), (Some(0), None));
    }
}
