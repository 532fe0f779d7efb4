//! Redis consumers of the model.
//!
//! Lives here: their numbers and their deletion. Not here: what they take (`claim.rs`) and finish
//! (`settle.rs`).

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{ConsumerNo, DeadReason, Now, State, Step};

use super::event::Stand;
use super::world::{Answer, World};
use crate::feed::Change;
use crate::queue::QueueRef;
use crate::read::{HolderKind, Holders, Holding};
use crate::reply::OpReply;

/// A consumer of a queue, known from the first time that it asks for anything.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    pub(super) number: ConsumerNo,
    pub(super) name: Bytes,
    pub(super) seen: Timestamp,
    pub(super) active: Option<Timestamp>,
}

impl World {
    /// The number under which a consumer takes.
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

    /// There is a consumer of this name from now on. Whether it was made.
    pub(super) fn know_consumer(&mut self, queue: usize, name: &Bytes, now: Now) -> bool {
        let number = self.consumer_number(queue, name);
        let row = &mut self.queues[queue];
        let is_new = row.consumers.iter().all(|one| one.name != *name);
        if is_new {
            row.consumers.push(Consumer { number, name: name.clone(), seen: now.wall, active: None });
            row.consumers_made = number.0;
        }
        is_new
    }

    /// The number of the consumer of this name, which is made where it is not there. It counts as seen now.
    pub(super) fn consumer_for(&mut self, queue: usize, name: &Bytes, now: Now) -> ConsumerNo {
        self.know_consumer(queue, name, now);
        let number = self.consumer_number(queue, name);
        self.of_consumer(queue, number, |one| one.seen = now.wall);
        number
    }

    /// The consumer was handed something that it holds.
    pub(super) fn consumer_took(&mut self, queue: usize, number: ConsumerNo, now: Now) {
        self.of_consumer(queue, number, |one| one.active = Some(now.wall));
    }

    fn of_consumer(&mut self, queue: usize, number: ConsumerNo, change: impl FnMut(&mut Consumer)) {
        self.queues[queue].consumers.iter_mut().filter(|one| one.number == number).for_each(change);
    }

    pub(super) fn make_consumer(&mut self, queue: &QueueRef, name: &Bytes, now: Now) -> Answer {
        let at = self.open(queue)?;
        Ok(OpReply::Made(self.know_consumer(at, name, now)))
    }

    pub(super) fn delete_consumer(&mut self, queue: &QueueRef, name: &Bytes, now: Now) -> Answer {
        let at = self.open(queue)?;
        let row = &mut self.queues[at];
        let Some(found) = row.consumers.iter().position(|one| one.name == *name) else {
            return Ok(OpReply::Removed(0));
        };
        let gone = row.consumers.remove(found).number;
        let (mut held, mut contentless, mut is_new_round) = (0, Vec::new(), false);
        for event in &mut self.events {
            let Some(live) = event.live(at) else { continue };
            if !matches!(live.state, State::Held { consumer, .. } if consumer == gone) {
                continue;
            }
            held += 1;
            if event.is_ahead(at) {
                event.put(at, Stand::Unread);
                is_new_round = true;
                continue;
            }
            if event.body.is_none() {
                event.drop_dealing(at);
                contentless.push(event.id);
                continue;
            }
            let policy = self.queues[at].policy(event);
            let dead = live.apply(&Step::Bury(DeadReason::ConsumerDeleted), now, &policy);
            let dead = dead.expect("what is held is not over");
            self.told.extend(Change::between((self.queues[at].id, event.id), Some(live), &dead, now));
            event.put(at, Stand::Live(dead));
        }
        if is_new_round {
            self.new_round(at);
        }
        contentless.into_iter().for_each(|event| self.release(event));
        Ok(OpReply::Removed(held))
    }
}
