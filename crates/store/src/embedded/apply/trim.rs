//! Entries that leave their stream: trimmed, or deleted one by one.
//!
//! Lives here: which go, and what becomes of queues' dealing with them. Not here: what is left of an event that
//! nobody needs (`leave.rs`), who needs what (`dealing.rs`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::State;

use super::context::Context;
use crate::embedded::rows::key::{self, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{EntryRow, Head};
use crate::embedded::tables::{Table, Tables};
use crate::read::SCANS_MAX;
use crate::reply::{Fate, OpError, OpReply};
use crate::txn::{DeleteEntries, Keep, Place, References, Trim, Trimming};

/// Entries on their way out of a stream, and those who read it.
struct Leaving {
    head: Head,
    readers: Vec<(QueueNo, QueueRow, Progress)>,
    gone: u64,
}

impl<T: Tables> Context<'_, T> {
    /// Drops a stream's oldest entries. What queues still need of them lives on for those alone.
    pub(super) fn trim(&mut self, trim: &Trim) -> Result<OpReply, OpError> {
        let (stream, _) = self.open_stream(&trim.stream)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        Ok(OpReply::Removed(self.trim_stream(stream, trim.how)))
    }

    /// Drops a stream's oldest entries. Answers how many left. Those that have to stay are passed over, a
    /// bounded number of them.
    pub(super) fn trim_stream(&mut self, stream: StreamNo, how: Trimming) -> u64 {
        let mut leaving = self.leaving(stream);
        let (mut from, mut kept) = (0, 0);
        while kept < SCANS_MAX as u64 {
            let size = how.step.max(1).min(leaving.head.length.saturating_sub(kept));
            let goes = match how.keep {
                Keep::Newest(newest) => size > 0 && leaving.head.length - size >= newest,
                Keep::From(place) => size > 0 && self.are_before(stream, (from, size), place),
            };
            if !goes || leaving.gone.saturating_add(size) > how.limit.unwrap_or(u64::MAX) {
                break;
            }
            for _ in 0..size {
                // A mended store may hold fewer entries than its length says.
                let Some((n, entry)) = self.next_entry(stream, from) else {
                    return self.left(stream, leaving);
                };
                kept += u64::from(!self.let_leave(stream, (n, &entry), how.references, &mut leaving));
                from = n.0 + 1;
            }
        }
        self.left(stream, leaving)
    }

    /// True where so many entries from a number on are all before a place; there are so many.
    fn are_before(&self, stream: StreamNo, (from, size): (u64, u64), place: Place) -> bool {
        let mut from = from;
        let is_before = |at: u64| {
            let entry = self.next_entry(stream, at).filter(|(_, entry)| entry.place < place);
            entry.map(|(n, _)| n.0 + 1)
        };
        // Numbers rise by at least one, so that this one is none behind the last; it mostly tells at once.
        let Some((first, _)) = self.next_entry(stream, from) else { return false };
        if is_before(first.0 + (size - 1)).is_none() {
            return false;
        }
        (0..size).all(|_| {
            is_before(from).is_some_and(|next| {
                from = next;
                true
            })
        })
    }

    /// Drops single entries of a stream, those that are there.
    pub(super) fn delete_entries(&mut self, delete: &DeleteEntries) -> Result<OpReply, OpError> {
        let (stream, _) = self.open_stream(&delete.stream)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        let mut leaving = self.leaving(stream);
        let fates = delete.places.iter();
        let fates = fates.map(|&place| self.delete_one(stream, place, delete.references, &mut leaving));
        let fates = fates.collect();
        self.left(stream, leaving);
        Ok(OpReply::Fates(fates))
    }

    /// Drops entries that a reader finished. One that has to stay is told; one that is gone already is as
    /// good as dropped.
    pub(super) fn delete_acked(
        &mut self,
        stream: StreamNo,
        acked: Vec<(&Place, &mut Fate)>,
        references: References,
    ) {
        let mut leaving = self.leaving(stream);
        for (&place, fate) in acked {
            if self.delete_one(stream, place, references, &mut leaving) == Fate::Kept {
                *fate = Fate::Kept;
            }
        }
        self.left(stream, leaving);
    }

    fn delete_one(
        &mut self,
        stream: StreamNo,
        place: Place,
        references: References,
        leaving: &mut Leaving,
    ) -> Fate {
        let found = self.first_from(stream, leaving.head.entry, place);
        let Some((n, entry)) = found.filter(|(_, entry)| entry.place == place) else {
            if references == References::Drop {
                self.drop_dangling(stream, place, leaving);
            }
            return Fate::Missing;
        };
        if !self.let_leave(stream, (n, &entry), references, leaving) {
            return Fate::Kept;
        }
        leaving.head.max_deleted = leaving.head.max_deleted.max(place);
        Fate::Done
    }

    /// An entry leaves, unless a queue has still to do with it and that is to be heeded. True where it did.
    fn let_leave(
        &mut self,
        stream: StreamNo,
        (n, entry): (EntryNo, &EntryRow),
        references: References,
        leaving: &mut Leaving,
    ) -> bool {
        if references == References::Acked && self.is_awaited(n, leaving) {
            return false;
        }
        self.take_out(stream, n, leaving, entry);
        if references == References::Drop {
            self.drop_references(n, leaving);
        }
        if !self.is_pinned(stream, n, (false, false))
            && let Some(row) = self.body(stream, entry.arrival)
        {
            self.drop_content(stream, entry.arrival, row, n);
        }
        true
    }

    /// True where an open queue has not handed out this entry, or somebody has not finished it.
    fn is_awaited(&self, n: EntryNo, leaving: &Leaving) -> bool {
        leaving.readers.iter().filter(|(_, queue, _)| queue.closed.is_none()).any(|(no, _, progress)| {
            let is_unread = n.0 > progress.cursor && !self.has(Table::Aside, no.0, n);
            is_unread || self.delivery(*no, n).is_some_and(|(_, delivery)| !delivery.is_over())
        })
    }

    /// What Redis consumers hold of this entry, or nobody, is forgotten.
    fn drop_references(&mut self, n: EntryNo, leaving: &mut Leaving) -> bool {
        let mut is_dropped = false;
        for (no, _, progress) in leaving.readers.iter_mut().filter(|(_, queue, _)| queue.closed.is_none()) {
            let Some((arrival, before)) = self.delivery(*no, n) else { continue };
            if matches!(before.state, State::Held { .. } | State::Ready | State::Retrying) {
                self.forget(*no, (n, arrival), &before, progress);
                is_dropped = true;
            }
        }
        is_dropped
    }

    /// The same of one that is not among the stream's entries any more, or never was.
    fn drop_dangling(&mut self, stream: StreamNo, place: Place, leaving: &mut Leaving) {
        let found = leaving.readers.iter().find_map(|(no, queue, _)| {
            let n = self.pending_number(*no, stream, place).filter(|_| queue.closed.is_none())?;
            Some((n, self.delivery(*no, n)?.0))
        });
        let Some((n, arrival)) = found else { return };
        if self.drop_references(n, leaving) {
            // It needs no figures of a queue that are still to be saved: its entry is not there.
            self.release(stream, arrival);
        }
    }

    fn leaving(&self, stream: StreamNo) -> Leaving {
        let readers = self.members(stream).into_iter();
        let readers = readers.filter_map(|no| Some((no, self.queue(no)?, self.progress(no)))).collect();
        Leaving { head: self.head(stream), readers, gone: 0 }
    }

    /// Takes an entry out of its stream. A queue that has not read it and asked to have such kept,
    /// and one that is closed, finds it in its lane from now on; for others it is lost.
    fn take_out(&mut self, stream: StreamNo, n: EntryNo, leaving: &mut Leaving, entry: &EntryRow) {
        for (no, queue, progress) in &mut leaving.readers {
            if n.0 <= progress.cursor || queue.closed.is_some_and(|closed| n.0 > closed.upto) {
                continue;
            }
            if progress.aside > 0 && self.has(Table::Aside, no.0, n) {
                self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
                progress.aside -= 1;
                continue;
            }
            progress.read += 1;
            if queue.closed.is_some() || queue.settings.protect_unread {
                self.put_lane(*no, n, entry.arrival);
                progress.lane_ready += 1;
            } else {
                progress.trimmed_unread += 1;
            }
        }
        self.tables.delete(Table::Entry, &key::counted(stream.0, n.0));
        leaving.head.length = leaving.head.length.saturating_sub(1);
        leaving.head.version += 1;
        leaving.gone += 1;
    }

    /// Saves what the leaving changed. Answers how many entries left.
    fn left(&mut self, stream: StreamNo, leaving: Leaving) -> u64 {
        self.put_head(stream, &leaving.head);
        for (no, _, progress) in leaving.readers {
            if progress != self.progress(no) {
                self.put_progress(no, &progress);
            }
        }
        leaving.gone
    }
}
