//! The cold store: the tables on disk, as they were after one batch of the log.
//!
//! Lives here: opening it, writing one window of changes to it in one transaction, and what it is
//! of. Not here: the file under it (`cold/file.rs`), reading rows (`cold/read.rs`), and when it is
//! written (`checkpointer.rs`).
//!
//! One file, `cold.redb`, in which redb keeps one table for each of ours, and one for what the store
//! is of. Every value carries its own checksum over table, key and value (`cold/row.rs`), checked at
//! each read. The file does not exist before the first checkpoint: until then everything is in the
//! log. A write that fails leaves the last one in place, and the file is opened anew.

mod damage;
mod file;
mod read;
mod row;

use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use redb::{Database, ReadableDatabase, TableDefinition};

use super::disk::{Disk, DiskResult, Site};
use super::log::Lsn;
use super::meta::StoreId;
use super::storage_error::StorageError;
use super::tables::Table;
use super::window::Window;
use damage::{guarded, storage_error};
use file::ColdFile;
pub(crate) use read::{ColdReader, ColdRow, ColdRows, ReadFailed, Reads};

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
}

impl Cold {
    /// Opens the cold store of the folder; one that is not there yet is empty.
    ///
    /// # Errors
    /// `Damage`, `Newer`; `Disk`.
    pub(crate) fn open(disk: Arc<dyn Disk>, store: StoreId) -> Result<Self, StorageError> {
        let mut cold = Self { disk, store, database: None, applied: Applied::default() };
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
        guarded(|| ColdReader::begin(database)).map(Some)
    }

    /// Writes a window of changes, which end with what `applied` says, in one transaction.
    ///
    /// # Errors
    /// `Damage`; `Disk`, with `is_no_room` where there is none. The cold store is then as it was
    /// before; readers from before must be replaced.
    pub(crate) fn write(&mut self, window: &Window, applied: Applied) -> Result<(), StorageError> {
        if self.database.is_none() {
            self.reopen()?;
            if self.database.is_none() {
                self.make()?;
            }
        }
        let database = self.database.as_ref().expect("it was opened or made just now");
        let written = guarded(|| write(database, self.store, window, applied));
        match written {
            Ok(()) => {
                self.applied = applied;
                Ok(())
            }
            Err(error) => {
                // redb answers nothing more after a failed call.
                self.database = None;
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
        let (store, none) = (self.store, Applied::default());
        guarded(|| {
            let database = build(file)?;
            write(&database, store, &Window::default(), none)
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
        let (database, applied) = guarded(|| {
            let database = build(file)?;
            let applied = read_applied(&database, store)?;
            Ok((database, applied))
        })?;
        self.database = Some(database);
        self.applied = applied;
        Ok(())
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

fn write(database: &Database, store: StoreId, window: &Window, applied: Applied) -> Result<(), StorageError> {
    let mut txn = database.begin_write().map_err(storage_error)?;
    // After a crash the file is opened as it is, without a walk through all of it.
    txn.set_quick_repair(true);
    let mut value = Vec::new();
    for table in Table::ALL {
        let rows = window.rows_of(table);
        if rows.len() == 0 {
            continue;
        }
        let name = name_of(table);
        let definition = TableDefinition::<&[u8], &[u8]>::new(&name);
        let mut stored = txn.open_table(definition).map_err(storage_error)?;
        for (key, row) in rows {
            match row {
                Some(row) => {
                    row::encode(table, key, row, &mut value);
                    stored.insert(key, value.as_slice()).map_err(storage_error)?;
                }
                None => {
                    stored.remove(key).map_err(storage_error)?;
                }
            }
        }
    }
    let mut about = txn.open_table(ABOUT).map_err(storage_error)?;
    about.insert(APPLIED, row::encode_applied(store, applied).as_slice()).map_err(storage_error)?;
    drop(about);
    txn.commit().map_err(storage_error)
}

fn read_applied(database: &Database, store: StoreId) -> Result<Applied, StorageError> {
    let txn = database.begin_read().map_err(storage_error)?;
    let about = txn.open_table(ABOUT).map_err(storage_error)?;
    let found = about.get(APPLIED).map_err(storage_error)?;
    let found = found.ok_or_else(|| StorageError::damage(COLD_FILE, 0, "it does not say what it is of"))?;
    row::decode_applied(store, found.value())
}

#[cfg(test)]
mod tests;
