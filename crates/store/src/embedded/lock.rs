//! One process, one data folder.
//!
//! Lives here: the lock file. Not here: how the lock is held (`disk/`), which ends with the process
//! however that ends.

use super::disk::{Disk, DiskLock, Site};
use super::storage_error::StorageError;

/// The lock's file name.
pub const LOCK_FILE: &str = "lock";

/// A data folder's lock, held until it is dropped.
pub struct FolderLock {
    _held: Box<dyn DiskLock>,
}

impl FolderLock {
    /// Takes it.
    ///
    /// # Errors
    /// `InUse` where another process holds it; `Disk`.
    pub fn take(disk: &dyn Disk) -> Result<Self, StorageError> {
        match disk.lock(Site("folder.lock"), LOCK_FILE) {
            Ok(held) => Ok(Self { _held: held }),
            Err(error) if error.is_in_use() => Err(StorageError::InUse),
            Err(error) => Err(error.into()),
        }
    }
}

impl std::fmt::Debug for FolderLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FolderLock")
    }
}
