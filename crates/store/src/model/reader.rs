//! What readers of a stream do with its entries in the model: reading, finishing, giving up.
//!
//! Lives here: these ops. Not here: what goes over to another consumer (`transfer.rs`), rules
//! (`naven-core`).

use std::time::Duration;

use naven_api::limits::{CLAIM_EXPIRED_MAX, CLAIM_EXPIRES_MAX, PLACES_PER_OP_MAX};
use naven_core::{ConsumerNo, DeadReason, Delivery, GivenUp, Hold, Now, State, Step};

use super::event::{Event, Stand};
use super::world::{Answer, World};
use crate::reply::{Fate, HeldEntry, OpReply, QueueRead};
use crate::txn::{AckEntries, NackEntries, Place, ReadGroup, ReaderOp};

/// What a reader has got so far.
pub(super) struct Reading<'a> {
    pub(super) op: &'a ReadGroup,
    pub(super) number: ConsumerNo,
    pub(super) entries: Vec<HeldEntry>,
    pub(super) bytes: u64,
    pub(super) buried: usize,
}

impl World {
    pub(super) fn reader(&mut self, op: &ReaderOp, draw: u32, now: Now) -> Answer {
        match op {
            ReaderOp::Read(read) => self.read_group(read, now),
            ReaderOp::Ack(ack) => self.ack_entries(ack, now),
            ReaderOp::Nack(nack) => self.nack_entries(nack, draw, now),
            ReaderOp::Transfer(transfer) => self.transfer(transfer, now),
            ReaderOp::ScanTransfer(scan) => self.scan_transfer(scan, now),
        }
    }

    fn read_group(&mut self, read: &ReadGroup, now: Now) -> Answer {
        let queues: Result<Vec<_>, _> = read.from.iter().map(|from| self.open(&from.queue)).collect();
        let mut reads = Vec::new();
        for (queue, from) in queues?.into_iter().zip(&read.from) {
            let number = self.consumer_for(queue, &read.consumer, now);
            let reading = Reading { op: read, number, entries: Vec::new(), bytes: 0, buried: 0 };
            reads.push(match from.after {
                Some(after) => self.read_again(queue, after, reading, now),
                None => self.read_on(queue, reading, now),
            });
        }
        Ok(OpReply::Read(reads))
    }

    fn read_again(&mut self, queue: usize, after: Place, mut reading: Reading<'_>, now: Now) -> QueueRead {
        for (place, at) in self.pending_of(queue) {
            let held = self.events[at].live(queue).expect("it is pending").clone();
            if place <= after || held.holder() != Some(reading.number) {
                continue;
            }
            let lost = self.lost_its_entry(queue, at);
            let is_full = !lost && reading.is_full_with(&self.events[at]);
            if reading.entries.len() >= reading.count() || is_full {
                break;
            }
            if self.events[at].body.is_some() && !lost {
                self.keep(queue, at, &Step::Reread, now);
            }
            let entry = self.held_entry(at);
            reading.take(HeldEntry { body: entry.body.filter(|_| !lost), ..entry });
        }
        self.wake_for_ends(queue, &reading.entries);
        QueueRead { queue: self.queues[queue].id, entries: reading.entries, due_in: None }
    }

    fn read_on(&mut self, queue: usize, mut reading: Reading<'_>, now: Now) -> QueueRead {
        let id = self.queues[queue].id;
        if self.queues[queue].paused.is_some() {
            return QueueRead { queue: id, entries: Vec::new(), due_in: None };
        }
        self.place_due(self.queues[queue].stream, now, PLACES_PER_OP_MAX);
        self.step_all(queue, &Step::FallDue, now, CLAIM_EXPIRES_MAX);
        self.step_all(queue, &Step::Expire, now, CLAIM_EXPIRES_MAX);
        let idle_in = reading.op.idle_ms.and_then(|idle| self.take_idle(queue, idle, &mut reading, now));
        while reading.may_go_on()
            && let Some(at) = self.next_new(queue)
        {
            let is_full = if self.events[at].is_unread(queue) {
                self.take_unread(queue, at, &mut reading, now)
            } else {
                self.meet(queue, at, &mut reading, now)
            };
            if is_full {
                break;
            }
        }
        self.wake_for_ends(queue, &reading.entries);
        let mut due_in = None;
        if reading.entries.is_empty() {
            let soon = if reading.buried < CLAIM_EXPIRED_MAX {
                self.due_in(queue, now)
            } else {
                Some(Duration::ZERO)
            };
            due_in = soon.into_iter().chain(idle_in).min();
        } else if !reading.op.no_ack || reading.entries.iter().any(|entry| entry.was_idle.is_some()) {
            self.consumer_took(queue, reading.number, now);
        }
        QueueRead { queue: id, entries: reading.entries, due_in }
    }

