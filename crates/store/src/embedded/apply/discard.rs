//! Forgetting dead letters for good.
//!
//! Lives here: one dead letter's end by an operator. Not here: its end by time (`retain.rs`).

use bytes::Bytes;
use naven_api::EventId;
use naven_core::{Delivery, Refusal, Step};

use super::context::{Context, Found};
use super::dealing::Dealing;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};

impl<T: Tables> Context<'_, T> {
    pub(super) fn discard(&mut self, event: EventId, queue: &QueueRef) -> Result<OpReply, OpError> {
        let found = self.event(event)?;
        let (no, queue, dealing) = self.named_dealing(&found, Some(queue))?;
        let (Dealing::Live(before), None) = (dealing, queue.closed) else {
            return Err(Refused::WrongState.into());
        };
        let after = self.put_away(&found, (no, &queue), &before)?;
        self.tell(&queue, (found.arrival, &found.row), Some(&before), &after);
        Ok(OpReply::Done)
    }

    /// Forgets a dead letter. What judges a late call stays for its time, its content goes with the last
    /// queue that needs it.
    pub(super) fn put_away(
        &mut self,
        found: &Found,
        (no, queue): (QueueNo, &QueueRow),
        before: &Delivery,
    ) -> Result<Delivery, Refusal> {
        let after = before.apply(&Step::Discard, self.now, &queue.policy(&found.row))?;
        let n = found.row.placed.ok_or(Refusal::WrongState)?.n;
        let mut progress = self.progress(no);
        self.forget(no, (n, found.arrival), before, &mut progress);
        self.put_progress(no, &progress);
        self.remember(found, (no, n), &after);
        Ok(after)
    }

    /// Keeps what judges late calls on one that was put away, and lets its event go.
    pub(super) fn remember(&mut self, found: &Found, (no, n): (QueueNo, EntryNo), after: &Delivery) {
        let over = after.over_at.unwrap_or_default();
        let row = delivery::encode(found.arrival, after);
        self.tables.put(Table::Outcome, &key::counted(no.0, n.0), row);
        self.tables.put(Table::Over, &key::at_wall(no.0, over, found.arrival), Bytes::new());
        self.release_event(found.stream, found.arrival, found.row.clone());
    }
}
