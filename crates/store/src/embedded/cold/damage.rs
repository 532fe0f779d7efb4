//! redb's errors, and its panics, as ours.
//!
//! Lives here: the translation. Not here: what follows from an error (`checkpointer.rs`,
//! `layered.rs`).
//!
//! redb trusts the pages that it reads: where bytes of the file were changed from outside it may
//! panic instead of answering. That is damage like any other, and is said so.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::COLD_FILE;
use super::file::own;
use crate::embedded::disk::{DiskError, Site};
use crate::embedded::storage_error::StorageError;

/// The answer of `work`; a panic of redb's is damage of its file.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StorageError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(StorageError::damage(COLD_FILE, 0, format!("its pages do not fit together: {text}")))
    })
}

/// One of redb's errors as ours.
pub(super) fn storage_error(error: impl Into<redb::Error>) -> StorageError {
    match error.into() {
        redb::Error::Io(error) => match own(error) {
            Ok(error) => StorageError::Disk(error),
            // redb's own word on a file that is none of its: only our disk fails otherwise.
            Err(error) => StorageError::damage(COLD_FILE, 0, error.to_string()),
        },
        redb::Error::Corrupted(what) => StorageError::damage(COLD_FILE, 0, what),
        redb::Error::PreviousIo | redb::Error::DatabaseClosed => StorageError::Disk(DiskError {
            site: Site("cold.stale"),
            file: COLD_FILE.to_owned(),
            source: io::ErrorKind::StaleNetworkFileHandle.into(),
        }),
        other => StorageError::damage(COLD_FILE, 0, other.to_string()),
    }
}

/// True where a reader is of no use any more because another call failed: a new one may be.
pub(super) fn is_stale(error: &StorageError) -> bool {
    matches!(error, StorageError::Disk(error) if error.site == Site("cold.stale"))
}
