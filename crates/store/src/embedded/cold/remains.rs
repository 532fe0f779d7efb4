//! What is left of a damaged cold store.
//!
//! Lives here: opening as much of it as can be opened. Not here: a store that is whole (`cold.rs`), and
//! going around what cannot be read (`salvage/`).

use std::sync::Arc;

use redb::{Database, ReadableDatabase};

use super::damage::{guarded, storage_error};
use super::{ABOUT, APPLIED, Applied, COLD_FILE, ColdReader, build, row};
use crate::embedded::disk::{Disk, Site};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;

/// A cold store of which parts may not be readable. It is opened over a disk that takes writes, since
/// the library below writes when it opens and closes a file.
pub(crate) struct Remains {
    database: Option<Database>,
    /// The tables that can be opened; the others are empty.
    pub(crate) reader: Option<ColdReader>,
    /// The tables that cannot, and why.
    pub(crate) broken: Vec<(Table, StorageError)>,
    /// Of which store it says that it is.
    pub(crate) store: Option<StoreId>,
    /// What the store said of itself.
    about: Vec<u8>,
}

impl Remains {
    /// Opens the file of a folder; none where there is none.
    ///
    /// # Errors
    /// `Damage` where nothing of it can be opened; `Disk`.
    pub(crate) fn open(disk: &Arc<dyn Disk>) -> Result<Option<Self>, StorageError> {
        let file = match disk.open(Site("cold.open"), COLD_FILE) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let database = guarded(|| build(file))?;
        let about = guarded(|| about(&database)).unwrap_or_default();
        let (reader, broken) = ColdReader::begin_with_what_opens(&database)?;
        let store = row::store_of(&about);
        Ok(Some(Self { database: Some(database), reader: Some(reader), broken, store, about }))
    }

    /// What it is of, for the store of this id.
    ///
    /// # Errors
    /// `Newer`; `Damage` where that cannot be read, or where it is another store's.
    pub(crate) fn applied(&self, store: StoreId) -> Result<Applied, StorageError> {
        row::decode_about(store, &self.about).map(|(applied, _)| applied)
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        let (reader, database) = (self.reader.take(), self.database.take());
        // On a damaged file the library may panic at its end; everything is in RAM, and of no use now.
        let _: Result<(), StorageError> = guarded(|| {
            drop(reader);
            drop(database);
            Ok(())
        });
    }
}

fn about(database: &Database) -> Result<Vec<u8>, StorageError> {
    let txn = database.begin_read().map_err(storage_error)?;
    let about = txn.open_table(ABOUT).map_err(storage_error)?;
    let found = about.get(APPLIED).map_err(storage_error)?;
    Ok(found.map(|found| found.value().to_vec()).unwrap_or_default())
}
