//! Everything the model knows, and which op does what to it.
//!
//! Lives here: the lists, finding things in them, and tending. Not here: rules (`naven-core`), single
//! ops (the files named after them), looks (`views.rs`).

use naven_api::{EventId, QueueId};
use naven_core::{Delivery, LeaseTime, Now, Policy, State, Step};

use super::event::{Event, Queue, Stand, Stream};
use super::once::{Answered, First};
use super::operation::Operation;
use crate::audit::AuditEntry;
use crate::feed::Change;
use crate::key::KeyRecord;
use crate::queue::{QueueRef, group_queue_name};
use crate::reply::{OpError, OpReply, Refused};
use crate::token::TokenKey;
use crate::txn::{DeleteOp, GroupOp, OpKind, StreamRef};

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) version: u64,
    pub(super) woken: Vec<QueueId>,
    /// Streams to which an entry came, by name.
    pub(super) grown: Vec<bytes::Bytes>,
    /// What became of deliveries, and was not told yet.
    pub(super) told: Vec<Change>,
    pub(super) keys: Vec<KeyRecord>,
    /// Oldest first.
    pub(super) audit: Vec<AuditEntry>,
    /// Deleted ones too: a stream's number is its index + 1.
    pub(super) streams: Vec<Stream>,
    /// Deleted ones too: a queue's number is its index + 1.
    pub(super) queues: Vec<Queue>,
    /// In the order in which they were published.
    pub(super) events: Vec<Event>,
    /// First events of dedupe keys.
    pub(super) firsts: Vec<First>,
    /// Answers to idempotency keys.
    pub(super) answered: Vec<Answered>,
    /// In the order of their ids.
    pub(super) operations: Vec<Operation>,
    pub(super) token_key: TokenKey,
}

pub(super) type Answer = Result<OpReply, OpError>;

