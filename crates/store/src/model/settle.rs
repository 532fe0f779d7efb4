//! What holders and operators say, in the model.
//!
//! Lives here: settling, redrive, burial. Not here: rules (`naven-core`).

use naven_api::EventId;
use naven_core::{Bearer, Delivery, Failure, Now, State, Step};

use super::event::Stand;
use super::world::{Answer, World};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused, Settled};
use crate::token::Parsed;
use crate::txn::{AdminOp, Proof, Settle, SettleStep};

impl World {
    /// The delivery that a proof is the last hold's of.
    fn proven(&self, at: usize, proof: &Proof) -> Result<(usize, Delivery), OpError> {
        let event = &self.events[at];
        let queue = match proof {
            Proof::Token(token) | Proof::TokenAmong { token, .. } => {
                Parsed::of(token).map(|parsed| parsed.route.queue_no as usize)
            }
            Proof::Fence { queue, .. } => self.any(&QueueRef::Id(*queue)).ok().map(|at| at + 1),
            Proof::Group { queue } => self.any(queue).ok().map(|at| at + 1),
            Proof::Operator { queue } => Some(self.named(at, queue.as_ref())? + 1),
        };
        let queue = queue.and_then(|number| number.checked_sub(1)).ok_or(Refused::Lost)?;
        let delivery = event.delivery(queue).filter(|_| self.queues[queue].is_open()).ok_or(Refused::Lost)?;
        let (route, held) = self.held(queue, at, delivery);
        let is_asked = match proof {
            Proof::TokenAmong { queues, .. } => queues.contains(&held.queue),
            Proof::Token(_) | Proof::Fence { .. } | Proof::Operator { .. } | Proof::Group { .. } => true,
        };
        let is_last = match proof {
            Proof::Token(token) | Proof::TokenAmong { token, .. } => {
                Parsed::of(token).is_some_and(|parsed| {
                    parsed.route == route && held.fence > 0 && self.token_key.proves(&parsed, &held)
                })
            }
            Proof::Fence { round, fence, .. } => *fence > 0 && (*round, *fence) == (held.round, held.fence),
            Proof::Operator { .. } | Proof::Group { .. } => true,
        };
        if is_asked && is_last { Ok((queue, delivery.clone())) } else { Err(Refused::Lost.into()) }
    }

    /// The queue that was named, where it deals with the event, or the only one that does.
    pub(super) fn named(&self, at: usize, queue: Option<&QueueRef>) -> Result<usize, OpError> {
        let mut dealings: Vec<usize> = self.events[at].dealings.iter().map(|one| one.queue).collect();
        if let Some(queue) = queue {
            let any = self.any(queue)?;
            dealings.retain(|&one| one == any);
        }
        match dealings.as_slice() {
            [] => Err(Refused::EventNotFound.into()),
            [only] => Ok(*only),
            _ => Err(Refused::QueueNeeded.into()),
        }
    }

    pub(super) fn settle(&mut self, settle: &Settle, draw: u32, now: Now) -> Answer {
        let at = self.find(settle.event)?;
        let (queue, before) = self.proven(at, &settle.proof)?;
        let is_group = matches!(settle.proof, Proof::Group { .. });
        let by = if is_group { Bearer::Other } else { Bearer::Last };
        let step = match settle.step.clone() {
            SettleStep::Ack if is_group => Step::AckUnfenced,
            // The Redis door has no word for a result.
            SettleStep::AckWith(_) if is_group => Step::AckUnfenced,
            SettleStep::Ack => Step::Ack { by, result: None },
            SettleStep::AckWith(result) => Step::Ack { by, result: Some(result) },
            SettleStep::Fail { error, delay } => Step::Fail { by, failure: Failure { error, delay, draw } },
            SettleStep::Fatal { error } => Step::Fatal { by, error },
            SettleStep::Release { error } => Step::Release { by, error },
            SettleStep::GiveBack => Step::GiveBack { by },
            SettleStep::Extend(hold) => {
                let hold = hold.unwrap_or(self.queues[queue].settings.default_lease);
                Step::Extend { by, hold, progress: None }
            }
            SettleStep::Report(hold, progress) => {
                let hold = hold.unwrap_or(self.queues[queue].settings.default_lease);
                Step::Extend { by, hold, progress: Some(progress) }
            }
        };
        let policy = self.queues[queue].policy(&self.events[at]);
        let next = before.apply(&step, now, &policy)?;
        let is_nack = matches!(step, Step::Fail { .. } | Step::Fatal { .. } | Step::Release { .. });
        let settled = Settled {
            queue: self.queues[queue].id,
            state: next.view(now),
            settled_at: next.over_at,
            next_at: next.last.filter(|_| is_nack).and_then(|last| last.next_at),
            lease_expires_at: next.ends_at().map(|end| now.wall_of(end)),
            cancel_requested: next.cancel_requested,
            replayed: before.is_repeat_of(&step),
        };
        if next != before {
            self.tell(queue, at, Some(&before), &next, now);
            self.save(queue, at, next);
        }
        Ok(OpReply::Settled(settled))
    }

