//! Closing queues and streams.
//!
//! Lives here: their deletion. No event is rewritten: what a closed queue had not finished reads as
//! dead from its closing on (`view.rs`). Not here: listing those dead letters (`read.rs`), and their
//! removal when their time is over (`purge.rs`).

use bytes::Bytes;
use naven_core::DeadReason;

use super::context::Context;
use crate::embedded::rows::key::{self, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Closed, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::{QueueRef, Retention};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::StreamRef;

impl<T: Tables> Context<'_, T> {
    /// Closes a queue, and a stream of consumed events with its last one. A stream that is trimmed
    /// stays: it was made to be read by whoever comes.
    pub(super) fn delete_queue(
        &mut self,
        queue: &QueueRef,
        force: bool,
        reason: DeadReason,
        revision: Option<u64>,
    ) -> Result<OpReply, OpError> {
        let (no, row) = self.open_queue(queue)?;
        row.check(revision)?;
        if !force && self.counts(no, &row).unfinished() > 0 {
            return Err(Refused::NotEmpty.into());
        }
        let mut stream = self.stream(row.stream);
        stream.queues -= 1;
        if stream.queues == 0 && stream.settings.retention == Retention::Consumed {
            stream.closed = Some(self.now.wall);
            self.tables.delete(Table::Name, &key::stream_name(&stream.name));
        }
        let no_of_stream = row.stream;
        self.close_queue(no, row, reason);
        self.put_stream(no_of_stream, &stream);
        Ok(OpReply::Done)
    }

    /// Closes a stream and all its queues.
    pub(super) fn delete_stream(&mut self, stream: &StreamRef, force: bool) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_stream(stream)?;
        let queues: Vec<_> =
            self.open_members(no).into_iter().filter_map(|queue| Some((queue, self.queue(queue)?))).collect();
        let is_empty = |(no, queue): &(QueueNo, QueueRow)| self.counts(*no, queue).unfinished() == 0;
        if !force && !queues.iter().all(is_empty) {
            return Err(Refused::NotEmpty.into());
        }
        for (queue, queue_row) in queues {
            self.close_queue(queue, queue_row, DeadReason::StreamDeleted);
        }
        (row.closed, row.queues) = (Some(self.now.wall), 0);
        self.put_stream(no, &row);
        self.tables.delete(Table::Name, &key::stream_name(&row.name));
        if self.members(no).is_empty() {
            self.remove_stream_soon(no);
        }
        Ok(OpReply::Done)
    }

    fn close_queue(&mut self, no: QueueNo, mut row: QueueRow, reason: DeadReason) {
        let head = self.head(row.stream);
        let at = self.now.wall;
        row.closed = Some(Closed { at, reason, upto: head.entry, arrivals: head.arrival });
        row.updated_at = at;
        self.put_queue(no, &row);
        self.tables.delete(Table::Name, &key::queue_name(&row.name));
        self.tables.put(Table::Member, &key::member(row.stream, no), Bytes::new());
        self.readers_changed(row.stream);
        self.tables.put(
            Table::Closing,
            &key::closing_queue(at.plus_ms(row.keep_closed_ms()), no),
            Bytes::new(),
        );
        self.hint(row.id);
    }

    /// A closed stream has no queue any more: the next tending may remove it.
    pub(super) fn remove_stream_soon(&mut self, no: StreamNo) {
        self.tables.put(Table::Closing, &key::closing_stream(no), Bytes::new());
    }
}