    /// Whoever waits to claim what is held now learns how long to sleep.
    pub(super) fn wake_for_ends(&mut self, queue: usize, held: &[HeldEntry]) {
        let row = &self.queues[queue];
        self.woken.extend((row.settings.redis_lease.is_some() && !held.is_empty()).then_some(row.id));
    }

    /// The first in the order of places that nobody had, or that a reader comes to again.
    fn next_new(&self, queue: usize) -> Option<usize> {
        let is_next = |event: &Event| event.is_unread(queue) || event.is_ahead(queue);
        let found = self.events.iter().enumerate().filter(|(_, event)| is_next(event));
        found.filter_map(|(at, event)| Some((event.n()?, at))).min().map(|(_, at)| at)
    }

    fn take_unread(&mut self, queue: usize, at: usize, reading: &mut Reading<'_>, now: Now) -> bool {
        if self.events[at].expires_at.is_some_and(|end| end <= now.wall) {
            self.take(queue, at, &Step::Bury(DeadReason::EventExpired), now);
            reading.buried += 1;
            return false;
        }
        if reading.is_full_with(&self.events[at]) {
            return true;
        }
        let hold = if reading.op.no_ack { Hold::NoAck } else { Hold::Consumer(reading.number) };
        reading.take(self.held_entry(at));
        let (event, row) = (&self.events[at], &self.queues[queue]);
        let learnt = event.placed.filter(|_| event.in_stream && row.entries_read.is_none());
        let learnt =
            learnt.and_then(|(_, place)| self.facts(event.stream).read_on(None, row.last_taken, place));
        self.take(queue, at, &Step::Take { hold, consumer: Some(reading.shown()) }, now);
        self.queues[queue].entries_read = self.queues[queue].entries_read.or(learnt);
        if let Some(done) = self.events[at].live(queue).filter(|live| live.state == State::Done).cloned() {
            self.save(queue, at, done);
        }
        false
    }

    fn meet(&mut self, queue: usize, at: usize, reading: &mut Reading<'_>, now: Now) -> bool {
        let step = reading.step(false, Some(1));
        let taken = self.events[at].live(queue).and_then(|before| self.handed(queue, at, before, &step, now));
        let Some(after) = taken else {
            self.events[at].set_ahead(queue, false);
            return false;
        };
        if after.is_held() && reading.is_full_with(&self.events[at]) {
            return true;
        }
        self.events[at].set_ahead(queue, false);
        if after.is_held() {
            let (_, place) = self.events[at].placed.expect("it is in the stream");
            self.note_read(queue, &self.facts(self.events[at].stream), place);
            reading.take(self.held_entry(at));
        } else {
            reading.buried += 1;
        }
        if !(after.is_held() && reading.op.no_ack) {
            self.keep_as(queue, at, after, now);
        }
        false
    }

    fn ack_entries(&mut self, ack: &AckEntries, now: Now) -> Answer {
        let queue = self.open(&ack.queue)?;
        let (mut fates, mut is_new_round) = (Vec::new(), false);
        for place in &ack.places {
            let at = self.pending_at(queue, *place);
            let done = at.and_then(|at| Some((at, self.after(queue, at, &Step::AckUnfenced, now)?)));
            let Some((at, done)) = done else {
                fates.push(Fate::Missing);
                continue;
            };
            if self.events[at].is_ahead(queue) {
                let before = self.events[at].live(queue).cloned();
                self.tell(queue, at, before.as_ref(), &done, now);
                self.events[at].put(queue, Stand::Unread);
                is_new_round = true;
            } else {
                self.keep_as(queue, at, done, now);
            }
            fates.push(Fate::Done);
        }
        if is_new_round {
            self.new_round(queue);
        }
        let stream = self.queues[queue].stream;
        for (&place, fate) in ack.places.iter().zip(&mut fates).filter(|(_, fate)| **fate == Fate::Done) {
            let deleted = ack.delete.map(|references| self.delete_one(stream, place, references));
            *fate = if deleted == Some(Fate::Kept) { Fate::Kept } else { Fate::Done };
        }
        Ok(OpReply::Fates(fates))
    }

