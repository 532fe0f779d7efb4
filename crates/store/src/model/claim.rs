//! Claims in the model.
//!
//! Lives here: what a queue hands out, and to whom. Not here: what holders say (`settle.rs`).

use std::time::Duration;

use naven_api::limits::{CLAIM_EXPIRED_MAX, CLAIM_EXPIRES_MAX, PLACES_PER_OP_MAX};
use naven_core::{DeadReason, Delivery, Hold, LeaseTime, Now, State, Step};

use super::event::{Stand, next_ready};
use super::world::{Answer, World};
use crate::reply::{Claimed, Grant, OpReply};
use crate::token::{Held, Route};
use crate::txn::{Claim, ClaimHold, Place};

impl World {
    pub(super) fn claim(&mut self, claim: &Claim, now: Now) -> Answer {
        let at = self.open(&claim.queue)?;
        let queue = &self.queues[at];
        let mut claimed = Claimed { queue: queue.id, leases: Vec::new(), due_in: None };
        if queue.paused.is_some() {
            return Ok(OpReply::Claimed(claimed));
        }
        let ClaimHold::Lease(seconds) = &claim.hold;
        let hold = Hold::Lease(seconds.unwrap_or(queue.settings.default_lease));
        let consumer = claim.consumer.as_ref().map(ToString::to_string);
        let step = Step::Take { hold, consumer };
        self.place_due(self.queues[at].stream, now, PLACES_PER_OP_MAX);
        self.step_all(at, &Step::FallDue, now, CLAIM_EXPIRES_MAX);
        self.step_all(at, &Step::Expire, now, CLAIM_EXPIRES_MAX);
        let (mut bytes, mut expired) = (0, 0);
        while claimed.leases.len() < claim.max as usize && expired < CLAIM_EXPIRED_MAX {
            self.pass_ahead(at);
            let Some(next) = self.next_claimable(at, now) else { break };
            let event = &self.events[next];
            let size = event.body.as_ref().map_or(0, |body| body.bytes.len());
            let is_full = bytes + size > claim.max_bytes && !claimed.leases.is_empty();
            if event.live(at).is_some_and(Delivery::is_held) {
                if is_full {
                    break;
                }
                if !self.lapse(at, next, now) {
                    expired += 1;
                    continue;
                }
            }
            let event = &self.events[next];
            if event.expires_at.is_some_and(|end| end <= now.wall) {
                self.take(at, next, &Step::Bury(DeadReason::EventExpired), now);
                expired += 1;
                continue;
            }
            if is_full {
                break;
            }
            bytes += size;
            self.take(at, next, &step, now);
            claimed.leases.push(self.grant(at, next, now));
        }
        if claimed.leases.is_empty() {
            let lapse = self.held_ends(at).map(|(end, _)| end.as_ms() - now.lease.as_ms()).min();
            let lapse = lapse.map(|ms| Duration::from_millis(ms.max(0) as u64));
            let soon = self.due_in(at, now).into_iter().chain(lapse).min();
            claimed.due_in = if expired < CLAIM_EXPIRED_MAX { soon } else { Some(Duration::ZERO) };
        }
        Ok(OpReply::Claimed(claimed))
    }

    /// The ends of what Redis consumers hold of a queue, each with its event.
    fn held_ends(&self, queue: usize) -> impl Iterator<Item = (LeaseTime, usize)> {
        let found = self.events.iter().enumerate();
        found.filter_map(move |(at, event)| {
            let held = event.live(queue).filter(|live| live.holder().is_some())?;
            Some((held.ends_at()?, at))
        })
    }

    /// What a claim takes next: what is ready, or a hold past its end, which is due since then.
    fn next_claimable(&self, queue: usize, now: Now) -> Option<usize> {
        let due = |at: usize| self.events[at].live(queue).map_or(self.events[at].due, |live| live.due);
        let ready = next_ready(&self.events, queue).map(|at| (due(at), at));
        let lapsed = self.held_ends(queue).filter(|(end, _)| *end <= now.lease);
        let lapsed = lapsed.map(|(end, at)| (now.wall_of(end), at));
        let key = |&(due, at): &(naven_api::Timestamp, usize)| (due, self.events[at].arrival);
        ready.into_iter().chain(lapsed).min_by_key(key).map(|(_, at)| at)
    }

