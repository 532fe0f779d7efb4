//! What becomes due by itself: retries, lease ends, scheduled events.
//!
//! Lives here: the moves that a claim makes first and that tending makes prompt. Not here: taking
//! events (`claim.rs`); nothing here waits for a timer to be right.

use naven_api::limits::CLAIM_EXPIRES_MAX;
use naven_core::{LeaseTime, Now, Step};

use super::context::Context;
use crate::embedded::rows::key::{self, Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Order, Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// Makes ready what is due again and takes back what is overdue, each in bounded number.
    /// Answers how many rows moved.
    pub(super) fn move_due(
        &mut self,
        no: QueueNo,
        queue: &QueueRow,
        progress: &mut Progress,
        most: u64,
    ) -> u64 {
        let bound = most.min(CLAIM_EXPIRES_MAX as u64);
        let due = self.move_while(Table::Retry, no, queue, progress, bound, &Step::FallDue);
        let bound = (most - due).min(CLAIM_EXPIRES_MAX as u64);
        due + self.move_while(Table::Ends, no, queue, progress, bound, &Step::Expire)
    }

    /// Applies `step` to the first rows of a table for as long as their instant has come.
    fn move_while(
        &mut self,
        table: Table,
        no: QueueNo,
        queue: &QueueRow,
        progress: &mut Progress,
        most: u64,
        step: &Step,
    ) -> u64 {
        let mut moved = 0;
        while moved < most {
            let Some((instant, arrival)) = self.first(table, no.0) else { break };
            if !has_come(table, instant, self.now) {
                break;
            }
            let row = self.body(queue.stream, arrival).expect("an indexed delivery has an event");
            let n = row.entry.expect("an indexed delivery has an entry");
            let before = self.delivery(no, n).expect("an indexed delivery has a row");
            let policy = Self::policy(queue, &row);
            let after = before.apply(step, self.now, &policy).expect("the index holds only what is due");
            self.save(no, (n, arrival), Some(&before), &after, progress);
            moved += 1;
        }
        moved
    }

    /// Does what is due in every open queue and stream. Answers how many rows moved and whether
    /// more wait.
    pub(super) fn tend(&mut self, most: u64) -> (u64, bool) {
        let mut moved = 0;
        for no in self.queues_with_due_rows() {
            let Some(queue) = self.queue(no).filter(|queue| queue.closed.is_none()) else { continue };
            moved += self.place_due(queue.stream, most - moved);
            let mut progress = self.progress(no);
            let here = self.move_due(no, &queue, &mut progress, most - moved);
            if here > 0 {
                self.put_progress(no, &progress);
                self.hints.push(queue.id);
            }
            moved += here;
            if moved >= most {
                return (moved, true);
            }
        }
        (moved, false)
    }

    /// The open queues for which anything is due, in the order of their numbers. One step for each
    /// queue that has such rows at all; a queue without any costs nothing.
    fn queues_with_due_rows(&self) -> Vec<QueueNo> {
        let mut queues = Vec::new();
        for stream in self.owners_due(Table::Waiting) {
            queues.extend(self.members(StreamNo(stream)));
        }
        for table in [Table::Retry, Table::Ends] {
            queues.extend(self.owners_due(table).into_iter().map(QueueNo));
        }
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// The numbers that own a row of `table` whose instant has come.
    fn owners_due(&self, table: Table) -> Vec<u32> {
        let mut owners = Vec::new();
        let mut from = key::number(0);
        loop {
            let mut first = None;
            self.tables.scan(table, &from, &[0xff; 20], Order::Rising, &mut |key, _| {
                let owner = u32::from_be_bytes(key[..4].try_into().expect("timed keys have 20 bytes"));
                first = Some((owner, key::time_of(key).0));
                std::ops::ControlFlow::Break(())
            });
            let Some((owner, instant)) = first else { return owners };
            if has_come(table, instant, self.now) {
                owners.push(owner);
            }
            from = key::past_number(owner);
        }
    }

    /// How long until something may be claimable here that is not now, in ms.
    pub(super) fn due_in_ms(&self, no: QueueNo, stream: StreamNo) -> Option<i64> {
        let wall = |(instant, _): (i64, Arrival)| instant.saturating_sub(self.now.wall.as_ms());
        let lease = |(instant, _): (i64, Arrival)| instant.saturating_sub(self.now.lease.as_ms());
        let waits = [
            self.first(Table::Retry, no.0).map(wall),
            self.first(Table::Waiting, stream.0).map(wall),
            self.first(Table::Ends, no.0).map(lease),
        ];
        waits.into_iter().flatten().min().map(|ms| ms.max(0))
    }
}

/// True where a row under this instant is due: leases by their clock, all else by the wall's.
fn has_come(table: Table, instant: i64, now: Now) -> bool {
    match table {
        Table::Ends => LeaseTime::from_ms(instant) <= now.lease,
        _ => instant <= now.wall.as_ms(),
    }
}
