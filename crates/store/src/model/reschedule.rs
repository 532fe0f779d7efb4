//! Another due time, or another bound on attempts, in the model.
//!
//! Lives here: moving what waits and what is ready or retried. Not here: which deliveries may be moved
//! (`naven-core`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_api::{EventId, Timestamp};
use naven_core::{Now, Step};

use super::world::{Answer, World};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::Due;

impl World {
    pub(super) fn reschedule(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        (due, max_attempts): (Option<Due>, Option<Option<u32>>),
        now: Now,
    ) -> Answer {
        let due = due.map(|due| due.instant(now.wall));
        if due.is_none() && max_attempts.is_none() {
            let at = self.find(event)?;
            queue.map(|queue| self.named(at, Some(queue))).transpose()?;
            return self.shown(event, now);
        }
        let shows = self.put_off(event, queue, due, now)?;
        let at = self.find(event)?;
        let row = &mut self.events[at];
        row.max_attempts = max_attempts.unwrap_or(row.max_attempts);
        row.scheduled_at = due.filter(|_| shows).unwrap_or(row.scheduled_at);
        self.shown(event, now)
    }

    pub(super) fn run_now(&mut self, event: EventId, queue: Option<&QueueRef>, now: Now) -> Answer {
        let shows = self.put_off(event, queue, Some(now.wall), now)?;
        let at = self.find(event)?;
        let row = &mut self.events[at];
        row.scheduled_at = if shows { row.scheduled_at.min(now.wall) } else { row.scheduled_at };
        self.shown(event, now)
    }

    fn shown(&self, event: EventId, now: Now) -> Answer {
        let view = self.event_view(&self.events[self.find(event)?], false, now);
        Ok(OpReply::Event(Box::new(view)))
    }

    /// Moves it, and says whether the event itself shows the time.
    fn put_off(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        due: Option<Timestamp>,
        now: Now,
    ) -> Result<bool, OpError> {
        let at = self.find(event)?;
        let stream = self.events[at].stream;
        if self.events[at].placed.is_none() && self.events[at].due <= now.wall {
            let named = self.named(at, queue)?;
            if !self.queues[named].is_open() {
                return Err(Refused::WrongState.into());
            }
            self.place_due(stream, now, PLACES_PER_OP_MAX);
        }
        let several = self.events[at].dealings.len() > 1;
        if self.events[at].placed.is_some() {
            let queue = self.named(at, queue)?;
            if !self.queues[queue].is_open() {
                return Err(Refused::WrongState.into());
            }
            let (event, row) = (&self.events[at], &self.queues[queue]);
            let before = event.delivery(queue).cloned().unwrap_or_else(|| row.fresh(event));
            if let Some(due) = due.or_else(|| event.delivery(queue).map(|one| one.due)) {
                let next = before.apply(&Step::Reschedule { due }, now, &row.policy(event))?;
                if next != before {
                    self.tell(queue, at, Some(&before), &next, now);
                    self.save(queue, at, next);
                }
            }
            return Ok(!several);
        }
        let mut dealings: Vec<usize> = self.events[at].dealings.iter().map(|one| one.queue).collect();
        if let Some(queue) = queue {
            let any = self.any(queue)?;
            dealings.retain(|&one| one == any);
            if dealings.is_empty() {
                return Err(Refused::EventNotFound.into());
            }
            if several && due.is_some() {
                return Err(Refused::DueForAll.into());
            }
        }
        if !dealings.is_empty() && !dealings.iter().any(|&queue| self.queues[queue].is_open()) {
            return Err(Refused::WrongState.into());
        }
        let event = &mut self.events[at];
        event.due = due.map_or(event.due, |due| due.max(now.wall));
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        let readers = self.readers(stream).into_iter().map(|queue| self.queues[queue].id);
        self.woken.extend(readers.collect::<Vec<_>>());
        Ok(true)
    }
}
