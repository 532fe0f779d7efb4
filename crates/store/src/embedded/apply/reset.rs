//! Sending a queue back or forward in its stream.
//!
//! Lives here: reset. Not here: finding the new start (`start.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::{Delivery, State};

use super::context::{Context, READABLE};
use super::dealing::take_one;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::{QueueRef, Retention};
use crate::reply::{OpError, OpReply};
use crate::txn::From;

impl<T: Tables> Context<'_, T> {
    /// The queue goes on at `from`. What is in the stream from there on begins a new round, whatever
    /// became of it. What left the stream does not come back by itself: what of it is not done waits
    /// in the queue's lane, as if it had just come; what is done stays done.
    ///
    /// It visits every delivery and outcome behind the new start.
    pub(super) fn reset(&mut self, queue: &QueueRef, from: From) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        self.place_due(row.stream, PLACES_PER_OP_MAX as u64);
        let mut progress = self.progress(no);
        let start = self.start(row.stream, from);
        let passed = (progress.cursor, start.first);
        self.open_round(no, &row, start.first, &mut progress);
        self.forget_outcomes(no, &row, start.first, &mut progress);
        while let Some((n, _)) = self.next_row(Table::Aside, no.0, 0) {
            self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
        }
        (progress.cursor, progress.read, progress.aside) = (start.first - 1, start.read, 0);
        (progress.last, progress.entries_read) = (start.last, None);
        self.put_progress(no, &progress);
        row.round = row.round.saturating_add(1);
        row.fence = progress.fence;
        self.raise_version(row.stream);
        let reply = self.changed(no, &row);
        self.release_passed(&row, passed);
        Ok(reply)
    }

    fn open_round(&mut self, no: QueueNo, queue: &QueueRow, first: u64, progress: &mut Progress) {
        for (n, bytes) in self.rows_from(Table::Delivery, no, first) {
            let (arrival, before) = delivery::decode(bytes).expect(READABLE);
            self.forget(no, (n, arrival), &before, progress);
            if self.has(Table::Entry, queue.stream.0, n) {
                continue;
            }
            let row = self.pointed_body(queue.stream, arrival);
            if row.body.is_none() && !row.damaged {
                self.let_go(no, queue, arrival, &row, progress);
            } else {
                self.put_lane(no, n, arrival);
                progress.lane_ready += 1;
            }
        }
    }

    fn forget_outcomes(&mut self, no: QueueNo, queue: &QueueRow, first: u64, progress: &mut Progress) {
        for (n, bytes) in self.rows_from(Table::Outcome, no, first) {
            if self.has(Table::Entry, queue.stream.0, n) {
                let (arrival, outcome) = delivery::decode(bytes).expect(READABLE);
                self.forget_outcome(no, (n, arrival), &outcome, progress);
            }
        }
    }

    /// Removes an outcome, its index and its count.
    pub(super) fn forget_outcome(
        &mut self,
        no: QueueNo,
        (n, arrival): (EntryNo, Arrival),
        outcome: &Delivery,
        progress: &mut Progress,
    ) {
        let over = outcome.over_at.unwrap_or_default();
        self.tables.delete(Table::Over, &key::at_wall(no.0, over, arrival));
        self.tables.delete(Table::Outcome, &key::counted(no.0, n.0));
        // A dead one was taken off the count when the dead letter was given up.
        if !matches!(outcome.state, State::Dead(_)) {
            take_one(progress, outcome);
        }
    }

    /// Entries that the queue would have read, had it not been sent past them.
    pub(super) fn release_passed(&mut self, queue: &QueueRow, (cursor, first): (u64, u64)) {
        if self.stream(queue.stream).settings.retention == Retention::Trim {
            return;
        }
        let mut from = cursor + 1;
        while let Some((n, entry)) = self.next_entry(queue.stream, from)
            && n.0 < first
        {
            self.release(queue.stream, entry.arrival);
            from = n.0 + 1;
        }
    }

    pub(super) fn rows_from(&self, table: Table, no: QueueNo, first: u64) -> Vec<(EntryNo, Bytes)> {
        let mut rows = Vec::new();
        let (from, to) = (key::counted(no.0, first), key::past_number(no.0));
        self.tables.scan(table, &from, &to, Order::Rising, &mut |key, value| {
            rows.push((EntryNo(key::count_of(key)), value.clone()));
            std::ops::ControlFlow::Continue(())
        });
        rows
    }
}
