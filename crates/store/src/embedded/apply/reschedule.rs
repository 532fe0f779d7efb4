//! Another due time, or another bound on attempts, for one event.
//!
//! Lives here: moving what waits for its time, and what a queue has ready or retries. Not here: which deliveries may
//! be moved (`naven-core`), and the giving of places (`place.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_api::{EventId, Timestamp};
use naven_core::Step;

use super::context::{Context, Found};
use super::dealing::Dealing;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::Due;

/// What changes of the event itself: of its times only where it is one queue's, or waits.
type Set<'a> = dyn Fn(&mut BodyRow, Alone) + 'a;

/// Whether an event's own time is the one that is moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    Yes,
    No,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn reschedule(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        due: Option<Due>,
        max_attempts: Option<Option<u32>>,
    ) -> Result<OpReply, OpError> {
        let at = due.map(|due| due.instant(self.now.wall));
        if at.is_none() && max_attempts.is_none() {
            let found = self.event(event)?;
            queue.map(|queue| self.named_dealing(&found, Some(queue))).transpose()?;
            return self.rescheduled(event);
        }
        self.put_off(event, queue, at, &|row, alone| {
            row.max_attempts = max_attempts.unwrap_or(row.max_attempts);
            if alone == Alone::Yes {
                row.scheduled_at = at.unwrap_or(row.scheduled_at);
            }
        })
    }

    pub(super) fn run_now(&mut self, event: EventId, queue: Option<&QueueRef>) -> Result<OpReply, OpError> {
        let now = self.now.wall;
        self.put_off(event, queue, Some(now), &|row, alone| {
            if alone == Alone::Yes {
                row.scheduled_at = row.scheduled_at.min(now);
            }
        })
    }

    fn put_off(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        at: Option<Timestamp>,
        set: &Set<'_>,
    ) -> Result<OpReply, OpError> {
        let mut found = self.event(event)?;
        if found.row.placed.is_none() && found.row.due <= self.now.wall {
            // Its time has come without anybody noticing. A refusal changes nothing, so it comes first.
            let (_, named, _) = self.named_dealing(&found, queue)?;
            if named.closed.is_some() {
                return Err(Refused::WrongState.into());
            }
            self.place_due(found.stream, PLACES_PER_OP_MAX as u64);
            found = self.event(event)?;
        }
        if found.row.placed.is_none() {
            self.put_off_waiting(found, queue, at, set)?;
        } else {
            self.put_off_placed(found, queue, at, set)?;
        }
        self.rescheduled(event)
    }

    fn rescheduled(&self, event: EventId) -> Result<OpReply, OpError> {
        let Found { stream, arrival, row } = self.event(event)?;
        Ok(OpReply::Event(Box::new(self.event_view(stream, arrival, &row, false))))
    }

    /// An event that waits for its time does so for all its queues alike.
    fn put_off_waiting(
        &mut self,
        found: Found,
        queue: Option<&QueueRef>,
        at: Option<Timestamp>,
        set: &Set<'_>,
    ) -> Result<(), OpError> {
        let Found { stream, arrival, mut row } = found;
        let mut dealings = self.dealings(stream, arrival, &row);
        let several = dealings.len() > 1;
        if let Some(queue) = queue {
            let (no, _) = self.any_queue(queue)?;
            dealings.retain(|(one, ..)| *one == no);
            if dealings.is_empty() {
                return Err(Refused::EventNotFound.into());
            }
            if several && at.is_some() {
                return Err(Refused::DueForAll.into());
            }
        }
        if !dealings.is_empty() && dealings.iter().all(|(_, queue, _)| queue.closed.is_some()) {
            return Err(Refused::WrongState.into());
        }
        self.tables.delete(Table::Waiting, &key::at_wall(stream.0, row.due, arrival));
        if let Some(expiry) = row.expiry() {
            self.tables.delete(Table::Expire, &key::at_wall(stream.0, expiry, arrival));
        }
        row.due = at.map_or(row.due, |at| at.max(self.now.wall));
        set(&mut row, Alone::Yes);
        let only = row.only.map_or_else(Bytes::new, |only| Bytes::copy_from_slice(&key::number(only.0)));
        self.tables.put(Table::Waiting, &key::at_wall(stream.0, row.due, arrival), only);
        if let Some(expiry) = row.expiry() {
            self.tables.put(Table::Expire, &key::at_wall(stream.0, expiry, arrival), Bytes::new());
        }
        self.put_body(stream, arrival, &row);
        // Whoever waits learns how long to sleep.
        self.hint_reader(stream, row.only);
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        Ok(())
    }

    fn put_off_placed(
        &mut self,
        found: Found,
        queue: Option<&QueueRef>,
        at: Option<Timestamp>,
        set: &Set<'_>,
    ) -> Result<(), OpError> {
        let (no, queue, dealing) = self.named_dealing(&found, queue)?;
        if queue.closed.is_some() {
            return Err(Refused::WrongState.into());
        }
        let dealings = self.dealings(found.stream, found.arrival, &found.row).len();
        match dealing {
            Dealing::Live(before) | Dealing::Over(before) => {
                let step = Step::Reschedule { due: at.unwrap_or(before.due) };
                self.change(&found, (no, &queue), &before, &step)?;
            }
            Dealing::Unread | Dealing::InLane | Dealing::Waiting => {
                at.map(|at| self.put_off_unheld(&found, (no, &queue), &dealing, at)).transpose()?;
            }
        }
        let Found { stream, arrival, row: before } = found;
        let mut row = before.clone();
        set(&mut row, if dealings > 1 { Alone::No } else { Alone::Yes });
        if row != before {
            self.put_body(stream, arrival, &row);
        }
        Ok(())
    }

    /// What nobody held yet gets its first row, if it is to wait. It keeps its place.
    fn put_off_unheld(
        &mut self,
        found: &Found,
        (no, queue): (QueueNo, &QueueRow),
        dealing: &Dealing,
        at: Timestamp,
    ) -> Result<(), OpError> {
        let fresh = queue.fresh(&found.row);
        let after = fresh.apply(&Step::Reschedule { due: at }, self.now, &queue.policy(&found.row))?;
        if after == fresh {
            return Ok(());
        }
        let n = found.row.placed.map(|placed| placed.n).ok_or(Refused::WrongState)?;
        let mut progress = self.progress(no);
        self.take_unheld((no, queue), n, dealing, &mut progress);
        self.save(no, (n, found.arrival), None, &after, &mut progress);
        self.tell(queue, (found.arrival, &found.row), Some(&fresh), &after);
        self.put_progress(no, &progress);
        self.hint(queue.id);
        Ok(())
    }
}
