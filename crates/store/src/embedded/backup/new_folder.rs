//! A folder in which a store is put together from elsewhere.
//!
//! Lives here: taking it, and the files that make it a store, in their order. Not here: its rows and its
//! log.

use std::sync::Arc;

use super::error::BackupError;
use super::leftover;
use crate::clock::Random;
use crate::embedded::disk::{Disk, Site};
use crate::embedded::lock::FolderLock;
use crate::embedded::log::pool;
use crate::embedded::log::segment::{LOG_FOLDER, Segment, SegmentNumber};
use crate::embedded::meta::{Meta, Secret};
use crate::embedded::storage_error::StorageError;

const MAKE: Site = Site("restore.make");

/// A folder that is taken, and no store before [`NewFolder::finish`].
pub(crate) struct NewFolder {
    disk: Arc<dyn Disk>,
    _lock: FolderLock,
}

impl NewFolder {
    /// Takes an empty folder, or one in which this was cut short.
    ///
    /// # Errors
    /// `Store` with `NotEmpty`, `InUse`, `Disk`.
    pub(in crate::embedded) fn begin(disk: Arc<dyn Disk>) -> Result<Self, BackupError> {
        // Looked at before the lock file is made, so that a stranger's folder stays as it was.
        leftover::refuse_others(&*disk)?;
        let lock = FolderLock::take(&*disk)?;
        leftover::prepare(&*disk)?;
        disk.make_folder(MAKE, LOG_FOLDER)?;
        Ok(Self { disk, _lock: lock })
    }

    /// Makes the secret, and everything so far durable.
    ///
    /// # Errors
    /// What the file system says.
    pub(in crate::embedded) fn make_secret(&self, random: &dyn Random) -> Result<(), StorageError> {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        Secret(secret).write(&*self.disk)?;
        self.disk.sync_dir(MAKE, LOG_FOLDER)?;
        Ok(self.disk.sync_dir(MAKE, "")?)
    }

    /// Makes it a store: `meta` comes last.
    ///
    /// # Errors
    /// What the file system says.
    pub(in crate::embedded) fn finish(&self, meta: &Meta) -> Result<(), StorageError> {
        self.disk.sync_dir(MAKE, LOG_FOLDER)?;
        meta.write(&*self.disk)?;
        Ok(leftover::unmark(&*self.disk)?)
    }

    /// The same with a log that nothing was written to yet.
    ///
    /// # Errors
    /// What the file system says.
    pub(in crate::embedded) fn finish_with_new_log(
        &self,
        meta: &Meta,
        random: &dyn Random,
    ) -> Result<(), StorageError> {
        let first = Segment::ordinary(SegmentNumber::FIRST, meta.segment_bytes);
        drop(self.disk.create(MAKE, &first.name, first.len)?);
        pool::make_first_spares(&*self.disk, meta.segment_bytes)?;
        self.make_secret(random)?;
        self.finish(meta)
    }
}
