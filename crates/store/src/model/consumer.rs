//! Redis consumers of the model.
//!
//! Lives here: their numbers and their deletion. Not here: what they take (`claim.rs`) and finish
//! (`settle.rs`).

use bytes::Bytes;
use naven_core::{ConsumerNo, DeadReason, Now, State, Step};

use super::event::Stand;
use super::world::{Answer, World};
use crate::feed::Change;
use crate::queue::QueueRef;
use crate::read::{HolderKind, Holders, Holding};
use crate::reply::OpReply;

/// A consumer of a queue, known from the first event that it takes.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    pub(super) number: ConsumerNo,
    pub(super) name: Bytes,
}

impl World {
    /// The number under which a consumer takes. It is known only once it has taken something.
    pub(super) fn consumer_number(&self, queue: usize, name: &Bytes) -> ConsumerNo {
        let row = &self.queues[queue];
        let known = row.consumers.iter().find(|one| one.name == *name);
        known.map_or(ConsumerNo(row.consumers_made + 1), |one| one.number)
    }

    /// Who has live leases of a queue, and its consumers.
    pub(super) fn holders(&self, at: usize, now: Now) -> Holders {
        let mut holding = Holding::default();
        for one in &self.queues[at].consumers {
            holding.add(HolderKind::Redis, Some(String::from_utf8_lossy(&one.name).into_owned()), 0, None);
        }
        for live in self.events.iter().filter_map(|event| event.live(at)) {
            let past = live.log.last();
            let (name, since) =
                (past.and_then(|past| past.consumer.clone()), past.map(|past| past.leased_at));
            match live.state {
                State::Leased(lease) if lease.until > now.lease => {
                    holding.add(HolderKind::Http, name, 1, since)
                }
                State::Held { .. } => holding.add(HolderKind::Redis, name, 1, since),
                _ => {}
            }
        }
        holding.into_holders(false)
    }

    /// A consumer took something.
    pub(super) fn know_consumer(&mut self, queue: usize, name: &Bytes) {
        let number = self.consumer_number(queue, name);
        let row = &mut self.queues[queue];
        if row.consumers.iter().all(|one| one.name != *name) {
            row.consumers.push(Consumer { number, name: name.clone() });
            row.consumers_made = number.0;
        }
    }

    pub(super) fn delete_consumer(&mut self, queue: &QueueRef, name: &Bytes, now: Now) -> Answer {
        let at = self.open(queue)?;
        let row = &mut self.queues[at];
        let Some(found) = row.consumers.iter().position(|one| one.name == *name) else {
            return Ok(OpReply::Removed(0));
        };
        let gone = row.consumers.remove(found).number;
        let mut held = 0;
        for event in &mut self.events {
            let Some(live) = event.live(at) else { continue };
            if !matches!(live.state, State::Held { consumer, .. } if consumer == gone) {
                continue;
            }
            let policy = self.queues[at].policy(event);
            let dead = live.apply(&Step::Bury(DeadReason::ConsumerDeleted), now, &policy);
            let dead = dead.expect("what is held is not over");
            self.told.extend(Change::between((self.queues[at].id, event.id), Some(live), &dead, now));
            event.put(at, Stand::Live(dead));
            held += 1;
        }
        Ok(OpReply::Removed(held))
    }
}
