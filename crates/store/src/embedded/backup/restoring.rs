//! A store made of a backup.
//!
//! Lives here: the folder's files in their order, and the proof that they are a store. Not here: reading
//! the backup (`check.rs`), and marking the folder meanwhile (`leftover.rs`).
//!
//! As with a new store `meta` comes last: a crash before it leaves a folder that is refused, and begun
//! anew by the next restore. By then the store was opened once, its log replayed and all its rows read.
//! The secret is new and the key epoch one higher, so that no token of before means anything here.

use std::sync::Arc;

use super::check::{Checker, Summary, Take};
use super::error::BackupError;
use super::format::{Head, SegmentHead};
use super::leftover;
use crate::clock::Random;
use crate::embedded::cold::{Applied, Cold, ColdReader, ReadFailed};
use crate::embedded::disk::{Disk, DiskFile, Site};
use crate::embedded::lock::FolderLock;
use crate::embedded::log::segment::{LOG_FOLDER, Segment, SegmentNumber};
use crate::embedded::meta::{Meta, Secret};
use crate::embedded::pace::Pace;
use crate::embedded::restore::Restored;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};
use crate::embedded::window::Window;

const MAKE: Site = Site("restore.make");
/// Rows are written in transactions of about so many bytes.
const WINDOW_BYTES: usize = 16 << 20;

/// A store in the making. Dropped before [`Restoring::finish`] it leaves a folder that is no store.
pub struct Restoring {
    checker: Checker<Making>,
}

impl Restoring {
    /// Takes the folder on `disk`: an empty one, or one in which a restore was cut short.
    ///
    /// # Errors
    /// `Store` with `NotEmpty` where it holds anything else, which was not touched; `InUse`; `Disk`.
    pub fn begin(disk: Arc<dyn Disk>) -> Result<Self, BackupError> {
        // Looked at before the lock file is made, so that a stranger's folder stays as it was.
        leftover::refuse_others(&*disk)?;
        let lock = FolderLock::take(&*disk)?;
        leftover::prepare(&*disk)?;
        disk.make_folder(MAKE, LOG_FOLDER)?;
        let making =
            Making { disk, _lock: lock, head: None, cold: None, window: Window::default(), segment: None };
        Ok(Self { checker: Checker::taken_by(making) })
    }

    /// The backup's next bytes.
    ///
    /// # Errors
    /// What is wrong with them, and where; `Store`.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.checker.feed(bytes)
    }

    /// About how many bytes the backup will have, once its beginning was seen.
    pub fn estimate(&self) -> Option<u64> {
        self.checker.estimate()
    }

    /// Says that all bytes have come: proves that they are a store, and makes them one.
    ///
    /// # Errors
    /// `CutShort`; `Store`. The folder is no store then.
    pub fn finish(mut self, random: &dyn Random) -> Result<Summary, BackupError> {
        let summary = self.checker.summary()?;
        self.checker.take.finish(random, summary.upto)?;
        Ok(summary)
    }
}

impl std::fmt::Debug for Restoring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restoring")
    }
}

/// The folder as it is being made.
struct Making {
    disk: Arc<dyn Disk>,
    _lock: FolderLock,
    head: Option<Head>,
    cold: Option<Cold>,
    window: Window,
    segment: Option<Writing>,
}

/// The segment whose bytes come now.
struct Writing {
    segment: Segment,
    file: Box<dyn DiskFile>,
    at: u64,
}

impl Take for Making {
    fn head(&mut self, head: &Head) -> Result<(), BackupError> {
        self.cold = Some(Cold::open(Arc::clone(&self.disk), &head.meta)?);
        self.head = Some(*head);
        Ok(())
    }

    fn row(&mut self, table: Table, key: &[u8], row: &[u8]) -> Result<(), BackupError> {
        self.window.set(table, key, Some(bytes::Bytes::copy_from_slice(row)));
        if self.window.bytes() >= WINDOW_BYTES {
            self.write_rows(Applied::default())?;
        }
        Ok(())
    }

    fn segment(&mut self, segment: SegmentHead) -> Result<(), BackupError> {
        let head = self.head.expect("a segment comes after the head");
        if self.segment.is_none() {
            self.write_rows(head.applied)?;
        }
        let number = SegmentNumber(segment.number);
        let named = Segment::of_length(number, segment.len, head.meta.segment_bytes);
        let named = named.ok_or_else(|| unfit(format!("no segment has {} bytes", segment.len)))?;
        if let Some(writing) = self.segment.as_mut().filter(|writing| writing.segment == named) {
            return match writing.at == segment.from {
                true => Ok(()),
                false => Err(unfit(format!("its log has a gap in segment {number}"))),
            };
        }
        self.end_segment()?;
        if segment.from != 0 {
            return Err(unfit(format!("the beginning of segment {number} is not in it")));
        }
        let file = self.disk.create(MAKE, &named.name, named.len)?;
        self.segment = Some(Writing { segment: named, file, at: 0 });
        Ok(())
    }

    fn log(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let writing = self.segment.as_mut().expect("bytes come after their segment");
        writing.file.write_at(MAKE, writing.at, bytes)?;
        writing.at += bytes.len() as u64;
        Ok(())
    }
}

impl Making {
    fn write_rows(&mut self, applied: Applied) -> Result<(), BackupError> {
        let window = std::mem::take(&mut self.window);
        let cold = self.cold.as_mut().expect("the cold store is made with the head");
        Ok(cold.write(&window, applied)?)
    }

    fn end_segment(&mut self) -> Result<(), BackupError> {
        if let Some(writing) = self.segment.take() {
            writing.file.sync(MAKE)?;
        }
        Ok(())
    }

    fn finish(&mut self, random: &dyn Random, upto: u64) -> Result<(), BackupError> {
        self.end_segment()?;
        let head = self.head.expect("a whole backup has a head");
        let mut secret = [0; 32];
        random.fill(&mut secret);
        Secret(secret).write(&*self.disk)?;
        self.disk.sync_dir(MAKE, LOG_FOLDER)?;
        self.disk.sync_dir(MAKE, "")?;
        // The cold store is opened anew, as a start would.
        self.cold = None;
        let key_epoch = head.meta.key_epoch.saturating_add(1);
        let meta = Meta { key_epoch, ..head.meta };
        let mut restored =
            Restored::open(Arc::clone(&self.disk), &meta, Pace::of_segments(meta.segment_bytes))?;
        let end = restored.recovered.next_lsn - 1;
        if end != upto {
            return Err(unfit(format!("its log ends at lsn {end}, and {upto} was said")));
        }
        if let Some(reader) = restored.cold.reader()? {
            read_all(&reader)?;
        }
        drop(restored);
        self.disk.sync_dir(MAKE, LOG_FOLDER)?;
        meta.write(&*self.disk)?;
        Ok(leftover::unmark(&*self.disk)?)
    }
}

/// Reads every row, so that what was written is known to be there.
fn read_all(reader: &ColdReader) -> Result<(), StorageError> {
    let walk = || {
        for table in Table::ALL {
            let mut rows = reader.all(table, Order::Rising)?;
            while let Some(row) = rows.next()? {
                row.value()?;
            }
        }
        Ok(())
    };
    walk().map_err(|failed| match failed {
        ReadFailed::Broken(error) => error,
        ReadFailed::Stale => StorageError::Closed,
    })
}

fn unfit(why: String) -> BackupError {
    BackupError::NotABackup { why }
}
