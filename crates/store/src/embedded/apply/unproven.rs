//! What readers of a stream say of pending entries, without proof of a hold.
//!
//! Lives here: `XACK`, `XNACK` and the look for an entry by its place. Not here: what each means for a
//! delivery (`naven-core`), reading (`reader.rs`).

use naven_core::{Delivery, GivenUp, Step};

use super::context::Context;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};
use crate::reply::{Fate, OpError, OpReply};
use crate::txn::{AckEntries, NackEntries, Place};

/// A delivery that is not dead, and its event.
struct Pending {
    n: EntryNo,
    arrival: Arrival,
    row: BodyRow,
    delivery: Delivery,
}

impl<T: Tables> Context<'_, T> {
    /// Finishes what a Redis consumer holds, or nobody. What lies above the cursor is handed out again.
    pub(super) fn ack_entries(&mut self, ack: &AckEntries) -> Result<OpReply, OpError> {
        let (no, mut queue) = self.open_queue(&ack.queue)?;
        let (mut fates, mut is_new_round) = (Vec::with_capacity(ack.places.len()), false);
        for &place in &ack.places {
            let is_done = self.ack_one((no, &queue), place, &mut is_new_round);
            fates.push(if is_done { Fate::Done } else { Fate::Missing });
        }
        if is_new_round {
            queue.round = queue.round.saturating_add(1);
            queue.fence = self.progress(no).fence;
            self.put_queue(no, &queue);
            self.hint(queue.id);
        }
        if let Some(references) = ack.delete {
            let acked = ack.places.iter().zip(&mut fates).filter(|(_, fate)| **fate == Fate::Done);
            let acked: Vec<_> = acked.collect();
            self.delete_acked(queue.stream, acked, references);
        }
        Ok(OpReply::Fates(fates))
    }

    fn ack_one(&mut self, (no, queue): (QueueNo, &QueueRow), place: Place, is_new_round: &mut bool) -> bool {
        let Some(Pending { n, arrival, row, delivery: before }) = self.pending_at(no, queue.stream, place)
        else {
            return false;
        };
        let Ok(done) = before.apply(&Step::AckUnfenced, self.now, &queue.policy(&row)) else { return false };
        let mut progress = self.progress(no);
        if self.is_ahead(no, n) {
            self.forget(no, (n, arrival), &before, &mut progress);
            self.put_back(no, n, &mut progress);
            self.tell(queue, (arrival, &row), Some(&before), &done);
            *is_new_round = true;
        } else {
            self.keep((no, queue), (n, arrival), &row, (&before, &done), &mut progress);
        }
        self.put_progress(no, &progress);
        true
    }

    /// Gives up what a Redis consumer holds, or nobody. What has no content any more is forgotten.
    pub(super) fn nack_entries(&mut self, nack: &NackEntries, draw: u32) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(&nack.queue)?;
        let step = Step::GiveUp(GivenUp {
            how: nack.how,
            delay_ms: nack.delay_ms,
            error: nack.error.clone(),
            redis_count: nack.redis_count,
            draw,
        });
        let mut fates = Vec::with_capacity(nack.places.len());
        for &place in &nack.places {
            let is_done = self.nack_one((no, &queue), place, &step);
            fates.push(if is_done { Fate::Done } else { Fate::Missing });
        }
        Ok(OpReply::Fates(fates))
    }

    fn nack_one(&mut self, (no, queue): (QueueNo, &QueueRow), place: Place, step: &Step) -> bool {
        let Some(Pending { n, arrival, row, delivery: before }) = self.pending_at(no, queue.stream, place)
        else {
            return false;
        };
        let Ok(after) = before.apply(step, self.now, &queue.policy(&row)) else { return false };
        let mut progress = self.progress(no);
        if row.body.is_none() && !row.damaged {
            self.forget_contentless((no, queue), (n, arrival), &row, &before, &mut progress);
        } else {
            self.keep((no, queue), (n, arrival), &row, (&before, &after), &mut progress);
        }
        self.put_progress(no, &progress);
        true
    }

    /// The pending delivery of the entry at this place.
    fn pending_at(&self, no: QueueNo, stream: StreamNo, place: Place) -> Option<Pending> {
        let n = self.pending_number(no, stream, place)?;
        let (arrival, delivery) = self.delivery(no, n)?;
        if delivery.is_over() {
            return None;
        }
        let row = self.pointed_body(stream, arrival);
        Some(Pending { n, arrival, row, delivery })
    }

    /// The number of the entry at this place, where the queue has a delivery of it.
    pub(super) fn pending_number(&self, no: QueueNo, stream: StreamNo, place: Place) -> Option<EntryNo> {
        let entry = self.first_from(stream, self.head(stream).entry, place);
        if let Some((n, _)) = entry.filter(|(_, entry)| entry.place == place) {
            return Some(n);
        }
        let (n, _) = self.next_row(Table::Delivery, no.0, self.pending_from(no, stream, place).0)?;
        let (_, row) = self.delivery(no, n).map(|(arrival, _)| (n, self.pointed_body(stream, arrival)))?;
        (row.placed?.place == place).then_some(n)
    }

    /// The first number whose delivery is at or behind a place: numbers rise with places.
    pub(super) fn pending_from(&self, no: QueueNo, stream: StreamNo, place: Place) -> EntryNo {
        let (mut low, mut high) = (1, self.head(stream).entry + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.next_row(Table::Delivery, no.0, middle).filter(|(n, _)| n.0 < high);
            let own = found.and_then(|(n, _)| {
                let (arrival, _) = self.delivery(no, n)?;
                Some((n, self.pointed_body(stream, arrival).placed?.place))
            });
            match own {
                Some((n, own)) if own < place => low = n.0 + 1,
                Some(_) | None => high = middle,
            }
        }
        EntryNo(low)
    }

    /// A delivery whose entry is deleted ends: there is nothing to hand out again.
    pub(super) fn forget_contentless(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        (n, arrival): (EntryNo, Arrival),
        row: &BodyRow,
        before: &Delivery,
        progress: &mut crate::embedded::rows::queue::Progress,
    ) {
        self.forget(no, (n, arrival), before, progress);
        self.let_go(no, queue, arrival, row, progress);
    }
}
