//! Where a queue begins to read its stream.
//!
//! Lives here: finding the first entry, by search, as numbers rise with places. Not here: what a new
//! or reset queue is otherwise (`group.rs`, `reset.rs`).

use std::ops::ControlFlow;

use super::context::Context;
use crate::embedded::rows::key::{self, EntryNo, StreamNo};
use crate::embedded::rows::stream::EntryRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::txn::{From, GroupStart, Place};

/// Where a queue begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// The number of the first entry that it reads: all below counts as taken in.
    pub(super) first: u64,
    /// Entries ever added to the stream that it does not read.
    pub(super) read: u64,
    /// The place of the last entry before the first.
    pub(super) last: Place,
}

impl<T: Tables> Context<'_, T> {
    /// Where a queue of this stream begins that is to read from here on. Behind the last entry there
    /// is nothing to begin at yet: it begins with the next one, whatever its place.
    ///
    /// A start at an instant or a place counts the entries behind it, one by one.
    pub(super) fn start(&self, stream: StreamNo, from: From) -> Start {
        let head = self.head(stream);
        let first_of = |found: Option<(EntryNo, EntryRow)>| found.map_or(head.entry + 1, |(n, _)| n.0);
        match from {
            From::New => Start { first: head.entry + 1, read: head.added, last: head.last },
            From::Start => Start {
                first: first_of(self.next_entry(stream, 0)),
                read: head.added - head.length,
                last: Place::default(),
            },
            From::Time(at) => {
                let place = Place { ms: u64::try_from(at.as_ms()).unwrap_or(0), seq: 0 };
                let first = first_of(self.first_from(stream, head.entry, place));
                let last = self.last_entry_below(stream, first).unwrap_or_default();
                Start { first, read: head.added - self.count_from(stream, first), last }
            }
            From::After(place) => {
                let next = place.after().and_then(|next| self.first_from(stream, head.entry, next));
                let first = first_of(next);
                let read = head.added - self.count_from(stream, first);
                Start { first, read, last: place.min(head.last) }
            }
        }
    }

    /// Where a queue begins that counts as having handed out everything up to there.
    pub(super) fn group_start(&self, stream: StreamNo, start: GroupStart) -> Start {
        match start {
            GroupStart::Last => self.start(stream, From::New),
            GroupStart::At(place) => Start { last: place, ..self.start(stream, From::After(place)) },
        }
    }

    /// The first entry whose place is at or after `place`.
    pub(super) fn first_from(
        &self,
        stream: StreamNo,
        last: u64,
        place: Place,
    ) -> Option<(EntryNo, EntryRow)> {
        let (mut low, mut high) = (1, last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.next_entry(stream, middle) {
                Some((n, entry)) if entry.place < place => low = n.0 + 1,
                Some(_) | None => high = middle,
            }
        }
        self.next_entry(stream, low)
    }

    fn last_entry_below(&self, stream: StreamNo, n: u64) -> Option<Place> {
        let mut last = None;
        let (from, to) = (key::counted(stream.0, 0), key::counted(stream.0, n));
        self.tables.scan(Table::Entry, &from, &to, Order::Falling, &mut |_, value| {
            last = EntryRow::decode(value.clone()).map(|entry| entry.place);
            ControlFlow::Break(())
        });
        last
    }

    fn count_from(&self, stream: StreamNo, n: u64) -> u64 {
        if self.next_entry(stream, 0).is_none_or(|(first, _)| n <= first.0) {
            return self.head(stream).length;
        }
        let mut count = 0;
        let (from, to) = (key::counted(stream.0, n), key::past_number(stream.0));
        self.tables.scan(Table::Entry, &from, &to, Order::Rising, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }
}
