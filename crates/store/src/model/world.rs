//! Everything the model knows, and what each op does to it.
//!
//! Lives here: ops. Not here: rules (`naven-core`), order and places (`queue.rs`), looks (`views.rs`).

use naven_api::{EventId, QueueId, id::uuid_v7_bits, limits::CLAIM_EXPIRES_MAX};
use naven_core::{Bearer, Delivery, Failure, Hold, Now, State, Step};

use super::queue::{Event, Queue};
use crate::key::KeyRecord;
use crate::queue::QueueRef;
use crate::reply::{Claimed, Grant, OpError, OpReply, Refused, Settled};
use crate::token::{Held, Parsed, Route, TokenKey};
use crate::txn::{AdminOp, Append, Claim, ClaimHold, DeleteOp, Due, GroupOp, OpKind, Proof, Settle};
use crate::txn::{SettleStep, Target};

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) version: u64,
    pub(super) woken: Vec<QueueId>,
    pub(super) keys: Vec<KeyRecord>,
    /// Deleted ones too: queue and stream number are the index + 1.
    pub(super) queues: Vec<Queue>,
    token_key: TokenKey,
}

type Answer = Result<OpReply, OpError>;
/// An event: its queue's index, and its own in it.
type Spot = (usize, usize);

impl World {
    pub(super) fn new(token_key: TokenKey) -> Self {
        Self { version: 0, woken: Vec::new(), keys: Vec::new(), queues: Vec::new(), token_key }
    }

    pub(super) fn apply(&mut self, kind: &OpKind, draw: u128, now: Now) -> Answer {
        match kind {
            OpKind::Append(append) => self.append(append, now),
            OpKind::Claim(claim) => self.claim(claim, now),
            OpKind::Settle(settle) => self.settle(settle, draw as u32, now),
            OpKind::Group(op) => self.group(op, draw, now),
            OpKind::Delete(DeleteOp::Queue { queue, force, .. }) => self.delete(queue, *force, now),
            OpKind::Delete(DeleteOp::Stream { .. }) => Err(OpError::Unsupported),
            OpKind::Read(read) => Ok(OpReply::Page(Box::new(self.read(read, now)?))),
            OpKind::Admin(op) => self.admin(op, now),
            OpKind::Trim(_) | OpKind::DeleteEntries { .. } | OpKind::SetId { .. } => {
                Err(OpError::Unsupported)
            }
            OpKind::Transfer(_) | OpKind::ScanTransfer(_) => Err(OpError::Unsupported),
        }
    }

    pub(super) fn tend(&mut self, now: Now, rows: usize) -> usize {
        let mut left = rows;
        for queue in self.queues.iter_mut().filter(|queue| queue.closed_at.is_none()) {
            let before = left;
            left -= queue.place_due(now, left);
            left -= queue.step_all(&Step::FallDue, now, left);
            left -= queue.step_all(&Step::Expire, now, left);
            self.woken.extend((left < before).then_some(queue.id));
        }
        rows - left
    }

    /// The queue of this id, deleted or not, or of this name, which a deleted one has no more.
    pub(super) fn any(&self, queue: &QueueRef) -> Result<usize, OpError> {
        let is_it = |one: &Queue| match queue {
            QueueRef::Id(id) => one.id == *id,
            QueueRef::Name(name) => one.name == *name && one.closed_at.is_none(),
        };
        self.queues.iter().position(is_it).ok_or(Refused::QueueNotFound.into())
    }

    pub(super) fn open(&self, queue: &QueueRef) -> Result<usize, OpError> {
        let open = self.any(queue).ok().filter(|&at| self.queues[at].closed_at.is_none());
        open.ok_or(Refused::QueueNotFound.into())
    }

    pub(super) fn find(&self, event: EventId) -> Result<Spot, OpError> {
        let index_in = |queue: &Queue| queue.events.iter().position(|one| one.id == event);
        let mut found = (0..self.queues.len()).filter_map(|at| Some((at, index_in(&self.queues[at])?)));
        found.next().ok_or(Refused::EventNotFound.into())
    }

    fn append(&mut self, append: &Append, now: Now) -> Answer {
        let Target::Queue(queue) = &append.to else { return Err(OpError::Unsupported) };
        let at = self.open(queue)?;
        let queue = &mut self.queues[at];
        queue.place_due(now, usize::MAX);
        let scheduled_at = match append.due {
            Due::Now => now.wall,
            Due::In(delay) => now.wall.plus_ms(delay.as_ms()),
            Due::At(instant) => instant,
        };
        let arrival = queue.events.len() as u128 + 1;
        queue.events.push(Event {
            id: EventId::new(now.wall.as_ms(), ((at as u128 + 1) << 56) | arrival),
            body: Some(append.body.clone()),
            headers: append.headers.clone(),
            created_at: now.wall,
            scheduled_at,
            max_attempts: append.max_attempts,
            place: None,
            delivery: Delivery::fresh(scheduled_at.max(now.wall)),
        });
        let event = queue.events.len() - 1;
        if scheduled_at <= now.wall {
            queue.place(event, now);
        }
        self.woken.push(queue.id);
        let view = queue.event_view(&queue.events[event], false, now);
        Ok(OpReply::Event(Box::new(view)))
    }

