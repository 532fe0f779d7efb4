//! What random scripts ask of entries by their places, as readers of a stream do.
//!
//! Lives here: drawing it, and what it means by now. Not here: other lines (`script.rs`, `known.rs`).

use naven_api::{ErrorText, Timestamp};

use super::entry_asks::references;
use super::known::{Known, consumer_name};
use super::random::SeededRandom;
use super::script::Pick;
use crate::read::{PENDING_HTTP, PENDING_NOBODY, PendingRead, Read};
use crate::txn::{
    AckEntries, GivingUp, GroupFrom, NackEntries, OpKind, Place, ReadGroup, ReaderOp, ScanTransfer, Since,
    Transfer,
};

/// One op on entries.
#[derive(Debug, Clone)]
pub enum ReaderAsk {
    /// Read from a queue, or from two.
    Read {
        /// From which.
        from: Vec<(Pick, Option<Pick>)>,
        /// For whom.
        consumer: u8,
        /// At most so many.
        count: Option<u64>,
        /// At most so many bytes.
        max_bytes: u64,
        /// True where it is done at once.
        no_ack: bool,
        /// Before that, what was idle for so long.
        idle_ms: Option<u64>,
    },
    /// Finish; below 3 the number of what becomes of entries that leave their stream as well.
    Ack(Pick, Vec<Pick>, u8),
    /// Give up.
    Nack(Pick, Vec<Pick>, u8),
    /// Take over.
    Transfer {
        /// In which queue.
        queue: Pick,
        /// For whom.
        consumer: u8,
        /// Which.
        places: Vec<Pick>,
        /// The number of how.
        how: u16,
        /// Up to where the queue counts as read.
        last: Option<Pick>,
    },
    /// Take over in order.
    Scan {
        /// In which queue.
        queue: Pick,
        /// For whom.
        consumer: u8,
        /// From where; none: from the first.
        start: Option<Pick>,
        /// At most so many.
        count: u64,
        /// The number of how.
        how: u16,
    },
}

/// A read of what is pending.
#[derive(Debug, Clone, Copy)]
pub enum PendingLook {
    /// One by one.
    List {
        /// In which queue.
        queue: Pick,
        /// From where.
        start: Option<Pick>,
        /// Up to where.
        end: Option<Pick>,
        /// At most so many.
        limit: u64,
        /// Whose, by a number.
        whose: u8,
        /// Only what was idle for so long.
        min_idle_ms: u64,
    },
    /// In all.
    Summary(Pick),
}

/// Draws an op.
pub(super) fn ask(random: &SeededRandom) -> ReaderAsk {
    let pick = || random.next_u64() as Pick;
    let some = || (0..1 + random.below(3)).map(|_| pick()).collect();
    let consumer = random.below(3) as u8;
    match random.below(12) {
        0..6 => ReaderAsk::Read {
            from: (0..1 + random.below(6) / 5).map(|_| (pick(), random.once_in(4).then(pick))).collect(),
            consumer,
            count: random.one_of(&[None, Some(1), Some(1), Some(2), Some(5)]),
            max_bytes: random.one_of(&[u64::MAX, u64::MAX, 0, 20]),
            no_ack: random.once_in(6),
            idle_ms: random.one_of(&[None, None, None, Some(0), Some(1_000)]),
        },
        6 | 7 => ReaderAsk::Ack(pick(), some(), random.below(8) as u8),
        8 => ReaderAsk::Nack(pick(), some(), random.below(256) as u8),
        9 | 10 => ReaderAsk::Transfer {
            queue: pick(),
            consumer,
            places: some(),
            how: random.below(1 << 16) as u16,
            last: random.once_in(8).then(pick),
        },
        _ => ReaderAsk::Scan {
            queue: pick(),
            consumer,
            start: random.once_in(2).then(pick),
            count: random.one_of(&[1, 1, 2, 100]),
            how: random.below(1 << 16) as u16,
        },
    }
}

