//! A script of appends, what it wrote and what was answered, and the check of any disk it may have
//! left.
//!
//! Lives here: batches made from their numbers alone, so that they need not be kept. Not here: the
//! disks that are checked (`crash.rs`, `faults.rs`).

use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::embedded::folder::{Folder, NewStore};
use naven_store::embedded::log::{
    AppendError, Batch, BatchHeader, BatchKind, FIRST_LSN, Log, Lsn, Recovered,
};
use naven_store::embedded::meta::{Meta, Secret, StoreId};
use naven_store::embedded::storage_error::StorageError;

/// Segments of the tests.
pub(crate) const SEGMENT: u64 = 64 << 10;

/// What tests make stores with.
pub(crate) fn new_store() -> NewStore {
    NewStore { store: StoreId(*b"a store of tests"), secret: Secret([7; 32]), segment_bytes: Some(SEGMENT) }
}

/// Seeded numbers (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }
}

/// The batch that begins at `lsn`: all of it follows from its number and `life`.
pub(crate) fn batch(lsn: Lsn, life: u64) -> Batch {
    let mut dice = Dice(lsn.wrapping_mul(31) ^ life.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let (wall, lease) = (Timestamp::from_ms(lsn as i64), LeaseTime::from_ms(-(lsn as i64)));
    let (kind, count, len) = match dice.below(100) {
        0..10 => (BatchKind::Tick, 0, 0),
        10..80 => (BatchKind::Data, 1 + dice.below(4) as u32, dice.below(700)),
        80..98 => (BatchKind::Data, 1, dice.below(9_000)),
        // Too long for a segment.
        _ => (BatchKind::Data, 1, SEGMENT as usize - 200 + dice.below(30_000)),
    };
    let payload = (0..len).map(|_| dice.roll() as u8).collect();
    Batch { kind, lsn, count, wall, lease, payload }
}

/// A batch that was read back, to be compared with the one that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) lsn: Lsn,
    pub(crate) kind: BatchKind,
    pub(crate) count: u32,
    pub(crate) wall: Timestamp,
    pub(crate) lease: LeaseTime,
    pub(crate) crc: u32,
}

impl From<&Batch> for Seen {
    fn from(batch: &Batch) -> Self {
        let Batch { kind, lsn, count, wall, lease, payload } = batch;
        let crc = crc32c::crc32c(payload);
        Self { lsn: *lsn, kind: *kind, count: *count, wall: *wall, lease: *lease, crc }
    }
}

/// Opens the log of `disk` and reads it from `from` on.
pub(crate) fn read(
    disk: &Arc<MemDisk>,
    meta: &Meta,
    from: Lsn,
) -> Result<(Log, Recovered, Vec<Seen>), StorageError> {
    let mut seen = Vec::new();
    let disk: Arc<dyn Disk> = Arc::clone(disk) as Arc<dyn Disk>;
    let (log, recovered) = Log::open(disk, meta, from, &mut |header: &BatchHeader, payload| {
        let BatchHeader { kind, count, lsn, wall, lease, .. } = *header;
        seen.push(Seen { lsn, kind, count, wall, lease, crc: crc32c::crc32c(payload) });
        Ok(())
    })?;
    Ok((log, recovered, seen))
}

/// What a script did to its disk.
pub(crate) struct Script {
    pub(crate) disk: Arc<MemDisk>,
    pub(crate) meta: Meta,
    /// Everything that was handed to the log, in order.
    pub(crate) written: Vec<Seen>,
    /// After so many operations on the disk, so many batches were answered as durable.
    pub(crate) answered: Vec<(usize, usize)>,
    /// After so many operations, a snapshot stood at this LSN.
    pub(crate) snapshots: Vec<(usize, Lsn)>,
    dice: Dice,
}

impl Script {
    /// A new store on `disk`.
    pub(crate) fn new(disk: MemDisk, seed: u64) -> (Self, Log) {
        let disk = Arc::new(disk);
        let folder = Folder::open(&*disk, new_store).unwrap();
        let (log, _, _) = read(&disk, &folder.meta, FIRST_LSN).unwrap();
        let (written, answered, snapshots) = (Vec::new(), Vec::new(), Vec::new());
        (Self { disk, meta: folder.meta, written, answered, snapshots, dice: Dice(seed) }, log)
    }

