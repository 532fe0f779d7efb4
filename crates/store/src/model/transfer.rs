//! Pending entries of the model go over to a consumer.
//!
//! Lives here: these ops, and what a reader takes of what was idle. Not here: reading (`reader.rs`), what is
//! pending (`pending.rs`).

use std::time::Duration;

use naven_core::{DeadReason, Delivery, LeaseTime, Now, State, Step};

use super::event::Stand;
use super::reader::Reading;
use super::world::{Answer, World};
use crate::read::idle_ms;
use crate::reply::{HeldEntry, OpReply, Transferred};
use crate::txn::{GroupStart, Place, ScanTransfer, Since, Transfer};

enum Went {
    Over(HeldEntry),
    Deleted,
    Buried,
    Nowhere,
}

impl World {
    pub(super) fn transfer(&mut self, op: &Transfer, now: Now) -> Answer {
        let queue = self.open(&op.queue)?;
        let number = self.consumer_for(queue, &op.consumer, now);
        if let Some(last) = op.last.filter(|last| *last > self.queues[queue].last_taken) {
            let read = self.queues[queue].entries_read;
            self.set_place(&op.queue, GroupStart::At(last), read, now)?;
            self.woken.push(self.queues[queue].id);
        }
        let consumer = String::from_utf8_lossy(&op.consumer).into_owned();
        let (just_id, since) = (op.just_id, op.since.map(|since| since_of(since, now)));
        let step = |redis_count| Step::TakeOver {
            to: number,
            consumer: consumer.clone(),
            just_id,
            since,
            redis_count,
        };
        let mut done = Transferred { entries: Vec::new(), deleted: Vec::new(), next: Place::default() };
        for &place in &op.places {
            let stream = self.queues[queue].stream;
            let is_it = |event: &super::event::Event| {
                event.stream == stream && event.placed.is_some_and(|(_, own)| own == place)
            };
            let Some(at) = self.events.iter().position(is_it) else { continue };
            let went = if let Some(held) = self.events[at].live(queue).filter(|live| !live.is_over()) {
                let is_idle = idle_ms(held, now) >= op.min_idle_ms;
                self.hand_over(queue, at, (&step(op.redis_count), is_idle), now)
            } else if op.force && self.events[at].in_stream {
                let count = op.redis_count.unwrap_or(if just_id { 1 } else { 2 });
                self.make_pending(queue, at, &step(Some(count)), now)
            } else {
                Went::Nowhere
            };
            note(&mut done, went, place, just_id);
        }
        self.wake_for_ends(queue, &done.entries);
        if !done.entries.is_empty() {
            self.consumer_took(queue, number, now);
        }
        Ok(OpReply::Transferred(done))
    }

    pub(super) fn scan_transfer(&mut self, op: &ScanTransfer, now: Now) -> Answer {
        let queue = self.open(&op.queue)?;
        let number = self.consumer_for(queue, &op.consumer, now);
        let consumer = String::from_utf8_lossy(&op.consumer).into_owned();
        let just_id = op.just_id;
        let step = Step::TakeOver { to: number, consumer, just_id, since: None, redis_count: None };
        let mut done = Transferred { entries: Vec::new(), deleted: Vec::new(), next: Place::default() };
        let (mut looks, mut left, mut bytes) = (op.count.saturating_mul(10), op.count, 0);
        let pending = self.pending_of(queue);
        let ids: Vec<_> = pending.iter().map(|&(place, at)| (place, self.events[at].id)).collect();
        for (place, id) in ids.into_iter().filter(|(place, _)| *place >= op.start) {
            let at = self.find(id)?;
            let size = self.events[at].body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            let is_full = !just_id && !done.entries.is_empty() && bytes + size > op.max_bytes;
            if looks == 0 || left == 0 || is_full {
                done.next = place;
                break;
            }
            looks -= 1;
            let held = self.events[at].live(queue).expect("it is pending");
            let is_idle = idle_ms(held, now) >= op.min_idle_ms;
            let went = self.hand_over(queue, at, (&step, is_idle), now);
            match went {
                Went::Over(_) => (left, bytes) = (left - 1, bytes + size),
                Went::Deleted => left -= 1,
                Went::Buried | Went::Nowhere => {}
            }
            note(&mut done, went, place, just_id);
        }
        self.wake_for_ends(queue, &done.entries);
        if !done.entries.is_empty() {
            self.consumer_took(queue, number, now);
        }
        Ok(OpReply::Transferred(done))
    }

