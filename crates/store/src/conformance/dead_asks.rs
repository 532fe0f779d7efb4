//! What random scripts ask of dead letters and of operations.
//!
//! Lives here: drawing it, and what it means by now. Not here: other lines (`script.rs`, `known.rs`).

use naven_api::{EventId, OperationId, Timestamp};
use naven_core::{DeadReason, View};

use super::clock::WALL_START_MS;
use super::known::Known;
use super::random::SeededRandom;
use super::script::Pick;
use crate::read::{Cursor, DeadFilter, DeadRead, Read};
use crate::txn::{AdminOp, Bulk, OpKind, OperationOp, PurgeFilter};

/// One op on dead letters, or on an operation.
#[derive(Debug, Clone, Copy)]
pub enum DeadAsk {
    /// Forget one.
    Discard {
        /// Which event.
        event: Pick,
        /// In which queue.
        queue: Pick,
    },
    /// Begin an operation.
    Start {
        /// In which queue.
        queue: Pick,
        /// By which filter.
        by: u8,
        /// True where they begin a new round, else they are forgotten.
        redrive: bool,
        /// True where attempts begin anew.
        reset_attempts: bool,
    },
    /// Move one to another queue.
    Move {
        /// Which event.
        event: Pick,
        /// In which queue; none: in its only one.
        queue: Option<Pick>,
        /// Where to.
        target: Pick,
    },
    /// Move those that a filter lets in.
    MoveMany(Pick, u8, Pick),
    /// Throw away what waits in a queue, by the number of what is meant.
    Purge(Pick, u8),
    /// End one.
    Cancel(Pick),
}

/// A read of dead letters, or of operations.
#[derive(Debug, Clone, Copy)]
pub enum DeadLook {
    /// Those of a queue that a filter lets in, in pages of so many.
    List(Pick, u8, u32),
    /// Their groups, at most so many.
    Groups(Pick, u8, u32),
    /// How many they are.
    Count(Pick, u8),
    /// How many of some events they are.
    Among(Pick, [Pick; 3]),
    /// How many a purge would mean, by its number.
    Purgeable(Pick, u8),
    /// One operation.
    Operation(Pick),
    /// Operations, in pages of so many.
    Operations(u32),
}

/// Draws an op.
pub(super) fn ask(random: &SeededRandom) -> DeadAsk {
    let pick = || random.next_u64() as Pick;
    match random.below(8) {
        0 => DeadAsk::Move { event: pick(), queue: random.once_in(2).then(pick), target: pick() },
        1 if random.once_in(2) => DeadAsk::MoveMany(pick(), random.below(8) as u8, pick()),
        1 | 2 => DeadAsk::Discard { event: pick(), queue: pick() },
        3 if random.once_in(2) => DeadAsk::Cancel(pick()),
        3 | 4 => DeadAsk::Purge(pick(), random.below(8) as u8),
        _ => DeadAsk::Start {
            queue: pick(),
            by: random.below(8) as u8,
            redrive: !random.once_in(3),
            reset_attempts: !random.once_in(3),
        },
    }
}

/// Draws a read.
pub(super) fn look(random: &SeededRandom) -> DeadLook {
    let pick = || random.next_u64() as Pick;
    let (by, limit) = (random.below(8) as u8, random.one_of(&[1, 2, 500]));
    match random.below(8) {
        0..3 => DeadLook::List(pick(), by, limit),
        3 => DeadLook::Groups(pick(), by, limit),
        4 => DeadLook::Count(pick(), by),
        6 if random.once_in(2) => DeadLook::Purgeable(pick(), by),
        5 => DeadLook::Among(pick(), [pick(), pick(), pick()]),
        6 => DeadLook::Operation(pick()),
        _ => DeadLook::Operations(limit),
    }
}

