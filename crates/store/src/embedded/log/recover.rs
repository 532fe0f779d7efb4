//! Finding the end of the log at a start, and reading everything up to it.
//!
//! Lives here: the walk along the segments. Not here: whether an invalid batch is a tail or damage
//! (`tail.rs`), and what is done with the records (the caller).

use std::collections::VecDeque;
use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::append::{Active, Log};
use super::batch::{BATCH_FORMAT, BatchHeader, BatchKind, FIRST_LSN, Lsn, Seed};
use super::closed::{Closed, ClosedSegments};
use super::pool::{Pool, RESERVE};
use super::segment::{self, RollTo, Segment, SegmentNumber};
use super::tail::Tail;
use super::torn;
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskFile, Site};
use crate::embedded::meta::Meta;
use crate::embedded::storage_error::{BoxError, StorageError};

/// Takes a batch that is replayed: its header and payload.
pub type Replay<'a> = dyn FnMut(&BatchHeader, &[u8]) -> Result<(), BoxError> + 'a;

/// What a start found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The last batch with clocks of its own; none in a log that was never written.
    pub last: Option<BatchHeader>,
    /// The LSN that comes next.
    pub next_lsn: Lsn,
    /// Bytes of an unfinished tail that were cut off.
    pub cut_bytes: u64,
    /// True where the log was closed on purpose.
    pub was_sealed: bool,
    /// Batches that were handed to the caller.
    pub replayed: u64,
}

/// A batch that no later one has proved durable yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unproved {
    offset: u64,
    next: Lsn,
    is_roll: bool,
}

/// A segment with its open file.
pub(super) struct Opened {
    pub(super) segment: Segment,
    pub(super) file: Box<dyn DiskFile>,
}

/// Where the walk stands.
struct Walk<'a> {
    disk: &'a dyn Disk,
    meta: &'a Meta,
    from: Lsn,
    next: Lsn,
    /// Everything up to this LSN was durable before the walk's end was written.
    proved: Lsn,
    unproved: VecDeque<Unproved>,
    /// The segment before, while nothing in this one has proved it whole.
    unproved_before: Option<(Opened, u64, u64)>,
    last: Option<BatchHeader>,
    replayed: u64,
    closed: Vec<Closed>,
}

impl Log {
    /// Opens the log of a store: hands every batch that holds anything at or after `from` to
    /// `replay`, in order, cuts an unfinished tail, and makes what was read durable before
    /// anything is built on it. `from` is the LSN after the cold store's, or 1.
    ///
    /// # Errors
    /// `Damage`, with file and offset, for anything that is not as it was written and is not an
    /// unfinished tail; `Newer`; `Record` where `replay` refuses; `Disk`.
    pub fn open(
        disk: Arc<dyn Disk>,
        meta: &Meta,
        from: Lsn,
        replay: &mut Replay<'_>,
    ) -> Result<(Self, Recovered), StorageError> {
        let listed = segment::list(&*disk, meta.segment_bytes)?;
        let start = find_start(&*disk, meta, from, &listed.segments)?;
        let (older, chain) = listed.segments.split_at(start.index);
        let (proved, unproved, closed) = (from.saturating_sub(1), VecDeque::new(), Vec::new());
        let mut walk = Walk {
            disk: &*disk,
            meta,
            from,
            next: start.lsn,
            proved,
            unproved,
            unproved_before: None,
            last: None,
            replayed: 0,
            closed,
        };
        let (active, at, rest) = walk.along(chain, replay)?;
        let tail = Tail { disk: &*disk, store: meta.store, active: &active, at, expected: walk.next, rest };
        let cut_bytes =
            tail.decide_and_mend(walk.proved, walk.first_unproved(), walk.unproved_before.as_ref())?;

        let pool = Pool::open(Arc::clone(&disk), meta.segment_bytes, &listed.spares, &listed.unfinished)?;
        pool.give_back(rest)?;
        pool.top_up(RESERVE)?;
        let older = older.iter().map(|segment| Closed { segment: segment.clone(), end: start.lsn });
        let closed: Vec<Closed> = older.chain(walk.closed).collect();
        let pool = Arc::new(pool);
        let (to_pool, now) = (Arc::clone(&pool), active.segment.clone());
        let closed = ClosedSegments::new(Arc::clone(&disk), meta.store, to_pool, closed, now);
        let recovered = Recovered {
            last: walk.last,
            next_lsn: walk.next,
            cut_bytes,
            was_sealed: walk.last.is_some_and(|last| last.kind == BatchKind::Seal),
            replayed: walk.replayed,
        };
        let clocks =
            walk.last.map_or((Timestamp::from_ms(0), LeaseTime::from_ms(0)), |last| (last.wall, last.lease));
        let log = Self {
            active: Active { segment: active.segment, file: active.file, at },
            closed: Arc::new(closed),
            next: walk.next,
            durable: walk.next - 1,
            meta: *meta,
            is_dead: false,
            buffer: Vec::new(),
            clocks,
            pool,
            disk,
        };
        Ok((log, recovered))
    }
}

/// Where the walk begins.
struct Start {
    index: usize,
    lsn: Lsn,
}

