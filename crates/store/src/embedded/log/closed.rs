//! Segments that are no longer written.
//!
//! Lives here: reading them again, giving them back once the cold store covers them, and pins, which
//! keep them for whoever copies the log. Not here: the segment that is being written (`append.rs`),
//! and the copying (`copy.rs`).

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{BATCH_FORMAT, BatchHeader, BatchKind, Lsn, Seed};
use super::pool::Pool;
use super::recover::Replay;
use super::segment::Segment;
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskResult, Site};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// A segment whose roll is durable.
#[derive(Debug, Clone)]
pub(super) struct Closed {
    pub(super) segment: Segment,
    /// The LSN that the next segment begins with.
    pub(super) end: Lsn,
}

/// The closed segments of one log, oldest first. Shared with whoever makes checkpoints.
pub struct ClosedSegments {
    disk: Arc<dyn Disk>,
    store: StoreId,
    pool: Arc<Pool>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    segments: VecDeque<Closed>,
    /// The one that is being written.
    active: Segment,
    /// Who needs the log, and from which LSN on, itself included.
    pins: Vec<(u64, Lsn)>,
    next_pin: u64,
}

/// Keeps the log from an LSN on, until it is dropped.
#[derive(Debug)]
pub struct Pin {
    closed: Arc<ClosedSegments>,
    number: u64,
}

impl Pin {
    /// Only what holds anything at or after `from` is needed from here on.
    pub fn raise_to(&self, from: Lsn) {
        let mut state = self.closed.state();
        if let Some((_, kept)) = state.pins.iter_mut().find(|(number, _)| *number == self.number) {
            *kept = from;
        }
    }

    /// False once the disk was full: serving goes before copying, so the log was not kept for this.
    pub fn is_held(&self) -> bool {
        self.closed.state().pins.iter().any(|(number, _)| *number == self.number)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.closed.state().pins.retain(|(number, _)| *number != self.number);
    }
}

impl std::fmt::Debug for ClosedSegments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClosedSegments").field("state", &self.state).finish_non_exhaustive()
    }
}

impl ClosedSegments {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        store: StoreId,
        pool: Arc<Pool>,
        found: Vec<Closed>,
        active: Segment,
    ) -> Self {
        let state = State { segments: found.into(), active, pins: Vec::new(), next_pin: 0 };
        Self { disk, store, pool, state: Mutex::new(state) }
    }

    /// The log goes on in `next`.
    pub(super) fn push(&self, closed: Closed, next: Segment) {
        let mut state = self.state();
        state.segments.push_back(closed);
        state.active = next;
    }

    /// Keeps everything that is there now, until the pin is raised or dropped, or the disk is full.
    pub fn pin(self: &Arc<Self>) -> Pin {
        let mut state = self.state();
        let number = state.next_pin;
        state.next_pin += 1;
        state.pins.push((number, 0));
        Pin { closed: Arc::clone(self), number }
    }

    /// The segment to begin with for whoever wants all that comes after `lsn`: it begins at or before
    /// that.
    pub(super) fn first_after(&self, lsn: Lsn) -> Segment {
        let state = self.state();
        let closed = state.segments.iter().find(|closed| closed.end > lsn);
        closed.map_or_else(|| state.active.clone(), |closed| closed.segment.clone())
    }

    /// Up to which LSN, itself included, everything is in closed segments; 0 where nothing is.
    pub fn upto(&self) -> Lsn {
        self.state().segments.back().map_or(0, |closed| closed.end - 1)
    }

    /// Bytes of closed segments that hold anything at or after `from`.
    pub fn bytes_from(&self, from: Lsn) -> u64 {
        let state = self.state();
        state.segments.iter().filter(|closed| closed.end > from).map(|closed| closed.segment.len).sum()
    }

    /// True where a checkpoint of what is durable and one more give a segment back.
    pub fn can_give_back(&self) -> bool {
        self.state().segments.len() > 1
    }

    /// Leaves what room the disk has to the cold store, or no longer: no more spares are made than the log
    /// needs to go on.
    pub fn hold_back(&self, holds_back: bool) {
        self.pool.hold_back(holds_back);
    }

    /// True where the disk is full: giving segments back would help.
    pub fn is_disk_full(&self) -> bool {
        self.pool.is_full()
    }

    /// Reads every batch of the closed segments from the one that begins at `from` up to the last
    /// that ends at or before `upto`, in order, ticks included. Answers the LSN that comes next.
    ///
    /// It opens its own files, so it runs beside the writer; only [`ClosedSegments::recycle_below`]
    /// must not run at the same time.
    ///
    /// # Errors
    /// `Damage`, also where `from` is not there any more; `Record` where `replay` refuses; `Disk`.
    pub fn read(&self, from: Lsn, upto: Lsn, replay: &mut Replay<'_>) -> Result<Lsn, StorageError> {
        let segments: Vec<Closed> =
            self.state().segments.iter().filter(|closed| closed.end > from).cloned().collect();
        let mut next = from;
        for closed in segments {
            let file = self.disk.open(Site("segment.open"), &closed.segment.name)?;
            let mut window = Window::new(&*file, closed.segment.len);
            let seed = Seed::of(self.store, closed.segment.number);
            let mut offset = 0;
            loop {
                let (header, payload) = whole_batch(&mut window, &closed.segment.name, offset, seed)?;
                if header.kind == BatchKind::Roll {
                    break;
                }
                if header.next_lsn() > upto.saturating_add(1) {
                    return Ok(next);
                }
                if header.next_lsn() > from {
                    if header.lsn != next {
                        let what = format!("a batch begins at lsn {}, expected {next}", header.lsn);
                        return Err(StorageError::damage(&closed.segment.name, offset, what));
                    }
                    replay(&header, payload).map_err(|source| StorageError::Record {
                        file: closed.segment.name.clone(),
                        offset,
                        source,
                    })?;
                    next = header.next_lsn();
                }
                offset += header.padded_bytes();
            }
        }
        Ok(next)
    }

    /// Gives back every segment that holds nothing after `lsn`, which a durable checkpoint must
    /// cover, and that no pin keeps. The newest closed one stays: it is what says where the segment
    /// after it begins. On a full disk pins keep nothing any more. Answers how many went.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn recycle_below(&self, lsn: Lsn) -> DiskResult<usize> {
        let is_full = self.pool.is_full();
        let mut state = self.state();
        if is_full {
            state.pins.clear();
        }
        let pinned = state.pins.iter().map(|(_, from)| *from).min().unwrap_or(Lsn::MAX);
        let end_max = lsn.saturating_add(1).min(pinned);
        let old = state.segments.iter().take(state.segments.len().saturating_sub(1));
        let count = old.take_while(|closed| closed.end <= end_max).count();
        let gone: Vec<Segment> = state.segments.drain(..count).map(|closed| closed.segment).collect();
        drop(state);
        self.pool.give_back(&gone)?;
        Ok(count)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batch at `offset` of a segment in which every batch is known to be durable.
fn whole_batch<'w>(
    window: &'w mut Window<'_>,
    name: &str,
    offset: u64,
    seed: Seed,
) -> Result<(BatchHeader, &'w [u8]), StorageError> {
    match window.batch(offset, seed)? {
        Found::Batch(header, payload) => Ok((header, payload)),
        Found::Nothing => Err(StorageError::damage(name, offset, "no valid batch in a closed segment")),
        Found::Newer(found) => Err(StorageError::Newer { file: name.to_owned(), found, known: BATCH_FORMAT }),
    }
}