/// The filter of this number.
fn filter(by: u8) -> DeadFilter {
    let all = DeadFilter::default();
    match by {
        0 => DeadFilter { reason: Some(DeadReason::Fatal), ..all },
        1 => DeadFilter { reason: Some(DeadReason::AttemptsUsedUp), ..all },
        2 => DeadFilter { error: Some("went".to_owned()), ..all },
        3 => DeadFilter { error: Some("no such".to_owned()), ..all },
        4 => DeadFilter { died_after: Some(Timestamp::from_ms(WALL_START_MS + 5_000)), ..all },
        5 => DeadFilter { died_before: Some(Timestamp::from_ms(WALL_START_MS + 60_000)), ..all },
        _ => all,
    }
}

/// What the purge of this number means.
fn purge(by: u8) -> PurgeFilter {
    let states: &[View] = match by {
        0 => &[View::Scheduled],
        1 => &[View::Ready],
        2 => &[View::Retrying],
        3 => &[View::Ready, View::Dead],
        4 => &[View::Dead],
        _ => &[View::Scheduled, View::Ready, View::Retrying],
    };
    let older_than = (by % 3 == 1).then_some(Timestamp::from_ms(WALL_START_MS + 5_000));
    PurgeFilter { states: states.iter().copied().collect(), older_than }
}

impl Known {
    /// The op that `ask` means.
    pub(super) fn dead_op(&self, ask: &DeadAsk) -> OpKind {
        match *ask {
            DeadAsk::Discard { event, queue } => {
                let (event, of) = self.dead_letter(event, Some(queue));
                OpKind::Admin(AdminOp::Discard { event, queue: of.unwrap_or_else(|| self.queue(queue)) })
            }
            DeadAsk::Start { queue, by, redrive, reset_attempts } => {
                let filter = filter(by);
                let bulk =
                    if redrive { Bulk::Redrive { filter, reset_attempts } } else { Bulk::Discard { filter } };
                OpKind::Operation(OperationOp::Start { queue: self.queue(queue), bulk })
            }
            DeadAsk::Move { event, queue, target } => {
                let (event, queue) = self.dead_letter(event, queue);
                OpKind::Admin(AdminOp::MoveDead { event, queue, target: self.queue(target) })
            }
            DeadAsk::MoveMany(queue, by, target) => {
                let bulk = Bulk::Move { filter: filter(by), target: self.queue(target) };
                OpKind::Operation(OperationOp::Start { queue: self.queue(queue), bulk })
            }
            DeadAsk::Purge(queue, by) => {
                let bulk = Bulk::Purge(purge(by));
                OpKind::Operation(OperationOp::Start { queue: self.queue(queue), bulk })
            }
            DeadAsk::Cancel(operation) => {
                OpKind::Operation(OperationOp::Cancel { operation: self.operation(operation) })
            }
        }
    }

    /// The read that `look` means, from `cursor` on where it is a list.
    pub(super) fn dead_read(&self, look: DeadLook, cursor: Option<Cursor>) -> Read {
        match look {
            DeadLook::List(queue, by, limit) => Read::Dead(DeadRead::List {
                queue: self.queue(queue),
                filter: filter(by),
                cursor,
                limit,
                payload: limit > 1,
            }),
            DeadLook::Groups(queue, by, limit) => {
                Read::Dead(DeadRead::Groups { queue: self.queue(queue), filter: filter(by), limit })
            }
            DeadLook::Count(queue, by) => {
                Read::Dead(DeadRead::Count { queue: self.queue(queue), filter: filter(by) })
            }
            DeadLook::Among(queue, events) => {
                let events: Vec<EventId> = events.into_iter().map(|event| self.event(event)).collect();
                Read::Dead(DeadRead::Among { queue: self.queue(queue), events })
            }
            DeadLook::Purgeable(queue, by) => Read::Purgeable { queue: self.queue(queue), filter: purge(by) },
            DeadLook::Operation(operation) => Read::Operation(self.operation(operation)),
            DeadLook::Operations(limit) => Read::Operations { cursor, limit },
        }
    }

    fn operation(&self, pick: Pick) -> OperationId {
        let known = &self.operations;
        if known.is_empty() { OperationId::from_bits(1) } else { known[pick as usize % known.len()] }
    }
}
