//! The cold store: the tables on disk, as they were after one batch of the log.
//!
//! Lives here: opening it, writing one window of changes to it in one transaction, and what it is
//! of. Not here: the file under it (`cold/file.rs`), reading rows (`cold/read.rs`), and when it is
//! written (`checkpointer.rs`).
//!
//! One file, `cold.redb`, in which redb keeps one table for each of ours, and one for what the store
//! is of. Every value carries its own checksum over table, key and value (`cold/row.rs`), checked at
//! each read. The file does not exist before the first checkpoint: until then everything is in the
//! log. A write that fails leaves the last one in place, and the file is opened anew. Pages of rows that
//! are gone are used again; where most of the file is such pages, it is made smaller (`cold/compact.rs`).

mod compact;
mod damage;
mod file;
mod look;
mod read;
mod remains;
mod reserve;
pub(crate) mod row;
mod write;

use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use redb::{Database, ReadableDatabase, TableDefinition};

use super::disk::{Disk, DiskResult, Site};
use super::log::Lsn;
use super::meta::{Meta, StoreId};
use super::storage_error::StorageError;
use super::tables::Table;
use super::window::Window;
use compact::Compaction;
pub(crate) use damage::guarded;
use damage::storage_error;
use file::ColdFile;
pub(crate) use look::look;
pub(crate) use read::{ColdReader, ColdRow, ColdRows, ReadFailed, Reads, missing_row};
pub(crate) use remains::Remains;
use reserve::Kept;
pub(crate) use reserve::{RESERVE_FILE, Room};

/// The file's name.
pub(crate) const COLD_FILE: &str = "cold.redb";
/// The newest format of rows in it.
pub(crate) const COLD_FORMAT: u16 = 1;
/// Bytes of RAM in which redb keeps pages.
pub(crate) const CACHE_BYTES: usize = 32 << 20;

/// The table of what the store is of.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
/// Its one key.
const APPLIED: &str = "applied";

/// What a cold store is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Applied {
    /// It holds everything up to this LSN, itself included, and nothing after it.
    pub(crate) lsn: Lsn,
    /// The wall clock of the last batch in it.
    pub(crate) wall: Timestamp,
    /// The lease clock of the last batch in it.
    pub(crate) lease: LeaseTime,
}

/// The cold store of one data folder.
pub(crate) struct Cold {
    disk: Arc<dyn Disk>,
    store: StoreId,
    /// None before the first checkpoint, and after a write that failed.
    database: Option<Database>,
    applied: Applied,
    /// Bytes of all rows, without what pages take beside them.
    live_bytes: u64,
    /// A smaller file in the making.
    compaction: Option<Compaction>,
    /// Length of the log's segments, which says how large the store's disk is.
    segment_bytes: u64,
    /// Room that is held.
    kept: Kept,
}

impl Cold {
    /// Opens the cold store of the folder; one that is not there yet is empty.
    ///
    /// # Errors
    /// `Damage`, `Newer`; `Disk`.
    pub(crate) fn open(disk: Arc<dyn Disk>, meta: &Meta) -> Result<Self, StorageError> {
        let (database, compaction, applied) = (None, None, Applied::default());
        let (store, segment_bytes) = (meta.store, meta.segment_bytes);
        let mut cold = Self {
            disk,
            store,
            database,
            applied,
            live_bytes: 0,
            compaction,
            segment_bytes,
            kept: Kept::default(),
        };
        // What a making that was cut short has left.
        remove(&*cold.disk, Site("cold.clean"), &format!("{COLD_FILE}.new"))?;
        cold.reopen()?;
        Ok(cold)
    }

    /// What it is of.
    pub(crate) fn applied(&self) -> Applied {
        self.applied
    }

    /// A view of it as it stands, which later writes do not change; none where it is empty.
    ///
    /// # Errors
    /// `Damage`; `Disk`.
    pub(crate) fn reader(&mut self) -> Result<Option<ColdReader>, StorageError> {
        self.reopen()?;
        let Some(database) = &self.database else { return Ok(None) };
        ColdReader::begin(database).map(Some)
    }

