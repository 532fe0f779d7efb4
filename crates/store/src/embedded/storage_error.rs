//! Why a data folder cannot be opened or read.
//!
//! Lives here: the one error of the storage layer. Not here: exit codes (the command line), and
//! what becomes of a write that fails while serving (`log/commit.rs`).

use super::disk::DiskError;

/// What a caller's own code says of a record that it cannot take.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a data folder cannot be opened or read. The command line ends with 65 for `NotOurs`,
/// `NotEmpty`, `Newer`, `Older`, `OpenToOthers`, `Damage`, `DamagedRow` and `Record`, 73 for `NoRoom`, 74
/// for `Disk`, 75 for `InUse`.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// Group or others may write to the folder.
    #[error("folder '{folder}' has mode {mode:o}: others can write to it (chmod go-w it)")]
    OpenToOthers {
        /// The folder.
        folder: String,
        /// Its mode bits.
        mode: u32,
    },
    /// The folder holds something else.
    #[error("not a data folder of Naven Events: {why}")]
    NotOurs {
        /// What was found.
        why: String,
    },
    /// A store is to be made in it, and there is something there already; it was not touched.
    #[error("it is not empty: there is '{found}'")]
    NotEmpty {
        /// What was found.
        found: String,
    },
    /// A newer version wrote this; nothing was touched.
    #[error("'{file}' has format {found}, and this version knows formats up to {known}")]
    Newer {
        /// In which file.
        file: String,
        /// The format found.
        found: u16,
        /// The newest format that is known.
        known: u16,
    },
    /// A version from before the first release wrote this; nothing was touched.
    #[error("'{file}' has format {found}, from before the first release; this version begins with {known}")]
    Older {
        /// In which file.
        file: String,
        /// The format found.
        found: u16,
        /// The oldest format that is known.
        known: u16,
    },
    /// Another process has the folder open.
    #[error("another process uses this data folder")]
    InUse,
    /// There is no room to make a new store.
    #[error("no room for a new store: {0}")]
    NoRoom(#[source] DiskError),
    /// What is on disk is not what was written.
    #[error("'{file}' is damaged at byte {offset}: {what}")]
    Damage {
        /// In which file.
        file: String,
        /// At which byte.
        offset: u64,
        /// What was found, and what should be there.
        what: String,
    },
    /// A row of a file that is kept by a library, which does not say at which byte it lies, is not what
    /// was written.
    #[error("'{file}' is damaged: {what}")]
    DamagedRow {
        /// In which file.
        file: String,
        /// Which row.
        what: String,
    },
    /// A record is as it was written, but it was not taken.
    #[error("the record in '{file}' at byte {offset} was refused")]
    Record {
        /// In which file.
        file: String,
        /// At which byte.
        offset: u64,
        /// Why.
        source: BoxError,
    },
    /// The engine was closed meanwhile.
    #[error("the engine is closed")]
    Closed,
    /// The file system refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl StorageError {
    /// Damage of `file` at this byte.
    pub(crate) fn damage(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Damage { file: file.to_owned(), offset, what: what.into() }
    }
}
