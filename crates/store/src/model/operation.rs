//! The model's operations.
//!
//! Lives here: their beginning, their steps and their end. Not here: what is done to one dead letter
//! (`settle.rs`).

use naven_api::id::{uuid_v7_bits, uuid_v7_bits_above};
use naven_api::limits::{OPERATION_CHUNK_ROWS, OPERATION_SECONDS, OPERATIONS_KEPT_MAX};
use naven_api::{EventId, OperationId, Timestamp};
use naven_core::{Delivery, Now, State, Step};

use super::purging::PurgeAt;
use super::views::page;
use super::world::{Answer, World};
use crate::queue::QueueRef;
use crate::read::{Cursor, Page};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{
    Bulk, MOVE_CHUNK_ROWS, OperationOp, OperationState, OperationView, QUEUE_GONE, TARGET_GONE,
};

#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) view: OperationView,
    pub(super) queue: usize,
    bulk: Bulk,
    /// What was dead when it began, as it was.
    pub(super) meant: Vec<(EventId, Delivery)>,
    /// The first death that it has not looked at, and the last that it looks at.
    pub(super) next: (Timestamp, u64),
    pub(super) upto: (Timestamp, u64),
    /// Of a purge, what was there when it began and through which of its parts it goes.
    pub(super) purge: PurgeAt,
}

impl World {
    pub(super) fn operate(&mut self, op: &OperationOp, draw: u128, now: Now) -> Answer {
        match op {
            OperationOp::Start { queue, bulk } => self.start_operation(queue, bulk, draw, now),
            OperationOp::Cancel { operation } => {
                let is_it = |one: &&mut Operation| one.view.id == *operation;
                let found = self.operations.iter_mut().find(is_it).ok_or(Refused::OperationNotFound)?;
                match found.view.state {
                    OperationState::Pending | OperationState::Running => {
                        found.view.end(OperationState::Cancelled, None, now.wall);
                    }
                    OperationState::Cancelled => {}
                    OperationState::Done | OperationState::Failed => return Err(Refused::WrongState.into()),
                }
                Ok(OpReply::Operation(Box::new(found.view.clone())))
            }
        }
    }

    fn start_operation(&mut self, queue: &QueueRef, bulk: &Bulk, draw: u128, now: Now) -> Answer {
        let at = self.open(queue)?;
        let bulk = match bulk {
            Bulk::Move { filter, target } => {
                let (target, filter) = (self.open(target)?, filter.clone());
                match target == at {
                    true => Bulk::Redrive { filter, reset_attempts: true },
                    false => Bulk::Move { filter, target: QueueRef::Id(self.queues[target].id) },
                }
            }
            other => other.clone(),
        };
        let kind = bulk.kind();
        let is_under_way = |one: &Operation| !one.view.state.is_over();
        if self.operations.iter().any(|one| one.queue == at && one.view.kind == kind && is_under_way(one)) {
            return Err(Refused::OperationRunning.into());
        }
        while self.operations.iter().filter(|one| !is_under_way(one)).count() >= OPERATIONS_KEPT_MAX
            && let Some(oldest) = self.operations.iter().position(|one| !is_under_way(one))
        {
            self.operations.remove(oldest);
        }
        let last = self.operations.last().map_or(0, |newest| newest.view.id.bits());
        let (from, before) = bulk.died();
        let mut dead = self.deaths(at);
        dead.retain(|(key, ..)| key.0.as_ms() < before);
        let view = OperationView {
            id: OperationId::from_bits(uuid_v7_bits_above(last, uuid_v7_bits(now.wall.as_ms(), draw))),
            kind,
            queue: self.queues[at].id,
            queue_name: self.queues[at].name.clone(),
            state: OperationState::Pending,
            matched: bulk.counted(&self.counts(at)),
            done: 0,
            failed: 0,
            error: None,
            created_at: now.wall,
            updated_at: now.wall,
        };
        let nothing = (Timestamp::from_ms(i64::MIN), 0);
        self.operations.push(Operation {
            view: view.clone(),
            queue: at,
            bulk,
            upto: dead.last().map_or(nothing, |(key, ..)| *key),
            meant: dead.into_iter().map(|(_, event, delivery)| (event, delivery)).collect(),
            next: (Timestamp::from_ms(from), 0),
            purge: self.purge_from(at),
        });
        self.operations.sort_by_key(|one| one.view.id);
        Ok(OpReply::Operation(Box::new(view)))
    }