    /// Runs `groups` appends; every so often segments are made ahead, and given back below a
    /// snapshot that is taken as made.
    pub(crate) fn run(&mut self, log: &mut Log, groups: usize, recycles: bool) -> Result<(), AppendError> {
        for number in 1..=groups {
            self.append(log)?;
            if number % 16 == 0 {
                log.refill()?;
            }
            if recycles && number % 40 == 0 {
                let lsn = log.closed().upto();
                self.snapshots.push((self.disk.ops(), lsn));
                // Segments that could not be given back are found by the next start.
                drop(log.closed().recycle_below(lsn));
            }
        }
        Ok(())
    }

    /// Appends one group of 1 to 4 batches.
    pub(crate) fn append(&mut self, log: &mut Log) -> Result<(), AppendError> {
        let mut lsn = log.next_lsn();
        let mut group = Vec::new();
        for _ in 0..=self.dice.below(4) {
            group.push(batch(lsn, 0));
            lsn = group[group.len() - 1].next_lsn();
        }
        self.written.extend(group.iter().map(Seen::from));
        log.append(&group)?;
        self.answered.push((self.disk.ops(), self.written.len()));
        Ok(())
    }

    /// Batches that must have outlived a crash after so many operations.
    pub(crate) fn answered_at(&self, ops: usize) -> usize {
        self.answered.iter().take_while(|(at, _)| *at <= ops).last().map_or(0, |(_, count)| *count)
    }

    /// The LSN from which the log is read after a crash then.
    pub(crate) fn first_lsn_at(&self, ops: usize) -> Lsn {
        self.snapshots.iter().take_while(|(at, _)| *at <= ops).last().map_or(FIRST_LSN, |(_, lsn)| lsn + 1)
    }

    /// Checks a disk that a crash after so many operations left: it opens, everything answered is
    /// there, in order, once, and nothing else; and it goes on.
    pub(crate) fn check(&self, image: &Arc<MemDisk>, ops: usize, life: u64) -> Result<(), String> {
        let (from, must) = (self.first_lsn_at(ops), self.answered_at(ops));
        let opened = Folder::open(&**image, new_store).map_err(|error| format!("folder: {error}"))?;
        if opened.is_new {
            return Err("the folder was made anew".to_owned());
        }
        drop(opened);
        let (mut log, recovered, seen) = read(image, &self.meta, from).map_err(|error| error.to_string())?;
        let mut expected = self.expect_prefix(&seen, from, must)?;

        let mut lsn = recovered.next_lsn;
        for _ in 0..3 {
            let fresh = batch(lsn, life);
            lsn = fresh.next_lsn();
            expected.push(Seen::from(&fresh));
            log.append(&[fresh]).map_err(|error| format!("going on: {error}"))?;
        }
        drop(log);
        let (_, again, seen) = read(image, &self.meta, from).map_err(|error| format!("again: {error}"))?;
        if seen != expected {
            return Err(format!("read again, there are {} batches, expected {}", seen.len(), expected.len()));
        }
        if again.cut_bytes > 0 {
            return Err(format!("{} bytes were cut where nothing was torn", again.cut_bytes));
        }
        Ok(())
    }

    /// What was read, if it is what was written from `from` on, and all that had to be there.
    fn expect_prefix(&self, seen: &[Seen], from: Lsn, must: usize) -> Result<Vec<Seen>, String> {
        let skipped = self.written.iter().take_while(|batch| batch.lsn < from).count();
        let expected = self.written.get(skipped..skipped + seen.len());
        if expected != Some(seen) {
            return Err(format!("{} batches that were read are not what was written", seen.len()));
        }
        if skipped + seen.len() < must {
            return Err(format!("{must} batches were answered, and {} are left", skipped + seen.len()));
        }
        Ok(seen.to_vec())
    }
}
