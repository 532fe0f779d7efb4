//! Segments that are no longer written.
//!
//! Lives here: reading them again, and giving them back once the cold store covers them. Not
//! here: the segment that is being written (`append.rs`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::batch::{BATCH_FORMAT, BatchHeader, BatchKind, Lsn, Seed};
use super::pool::Pool;
use super::recover::Replay;
use super::segment::Segment;
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskResult, Site};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;

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
    segments: Mutex<VecDeque<Closed>>,
}

impl std::fmt::Debug for ClosedSegments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClosedSegments").field("segments", &self.segments).finish_non_exhaustive()
    }
}

impl ClosedSegments {
    pub(super) fn new(disk: Arc<dyn Disk>, store: StoreId, pool: Arc<Pool>, found: Vec<Closed>) -> Self {
        Self { disk, store, pool, segments: Mutex::new(found.into()) }
    }

    pub(super) fn push(&self, closed: Closed) {
        self.segments().push_back(closed);
    }

    /// Up to which LSN, itself included, everything is in closed segments; 0 where nothing is.
    pub fn upto(&self) -> Lsn {
        self.segments().back().map_or(0, |closed| closed.end - 1)
    }

    /// Bytes of closed segments that hold anything at or after `from`.
    pub fn bytes_from(&self, from: Lsn) -> u64 {
        let segments = self.segments();
        segments.iter().filter(|closed| closed.end > from).map(|closed| closed.segment.len).sum()
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
            self.segments().iter().filter(|closed| closed.end > from).cloned().collect();
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
    /// cover. The newest closed one stays: it is what says where the segment after it begins.
    /// Answers how many went.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn recycle_below(&self, lsn: Lsn) -> DiskResult<usize> {
        let mut segments = self.segments();
        let old = segments.iter().take(segments.len().saturating_sub(1));
        let count = old.take_while(|closed| closed.end <= lsn.saturating_add(1)).count();
        let gone: Vec<Segment> = segments.drain(..count).map(|closed| closed.segment).collect();
        drop(segments);
        self.pool.give_back(&gone)?;
        Ok(count)
    }

    fn segments(&self) -> MutexGuard<'_, VecDeque<Closed>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
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
