//! Closing queues.
//!
//! Lives here: the deletion of a queue and, with its last queue, of its stream. No event is
//! rewritten: what a closed queue had not finished reads as dead from its closing on (`view.rs`).
//! Not here: listing those dead letters (`read.rs`).

use super::context::Context;
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};

impl<T: Tables> Context<'_, T> {
    pub(super) fn delete_queue(&mut self, queue: &QueueRef, force: bool) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        if !force && self.progress(no).counts.unfinished() > 0 {
            return Err(Refused::NotEmpty.into());
        }
        row.closed = Some(self.now.wall);
        row.updated_at = self.now.wall;
        self.put_queue(no, &row);
        self.tables.delete(Table::Name, row.name.as_bytes());
        let mut stream = self.stream(row.stream);
        let others = self.members(row.stream).into_iter().filter(|&member| member != no);
        let last =
            !others.into_iter().any(|member| self.queue(member).is_some_and(|row| row.closed.is_none()));
        if last {
            stream.closed = Some(self.now.wall);
            self.put_stream(row.stream, &stream);
        }
        self.hints.push(row.id);
        Ok(OpReply::Done)
    }
}
