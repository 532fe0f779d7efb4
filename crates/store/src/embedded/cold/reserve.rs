//! Room that is kept for the cold store, so that a full disk has a way back.
//!
//! Lives here: the rows that hold it, when they are written, and letting them go. Not here: what follows
//! for whoever publishes (`pace.rs`, `sequencer.rs`).
//!
//! redb changes no page in place: even removing rows takes new pages before it gives any back. On a disk
//! that is full to the last byte nothing could be removed any more. So room is held that is let go when a
//! checkpoint finds none, and publishes are refused until it is held again. What consumers free is free
//! within the cold store's file only, so the room is held there, by rows without a meaning: that they can
//! be written proves that there is room, as nothing else does that redb tells. The file has no holes
//! ([`DiskFile::set_len`](crate::embedded::disk::DiskFile::set_len)), so a page in it that is free can be
//! written whatever else is on the disk.
//!
//! Removing those rows takes some pages, too. While room is short each transaction proves that so many
//! are left: it takes them first and gives them back at its end.

use redb::{
    Database, ReadableDatabase, ReadableTableMetadata, TableDefinition, TableError, WriteTransaction,
};

use super::damage::{guarded, storage_error};
use super::{COLD_FILE, Cold, remove, write};
use crate::embedded::disk::{DiskResult, Site};
use crate::embedded::storage_error::StorageError;

/// A file that held room in earlier stores.
pub(crate) const RESERVE_FILE: &str = "cold.reserve";
/// The most that is kept.
const KEPT_BYTES_MAX: u64 = 128 << 20;
/// With so many times that free on the disk, beside what the file may grow by at once, there is no need
/// to keep any.
const AMPLE: u64 = 4;
/// The file grows by its own length, and by two regions of redb's at most.
const GROWTH_MAX: u64 = 8 << 30;
/// How long after a try that found no room the next one is made, in ms.
const TRY_AGAIN_MS: i64 = 1_000;

/// The table of rows that hold room.
const KEPT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("kept");
/// Bytes of such a row: it takes a page of 64 KiB, as the largest rows do whose number matters.
const ROW_BYTES: usize = 60 << 10;
/// The table whose rows are gone when a transaction ends.
const BESIDE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("beside");
/// Its rows, of a page each: more than it takes to let go what is kept.
const BESIDE_ROWS: u64 = 64;
const BESIDE_ROW_BYTES: usize = 3 << 10;

const RESERVE: Site = Site("cold.reserve");

/// How much room the cold store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Room {
    /// Far more than it needs, or nobody has looked yet.
    #[default]
    Ample,
    /// Enough, and room is kept for the time when there is none.
    Kept,
    /// What was kept is let go and cannot be made again yet: it is for those who settle.
    Short,
    /// The last window found none and was given up; what was kept has been let go for the next.
    LetGo,
    /// The last window found none and was given up, and there was nothing to let go.
    None,
}

impl Room {
    /// True where nothing may be published.
    pub(crate) fn is_short(self) -> bool {
        match self {
            Self::Ample | Self::Kept => false,
            Self::Short | Self::LetGo | Self::None => true,
        }
    }

    /// True where the last window was given up.
    pub(crate) fn has_given_up(self) -> bool {
        match self {
            Self::Ample | Self::Kept | Self::Short => false,
            Self::LetGo | Self::None => true,
        }
    }
}

/// What is held.
#[derive(Debug, Default)]
pub(super) struct Kept {
    rows: u64,
    room: Room,
    /// The lease clock when rows were last tried, in ms.
    tried_ms: Option<i64>,
}

impl Kept {
    pub(super) fn room(&self) -> Room {
        self.room
    }
}

