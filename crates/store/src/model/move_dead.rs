//! A dead letter's content as a new event of another queue, in the model.
//!
//! Lives here: the end of the one and the beginning of the other. Not here: a new round (`settle.rs`).

use naven_api::EventId;
use naven_core::{Now, Step};

use super::event::Stand;
use super::world::{Answer, World};
use crate::queue::QueueRef;
use crate::reply::{OpError, Refused};
use crate::txn::{AdminOp, Append, Due, Target};

impl World {
    pub(super) fn move_dead(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        target: &QueueRef,
        now: Now,
    ) -> Answer {
        let to = self.open(target)?;
        let at = self.find(event)?;
        let from = self.named(at, queue)?;
        if from == to {
            let queue = Some(QueueRef::Id(self.queues[from].id));
            return self.admin(&AdminOp::Redrive { event, queue, reset_attempts: true }, now);
        }
        self.move_on(from, at, target, now)
    }

    /// Ends a dead letter and publishes its content.
    pub(super) fn move_on(&mut self, from: usize, at: usize, target: &QueueRef, now: Now) -> Answer {
        let body = self.events[at].body.clone().ok_or(Refused::WrongState)?;
        let (headers, trace) = (self.events[at].headers.clone(), self.events[at].trace.clone());
        self.end_dead(from, at, now)?;
        let (to, due) = (Target::Queue(target.clone()), Due::Now);
        let (max_attempts, dedupe, expires_at) = (None, None, None);
        self.append(
            &Append { to, body, due, headers, max_attempts, dedupe, expires_at, trace, entry: None },
            now,
        )
    }

    fn end_dead(&mut self, queue: usize, at: usize, now: Now) -> Result<(), OpError> {
        let (event, row) = (&self.events[at], &self.queues[queue]);
        let policy = row.policy(event);
        let mut dead = match event.dealing(queue).map(|one| &one.stand) {
            Some(Stand::Live(live)) => live.clone(),
            Some(Stand::Unread) => row.fresh(event),
            Some(Stand::Over(_)) | None => return Err(Refused::WrongState.into()),
        };
        if let Some((_, reason)) = row.closed.filter(|_| !dead.is_over()) {
            dead = dead.apply(&Step::Bury(reason), now, &policy)?;
        }
        let next = dead.apply(&Step::Discard, now, &policy)?;
        if event.placed.is_none() {
            let is_its = event.only == Some(queue) || self.streams[event.stream].closed_at.is_some();
            if !is_its || event.dealings.len() > 1 {
                return Err(Refused::DueForAll.into());
            }
            self.events[at].only = Some(queue);
            self.place_unseen(at, now);
        }
        if self.queues[queue].is_open() {
            let before = self.events[at].live(queue).cloned();
            self.tell(queue, at, before.as_ref(), &next, now);
        }
        self.put_away(queue, at, next);
        Ok(())
    }
}
