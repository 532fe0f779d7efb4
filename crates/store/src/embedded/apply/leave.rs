//! How entries leave a stream, and what is left of an event that nobody needs.
//!
//! Lives here: the release of what every queue is done with, trimming and the deletion of entries.
//! Not here: who needs what (`dealing.rs`), and what time takes away (`retain.rs`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::State;

use super::context::Context;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::Head;
use crate::embedded::tables::{Table, Tables};
use crate::queue::Retention;
use crate::reply::{OpError, OpReply};
use crate::txn::{DeleteEntries, Keep, Trim, Trimming};

/// Entries on their way out of a stream, and those who read it.
struct Leaving {
    head: Head,
    readers: Vec<(QueueNo, QueueRow, Progress)>,
    gone: u64,
}

impl<T: Tables> Context<'_, T> {
    /// A queue needs this event no more: where no other does, its entry leaves a stream of consumed
    /// events, and its content goes.
    pub(super) fn release(&mut self, stream: StreamNo, arrival: Arrival) {
        if let Some(row) = self.body(stream, arrival) {
            self.release_event(stream, arrival, row);
        }
    }

    /// The same for one whose row is at hand.
    pub(super) fn release_event(&mut self, stream: StreamNo, arrival: Arrival, row: BodyRow) {
        let Some(n) = row.placed.map(|placed| placed.n) else { return };
        let in_stream = row.only.is_none() && self.has(Table::Entry, stream.0, n);
        if in_stream && self.stream(stream).settings.retention == Retention::Trim {
            return;
        }
        if self.is_pinned(stream, n, in_stream) {
            return;
        }
        if in_stream {
            self.tables.delete(Table::Entry, &key::counted(stream.0, n.0));
            let mut head = self.head(stream);
            head.length -= 1;
            head.version += 1;
            self.put_head(stream, &head);
            for no in self.members(stream) {
                if self.has(Table::Aside, no.0, n) {
                    self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
                    self.change_progress(no, |progress| progress.aside -= 1);
                }
            }
        }
        self.drop_content(stream, arrival, row, n);
    }

    /// Drops a stream's oldest entries. What queues still need of them lives on for those alone.
    pub(super) fn trim(&mut self, trim: &Trim) -> Result<OpReply, OpError> {
        let (stream, _) = self.open_stream(&trim.stream)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        Ok(OpReply::Removed(self.trim_stream(stream, trim.how)))
    }

    /// Drops a stream's oldest entries. Answers how many left.
    pub(super) fn trim_stream(&mut self, stream: StreamNo, how: Trimming) -> u64 {
        let mut leaving = self.leaving(stream);
        let mut from = 0;
        while leaving.gone < how.limit.unwrap_or(u64::MAX)
            && let Some((n, entry)) = self.next_entry(stream, from)
        {
            let goes = match how.keep {
                Keep::Newest(newest) => leaving.head.length > newest,
                Keep::From(place) => entry.place < place,
            };
            if !goes {
                break;
            }
            self.trim_one(stream, (n, entry.arrival), &mut leaving);
            from = n.0 + 1;
        }
        self.left(stream, leaving)
    }

    /// Drops single entries of a stream, those that are there.
    pub(super) fn delete_entries(&mut self, delete: &DeleteEntries) -> Result<OpReply, OpError> {
        let (stream, _) = self.open_stream(&delete.stream)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        let mut leaving = self.leaving(stream);
        for &place in &delete.places {
            let found = self.first_from(stream, leaving.head.entry, place);
            if let Some((n, entry)) = found.filter(|(_, entry)| entry.place == place) {
                self.trim_one(stream, (n, entry.arrival), &mut leaving);
                leaving.head.max_deleted = leaving.head.max_deleted.max(place);
            }
        }
        Ok(OpReply::Removed(self.left(stream, leaving)))
    }

    fn trim_one(&mut self, stream: StreamNo, (n, arrival): (EntryNo, Arrival), leaving: &mut Leaving) {
        self.take_out(stream, (n, arrival), leaving);
        if !self.is_pinned(stream, n, false)
            && let Some(row) = self.body(stream, arrival)
        {
            self.drop_content(stream, arrival, row, n);
        }
    }

    fn leaving(&self, stream: StreamNo) -> Leaving {
        let readers = self.members(stream).into_iter();
        let readers = readers.filter_map(|no| Some((no, self.queue(no)?, self.progress(no)))).collect();
        Leaving { head: self.head(stream), readers, gone: 0 }
    }

    /// Takes an entry out of its stream. A queue that has not read it and asked to have such kept,
    /// and one that is closed, finds it in its lane from now on; for others it is lost.
    fn take_out(&mut self, stream: StreamNo, (n, arrival): (EntryNo, Arrival), leaving: &mut Leaving) {
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
                self.put_lane(*no, n, arrival);
                progress.lane_ready += 1;
            } else {
                progress.trimmed_unread += 1;
            }
        }
        self.tables.delete(Table::Entry, &key::counted(stream.0, n.0));
        leaving.head.length -= 1;
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

    /// Removes the content of an event that nobody needs, and all of it where nobody remembers it.
    pub(super) fn drop_content(&mut self, stream: StreamNo, arrival: Arrival, mut row: BodyRow, n: EntryNo) {
        let members = row.only.map_or_else(|| self.members(stream), |only| vec![only]);
        let (mut remembered, mut kept) = (false, false);
        for no in members {
            // Its place must be found for as long as it is pending.
            remembered |= self.has(Table::Delivery, no.0, n);
            let Some((_, outcome)) = self.outcome(no, n) else { continue };
            remembered = true;
            kept |= row.body.is_some() && outcome.state == State::Done && self.keeps_payload(no);
        }
        if !remembered {
            self.drop_body(stream, arrival, &row);
        } else if row.body.is_some() && !kept {
            row.body = None;
            self.put_body(stream, arrival, &row);
        }
    }

    /// Removes all that is left of an event.
    pub(super) fn drop_body(&mut self, stream: StreamNo, arrival: Arrival, row: &BodyRow) {
        self.tables.delete(Table::Body, &key::counted(stream.0, arrival.0));
        if let Some(at) = row.expiry() {
            self.tables.delete(Table::Expire, &key::at_wall(stream.0, at, arrival));
        }
    }

    fn keeps_payload(&self, no: QueueNo) -> bool {
        self.queue(no).is_some_and(|queue| queue.settings.keep_done_payload)
    }
}