impl World {
    pub(super) fn new(token_key: TokenKey) -> Self {
        let (streams, queues, events, keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (firsts, answered, woken, told) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (audit, operations) = (Vec::new(), Vec::new());
        Self {
            version: 0,
            operations,
            woken,
            grown: Vec::new(),
            told,
            keys,
            audit,
            streams,
            queues,
            events,
            firsts,
            answered,
            token_key,
        }
    }

    pub(super) fn apply(&mut self, kind: &OpKind, draw: u128, now: Now) -> Answer {
        match kind {
            OpKind::Append(append) => self.append(append, now),
            OpKind::Claim(claim) => self.claim(claim, now),
            OpKind::Settle(settle) => self.settle(settle, draw as u32, now),
            OpKind::Group(GroupOp::MakeConsumer { queue, name }) => self.make_consumer(queue, name, now),
            OpKind::Group(op) => self.group(op, draw, now),
            OpKind::Delete(DeleteOp::Queue { queue, force, reason, revision }) => {
                self.delete_queue(queue, *force, (*reason, *revision), now)
            }
            OpKind::Delete(DeleteOp::Consumer { queue, name }) => self.delete_consumer(queue, name, now),
            OpKind::Delete(DeleteOp::Stream { stream, force }) => self.delete_stream(stream, *force, now),
            OpKind::Read(read) => Ok(OpReply::Page(Box::new(self.read(read, now)?))),
            OpKind::Admin(op) => self.admin(op, now),
            OpKind::Operation(op) => self.operate(op, draw, now),
            OpKind::Trim(trim) => self.trim(trim, now),
            OpKind::DeleteEntries(delete) => self.delete_entries(delete, now),
            OpKind::Reader(op) => self.reader(op, draw as u32, now),
            OpKind::SetId(set) => self.set_id(set, now),
            OpKind::Rename(rename) => self.rename(rename, now),
        }
    }

    /// Does what is due, each kind wherever it is before the next kind.
    pub(super) fn tend(&mut self, now: Now, rows: usize) -> usize {
        let mut left = rows - self.run_operation(now, rows);
        for stream in 0..self.streams.len() {
            if self.streams[stream].closed_at.is_none() {
                left -= self.place_due(stream, now, left);
            }
        }
        for queue in 0..self.queues.len() {
            if self.queues[queue].is_open() {
                left -= self.step_all(queue, &Step::FallDue, now, left);
                left -= self.step_all(queue, &Step::Expire, now, left);
            }
        }
        // Which of them became due is not looked at closely. Where nothing did, nobody is told to look.
        if left < rows {
            self.woken.extend(self.queues.iter().filter(|queue| queue.is_open()).map(|queue| queue.id));
        }
        left -= self.expire_events(now, left);
        left -= self.forget_dead(now, left);
        left -= self.forget_outcomes(now, left);
        left = left.saturating_sub(self.purge(now));
        left = left.saturating_sub(self.forget_keys(now));
        left -= self.forget_operations(now, left);
        rows - left
    }

    /// Notes what a step made of a delivery, or of what a queue had not read yet.
    pub(super) fn tell(
        &mut self,
        queue: usize,
        at: usize,
        before: Option<&Delivery>,
        next: &Delivery,
        now: Now,
    ) {
        let which = (self.queues[queue].id, self.events[at].id);
        self.told.extend(Change::between(which, before, next, now));
    }

    /// The queue of this id, deleted or not, or of this name, which a deleted one has no more.
    pub(super) fn any(&self, queue: &QueueRef) -> Result<usize, OpError> {
        let is_it = |one: &Queue| match queue {
            QueueRef::Id(id) => one.id == *id && !one.is_gone,
            QueueRef::Name(name) => one.name == *name && one.is_open(),
            QueueRef::Group { .. } => false,
        };
        if let QueueRef::Group { stream, group } = queue {
            let on = self.open_stream(&StreamRef(stream.clone()))?;
            let reads = |name: &[u8]| {
                self.queues
                    .iter()
                    .position(|one| one.name.as_bytes() == name && one.is_open() && one.stream == on)
            };
            let found = reads(group_queue_name(stream, group).as_bytes()).or_else(|| reads(group));
            return found.ok_or(Refused::QueueNotFound.into());
        }
        self.queues.iter().position(is_it).ok_or(Refused::QueueNotFound.into())
    }

    pub(super) fn open(&self, queue: &QueueRef) -> Result<usize, OpError> {
        let at = self.any(queue)?;
        if self.queues[at].is_open() { Ok(at) } else { Err(Refused::QueueNotFound.into()) }
    }

    pub(super) fn open_stream(&self, stream: &StreamRef) -> Result<usize, OpError> {
        let is_it = |one: &Stream| one.name == stream.0 && one.closed_at.is_none();
        self.streams.iter().position(is_it).ok_or(Refused::StreamNotFound.into())
    }

    pub(super) fn find(&self, event: EventId) -> Result<usize, OpError> {
        self.events.iter().position(|one| one.id == event).ok_or(Refused::EventNotFound.into())
    }

    /// The open queues of a stream.
    pub(super) fn readers(&self, stream: usize) -> Vec<usize> {
        let is_reader = |&at: &usize| self.queues[at].stream == stream && self.queues[at].is_open();
        (0..self.queues.len()).filter(is_reader).collect()
    }

    /// Takes `step` (fall due, expire) wherever the rules allow it in a queue, earliest first; how many.
    pub(super) fn step_all(&mut self, queue: usize, step: &Step, now: Now, limit: usize) -> usize {
        let key = |event: &Event, policy: &Policy| {
            // Nothing but a claim ends what a Redis consumer holds.
            let live = event.live(queue).filter(|live| live.holder().is_none())?;
            let end = live.ends_at().map(LeaseTime::as_ms);
            live.apply(step, now, policy).ok().map(|_| end.unwrap_or(live.due.as_ms()))
        };
        let found = self.events.iter().enumerate();
        let mut found: Vec<_> = found
            .filter_map(|(at, event)| {
                Some((key(event, &self.queues[queue].policy(event))?, event.arrival, at))
            })
            .collect();
        found.sort_unstable();
        found.truncate(limit);
        let mut over = Vec::new();
        for &(.., at) in &found {
            let policy = self.queues[queue].policy(&self.events[at]);
            let live = &self.events[at].live(queue).expect("it was there a moment ago").clone();
            let next = live.apply(step, now, &policy).expect("it was allowed a moment ago");
            self.tell(queue, at, Some(live), &next, now);
            let is_over = next.state == State::Cancelled;
            over.extend(is_over.then_some(self.events[at].id));
            self.events[at].put(queue, if is_over { Stand::Over(next) } else { Stand::Live(next) });
        }
        over.into_iter().for_each(|event| self.release(event));
        found.len()
    }
}
