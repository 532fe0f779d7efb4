//! What is kept for a while and then forgotten: dead letters and outcomes.
//!
//! Lives here: the end of their time, in queues that are open. Not here: what a deleted queue left
//! (`purge.rs`).

use bytes::Bytes;
use naven_api::Timestamp;
use naven_api::limits::OUTCOME_SECONDS_MIN;
use naven_core::Delivery;
use naven_core::planted::{Bug, has};

use super::context::Context;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// Gives up dead letters that were kept long enough. What is needed to judge a late call stays.
    pub(super) fn tend_dead(&mut self, most: u64) -> u64 {
        self.forget_old(Table::Dead, most, (0, QueueRow::keep_dead_ms), Self::give_up)
    }

    /// Forgets outcomes that were kept long enough.
    pub(super) fn tend_outcomes(&mut self, most: u64) -> u64 {
        if has(Bug::TombstoneEarly) {
            return self.forget_old(Table::Over, most, (0, |_| 0), Self::forget_over);
        }
        let least_ms = i64::from(OUTCOME_SECONDS_MIN) * 1_000;
        self.forget_old(Table::Over, most, (least_ms, QueueRow::remember_ms), Self::forget_over)
    }

    fn forget_old(
        &mut self,
        table: Table,
        most: u64,
        (least_ms, keep_ms): (i64, fn(&QueueRow) -> i64),
        forget: fn(&mut Self, (QueueNo, &QueueRow), Arrival),
    ) -> u64 {
        let mut gone = 0;
        for (owner, first) in self.owners(table) {
            // No queue forgets sooner: the rows of most need not be looked at.
            if Timestamp::from_ms(first).plus_ms(least_ms) > self.now.wall {
                continue;
            }
            let no = QueueNo(owner);
            let Some(queue) = self.queue(no).filter(|queue| queue.closed.is_none()) else { continue };
            let oldest_kept = self.now.wall.plus_ms(-keep_ms(&queue));
            while gone < most
                && let Some((over, arrival)) = self.first(table, owner)
                && Timestamp::from_ms(over) <= oldest_kept
            {
                forget(self, (no, &queue), arrival);
                gone += 1;
            }
        }
        gone
    }

    fn give_up(&mut self, (no, queue): (QueueNo, &QueueRow), arrival: Arrival) {
        let (n, dead) = self.indexed(Table::Delivery, (no, queue), arrival);
        let mut progress = self.progress(no);
        self.forget(no, (n, arrival), &dead, &mut progress);
        self.put_progress(no, &progress);
        let over = dead.over_at.unwrap_or_default();
        if over.plus_ms(queue.remember_ms()) > self.now.wall {
            let row = delivery::encode(arrival, &dead);
            self.tables.put(Table::Outcome, &key::counted(no.0, n.0), row);
            self.tables.put(Table::Over, &key::at_wall(no.0, over, arrival), Bytes::new());
        }
        self.release(queue.stream, arrival);
    }

    fn forget_over(&mut self, (no, queue): (QueueNo, &QueueRow), arrival: Arrival) {
        let (n, outcome) = self.indexed(Table::Outcome, (no, queue), arrival);
        let mut progress = self.progress(no);
        self.forget_outcome(no, (n, arrival), &outcome, &mut progress);
        self.put_progress(no, &progress);
        self.release(queue.stream, arrival);
    }

    fn indexed(
        &self,
        table: Table,
        (no, queue): (QueueNo, &QueueRow),
        arrival: Arrival,
    ) -> (EntryNo, Delivery) {
        let row = self.pointed_body(queue.stream, arrival);
        let n = row.placed.expect("an indexed delivery has a place").n;
        let found = if table == Table::Delivery { self.delivery(no, n) } else { self.outcome(no, n) };
        let missing = || self.tables.miss(table, &key::counted(no.0, n.0));
        (n, found.unwrap_or_else(missing).1)
    }
}
