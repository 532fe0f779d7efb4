//! What random scripts ask of groups and of their consumers.
//!
//! Lives here: drawing it, and what it means by now. Not here: other lines (`script.rs`, `known.rs`).

use bytes::Bytes;
use naven_core::DeadReason;

use super::known::{Known, consumer_name};
use super::random::SeededRandom;
use super::script::Pick;
use crate::queue::QueueRef;
use crate::txn::{DeleteOp, GroupOp, GroupStart, OpKind, Place, StreamRef};

/// Names that groups go by; the first ones are names of queues too.
const GROUPS: [&[u8]; 4] = [b"a", b"b", b"g", b"g/\xff"];

/// One op on a group.
#[derive(Debug, Clone, Copy)]
pub enum GroupAsk {
    /// Make one.
    Create {
        /// On which stream.
        stream: Pick,
        /// The number of its name.
        group: u8,
        /// True where the stream is made where it is missing.
        make_stream: bool,
        /// Where it begins.
        start: StartAsk,
        /// How many entries it is said to have read.
        entries_read: Option<u64>,
    },
    /// Send it to another place.
    SetPlace(Pick, StartAsk, Option<u64>),
    /// Make a consumer, by the number of its name.
    MakeConsumer(Pick, u8),
    /// Destroy one.
    Destroy(Pick),
}

/// Where a group begins.
#[derive(Debug, Clone, Copy)]
pub enum StartAsk {
    /// Behind the last entry.
    Last,
    /// Before the first.
    Zero,
    /// Behind an event's place, and so many beyond.
    After(Pick, u64),
}

/// Draws an op.
pub(super) fn ask(random: &SeededRandom) -> GroupAsk {
    let pick = || random.next_u64() as Pick;
    let entries_read = random.once_in(3).then(|| random.below(9).into());
    let start = match random.below(8) {
        0 => StartAsk::Last,
        1 | 2 => StartAsk::Zero,
        _ => StartAsk::After(pick(), random.one_of(&[0, 0, 0, 1])),
    };
    match random.below(8) {
        0..3 => GroupAsk::Create {
            stream: pick(),
            group: random.below(4) as u8,
            make_stream: random.once_in(2),
            start,
            entries_read,
        },
        3..6 => GroupAsk::SetPlace(pick(), start, entries_read),
        6 => GroupAsk::MakeConsumer(pick(), random.below(3) as u8),
        _ if random.once_in(3) => GroupAsk::Destroy(pick()),
        _ => GroupAsk::SetPlace(pick(), start, entries_read),
    }
}

impl Known {
    /// What `ask` means by now.
    pub(super) fn group_op(&self, ask: &GroupAsk) -> OpKind {
        match *ask {
            GroupAsk::Create { stream, group, make_stream, start, entries_read } => {
                OpKind::Group(GroupOp::CreateGroup {
                    stream: self.shared(stream),
                    group: group_name(group.into()),
                    make_stream,
                    start: self.group_start(start),
                    entries_read,
                })
            }
            GroupAsk::SetPlace(queue, start, entries_read) => OpKind::Group(GroupOp::SetPlace {
                queue: self.queue(queue),
                start: self.group_start(start),
                entries_read,
            }),
            GroupAsk::MakeConsumer(queue, name) => {
                OpKind::Group(GroupOp::MakeConsumer { queue: self.queue(queue), name: consumer_name(name) })
            }
            GroupAsk::Destroy(queue) => OpKind::Delete(DeleteOp::Queue {
                queue: self.queue(queue),
                force: true,
                reason: DeadReason::GroupDestroyed,
                revision: None,
            }),
        }
    }

    /// The queue of this number of a shared stream, as its readers call it.
    pub(super) fn on_stream(&self, pick: Pick) -> QueueRef {
        let StreamRef(stream) = self.shared(pick >> 16);
        QueueRef::Group { stream, group: group_name((pick >> 8) as usize) }
    }

    fn group_start(&self, start: StartAsk) -> GroupStart {
        match start {
            StartAsk::Last => GroupStart::Last,
            StartAsk::Zero => GroupStart::At(Place::default()),
            StartAsk::After(event, beyond) => {
                let place = self.place(event);
                GroupStart::At(Place { seq: place.seq.saturating_add(beyond), ..place })
            }
        }
    }
}

fn group_name(number: usize) -> Bytes {
    Bytes::from_static(GROUPS[number % GROUPS.len()])
}
