//! What is left of an event that nobody needs.
//!
//! Lives here: the release of what every queue is done with, and the end of content. Not here: who needs what
//! (`dealing.rs`), trims and deletions (`trim.rs`), and what time takes away (`retain.rs`).

use naven_core::State;

use super::context::Context;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::tables::{Table, Tables};
use crate::queue::Retention;

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
        if self.is_pinned(stream, n, (in_stream, in_stream || row.only.is_some())) {
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

    /// Removes the content of an event that nobody needs, and all of it where nobody remembers it.
    pub(super) fn drop_content(&mut self, stream: StreamNo, arrival: Arrival, mut row: BodyRow, n: EntryNo) {
        let members = row.only.map_or_else(|| self.members(stream), |only| vec![only]);
        let (mut remembered, mut kept) = (false, false);
        for no in members {
            let Some((_, outcome)) = self.outcome(no, n) else {
                // What a consumer holds says where its entry was.
                remembered |= self.has(Table::Delivery, no.0, n);
                continue;
            };
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
