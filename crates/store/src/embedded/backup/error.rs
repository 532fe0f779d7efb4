//! Why a backup is not taken.
//!
//! Lives here: the error. Not here: exit codes (the command line).

use crate::embedded::storage_error::StorageError;

/// Why a backup is not taken, or cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It is something else.
    #[error("not a backup of Naven Events: {why}")]
    NotABackup {
        /// What was found.
        why: String,
    },
    /// Another version wrote it.
    #[error("its {what} has format {found}, and this version takes formats up to {known}")]
    OtherFormat {
        /// What of it.
        what: &'static str,
        /// The format found.
        found: u16,
        /// The newest that is known.
        known: u16,
    },
    /// It is not what was written.
    #[error("it is damaged: the piece at byte {offset} {what}")]
    Damaged {
        /// Where the piece begins that is damaged.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// It ends too early: whoever wrote it did not finish, or part of it was lost.
    #[error("it is incomplete: it ends at byte {at}, before its end mark")]
    CutShort {
        /// Its length.
        at: u64,
    },
    /// The folder that it is restored into cannot be taken or written, or the store in the backup does
    /// not open.
    #[error(transparent)]
    Store(#[from] StorageError),
}

impl From<crate::embedded::disk::DiskError> for BackupError {
    fn from(error: crate::embedded::disk::DiskError) -> Self {
        Self::Store(error.into())
    }
}
