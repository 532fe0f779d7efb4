//! Cancelling one event in one queue.
//!
//! Lives here: finding how the queue stands to the event, and the row that remembers what nobody ever
//! held. Not here: what becomes of a delivery (`naven-core`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_api::{ErrorText, EventId};
use naven_core::Step;

use super::context::{Context, Found};
use super::dealing::Dealing;
use super::place::next_place;
use crate::embedded::rows::body::Placed;
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};

impl<T: Tables> Context<'_, T> {
    pub(super) fn cancel(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        reason: Option<&ErrorText>,
    ) -> Result<OpReply, OpError> {
        let mut found = self.event(event)?;
        let (no, queue, mut dealing) = self.named_dealing(&found, queue)?;
        if queue.closed.is_some() {
            return Err(Refused::WrongState.into());
        }
        // A refusal changes nothing, so nothing is placed for one that waits.
        if dealing == Dealing::Waiting && found.row.due <= self.now.wall {
            // Its time may have come without anybody noticing.
            self.place_due(found.stream, PLACES_PER_OP_MAX as u64);
            found = self.event(event)?;
            (_, _, dealing) = self.named_dealing(&found, Some(&QueueRef::Id(queue.id)))?;
        }
        let step = Step::Cancel { reason: reason.cloned() };
        match dealing {
            Dealing::Live(before) | Dealing::Over(before) => {
                self.change(&found, (no, &queue), &before, &step)?;
            }
            Dealing::Waiting | Dealing::Unread | Dealing::InLane => {
                self.cancel_unheld(found, (no, &queue), &dealing, &step)?;
            }
        }
        let Found { stream, arrival, row } = self.event(event)?;
        Ok(OpReply::Event(Box::new(self.event_view(stream, arrival, &row, false))))
    }

    /// What nobody ever held gets its first row: an outcome.
    pub(super) fn cancel_unheld(
        &mut self,
        mut found: Found,
        (no, queue): (QueueNo, &QueueRow),
        dealing: &Dealing,
        step: &Step,
    ) -> Result<(), OpError> {
        let waits = *dealing == Dealing::Waiting;
        if waits && self.dealings(found.stream, found.arrival, &found.row).len() > 1 {
            return Err(Refused::DueForAll.into());
        }
        let after = queue.fresh(&found.row).apply(step, self.now, &queue.policy(&found.row))?;
        let mut progress = self.progress(no);
        if waits {
            self.number_unseen(&mut found, no, &mut progress);
        }
        let n = found.row.placed.map(|placed| placed.n).ok_or(Refused::WrongState)?;
        self.take_unheld((no, queue), n, dealing, &mut progress);
        self.save(no, (n, found.arrival), None, &after, &mut progress);
        self.tell(queue, (found.arrival, &found.row), None, &after);
        self.put_progress(no, &progress);
        self.release_event(found.stream, found.arrival, found.row);
        Ok(())
    }

    /// Takes what nobody held yet out of what the queue has still to read: it gets a row of its own.
    pub(super) fn take_unheld(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        n: EntryNo,
        dealing: &Dealing,
        progress: &mut Progress,
    ) {
        match dealing {
            Dealing::Unread => self.set_aside(no, queue, n, progress),
            Dealing::InLane => {
                self.tables.delete(Table::Lane, &key::counted(no.0, n.0));
                progress.lane_ready -= 1;
            }
            Dealing::Waiting | Dealing::Live(_) | Dealing::Over(_) => {}
        }
    }

    /// An event that waits for its time gets the number under which its outcome is remembered. Its place
    /// is one that nobody will ever see: from now on it is the one queue's own.
    pub(super) fn number_unseen(&mut self, found: &mut Found, no: QueueNo, progress: &mut Progress) {
        let row = &mut found.row;
        self.tables.delete(Table::Waiting, &key::at_wall(found.stream.0, row.due, found.arrival));
        let mut head = self.head(found.stream);
        if row.only.is_some() {
            progress.lane_waiting -= 1;
        } else {
            head.waiting -= 1;
        }
        head.last = next_place(head.last, self.now.wall).unwrap_or(head.last);
        head.entry += 1;
        row.placed = Some(Placed { n: EntryNo(head.entry), place: head.last });
        row.only = Some(no);
        self.put_head(found.stream, &head);
        self.put_body(found.stream, found.arrival, row);
    }
}