    fn claim(&mut self, claim: &Claim, now: Now) -> Answer {
        let ClaimHold::Lease(seconds) = claim.hold else { return Err(OpError::Unsupported) };
        let at = self.open(&claim.queue)?;
        let queue = &mut self.queues[at];
        let mut claimed = Claimed { queue: queue.id, leases: Vec::new(), due_in: None };
        if queue.paused.is_some() {
            return Ok(OpReply::Claimed(claimed));
        }
        queue.place_due(now, usize::MAX);
        queue.step_all(&Step::FallDue, now, CLAIM_EXPIRES_MAX);
        queue.step_all(&Step::Expire, now, CLAIM_EXPIRES_MAX);
        let hold = Hold::Lease(seconds.unwrap_or(queue.settings.default_lease));
        let step = Step::Take { hold, consumer: claim.consumer.as_ref().map(ToString::to_string) };
        let mut bytes = 0;
        while claimed.leases.len() < claim.max as usize
            && let Some(next) = self.queues[at].next_ready()
        {
            let event = &self.queues[at].events[next];
            bytes += event.body.as_ref().map_or(0, |body| body.bytes.len());
            if bytes > claim.max_bytes && !claimed.leases.is_empty() {
                break;
            }
            let policy = self.queues[at].policy(event);
            let taken = event.delivery.apply(&step, now, &policy).expect("what is ready can be taken");
            self.queues[at].events[next].delivery = taken;
            claimed.leases.push(self.grant((at, next), now));
        }
        if claimed.leases.is_empty() {
            claimed.due_in = self.queues[at].due_in(now);
        }
        Ok(OpReply::Claimed(claimed))
    }

    /// The route to a delivery and its present hold: what its token is made of.
    fn held(&self, (at, index): Spot) -> (Route, Held) {
        let (queue, event) = (&self.queues[at], &self.queues[at].events[index]);
        let Delivery { round, fence, .. } = event.delivery;
        let route = Route { queue_no: at as u32 + 1, locator: event.id.locator() };
        (route, Held { queue: queue.id, event: event.id, round, fence })
    }

    fn grant(&self, spot: Spot, now: Now) -> Grant {
        let (queue, event) = (&self.queues[spot.0], &self.queues[spot.0].events[spot.1]);
        let (route, held) = self.held(spot);
        Grant {
            event: event.id,
            queue: queue.id,
            queue_name: queue.name.clone(),
            round: held.round,
            fence: held.fence,
            attempts: event.delivery.attempts,
            expiries: event.delivery.expiries,
            scheduled_at: event.scheduled_at,
            body: event.body.clone().expect("a body lives until its event is done"),
            headers: event.headers.clone(),
            token: Some(self.token_key.token(route, &held)),
            lease_expires_at: event.delivery.ends_at(&queue.policy(event)).map(|end| now.wall_of(end)),
        }
    }

    fn bearer(&self, spot: Spot, proof: &Proof) -> Result<Bearer, OpError> {
        let (route, held) = self.held(spot);
        let is_last = match proof {
            Proof::Token(token) => Parsed::of(token).is_some_and(|parsed| {
                parsed.route == route && held.fence > 0 && self.token_key.proves(&parsed, &held)
            }),
            Proof::Fence { queue, round, fence } => {
                (*queue, *round, *fence) == (held.queue, held.round, held.fence)
            }
            Proof::Operator { queue } => self.check_named(spot.0, queue.as_ref()).map(|()| true)?,
        };
        Ok(if is_last { Bearer::Last } else { Bearer::Other })
    }

    /// Refused where the caller names a queue that is not the event's.
    fn check_named(&self, at: usize, queue: Option<&QueueRef>) -> Result<(), OpError> {
        let is_it = queue.map_or(Ok(true), |queue| self.any(queue).map(|any| any == at))?;
        if is_it { Ok(()) } else { Err(Refused::EventNotFound.into()) }
    }

