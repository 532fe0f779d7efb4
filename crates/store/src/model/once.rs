//! What the model does once only: dedupe keys and idempotency keys.
//!
//! Lives here: their lists. Not here: the ops that they guard (`publish.rs` and its likes).

use naven_api::{EventId, Timestamp};
use naven_core::{Now, State};

use super::world::{Answer, World};
use crate::read::EventView;
use crate::reply::{Claimed, OpReply, Refused};
use crate::txn::{DedupeKey, DedupeSpace, IdempotencySlot, OpKind, Place};

/// The first event of a dedupe key.
#[derive(Debug, Clone)]
pub(super) struct First {
    pub(super) stream: usize,
    key: DedupeKey,
    event: EventId,
    scheduled_at: Timestamp,
    /// Where it had one at once, for all to see.
    place: Option<Place>,
    until: Timestamp,
}

/// What an idempotency key was answered.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    slot: IdempotencySlot,
    until: Timestamp,
    reply: OpReply,
}

/// The key as events show it: only those of the HTTP door are texts.
pub(super) fn shown(key: &DedupeKey) -> Option<String> {
    let is_text = key.space == DedupeSpace::Http;
    is_text.then(|| String::from_utf8_lossy(&key.key).into_owned())
}

impl World {
    pub(super) fn first_of_key(&self, stream: usize, key: &DedupeKey, now: Now) -> Option<EventView> {
        let is_first = |one: &&First| one.stream == stream && one.key == *key && one.until > now.wall;
        let first = self.firsts.iter().find(is_first)?;
        let of = &self.streams[stream];
        if of.settings.dedupe_window_seconds == 0 {
            return None;
        }
        if let Ok(at) = self.find(first.event) {
            return Some(self.event_view(&self.events[at], false, now));
        }
        Some(EventView {
            id: first.event,
            stream: String::from_utf8_lossy(&of.name).into_owned(),
            place: first.place,
            body: None,
            headers: Vec::new(),
            created_at: Timestamp::from_ms(first.event.published_ms()),
            scheduled_at: first.scheduled_at,
            expires_at: None,
            dedupe_key: shown(key),
            trace: None,
            deliveries: Vec::new(),
        })
    }

    pub(super) fn remember_key(&mut self, stream: usize, key: &DedupeKey, at: usize, now: Now) {
        let seconds = self.streams[stream].settings.dedupe_window_seconds;
        if seconds == 0 {
            return;
        }
        let until = now.wall.plus_ms(i64::from(seconds) * 1_000);
        let (event, scheduled_at) = (self.events[at].id, self.events[at].scheduled_at);
        self.firsts.retain(|one| one.stream != stream || one.key != *key);
        let place = self.events[at].placed.filter(|_| self.events[at].only.is_none()).map(|(_, place)| place);
        self.firsts.push(First { stream, key: key.clone(), event, scheduled_at, place, until });
    }

    /// An op under an idempotency key.
    pub(super) fn once(&mut self, slot: &IdempotencySlot, kind: &OpKind, draw: u128, now: Now) -> Answer {
        let is_it = |one: &&Answered| one.slot.scope == slot.scope && one.slot.key == slot.key;
        if let Some(old) = self.answered.iter().find(is_it).filter(|old| old.until > now.wall) {
            if old.slot.fingerprint != slot.fingerprint {
                return Err(Refused::KeyReused.into());
            }
            if let Some(first) = self.again(&old.reply, now) {
                return Ok(OpReply::Replayed(Box::new(first)));
            }
        }
        let reply = self.apply(kind, draw, now)?;
        let is_kept = match &reply {
            OpReply::Claimed(claimed) => !claimed.leases.is_empty(),
            OpReply::Page(_) => false,
            _ => true,
        };
        if is_kept {
            let until = reply.remembered_until(now.wall);
            self.answered.retain(|one| !is_it(&one));
            self.answered.push(Answered { slot: slot.clone(), until, reply: reply.clone() });
        }
        Ok(reply)
    }

    /// The first answer, where it still holds: of a claim, the leases that live.
    fn again(&self, reply: &OpReply, now: Now) -> Option<OpReply> {
        let OpReply::Claimed(claimed) = reply else { return Some(reply.clone()) };
        let queue = self.queues.iter().position(|one| one.id == claimed.queue && one.is_open())?;
        let leases = claimed.leases.iter().filter_map(|grant| {
            let at = self.find(grant.event).ok()?;
            let live = self.events[at].live(queue)?;
            let is_same = (live.round, live.fence) == (grant.round, grant.fence);
            let State::Leased(lease) = live.state else { return None };
            (is_same && now.lease < lease.until).then(|| self.grant(queue, at, now))
        });
        let leases: Vec<_> = leases.collect();
        let claimed = Claimed { queue: claimed.queue, leases, due_in: None };
        (!claimed.leases.is_empty()).then_some(OpReply::Claimed(claimed))
    }

    /// Forgets keys of both kinds whose time is over; how many.
    pub(super) fn forget_keys(&mut self, now: Now) -> usize {
        let before = self.firsts.len() + self.answered.len();
        self.firsts.retain(|one| one.until > now.wall);
        self.answered.retain(|one| one.until > now.wall);
        before - self.firsts.len() - self.answered.len()
    }
}