impl Cold {
    /// How much room there was when the store was last open. A store without a file has not needed any yet.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub(crate) fn room_found(&mut self) -> DiskResult<Room> {
        remove(&*self.disk, RESERVE, RESERVE_FILE)?;
        self.kept.room = if self.database.is_none() || self.is_ample()? {
            Room::Ample
        } else if self.has_rows() {
            Room::Kept
        } else {
            Room::Short
        };
        Ok(self.kept.room)
    }

    /// The database was opened anew.
    pub(super) fn count_kept_rows(&mut self) -> Result<(), StorageError> {
        self.kept.rows = match &self.database {
            Some(database) => guarded(|| kept_rows(database))?,
            None => 0,
        };
        Ok(())
    }

    /// Holds room, where there is any need and any room, and says how things stand at this reading of the
    /// lease clock. Readers from before may have become stale.
    ///
    /// # Errors
    /// `Damage`; whatever the disk says, but for want of room.
    pub(crate) fn keep_room(&mut self, at_ms: i64) -> Result<Room, StorageError> {
        self.kept.room = if self.is_ample()? {
            Room::Ample
        } else if self.has_rows() {
            Room::Kept
        } else if self.kept.tried_ms.is_some_and(|tried| (0..TRY_AGAIN_MS).contains(&(at_ms - tried))) {
            Room::Short
        } else {
            self.kept.tried_ms = Some(at_ms);
            if self.keep_rows()? { Room::Kept } else { Room::Short }
        };
        Ok(self.kept.room)
    }

    /// Gives what is kept to whoever writes next. Readers from before must be replaced.
    ///
    /// # Errors
    /// `Damage`; whatever the disk says.
    pub(crate) fn let_room_go(&mut self) -> Result<Room, StorageError> {
        self.reopen()?;
        self.kept.room = Room::None;
        let Some(database) = &self.database else { return Ok(Room::None) };
        if self.kept.rows > 0 {
            match guarded(|| write::beside(database, remove_rows)) {
                Ok(()) => (self.kept.rows, self.kept.room) = (0, Room::LetGo),
                Err(error) => self.close_after(error)?,
            }
        }
        Ok(self.kept.room)
    }

    fn kept_bytes(&self) -> u64 {
        (2 * self.segment_bytes).min(KEPT_BYTES_MAX)
    }

    fn is_ample(&self) -> DiskResult<bool> {
        let growth = self.disk.len_of(RESERVE, COLD_FILE)?.unwrap_or(0).min(GROWTH_MAX);
        Ok(self.disk.free_bytes(RESERVE)? >= growth + AMPLE * self.kept_bytes())
    }

    fn rows_of_kept(&self) -> u64 {
        self.kept_bytes().div_ceil(ROW_BYTES as u64)
    }

    fn has_rows(&self) -> bool {
        self.kept.rows >= self.rows_of_kept()
    }

    /// Writes rows that hold room. False where there is none: then there are no more than before.
    fn keep_rows(&mut self) -> Result<bool, StorageError> {
        self.reopen()?;
        let Some(database) = &self.database else { return Ok(false) };
        let rows = self.rows_of_kept();
        match guarded(|| write::beside(database, |txn| write_rows(txn, rows))) {
            Ok(()) => {
                tracing::info!(rows, "room is kept for the cold store");
                self.kept.rows = rows;
            }
            Err(error) => self.close_after(error)?,
        }
        Ok(self.has_rows())
    }

    /// Opens the file anew after a write of no consequence that found no room. Any other error stays one.
    fn close_after(&mut self, error: StorageError) -> Result<(), StorageError> {
        self.close();
        self.give_up_compaction()?;
        match error {
            StorageError::Disk(error) if error.is_no_room() => self.reopen(),
            error => Err(error),
        }
    }
}

fn kept_rows(database: &Database) -> Result<u64, StorageError> {
    let txn = database.begin_read().map_err(storage_error)?;
    match txn.open_table(KEPT) {
        Ok(table) => table.len().map_err(storage_error),
        Err(TableError::TableDoesNotExist(_)) => Ok(0),
        Err(error) => Err(storage_error(error)),
    }
}

fn write_rows(txn: &WriteTransaction, rows: u64) -> Result<(), StorageError> {
    take_beside(txn)?;
    let mut table = txn.open_table(KEPT).map_err(storage_error)?;
    let zeros = vec![0; ROW_BYTES];
    for number in 0..rows {
        table.insert(number, zeros.as_slice()).map_err(storage_error)?;
    }
    drop(table);
    give_beside(txn)
}

fn remove_rows(txn: &WriteTransaction) -> Result<(), StorageError> {
    txn.delete_table(KEPT).map(drop).map_err(storage_error)
}

/// Takes the pages that have to be left when the transaction ends.
pub(super) fn take_beside(txn: &WriteTransaction) -> Result<(), StorageError> {
    let mut table = txn.open_table(BESIDE).map_err(storage_error)?;
    let zeros = vec![0; BESIDE_ROW_BYTES];
    for number in 0..BESIDE_ROWS {
        table.insert(number, zeros.as_slice()).map_err(storage_error)?;
    }
    Ok(())
}

/// Gives them back.
pub(super) fn give_beside(txn: &WriteTransaction) -> Result<(), StorageError> {
    txn.delete_table(BESIDE).map(drop).map_err(storage_error)
}
