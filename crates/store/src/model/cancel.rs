//! Cancelling in the model.
//!
//! Lives here: cancelling one event in one queue. Not here: what becomes of a delivery (`naven-core`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_api::{ErrorText, EventId};
use naven_core::{Now, Step};

use super::world::{Answer, World};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};

impl World {
    pub(super) fn cancel(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        reason: Option<&ErrorText>,
        now: Now,
    ) -> Answer {
        let at = self.find(event)?;
        let queue = self.named(at, queue)?;
        if !self.queues[queue].is_open() {
            return Err(Refused::WrongState.into());
        }
        if self.events[at].placed.is_none() && self.events[at].due <= now.wall {
            self.place_due(self.events[at].stream, now, PLACES_PER_OP_MAX);
        }
        let id = self.events[at].id;
        self.call_off(queue, at, &Step::Cancel { reason: reason.cloned() }, now)?;
        let view = self.event_view(&self.events[self.find(id)?], false, now);
        Ok(OpReply::Event(Box::new(view)))
    }

    /// Ends or asks to end what an open queue has of an event, held before or not.
    pub(super) fn call_off(&mut self, queue: usize, at: usize, step: &Step, now: Now) -> Result<(), OpError> {
        let event = &self.events[at];
        let waits = event.placed.is_none();
        if waits && event.dealings.len() > 1 {
            return Err(Refused::DueForAll.into());
        }
        let row = &self.queues[queue];
        let before = event.delivery(queue).cloned();
        let next = before.clone().unwrap_or_else(|| row.fresh(event)).apply(step, now, &row.policy(event))?;
        if waits {
            // It takes a place that nobody will see, and is the one queue's own from now on.
            self.events[at].only = Some(queue);
            self.place_unseen(at, now);
        }
        if before.as_ref() != Some(&next) {
            self.tell(queue, at, before.as_ref(), &next, now);
            self.save(queue, at, next);
        }
        Ok(())
    }
}