    /// Ends such a hold. False where nothing can be claimed of it then.
    fn lapse(&mut self, queue: usize, at: usize, now: Now) -> bool {
        let event = &self.events[at];
        if event.body.is_none() {
            self.forget_contentless(queue, at);
            return false;
        }
        let held = event.live(queue).expect("it was found so");
        let after = held.apply(&Step::Expire, now, &self.queues[queue].policy(event));
        let after = after.expect("its end has come");
        let is_free = after.state == State::Ready;
        self.keep_as(queue, at, after, now);
        is_free
    }

    pub(super) fn take(&mut self, queue: usize, at: usize, step: &Step, now: Now) {
        let event = &self.events[at];
        if event.in_stream
            && event.is_unread(queue)
            && self.queues[queue].entries_read.is_some()
            && let Some((_, place)) = event.placed
        {
            self.note_read(queue, &self.facts(event.stream), place);
        }
        let (event, row) = (&mut self.events[at], &mut self.queues[queue]);
        let fresh = row.fresh(event);
        let policy = row.policy(event);
        let taken = event.live(queue).unwrap_or(&fresh).apply(step, now, &policy);
        if let (true, Some((_, place))) = (event.is_unread(queue), event.placed) {
            row.last_taken = row.last_taken.max(place);
        }
        let taken = taken.expect("what is ready can be taken");
        row.highest = row.highest.max(taken.fence);
        let before = event.live(queue).cloned();
        event.put(queue, Stand::Live(taken.clone()));
        self.tell(queue, at, before.as_ref(), &taken, now);
    }

    /// The route to a delivery and its present hold: what its token is made of.
    pub(super) fn held(&self, queue: usize, at: usize, delivery: &Delivery) -> (Route, Held) {
        let (row, event) = (&self.queues[queue], &self.events[at]);
        let route = Route { queue_no: queue as u32 + 1, locator: event.id.locator() };
        (route, Held { queue: row.id, event: event.id, round: delivery.round, fence: delivery.fence })
    }

    pub(super) fn grant(&self, queue: usize, at: usize, now: Now) -> Grant {
        let (row, event) = (&self.queues[queue], &self.events[at]);
        let delivery = event.live(queue).expect("it was taken");
        let (route, held) = self.held(queue, at, delivery);
        Grant {
            event: event.id,
            queue: row.id,
            queue_name: row.name.clone(),
            round: held.round,
            fence: held.fence,
            attempts: delivery.attempts,
            expiries: delivery.expiries,
            scheduled_at: event.scheduled_at,
            body: event.body.clone().expect("a body lives until its event is done"),
            headers: event.headers.clone(),
            trace: event.trace.clone(),
            token: matches!(delivery.state, State::Leased(_)).then(|| self.token_key.token(route, &held)),
            lease_expires_at: delivery.ends_at().map(|end| now.wall_of(end)),
        }
    }

    /// How long until something may be claimable: what waits in the whole stream counts.
    pub(super) fn due_in(&self, queue: usize, now: Now) -> Option<Duration> {
        let stream = self.queues[queue].stream;
        let waits = self.events.iter().filter(|event| event.stream == stream).filter_map(|event| {
            let wall = |due: naven_api::Timestamp| due.as_ms() - now.wall.as_ms();
            if event.placed.is_none() {
                // Where there is no place left, what is due gets none.
                let has_places = self.streams[stream].last_place != Place::LAST;
                return Some(wall(event.due)).filter(|&ms| ms > 0 || has_places);
            }
            let live = event.live(queue)?;
            let end = live.ends_at().filter(|_| live.holder().is_none());
            let is_later = live.state == State::Retrying;
            is_later.then(|| wall(live.due)).or_else(|| Some(end?.as_ms() - now.lease.as_ms()))
        });
        waits.min().map(|ms| Duration::from_millis(ms.max(0) as u64))
    }
}