/// The last segment that begins at or before `from`.
fn find_start(disk: &dyn Disk, meta: &Meta, from: Lsn, segments: &[Segment]) -> Result<Start, StorageError> {
    for (index, segment) in segments.iter().enumerate().rev() {
        let file = disk.open(Site("segment.open"), &segment.name)?;
        let mut window = Window::new(&*file, segment.len);
        match window.batch(0, Seed::of(meta.store, segment.number))? {
            Found::Batch(header, _) if header.lsn <= from => return Ok(Start { index, lsn: header.lsn }),
            Found::Newer(found) => {
                let file = segment.name.clone();
                return Err(StorageError::Newer { file, found, known: BATCH_FORMAT });
            }
            Found::Batch(..) | Found::Nothing => {}
        }
    }
    match segments.first() {
        // A new log, or one whose very first batch is not valid: the walk tells which.
        Some(first) if first.number == SegmentNumber::FIRST => Ok(Start { index: 0, lsn: FIRST_LSN }),
        Some(first) => {
            let what = format!("neither it nor a segment before it begins at or before lsn {from}");
            Err(StorageError::damage(&first.name, 0, what))
        }
        None => Err(StorageError::damage(segment::LOG_FOLDER, 0, "there is no segment")),
    }
}

impl Walk<'_> {
    /// Walks to the first place where there is no valid batch. Answers the segment, the offset,
    /// and the segments that lie beyond.
    fn along<'s>(
        &mut self,
        chain: &'s [Segment],
        replay: &mut Replay<'_>,
    ) -> Result<(Opened, u64, &'s [Segment]), StorageError> {
        for (index, segment) in chain.iter().enumerate() {
            let file = self.disk.open(Site("segment.open"), &segment.name)?;
            let opened = Opened { segment: segment.clone(), file };
            let (at, roll) = self.through(&opened, replay)?;
            let rest = &chain[index + 1..];
            let Some(to) = roll else { return Ok((opened, at, rest)) };
            self.follow(&opened.segment, at, to, rest.first())?;
            let first = self.first_unproved().unwrap_or(at);
            self.unproved.clear();
            self.unproved_before = Some((opened, first, at));
            self.closed.push(Closed { segment: segment.clone(), end: self.next });
        }
        unreachable!("a roll leads to a segment that is there, and the last segment has none")
    }

    /// Reads one segment. Answers where its batches end, and where its roll leads if it has one.
    fn through(
        &mut self,
        opened: &Opened,
        replay: &mut Replay<'_>,
    ) -> Result<(u64, Option<RollTo>), StorageError> {
        let name = &opened.segment.name;
        let mut window = Window::new(&*opened.file, opened.segment.len);
        let seed = Seed::of(self.meta.store, opened.segment.number);
        let mut offset = 0;
        loop {
            if torn::cuts_early(&mut window, offset, seed)? {
                return Ok((offset, None));
            }
            let (header, payload) = match window.batch(offset, seed)? {
                Found::Nothing => match torn::accepted(&mut window, offset, self.next)? {
                    Some(torn) => torn,
                    None => return Ok((offset, None)),
                },
                Found::Newer(found) => {
                    return Err(StorageError::Newer { file: name.clone(), found, known: BATCH_FORMAT });
                }
                Found::Batch(header, payload) => (header, payload),
            };
            if header.lsn != self.next {
                let what = format!("a batch begins at lsn {}, expected {}", header.lsn, self.next);
                return Err(StorageError::damage(name, offset, what));
            }
            self.note(&header, offset);
            if header.kind == BatchKind::Roll {
                let to = RollTo::decode(payload)
                    .ok_or_else(|| StorageError::damage(name, offset, "a roll that names no segment"))?;
                return Ok((offset + header.padded_bytes(), Some(to)));
            }
            if header.lsn < self.from && header.next_lsn() > self.from {
                let what = format!("the cold store ends inside the batch of lsn {}", header.lsn);
                return Err(StorageError::damage(name, offset, what));
            }
            if header.next_lsn() > self.from {
                replay(&header, payload).map_err(|source| StorageError::Record {
                    file: name.clone(),
                    offset,
                    source,
                })?;
                self.replayed += 1;
            }
            self.last = Some(header);
            self.next = header.next_lsn();
            offset += header.padded_bytes();
        }
    }

    /// Takes down what a valid batch proves, and that it is itself unproved.
    fn note(&mut self, header: &BatchHeader, offset: u64) {
        // Nothing is written to a segment before the one before it is durable as a whole.
        self.unproved_before = None;
        self.proved = self.proved.max(header.durable_upto);
        let proved = self.proved;
        let is_proved = |batch: &mut Unproved| !batch.is_roll && batch.next <= proved + 1;
        while self.unproved.pop_front_if(is_proved).is_some() {}
        let is_roll = header.kind == BatchKind::Roll;
        self.unproved.push_back(Unproved { offset, next: header.next_lsn(), is_roll });
    }

    fn first_unproved(&self) -> Option<u64> {
        self.unproved.front().map(|batch| batch.offset)
    }

    /// Checks that the segment to which a roll leads is there.
    fn follow(
        &self,
        from: &Segment,
        at: u64,
        to: RollTo,
        next: Option<&Segment>,
    ) -> Result<(), StorageError> {
        let damage = |what| Err(StorageError::damage(&from.name, at, what));
        if to.number != from.number.next() {
            return damage(format!("its roll leads to segment {}", to.number));
        }
        match next {
            Some(next) if next.number == to.number && next.len == to.len => Ok(()),
            Some(next) if next.number == to.number => Err(StorageError::damage(
                &next.name,
                next.len.min(to.len),
                format!("it has {} bytes, and was made with {}", next.len, to.len),
            )),
            Some(_) | None => damage(format!("segment {}, to which its roll leads, is missing", to.number)),
        }
    }
}