    /// Reads all pages of the file and compares them with each other. False where they did not agree and
    /// were mended, as far as that goes; there must be no reader.
    ///
    /// # Errors
    /// `Damage`; `Disk`.
    pub(crate) fn check_pages(&mut self) -> Result<bool, StorageError> {
        self.reopen()?;
        let Some(database) = &mut self.database else { return Ok(true) };
        guarded(|| database.check_integrity().map_err(storage_error))
    }

    /// Writes a window of changes, which end with what `applied` says, in one transaction.
    ///
    /// # Errors
    /// `Damage`; `Disk`, with `is_no_room` where there is none. The cold store is then as it was
    /// before; readers from before must be replaced.
    pub(crate) fn write(&mut self, window: &Window, applied: Applied) -> Result<(), StorageError> {
        self.reopen()?;
        if self.database.is_none() {
            self.make()?;
        }
        let database = self.database.as_ref().expect("it was opened or made just now");
        let (before, about) =
            ((self.store, self.applied, self.live_bytes), (self.store, applied, self.live_bytes));
        let room = self.kept.room();
        let written = guarded(|| {
            if room.is_short() {
                // A transaction of nothing makes pages usable that the last one let go while it was read.
                write::about(database, before)?;
            }
            write::window(database, window, about, room)
        });
        match written {
            Ok(live_bytes) => {
                (self.applied, self.live_bytes) = (applied, live_bytes);
                self.follow(window)
            }
            Err(error) => {
                // redb answers nothing more after a failed call.
                self.close();
                self.give_up_compaction()?;
                Err(error)
            }
        }
    }

    /// Makes an empty file under a passing name, so that the real one is always whole.
    fn make(&mut self) -> Result<(), StorageError> {
        const MAKE: Site = Site("cold.make");
        let passing = format!("{COLD_FILE}.new");
        remove(&*self.disk, MAKE, &passing)?;
        let file = self.disk.create(MAKE, &passing, 0)?;
        let about = (self.store, Applied::default(), 0);
        guarded(|| {
            let database = build(file)?;
            write::window(&database, &Window::default(), about, Room::Ample)
        })?;
        self.disk.rename(Site("cold.rename"), &passing, COLD_FILE)?;
        self.disk.sync_dir(Site("dir.sync"), "")?;
        self.reopen()
    }

    /// Opens the file where it is there and not open.
    fn reopen(&mut self) -> Result<(), StorageError> {
        if self.database.is_some() {
            return Ok(());
        }
        let file = match self.disk.open(Site("cold.open"), COLD_FILE) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let store = self.store;
        self.database = Some(guarded(|| build(file))?);
        let database = self.database.as_ref().expect("it was opened just now");
        match guarded(|| read_about(database, store)) {
            Ok(about) => {
                (self.applied, self.live_bytes) = about;
                self.count_kept_rows()
            }
            Err(error) => {
                self.close();
                Err(error)
            }
        }
    }

    /// Closes the file where it is open. redb writes once more then, and on a damaged file it may panic.
    fn close(&mut self) {
        let database = self.database.take();
        let close = || {
            drop(database);
            Ok::<(), StorageError>(())
        };
        if let Err(error) = guarded(close) {
            tracing::error!("the cold store was not closed as it should be: {error}");
        }
    }
}

impl Drop for Cold {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Cold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cold").field("applied", &self.applied).finish_non_exhaustive()
    }
}

fn remove(disk: &dyn Disk, site: Site, name: &str) -> DiskResult<()> {
    match disk.remove(site, name) {
        Err(error) if !error.is_missing() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn build(file: Box<dyn super::disk::DiskFile>) -> Result<Database, StorageError> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder.create_with_backend(ColdFile::new(file)).map_err(storage_error)
}

/// The name of a table in the file.
fn name_of(table: Table) -> String {
    format!("{:03}", table as u8)
}

fn read_about(database: &Database, store: StoreId) -> Result<(Applied, u64), StorageError> {
    let txn = database.begin_read().map_err(storage_error)?;
    let about = txn.open_table(ABOUT).map_err(storage_error)?;
    let found = about.get(APPLIED).map_err(storage_error)?;
    let found = found.ok_or_else(|| StorageError::damage(COLD_FILE, 0, "it does not say what it is of"))?;
    row::decode_about(store, found.value())
}

#[cfg(test)]
mod tests;
