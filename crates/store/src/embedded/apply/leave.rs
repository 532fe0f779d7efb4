//! How entries leave a stream, and what is left of an event that nobody needs.
//!
//! Lives here: the release of what every queue is done with, trimming and the deletion of entries.
//! Not here: who needs what (`dealing.rs`), and what time takes away (`retain.rs`).

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
        let Some(row) = self.body(stream, arrival) else { return };
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
        }
        self.drop_content(stream, arrival, row, n);
    }

    /// Removes the content of an event that nobody needs, and all of it where nobody remembers it.
    pub(super) fn drop_content(&mut self, stream: StreamNo, arrival: Arrival, mut row: BodyRow, n: EntryNo) {
        let members = row.only.map_or_else(|| self.members(stream), |only| vec![only]);
        let (mut remembered, mut kept) = (false, false);
        for no in members {
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
