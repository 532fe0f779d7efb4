//! Events past their `expiresAt`: nobody gets them any more.
//!
//! Lives here: making that prompt. Not here: claims, which are right without it (`claim.rs`), and what
//! an end of a hold makes of an event that is past it (`naven-core`).

use bytes::Bytes;
use naven_core::{DeadReason, State, Step};

use super::context::Context;
use super::dealing::Dealing;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// Ends the deliveries of expired events that nobody holds, for at most `most` events.
    pub(super) fn tend_expired(&mut self, most: u64) -> u64 {
        let mut gone = 0;
        for stream in self.owners_due(Table::Expire).into_iter().map(StreamNo) {
            if self.stream(stream).closed.is_some() {
                continue;
            }
            while gone < most
                && let Some((at, arrival)) = self.first(Table::Expire, stream.0)
                && at <= self.now.wall.as_ms()
            {
                let Some(row) = self.body(stream, arrival) else {
                    self.tables.delete(Table::Expire, &key::timed(stream.0, at, arrival));
                    continue;
                };
                // It is due, yet more was due at once than could be placed: its turn comes.
                let Some(n) = row.placed.map(|placed| placed.n) else { break };
                self.tables.delete(Table::Expire, &key::timed(stream.0, at, arrival));
                let readers = row.only.map_or_else(|| self.open_members(stream), |only| vec![only]);
                for no in readers {
                    self.expire_in(no, (n, arrival), &row);
                }
                gone += 1;
            }
        }
        gone
    }

    fn expire_in(&mut self, no: QueueNo, (n, arrival): (EntryNo, Arrival), row: &BodyRow) {
        let Some(queue) = self.queue(no).filter(|queue| queue.closed.is_none()) else { return };
        let mut progress = self.progress(no);
        let before = match self.dealing(no, &queue, arrival, row) {
            Some(Dealing::Unread) => {
                self.set_aside(no, &queue, n, &mut progress);
                None
            }
            Some(Dealing::InLane) => {
                self.tables.delete(Table::Lane, &key::counted(no.0, n.0));
                progress.lane_ready -= 1;
                None
            }
            Some(Dealing::Live(live)) if matches!(live.state, State::Ready | State::Retrying) => Some(live),
            Some(Dealing::Live(_) | Dealing::Over(_) | Dealing::Waiting) | None => return,
        };
        let step = Step::Bury(DeadReason::EventExpired);
        let fresh = queue.fresh(row);
        let after = before.as_ref().unwrap_or(&fresh).apply(&step, self.now, &queue.policy(row));
        let after = after.expect("what nobody holds can be given up");
        self.save(no, (n, arrival), before.as_ref(), &after, &mut progress);
        self.tell(&queue, (arrival, row), before.as_ref(), &after);
        self.put_progress(no, &progress);
        self.hint(queue.id);
    }

    /// Takes an entry above the cursor out of what the queue has still to read.
    pub(super) fn set_aside(&mut self, no: QueueNo, queue: &QueueRow, n: EntryNo, progress: &mut Progress) {
        progress.read += 1;
        if self.next_entry(queue.stream, progress.cursor + 1).is_some_and(|(next, _)| next == n) {
            progress.cursor = n.0;
        } else {
            self.tables.put(Table::Aside, &key::counted(no.0, n.0), Bytes::new());
            progress.aside += 1;
        }
    }
}