    fn settle(&mut self, settle: &Settle, draw: u32, now: Now) -> Answer {
        let spot = self.find(settle.event)?;
        let (queue, event) = (&self.queues[spot.0], &self.queues[spot.0].events[spot.1]);
        let (by, policy) = (self.bearer(spot, &settle.proof)?, queue.policy(event));
        if queue.closed_at.is_some() {
            return Err(Refused::Lost.into());
        }
        let step = match settle.step.clone() {
            SettleStep::Ack => Step::Ack { by },
            SettleStep::Fail { error, delay } => Step::Fail { by, failure: Failure { error, delay, draw } },
            SettleStep::Fatal { error } => Step::Fatal { by, error },
            SettleStep::Release { error } => Step::Release { by, error },
            SettleStep::GiveBack => Step::GiveBack { by },
            SettleStep::Extend(hold) => {
                Step::Extend { by, hold: hold.unwrap_or(queue.settings.default_lease) }
            }
        };
        let next = event.delivery.apply(&step, now, &policy)?;
        let is_nack = matches!(step, Step::Fail { .. } | Step::Fatal { .. } | Step::Release { .. });
        let settled = Settled {
            queue: queue.id,
            state: next.view(now),
            settled_at: next.over_at,
            next_at: next.last.filter(|_| is_nack).and_then(|last| last.next_at),
            lease_expires_at: next.ends_at(&policy).map(|end| now.wall_of(end)),
            cancel_requested: next.cancel_requested,
            replayed: event.delivery.is_repeat_of(&step),
        };
        let frees = next != event.delivery && matches!(next.state, State::Ready | State::Retrying);
        self.woken.extend(frees.then_some(queue.id));
        let event = &mut self.queues[spot.0].events[spot.1];
        event.body = event.body.take().filter(|_| next.state != State::Done);
        event.delivery = next;
        Ok(OpReply::Settled(settled))
    }

    fn group(&mut self, op: &GroupOp, draw: u128, now: Now) -> Answer {
        let at = match op {
            GroupOp::Create { name, .. } if self.open(&QueueRef::Name(name.clone())).is_ok() => {
                return Err(Refused::NameTaken.into());
            }
            GroupOp::Create { on: Some(_), .. } | GroupOp::Reset { .. } => return Err(OpError::Unsupported),
            GroupOp::Create { name, settings, .. } => {
                let id = QueueId::from_bits(uuid_v7_bits(now.wall.as_ms(), draw));
                self.queues.push(Queue::new(id, name, settings, now.wall));
                self.queues.len() - 1
            }
            GroupOp::Patch { queue, .. } | GroupOp::Pause { queue, .. } | GroupOp::Resume { queue } => {
                self.open(queue)?
            }
        };
        let queue = &mut self.queues[at];
        match op {
            GroupOp::Create { .. } | GroupOp::Reset { .. } => {}
            GroupOp::Patch { changes, .. } => {
                queue.settings = changes.as_ref().clone().made_to(&queue.settings);
                queue.updated_at = now.wall;
            }
            GroupOp::Pause { reason, .. } => queue.paused = Some(reason.clone().unwrap_or_default()),
            GroupOp::Resume { .. } => queue.paused = None,
        }
        self.woken.push(queue.id);
        Ok(OpReply::Queue(Box::new(self.queues[at].view(now))))
    }

    fn delete(&mut self, queue: &QueueRef, force: bool, now: Now) -> Answer {
        let at = self.open(queue)?;
        if !force && self.queues[at].counts().unfinished() > 0 {
            return Err(Refused::NotEmpty.into());
        }
        self.queues[at].closed_at = Some(now.wall);
        self.woken.push(self.queues[at].id);
        Ok(OpReply::Done)
    }

    fn admin(&mut self, op: &AdminOp, now: Now) -> Answer {
        let (event, queue, step) = match op {
            AdminOp::Redrive { event, queue, reset_attempts: reset } => {
                (event, queue, Step::Redrive { reset_attempts: *reset })
            }
            AdminOp::Bury { event, queue, reason } => (event, queue, Step::Bury(*reason)),
            AdminOp::PutKey(key) => {
                self.keys.retain(|one| one.name != key.name);
                self.keys.push(key.clone());
                self.keys.sort_by(|a, b| a.name.cmp(&b.name));
                return Ok(OpReply::Done);
            }
        };
        let (at, index) = self.find(*event)?;
        self.check_named(at, queue.as_ref())?;
        let queue = &mut self.queues[at];
        if queue.closed_at.is_some() {
            return Err(Refused::WrongState.into());
        }
        let policy = queue.policy(&queue.events[index]);
        queue.events[index].delivery = queue.events[index].delivery.apply(&step, now, &policy)?;
        self.woken.extend(matches!(step, Step::Redrive { .. }).then_some(queue.id));
        let view = queue.event_view(&queue.events[index], false, now);
        Ok(OpReply::Event(Box::new(view)))
    }
}
