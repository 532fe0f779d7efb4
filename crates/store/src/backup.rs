//! Backups, as callers take them.
//!
//! Lives here: the pieces that a backup comes in, and why none can be begun. Not here: what is in them
//! (the engine that makes them).

use bytes::Bytes;

/// What a piece could not be made for.
pub type BackupFailed = Box<dyn std::error::Error + Send + Sync>;

/// A backup under way. Whoever takes the pieces sets the pace; dropping it gives up.
pub trait Backup: Send {
    /// The next piece, of at most [`naven_api::limits::BACKUP_PIECE_BYTES`]; none at the end. Everything
    /// that was answered before the last piece was asked for is in the backup. Blocks for as long as
    /// reading it takes.
    ///
    /// # Errors
    /// Where it cannot be completed: what was taken so far is of no use.
    fn next_piece(&mut self) -> Result<Option<Bytes>, BackupFailed>;
}

/// Why no backup can be begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackupRefused {
    /// This engine makes none: its store has means of its own.
    #[error("this engine makes no backups")]
    Unsupported,
    /// One is under way.
    #[error("a backup is under way")]
    Running,
    /// The engine takes no work.
    #[error("the storage takes no work: {0}")]
    Unavailable(String),
}
