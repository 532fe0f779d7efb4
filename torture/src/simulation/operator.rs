//! An operator: looks at events, redrives, calls off, puts off.
//!
//! Lives here: what it does when. Not here: the network that carries it (`floor.rs`).

use naven_api::Timestamp;
use naven_store::queue::QueueRef;
use naven_store::read::Read;
use naven_store::txn::{AdminOp, Due, OpKind};

use super::floor::{Floor, Note, Wish};
use crate::history::Ask;

#[derive(Debug)]
pub(super) struct Operator {
    no: usize,
    asked: Option<usize>,
}

impl Operator {
    pub(super) fn new(no: usize, floor: &mut Floor) -> Self {
        floor.wake(no, floor.dice.between(500..=3_000), Note::Go);
        Self { no, asked: None }
    }

    pub(super) fn wakes(&mut self, floor: &mut Floor) {
        if self.asked.is_some() || floor.is_healed {
            return;
        }
        if floor.events.is_empty() {
            return floor.wake(self.no, 500, Note::Go);
        }
        let event = floor.dice.one_of(&floor.events);
        let id = floor.dice.one_of(&floor.queues);
        let queue = Some(QueueRef::Id(id));
        let (op, ask) = match floor.dice.count(0..=9) {
            0..=2 => {
                let reset_attempts = floor.dice.percent(50);
                let op = AdminOp::Redrive { event, queue, reset_attempts };
                (OpKind::Admin(op), Ask::Redrive { event: Some(event), reset_attempts })
            }
            3 => (OpKind::Admin(AdminOp::Cancel { event, queue, reason: None }), Ask::Cancel { event }),
            4 => {
                let due_ms = floor.wall_ms() + floor.dice.between(0..=4_000);
                let due = Some(Due::At(Timestamp::from_ms(due_ms)));
                let op = AdminOp::Reschedule { event, queue, due, max_attempts: None };
                (OpKind::Admin(op), Ask::Reschedule { event, due_ms })
            }
            _ => (OpKind::Read(Read::Event { event, payload: false }), Ask::Look { event }),
        };
        self.asked = Some(floor.send(self.no, Wish { op, asks: vec![(id, ask)], once: None }));
    }

    pub(super) fn hears(&mut self, request: usize, floor: &mut Floor) {
        if self.asked.take_if(|asked| *asked == request).is_some() {
            floor.wake(self.no, floor.dice.between(100..=2_500), Note::Go);
        }
    }
}
