//! What becomes due by itself in one queue: retries and lease ends.
//!
//! Lives here: the moves that a claim makes first and that tending makes prompt. Not here: taking
//! events (`claim.rs`); nothing here waits for a timer to be right.

use naven_api::limits::CLAIM_EXPIRES_MAX;
use naven_core::{LeaseTime, Now, State, Step};

use super::context::Context;
use crate::embedded::rows::key::{Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::txn::Place;

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
            let row = self.pointed_body(queue.stream, arrival);
            let n = row.placed.expect("an indexed delivery has a place").n;
            let before = self.pointed_delivery(no, n);
            let after = before.apply(step, self.now, &queue.policy(&row));
            let after = after.expect("the index holds only what is due");
            self.save(no, (n, arrival), Some(&before), &after, progress);
            self.tell(queue, (arrival, &row), Some(&before), &after);
            if after.state == State::Cancelled {
                // The queue needs it no more. Its own figures may change on the way.
                self.put_progress(no, progress);
                self.release_event(queue.stream, arrival, row);
                *progress = self.progress(no);
            }
            moved += 1;
        }
        moved
    }

    /// How long until something may be claimable here that is not now, in ms. What waits for
    /// another queue of the stream counts too: a look too early does no harm.
    pub(super) fn due_in_ms(&self, no: QueueNo, stream: StreamNo) -> Option<i64> {
        let wall = |(instant, _): (i64, Arrival)| instant.saturating_sub(self.now.wall.as_ms());
        let lease = |(instant, _): (i64, Arrival)| instant.saturating_sub(self.now.lease.as_ms());
        // Where there is no place left, what is due gets none.
        let has_places = || self.head(stream).last != Place::LAST;
        let waits = [
            self.first(Table::Retry, no.0).map(wall),
            self.first(Table::Waiting, stream.0).map(wall).filter(|&ms| ms > 0 || has_places()),
            self.first(Table::Ends, no.0).map(lease),
        ];
        waits.into_iter().flatten().min().map(|ms| ms.max(0))
    }
}

/// True where a row under this instant is due: leases by their clock, all else by the wall's.
pub(super) fn has_come(table: Table, instant: i64, now: Now) -> bool {
    match table {
        Table::Ends | Table::HoldEnds => LeaseTime::from_ms(instant) <= now.lease,
        _ => instant <= now.wall.as_ms(),
    }
}
