//! What is wrong in a data folder, for people and programs.
//!
//! Lives here: one finding. Not here: finding them (`verify/`).

use super::cold::COLD_FILE;
use super::storage_error::StorageError;
use super::tables::Table;

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// In which file, named from the data folder.
    pub file: String,
    /// At which byte, where that is known.
    pub offset: Option<u64>,
    /// In which table, where it is a row.
    pub table: Option<String>,
    /// The row's key, in hexadecimal.
    pub key: Option<String>,
    /// What was found.
    pub what: String,
}

impl Finding {
    /// Something about a row.
    pub(super) fn row(table: Table, key: &[u8], what: impl Into<String>) -> Self {
        let key = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let (file, table) = (COLD_FILE.to_owned(), Some(format!("{table:?}")));
        Self { file, offset: None, table, key: Some(key), what: what.into() }
    }

    /// Something about a place in a file.
    pub(super) fn at(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), offset: Some(offset), what: what.into(), ..Self::default() }
    }

    /// What made a file unreadable.
    pub(super) fn of(error: &StorageError, file: &str) -> Self {
        match error {
            StorageError::Damage { file, offset, what } => Self::at(file, *offset, what),
            StorageError::Record { file, offset, source } => {
                Self::at(file, *offset, format!("a record was refused: {source}"))
            }
            other => Self { file: file.to_owned(), what: other.to_string(), ..Self::default() },
        }
    }
}