/// Draws a read.
pub(super) fn look(random: &SeededRandom) -> PendingLook {
    let pick = || random.next_u64() as Pick;
    if random.once_in(4) {
        return PendingLook::Summary(pick());
    }
    PendingLook::List {
        queue: pick(),
        start: random.once_in(3).then(pick),
        end: random.once_in(3).then(pick),
        limit: random.one_of(&[1, 2, 100]),
        whose: random.below(12) as u8,
        min_idle_ms: random.one_of(&[0, 0, 1_000]),
    }
}

impl Known {
    pub(super) fn reader_op(&self, ask: &ReaderAsk, wall: Timestamp) -> OpKind {
        OpKind::Reader(match ask {
            ReaderAsk::Read { from, consumer, count, max_bytes, no_ack, idle_ms } => {
                let from = from.iter().map(|(queue, after)| GroupFrom {
                    queue: self.queue(*queue),
                    after: after
                        .map(|after| if after % 2 == 0 { Place::default() } else { self.place(after) }),
                });
                ReaderOp::Read(ReadGroup {
                    consumer: consumer_name(*consumer),
                    count: *count,
                    max_bytes: *max_bytes,
                    no_ack: *no_ack,
                    idle_ms: *idle_ms,
                    from: from.collect(),
                })
            }
            ReaderAsk::Ack(queue, picks, deletes) => {
                let (queue, places) = self.read_in(*queue, picks);
                let delete = (*deletes < 3).then(|| references(*deletes));
                ReaderOp::Ack(AckEntries { queue, places, delete })
            }
            ReaderAsk::Nack(queue, picks, how) => self.nack_op(*queue, picks, *how),
            ReaderAsk::Transfer { queue, consumer, places: picks, how, last } => {
                let since = [None, None, Some(Since::Idle(5_000)), Some(Since::At(wall.plus_ms(-700)))];
                let (queue, places) = self.read_in(*queue, picks);
                ReaderOp::Transfer(Transfer {
                    queue,
                    consumer: consumer_name(*consumer),
                    min_idle_ms: [0, 0, 0, 1_000][usize::from(how % 4)],
                    places,
                    just_id: how / 4 % 4 == 0,
                    force: how / 16 % 2 == 0,
                    since: since[usize::from(how / 32 % 4)],
                    redis_count: (how / 128 % 4 == 0).then_some(5),
                    last: last.map(|last| self.place(last)),
                })
            }
            ReaderAsk::Scan { queue, consumer, start, count, how } => ReaderOp::ScanTransfer(ScanTransfer {
                queue: self.queue(*queue),
                consumer: consumer_name(*consumer),
                min_idle_ms: [0, 0, 1_000, 60_000][usize::from(how % 4)],
                start: start.map_or(Place::default(), |start| self.place(start)),
                count: *count,
                max_bytes: if how / 4 % 4 == 0 { 11 } else { u64::MAX },
                just_id: how / 16 % 4 == 0,
            }),
        })
    }

    fn nack_op(&self, queue: Pick, picks: &[Pick], how: u8) -> ReaderOp {
        let (queue, places) = self.read_in(queue, picks);
        ReaderOp::Nack(NackEntries {
            queue,
            places,
            how: [GivingUp::Release, GivingUp::Fail, GivingUp::Fail, GivingUp::Fatal][usize::from(how % 4)],
            delay_ms: [None, None, Some(0), Some(1_500)][usize::from(how / 4 % 4)],
            error: (how / 16).is_multiple_of(2).then(|| ErrorText::new("no")),
            redis_count: (how / 32).is_multiple_of(4).then_some(3),
        })
    }

    pub(super) fn pending_read(&self, look: PendingLook) -> Read {
        match look {
            PendingLook::Summary(queue) => Read::PendingSummary(self.queue(queue)),
            PendingLook::List { queue, start, end, limit, whose, min_idle_ms } => {
                Read::Pending(PendingRead {
                    queue: self.queue(queue),
                    start: start.map_or(Place::default(), |start| self.place(start)),
                    end: end.map_or(Place { ms: u64::MAX, seq: u64::MAX }, |end| self.place(end)),
                    limit,
                    consumer: match whose {
                        0..3 => Some(consumer_name(whose)),
                        3 => Some(PENDING_HTTP.into()),
                        4 => Some(PENDING_NOBODY.into()),
                        _ => None,
                    },
                    min_idle_ms,
                })
            }
        }
    }
}
