//! Holds of Redis consumers whose end has come: a claim may take what they hold.
//!
//! Lives here: finding the first of them and ending it for a claim. Not here: the pick among all that a claim
//! may take (`claim.rs`), and what the end of a hold means (`naven-core`).
//!
//! Nothing but a claim ends such a hold: until one comes, its consumer has it as before.

use std::ops::ControlFlow;

use naven_core::{LeaseTime, Now, State, Step, View};

use super::claim::{Origin, Pick};
use super::context::Context;
use super::moves::has_come;
use crate::embedded::rows::key::{self, Arrival, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Order, Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// The first hold that a claim may end, since when by the wall clock as it is now. A queue whose readers
    /// hold nothing costs no look.
    pub(super) fn first_lapsed(&self, no: QueueNo, progress: &Progress) -> Option<(i64, Arrival)> {
        let (end, arrival) = self.first_hold_end(no, progress)?;
        let since = self.now.wall_of(LeaseTime::from_ms(end));
        has_come(Table::HoldEnds, end, self.now).then_some((since.as_ms(), arrival))
    }

    /// How long until a claim may take what a Redis consumer holds, in ms.
    pub(super) fn lapses_in_ms(&self, no: QueueNo, progress: &Progress) -> Option<i64> {
        let (end, _) = self.first_hold_end(no, progress)?;
        Some(end.saturating_sub(self.now.lease.as_ms()).max(0))
    }

    fn first_hold_end(&self, no: QueueNo, progress: &Progress) -> Option<(i64, Arrival)> {
        if progress.counts.of(View::Held) == 0 { None } else { self.first(Table::HoldEnds, no.0) }
    }

    /// Ends the hold of what was picked, if a Redis consumer has it. None where it cannot be claimed then: its
    /// attempts are used up, it was called off, or there is no content any more.
    pub(super) fn lapse(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        pick: Pick,
        progress: &mut Progress,
    ) -> Option<Pick> {
        let Origin::Lapsed(before) = pick.from else { return Some(pick) };
        let Pick { placed, arrival, row, .. } = pick;
        if row.body.is_none() && !row.damaged {
            self.forget_contentless((no, queue), (placed.n, arrival), &row, &before, progress);
            return None;
        }
        let after = before.apply(&Step::Expire, self.now, &queue.policy(&row)).expect("its end has come");
        self.save(no, (placed.n, arrival), Some(&before), &after, progress);
        self.tell(queue, (arrival, &row), Some(&before), &after);
        if after.state == State::Cancelled {
            self.let_go(no, queue, arrival, &row, progress);
        }
        let is_free = after.state == State::Ready;
        is_free.then(|| Pick { placed, arrival, row, from: Origin::Again(Box::new(after)) })
    }
}

/// True while the end of a hold is ahead, for which the lease clock has to go on.
pub(crate) fn has_ends<T: Tables>(tables: &T, now: Now) -> bool {
    let first = |table, from: &[u8]| {
        let mut found = None;
        tables.scan(table, from, &[0xff; 20], Order::Rising, &mut |key, _| {
            let owner = u32::from_be_bytes(key[..4].try_into().expect("timed keys have 20 bytes"));
            found = Some((owner, key::time_of(key).0));
            ControlFlow::Break(())
        });
        found
    };
    // A lease whose end has come waits for tending alone.
    if first(Table::Ends, &[]).is_some() {
        return true;
    }
    // A Redis consumer may go on having what it holds when the end has come.
    let mut from = [0; 20];
    while let Some((queue, end)) = first(Table::HoldEnds, &from) {
        if !has_come(Table::HoldEnds, end, now) {
            return true;
        }
        from = key::at_lease(queue, now.lease.plus_ms(1), Arrival(0));
    }
    false
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use naven_api::Timestamp;

    use super::*;
    use crate::embedded::tables::RamTables;

    #[test]
    fn the_lease_clock_has_to_go_on_while_an_end_is_ahead() {
        let now = Now { wall: Timestamp::from_ms(9), lease: LeaseTime::from_ms(5_000) };
        let at = |queue, ms| key::at_lease(queue, LeaseTime::from_ms(ms), Arrival(u64::MAX));
        let mut tables = RamTables::default();
        assert!(!has_ends(&tables, now));
        for (queue, ms) in [(3, -7), (3, 5_000), (4, 4_999)] {
            tables.put(Table::HoldEnds, &at(queue, ms), Bytes::new());
            assert!(!has_ends(&tables, now), "{queue} {ms}");
        }
        for (table, queue, ms) in
            [(Table::HoldEnds, 3, 5_001), (Table::HoldEnds, 9, 5_001), (Table::Ends, 1, 4_000)]
        {
            tables.put(table, &at(queue, ms), Bytes::new());
            assert!(has_ends(&tables, now), "{table:?} {queue}");
            tables.delete(table, &at(queue, ms));
        }
    }
}
