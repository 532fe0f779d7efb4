//! Sending a queue to another place of its stream, as readers of the stream do.
//!
//! Lives here: what comes to lie above the cursor again, and what is passed. Not here: a reset, which lets
//! go of what is pending (`reset.rs`), finding the place (`start.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;

use super::context::{Context, READABLE};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply};
use crate::txn::GroupStart;

/// The mark of an entry to which a reader of new entries is to come again, though it is pending.
const MARK: &[u8] = &[1];

impl<T: Tables> Context<'_, T> {
    /// The queue goes on behind `start`. What is pending stays so, in its round and with its proof; what is
    /// done or dead behind it is handed out again, in a new round of the queue. What was dealt with before it was
    /// ever handed out, and lies behind the first entry that was not, stays as it is.
    ///
    /// It visits every delivery and outcome that comes to lie above the cursor.
    pub(super) fn set_place(
        &mut self,
        queue: &QueueRef,
        start: GroupStart,
        entries_read: Option<u64>,
    ) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        self.place_due(row.stream, PLACES_PER_OP_MAX as u64);
        let mut progress = self.progress(no);
        self.pass_aside(no, row.stream, &mut progress);
        let start = self.group_start(row.stream, start);
        let passed = progress.cursor;
        if self.next_entry(row.stream, start.first).is_some_and(|(n, _)| n.0 <= passed) {
            self.meet_again(no, &row, (start.first, passed), &mut progress);
            row.round = row.round.saturating_add(1);
            row.fence = progress.fence;
        } else {
            self.pass_up_to(no, start.first, &mut progress);
        }
        progress.cursor = start.first - 1;
        progress.read = start.read + progress.aside;
        (progress.last, progress.entries_read) = (start.last, entries_read);
        self.put_progress(no, &progress);
        self.go_ahead(row.stream, start.last);
        let reply = self.changed(no, &row);
        self.release_passed(&row, (passed, start.first));
        Ok(reply)
    }

    /// What is dealt with between these numbers comes to lie above the cursor. It has nothing aside yet.
    fn meet_again(
        &mut self,
        no: QueueNo,
        queue: &QueueRow,
        (first, last): (u64, u64),
        progress: &mut Progress,
    ) {
        for (n, bytes) in self.rows_from(Table::Delivery, no, first) {
            if n.0 > last || !self.has(Table::Entry, queue.stream.0, n) {
                continue;
            }
            let (arrival, before) = delivery::decode(bytes).expect(READABLE);
            if before.is_over() {
                self.forget(no, (n, arrival), &before, progress);
            } else {
                self.put_ahead(no, n, progress);
            }
        }
        for (n, bytes) in self.rows_from(Table::Outcome, no, first) {
            if n.0 <= last && self.has(Table::Entry, queue.stream.0, n) {
                let (arrival, outcome) = delivery::decode(bytes).expect(READABLE);
                self.forget_outcome(no, (n, arrival), &outcome, progress);
            }
        }
    }

    /// Entries below this number are passed: nobody comes to those that were set aside.
    fn pass_up_to(&mut self, no: QueueNo, first: u64, progress: &mut Progress) {
        while progress.aside > 0
            && let Some((n, _)) = self.next_row(Table::Aside, no.0, 0)
            && n.0 < first
        {
            self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
            progress.aside -= 1;
        }
    }

    /// Marks a pending entry above the cursor, which has nothing aside yet: a reader of new entries comes to
    /// it again. The caller counts it read.
    pub(super) fn put_ahead(&mut self, no: QueueNo, n: EntryNo, progress: &mut Progress) {
        self.tables.put(Table::Aside, &key::counted(no.0, n.0), Bytes::from_static(MARK));
        progress.aside += 1;
    }

    /// Takes that mark away: what was dealt with once is passed, whatever becomes of it now.
    pub(super) fn pass_over(&mut self, no: QueueNo, n: EntryNo) {
        if self.is_ahead(no, n) {
            self.tables.put(Table::Aside, &key::counted(no.0, n.0), Bytes::new());
        }
    }

    /// An entry that was aside is unread again. Its delivery is forgotten by the caller, who begins a new round
    /// of the queue, so that no fence is given twice.
    pub(super) fn put_back(&mut self, no: QueueNo, n: EntryNo, progress: &mut Progress) {
        self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
        progress.aside -= 1;
        progress.read -= 1;
    }

    /// True where a reader of new entries comes to this one again, though it is pending.
    pub(super) fn is_ahead(&self, no: QueueNo, n: EntryNo) -> bool {
        self.tables.get(Table::Aside, &key::counted(no.0, n.0)).is_some_and(|mark| !mark.is_empty())
    }
}
