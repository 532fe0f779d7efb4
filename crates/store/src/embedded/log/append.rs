//! Writing the log: batches go to its end and are durable when the call answers.
//!
//! Lives here: [`Log`], which writes on the caller's thread. Not here: the thread that calls it
//! (`commit.rs`), and finding the end at a start (`recover.rs`).

use std::sync::Arc;

use super::batch::{Batch, BatchKind, Lsn, Proof, Seed};
use super::closed::{Closed, ClosedSegments};
use super::pool::Pool;
use super::segment::{LOG_FOLDER, ROLL_BYTES, RollTo, Segment};
use crate::embedded::disk::{Disk, DiskError, DiskFile, Site};
use crate::embedded::meta::Meta;
use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_core::planted::{Bug, has};

/// The end of the log. After a failure it takes nothing any more: what reached the disk is found
/// out by opening it anew.
pub struct Log {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) meta: Meta,
    pub(super) pool: Arc<Pool>,
    pub(super) closed: Arc<ClosedSegments>,
    pub(super) active: Active,
    pub(super) next: Lsn,
    /// Everything up to this LSN is durable.
    pub(super) durable: Lsn,
    /// The clocks of the last batch, which a roll repeats.
    pub(super) clocks: (Timestamp, LeaseTime),
    pub(super) is_dead: bool,
    pub(super) buffer: Vec<u8>,
}

/// The segment that is being written.
pub(super) struct Active {
    pub(super) segment: Segment,
    pub(super) file: Box<dyn DiskFile>,
    /// Where the next batch goes.
    pub(super) at: u64,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let segment = &self.active.segment.name;
        f.debug_struct("Log").field("segment", segment).field("next", &self.next).finish_non_exhaustive()
    }
}

/// Why not all of a group is durable.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The next segment cannot be made. Nothing is lost: the rest may be appended again when there
    /// is room.
    #[error("no room for the next segment of the log")]
    NoRoom {
        /// How many of the group's batches are durable.
        durable: usize,
    },
    /// A write or a sync failed. It is not tried again, and the log takes nothing any more.
    #[error("the log cannot be written: {source}")]
    Failed {
        /// The batches from this one on were never handed to the disk.
        untouched: usize,
        /// Why.
        source: DiskError,
    },
    /// It failed before.
    #[error("the log failed before")]
    Dead,
}

impl Log {
    /// The LSN that the next batch must begin with.
    pub fn next_lsn(&self) -> Lsn {
        self.next
    }

    /// Up to which LSN, itself included, everything is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.durable
    }

    /// Closed segments, for whoever makes checkpoints.
    pub fn closed(&self) -> &Arc<ClosedSegments> {
        &self.closed
    }

    /// Segments that wait to be used.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Appends `group` in order; all of it is durable when this answers `Ok`. What fits into the
    /// segment is one write and one sync.
    ///
    /// # Errors
    /// See [`AppendError`].
    pub fn append(&mut self, group: &[Batch]) -> Result<(), AppendError> {
        if self.is_dead {
            return Err(AppendError::Dead);
        }
        let mut done = 0;
        while done < group.len() {
            let fitting = self.fitting(&group[done..]);
            if fitting == 0 {
                match self.roll(group[done].padded_bytes()) {
                    Ok(true) => {}
                    Ok(false) => return Err(AppendError::NoRoom { durable: done }),
                    Err(source) => return Err(self.dies(done, source)),
                }
                continue;
            }
            let end = done + fitting;
            self.write(&group[done..end]).map_err(|source| self.dies(end, source))?;
            done = end;
        }
        Ok(())
    }

    /// Makes spare segments on this thread, for callers that run no other.
    ///
    /// # Errors
    /// `Failed`; a full disk is none.
    pub fn refill(&mut self) -> Result<(), AppendError> {
        self.pool.refill().map_err(|source| self.dies(0, source))
    }

    /// Writes that the log ends here on purpose: at the next start nothing before this can pass for
    /// an unfinished tail. The lease clock will resume from the one given.
    ///
    /// # Errors
    /// See [`AppendError`].
    pub fn seal(&mut self, wall: Timestamp, lease: LeaseTime) -> Result<(), AppendError> {
        let (kind, lsn) = (BatchKind::Seal, self.next);
        self.append(&[Batch { kind, lsn, count: 0, wall, lease, payload: Vec::new() }])
    }

    fn dies(&mut self, untouched: usize, source: DiskError) -> AppendError {
        self.is_dead = true;
        AppendError::Failed { untouched, source }
    }

    /// How many of these batches go into the segment. Its roll always fits after them.
    fn fitting(&self, batches: &[Batch]) -> usize {
        let mut end = self.active.at + ROLL_BYTES;
        let fits = |batch: &&Batch| {
            end += batch.padded_bytes();
            end <= self.active.segment.len
        };
        batches.iter().take_while(fits).count()
    }

    fn write(&mut self, batches: &[Batch]) -> Result<(), DiskError> {
        let seed = Seed::of(self.meta.store, self.active.segment.number);
        let proof = Proof { durable_upto: self.durable, key_epoch: self.meta.key_epoch };
        self.buffer.clear();
        for batch in batches {
            assert_eq!(batch.lsn, self.next, "batches come in the order of their numbers");
            batch.encode(seed, proof, &mut self.buffer);
            self.next = batch.next_lsn();
            self.clocks = (batch.wall, batch.lease);
        }
        self.active.file.write_at(Site("log.write"), self.active.at, &self.buffer)?;
        self.sync()?;
        self.active.at += self.buffer.len() as u64;
        self.durable = self.next - 1;
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        if has(Bug::NoSync) {
            return Ok(());
        }
        let synced = self.active.file.sync(Site("log.sync"));
        if has(Bug::SyncErrorIgnored) { Ok(()) } else { synced }
    }

    /// Goes on in another segment, long enough for a batch of so many bytes; false where there is
    /// no room. The new one is there, durably, before the roll that names it; and all before the
    /// roll is durable already, so a batch in the new segment proves the old one whole.
    fn roll(&mut self, batch_bytes: u64) -> Result<bool, DiskError> {
        let number = self.active.segment.number.next();
        let mut next = Segment::ordinary(number, self.meta.segment_bytes);
        let placed = if batch_bytes + ROLL_BYTES > next.len {
            next = Segment::oversize(number, batch_bytes);
            self.pool.place_oversize(&next)?
        } else {
            self.pool.place(&next)?
        };
        if !placed {
            return Ok(false);
        }
        self.disk.sync_dir(Site("dir.sync"), LOG_FOLDER)?;
        let file = self.disk.open(Site("segment.open"), &next.name)?;
        let (wall, lease) = self.clocks;
        let payload = RollTo { number, len: next.len }.encode();
        let (kind, lsn) = (BatchKind::Roll, self.next);
        self.write(&[Batch { kind, lsn, count: 0, wall, lease, payload }])?;
        let (end, after) = (self.next, next.clone());
        let old = std::mem::replace(&mut self.active, Active { segment: next, file, at: 0 });
        self.closed.push(Closed { segment: old.segment, end }, after);
        Ok(true)
    }
}