    /// Takes the oldest one on by one chunk; how many dead letters were looked at.
    pub(super) fn run_operation(&mut self, now: Now, most: usize) -> usize {
        let is_under_way = |one: &Operation| !one.view.state.is_over();
        let Some(at) = self.operations.iter().position(is_under_way).filter(|_| most > 0) else { return 0 };
        let mut one = self.operations[at].clone();
        if !self.queues[one.queue].is_open() {
            self.operations[at].view.end(OperationState::Failed, Some(QUEUE_GONE), now.wall);
            return 1;
        }
        let mut chunk = most.min(OPERATION_CHUNK_ROWS as usize);
        if let Bulk::Move { target, .. } = &one.bulk {
            if self.open(target).is_err() {
                self.operations[at].view.end(OperationState::Failed, Some(TARGET_GONE), now.wall);
                return 1;
            }
            chunk = chunk.min(MOVE_CHUNK_ROWS as usize);
        }
        if let Bulk::Purge(filter) = one.bulk.clone() {
            let (looked_at, is_over) = self.run_purge(&mut one, &filter, chunk, now);
            if is_over {
                one.view.end(OperationState::Done, None, now.wall);
            } else {
                (one.view.state, one.view.updated_at) = (OperationState::Running, now.wall);
            }
            self.operations[at] = one;
            return looked_at;
        }
        let mut found = self.deaths(one.queue);
        found.retain(|(key, ..)| *key >= one.next && *key <= one.upto);
        found.truncate(chunk);
        for (_, event, delivery) in &found {
            if one.meant.contains(&(*event, delivery.clone())) {
                self.operate_on(&mut one, *event, delivery, now);
            }
        }
        match found.last() {
            Some(((died, arrival), ..)) if found.len() == chunk => {
                one.next = (*died, arrival + 1);
                (one.view.state, one.view.updated_at) = (OperationState::Running, now.wall);
            }
            _ => one.view.end(OperationState::Done, None, now.wall),
        }
        self.operations[at] = one;
        found.len().max(1)
    }

    fn operate_on(&mut self, one: &mut Operation, event: EventId, delivery: &Delivery, now: Now) {
        let State::Dead(reason) = delivery.state else { return };
        let error = delivery.last_error.as_ref().map(ToString::to_string);
        let (filter, step) = match &one.bulk {
            Bulk::Redrive { filter, reset_attempts } => {
                (filter, Step::Redrive { reset_attempts: *reset_attempts })
            }
            Bulk::Discard { filter } | Bulk::Move { filter, .. } => (filter, Step::Discard),
            Bulk::Purge(_) => return,
        };
        if !filter.takes(reason, error.as_deref()) {
            return;
        }
        if let Bulk::Move { target, .. } = one.bulk.clone() {
            let found = self.find(event).expect("it is dead, so it is there");
            return one.view.count(self.move_on(one.queue, found, &target, now).is_ok());
        }
        let found = self.find(event).expect("it is dead, so it is there");
        let next = delivery.apply(&step, now, &self.queues[one.queue].policy(&self.events[found]));
        let was_done = next.is_ok();
        if let Ok(next) = next {
            match one.bulk {
                Bulk::Redrive { .. } => {
                    self.tell(one.queue, found, Some(delivery), &next, now);
                    self.save(one.queue, found, next);
                }
                Bulk::Discard { .. } | Bulk::Move { .. } | Bulk::Purge(_) => {
                    self.put_away(one.queue, found, next)
                }
            }
        }
        one.view.count(was_done);
    }

    /// The dead of an open queue, the first to die first.
    pub(super) fn deaths(&self, queue: usize) -> Vec<((Timestamp, u64), EventId, Delivery)> {
        let dead = self.events.iter().filter_map(|event| {
            let live = event.live(queue).filter(|live| live.is_over())?;
            Some(((live.over_at?, event.arrival), event.id, live.clone()))
        });
        let mut dead: Vec<_> = dead.collect();
        dead.sort_by_key(|(key, ..)| *key);
        dead
    }

    /// Forgets those that were kept long enough; how many.
    pub(super) fn forget_operations(&mut self, now: Now, most: usize) -> usize {
        let mut gone = 0;
        while gone < most
            && let Some(first) = self.operations.first()
            && first.view.state.is_over()
            && first.view.updated_at.plus_ms(i64::from(OPERATION_SECONDS) * 1_000) <= now.wall
        {
            self.operations.remove(0);
            gone += 1;
        }
        gone
    }

    pub(super) fn operation_page(&self, id: OperationId) -> Result<Page, OpError> {
        let found = self.operations.iter().find(|one| one.view.id == id).ok_or(Refused::OperationNotFound)?;
        Ok(Page::Operation(Box::new(found.view.clone())))
    }

    pub(super) fn operations_page(&self, cursor: Option<&Cursor>, limit: u32) -> Result<Page, OpError> {
        let found = self.operations.iter().map(|one| (one.view.id.bits(), one.view.clone())).collect();
        let (items, next) = page(found, cursor, limit)?;
        Ok(Page::Operations(items, next))
    }
}