    fn nack_entries(&mut self, nack: &NackEntries, draw: u32, now: Now) -> Answer {
        let queue = self.open(&nack.queue)?;
        let NackEntries { how, delay_ms, redis_count, .. } = *nack;
        let step = Step::GiveUp(GivenUp { how, delay_ms, error: nack.error.clone(), redis_count, draw });
        let mut fates = Vec::new();
        for place in &nack.places {
            let at = self.pending_at(queue, *place);
            let left = at.and_then(|at| Some((at, self.after(queue, at, &step, now)?)));
            fates.push(if left.is_some() { Fate::Done } else { Fate::Missing });
            match left {
                Some((at, _)) if self.events[at].body.is_none() => self.forget_contentless(queue, at),
                Some((at, left)) => self.keep_as(queue, at, left, now),
                None => {}
            }
        }
        Ok(OpReply::Fates(fates))
    }

    /// A delivery whose entry is deleted ends: there is nothing to hand out again.
    pub(super) fn forget_contentless(&mut self, queue: usize, at: usize) {
        let event = self.events[at].id;
        self.events[at].drop_dealing(queue);
        self.release(event);
    }

    fn after(&self, queue: usize, at: usize, step: &Step, now: Now) -> Option<Delivery> {
        let event = &self.events[at];
        event.live(queue)?.apply(step, now, &self.queues[queue].policy(event)).ok()
    }

    fn keep(&mut self, queue: usize, at: usize, step: &Step, now: Now) {
        if let Some(after) = self.after(queue, at, step, now) {
            self.keep_as(queue, at, after, now);
        }
    }

    /// Saves what a step left of a delivery.
    pub(super) fn keep_as(&mut self, queue: usize, at: usize, after: Delivery, now: Now) {
        let before = self.events[at].live(queue).cloned();
        self.tell(queue, at, before.as_ref(), &after, now);
        let row = &mut self.queues[queue];
        row.highest = row.highest.max(after.fence);
        self.save(queue, at, after);
    }

    pub(super) fn held_entry(&self, at: usize) -> HeldEntry {
        let event = &self.events[at];
        let place = event.placed.map(|(_, place)| place).unwrap_or_default();
        HeldEntry { place, event: event.id, body: event.body.clone(), was_idle: None }
    }

    /// What is pending in a queue, in the order of places.
    pub(super) fn pending_of(&self, queue: usize) -> Vec<(Place, usize)> {
        let place = |event: &Event| {
            let live = event.live(queue).filter(|live| !live.is_over());
            live.and(event.placed).map(|(_, place)| place)
        };
        let found = self.events.iter().enumerate();
        let mut found: Vec<_> = found.filter_map(|(at, event)| Some((place(event)?, at))).collect();
        found.sort_unstable();
        found
    }

    pub(super) fn pending_at(&self, queue: usize, place: Place) -> Option<usize> {
        self.pending_of(queue).into_iter().find(|(own, _)| *own == place).map(|(_, at)| at)
    }
}

impl Reading<'_> {
    fn count(&self) -> usize {
        self.op.count.map_or(usize::MAX, |count| count as usize)
    }

    pub(super) fn may_go_on(&self) -> bool {
        self.entries.len() < self.count() && self.buried < CLAIM_EXPIRED_MAX
    }

    pub(super) fn is_full_with(&self, event: &Event) -> bool {
        let bytes = event.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        !self.entries.is_empty() && self.bytes.saturating_add(bytes) > self.op.max_bytes
    }

    pub(super) fn take(&mut self, entry: HeldEntry) {
        self.bytes += entry.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        self.entries.push(entry);
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.op.consumer).into_owned()
    }

    pub(super) fn step(&self, just_id: bool, redis_count: Option<u64>) -> Step {
        Step::TakeOver { to: self.number, consumer: self.shown(), just_id, since: None, redis_count }
    }
}