    fn discard(&mut self, event: EventId, queue: &QueueRef, now: Now) -> Answer {
        let at = self.find(event)?;
        let queue = self.named(at, Some(queue))?;
        let live = self.events[at].live(queue).filter(|_| self.queues[queue].is_open());
        let policy = self.queues[queue].policy(&self.events[at]);
        let next = live.ok_or(Refused::WrongState)?.apply(&Step::Discard, now, &policy)?;
        let before = live.cloned();
        self.tell(queue, at, before.as_ref(), &next, now);
        self.put_away(queue, at, next);
        Ok(OpReply::Done)
    }

    /// Remembers a dead letter that was forgotten, to judge late calls by.
    pub(super) fn put_away(&mut self, queue: usize, at: usize, next: Delivery) {
        self.events[at].put(queue, Stand::Over(next));
        self.release(self.events[at].id);
    }

    pub(super) fn save(&mut self, queue: usize, at: usize, next: Delivery) {
        let event = &self.events[at];
        let was_held = event.live(queue).is_some_and(|live| matches!(live.state, State::Held { .. }));
        let goes_on = !matches!(next.state, State::Done | State::Cancelled | State::Held { .. });
        if goes_on && was_held && event.body.is_none() {
            return self.forget_contentless(queue, at);
        }
        let frees = matches!(next.state, State::Ready | State::Retrying);
        self.woken.extend(frees.then_some(self.queues[queue].id));
        let is_done = matches!(next.state, State::Done | State::Cancelled);
        self.events[at].put(queue, if is_done { Stand::Over(next) } else { Stand::Live(next) });
        if is_done {
            self.release(self.events[at].id);
        }
    }

    pub(super) fn admin(&mut self, op: &AdminOp, now: Now) -> Answer {
        let (event, queue, step) = match op {
            AdminOp::Redrive { event, queue, reset_attempts: reset } => {
                (*event, queue, Step::Redrive { reset_attempts: *reset })
            }
            AdminOp::Bury { event, queue, reason } => (*event, queue, Step::Bury(*reason)),
            AdminOp::MoveDead { event, queue, target } => {
                return self.move_dead(*event, queue.as_ref(), target, now);
            }
            AdminOp::Discard { event, queue } => return self.discard(*event, queue, now),
            AdminOp::Cancel { event, queue, reason } => {
                return self.cancel(*event, queue.as_ref(), reason.as_ref(), now);
            }
            AdminOp::Reschedule { event, queue, due, max_attempts } => {
                return self.reschedule(*event, queue.as_ref(), (*due, *max_attempts), now);
            }
            AdminOp::RunNow { event, queue } => return self.run_now(*event, queue.as_ref(), now),
            AdminOp::PutKey { record, over } => return self.put_key(record, *over),
            AdminOp::DeleteKey { key, revision } => return self.delete_key(*key, *revision),
        };
        let at = self.find(event)?;
        let queue = self.named(at, queue.as_ref())?;
        let live = self.events[at].live(queue).filter(|_| self.queues[queue].is_open());
        let policy = self.queues[queue].policy(&self.events[at]);
        let next = live.ok_or(Refused::WrongState)?.apply(&step, now, &policy)?;
        let before = live.cloned();
        self.tell(queue, at, before.as_ref(), &next, now);
        let known = self.events[at].clone();
        self.save(queue, at, next);
        let gone = super::event::Event { dealings: Vec::new(), ..known };
        let left = self.find(event).map_or(&gone, |at| &self.events[at]);
        let view = self.event_view(left, false, now);
        Ok(OpReply::Event(Box::new(view)))
    }
}