    pub(super) fn take_idle(
        &mut self,
        queue: usize,
        idle: u64,
        reading: &mut Reading<'_>,
        now: Now,
    ) -> Option<Duration> {
        let mut soonest: Option<Duration> = None;
        let ids: Vec<_> = self.pending_of(queue).into_iter().map(|(_, at)| self.events[at].id).collect();
        for id in ids {
            if !reading.may_go_on() {
                break;
            }
            let at = self.find(id).ok()?;
            let held = self.events[at].live(queue).expect("it is pending").clone();
            let was = idle_ms(&held, now);
            if was < idle {
                let is_free = !matches!(held.state, State::Leased(_)) && i64::try_from(idle - was).is_ok();
                let left = is_free.then(|| Duration::from_millis(idle - was));
                soonest = soonest.into_iter().chain(left).min();
                continue;
            }
            if reading.is_full_with(&self.events[at]) {
                break;
            }
            let step = reading.step(false, None);
            match self.hand_over(queue, at, (&step, true), now) {
                Went::Over(entry) => {
                    reading.take(HeldEntry { was_idle: Some((was, held.redis_count)), ..entry });
                }
                Went::Buried => reading.buried += 1,
                Went::Deleted | Went::Nowhere => {}
            }
        }
        soonest
    }

    fn hand_over(&mut self, queue: usize, at: usize, (step, is_idle): (&Step, bool), now: Now) -> Went {
        let Some(before) = self.events[at].live(queue).filter(|live| !live.is_over()) else {
            return Went::Nowhere;
        };
        let has_none = self.events[at].body.is_none() && !matches!(before.state, State::Leased(_));
        if has_none || self.lost_its_entry(queue, at) {
            self.forget_contentless(queue, at);
            return Went::Deleted;
        }
        let after = if is_idle { self.handed(queue, at, before, step, now) } else { None };
        let Some(after) = after else { return Went::Nowhere };
        let went = if after.is_held() { Went::Over(self.held_entry(at)) } else { Went::Buried };
        self.keep_as(queue, at, after, now);
        went
    }

    /// True where a consumer holds what its stream lost, unless the queue protects what it did not read.
    pub(super) fn lost_its_entry(&self, queue: usize, at: usize) -> bool {
        let event = &self.events[at];
        let is_held = event.live(queue).is_some_and(|live| matches!(live.state, State::Held { .. }));
        is_held && event.only.is_none() && !event.in_stream && !self.queues[queue].settings.protect_unread
    }

    /// How a delivery stands that goes over; none where it may not.
    pub(super) fn handed(
        &self,
        queue: usize,
        at: usize,
        before: &Delivery,
        step: &Step,
        now: Now,
    ) -> Option<Delivery> {
        let event = &self.events[at];
        let policy = self.queues[queue].policy(event);
        let after = before.apply(step, now, &policy).ok()?;
        let is_expired = event.expires_at.is_some_and(|end| end <= now.wall);
        if is_expired && after.is_held() && !before.is_held() {
            return before.apply(&Step::Bury(DeadReason::EventExpired), now, &policy).ok();
        }
        Some(after)
    }

    fn make_pending(&mut self, queue: usize, at: usize, step: &Step, now: Now) -> Went {
        let (event, row) = (&self.events[at], &self.queues[queue]);
        let is_expired = event.expires_at.is_some_and(|end| end <= now.wall);
        if event.body.is_none() || is_expired {
            return Went::Nowhere;
        }
        let is_unread = event.is_unread(queue);
        let fresh = match event.delivery(queue) {
            _ if is_unread => row.fresh(event),
            Some(over) => Delivery { round: over.round + 1, fence: row.highest, ..row.fresh(event) },
            None => Delivery { fence: row.highest, ..row.fresh(event) },
        };
        let Ok(held) = fresh.apply(step, now, &row.policy(event)) else { return Went::Nowhere };
        self.tell(queue, at, None, &held, now);
        self.queues[queue].highest = self.queues[queue].highest.max(held.fence);
        self.events[at].drop_dealing(queue);
        self.events[at].put(queue, Stand::Live(held));
        self.events[at].set_ahead(queue, is_unread);
        Went::Over(self.held_entry(at))
    }
}

fn note(done: &mut Transferred, went: Went, place: Place, just_id: bool) {
    match went {
        Went::Over(entry) => {
            done.entries.push(HeldEntry { body: entry.body.filter(|_| !just_id), ..entry });
        }
        Went::Deleted => done.deleted.push(place),
        Went::Buried | Went::Nowhere => {}
    }
}

fn since_of(since: Since, now: Now) -> LeaseTime {
    let wall = now.wall.as_ms();
    let ms = match since {
        Since::Idle(ms) if i128::from(ms) <= i128::from(wall) => ms as i64,
        Since::At(at) if (0..=wall).contains(&at.as_ms()) => wall - at.as_ms(),
        Since::Idle(_) | Since::At(_) => 0,
    };
    now.lease.plus_ms(-ms)
}
