//! A backup of a folder at rest.
//!
//! Lives here: what it begins with. Not here: making it (`pieces.rs`).
//!
//! The folder is opened as a start would, over a disk that keeps what is written in RAM: an unfinished
//! tail is left out, and not one byte of the folder changes.

use std::sync::Arc;

use bytes::Bytes;

use super::pieces::{Pieces, Source};
use crate::backup::{Backup, BackupFailed};
use crate::embedded::cold::Cold;
use crate::embedded::disk::Disk;
use crate::embedded::disk::overlay::Overlay;
use crate::embedded::lock::FolderLock;
use crate::embedded::log::Log;
use crate::embedded::meta::{META_FILE, Meta};
use crate::embedded::storage_error::StorageError;

/// A backup of the data folder on `disk`, which no process may have open meanwhile.
///
/// # Errors
/// `NotOurs`, `Newer`, `Damage`; `InUse`; `Disk`.
pub fn of_folder(disk: Arc<dyn Disk>) -> Result<Box<dyn Backup>, StorageError> {
    let not_ours = || StorageError::NotOurs { why: format!("there is no '{META_FILE}' in it") };
    Meta::read(&*disk)?.ok_or_else(not_ours)?;
    let lock = FolderLock::take(&*disk)?;
    let meta = Meta::read(&*disk)?.ok_or_else(not_ours)?;
    let over: Arc<dyn Disk> = Arc::new(Overlay::over(disk));
    let mut cold = Cold::open(Arc::clone(&over), &meta)?;
    let (reader, applied) = (cold.reader()?.map(Arc::new), cold.applied());
    let (log, recovered) = Log::open(Arc::clone(&over), &meta, applied.lsn + 1, &mut |_, _| Ok(()))?;
    let (closed, upto) = (Arc::clone(log.closed()), recovered.next_lsn - 1);
    let pin = closed.pin();
    let durable = Box::new(move || upto);
    let pieces = Pieces::new(Source { disk: over, meta, reader, applied, closed, pin, durable });
    Ok(Box::new(Resting { pieces, _cold: cold, _lock: lock }))
}

struct Resting {
    pieces: Pieces,
    /// Its reader reads from it.
    _cold: Cold,
    _lock: FolderLock,
}

impl Backup for Resting {
    fn next_piece(&mut self) -> Result<Option<Bytes>, BackupFailed> {
        self.pieces.next_piece()
    }
}
