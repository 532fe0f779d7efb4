//! Writing rows to the cold store.
//!
//! Lives here: one window in one transaction, and the count of bytes that rows have. Not here: when
//! that is done, and what follows where it fails (`cold.rs`).

use redb::{Database, Durability, TableDefinition, WriteTransaction};

use super::damage::storage_error;
use super::{ABOUT, APPLIED, Applied, Room, name_of, reserve, row};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::embedded::window::Window;

/// A row that becomes shorter by so much, such as that of an event which loses its payload, leaves most of
/// its page empty.
const SHRUNK_BYTES: usize = 512;

/// The store, what it is of once it is written, and how many bytes its rows have before.
pub(super) type About = (StoreId, Applied, u64);

/// Writes all changes of a window. Answers how many bytes all rows have then.
pub(super) fn window(
    database: &Database,
    window: &Window,
    about: About,
    room: Room,
) -> Result<u64, StorageError> {
    let (store, applied, live_bytes) = about;
    let mut txn = database.begin_write().map_err(storage_error)?;
    // After a crash the file is opened as it is, without a walk through all of it.
    txn.set_quick_repair(true);
    let mut live_bytes = Live(live_bytes);
    if room != Room::Ample {
        reserve::take_beside(&txn)?;
    }
    for table in Table::ALL {
        changes(&txn, table, window.rows_of(table), &mut live_bytes)?;
    }
    say(&txn, (store, applied, live_bytes.0))?;
    if room != Room::Ample {
        reserve::give_beside(&txn)?;
    }
    txn.commit().map_err(storage_error)?;
    Ok(live_bytes.0)
}

/// A row's key, and its value as it lies in the file.
pub(super) type Raw = (Vec<u8>, Vec<u8>);

/// Writes rows that are not there as they lie in another file, good or bad. Answers how many bytes
/// they have.
pub(super) fn raw(database: &Database, table: Table, rows: &[Raw]) -> Result<u64, StorageError> {
    let mut txn = database.begin_write().map_err(storage_error)?;
    txn.set_durability(Durability::None).map_err(storage_error)?;
    let name = name_of(table);
    let definition = TableDefinition::<&[u8], &[u8]>::new(&name);
    let mut stored = txn.open_table(definition).map_err(storage_error)?;
    let mut bytes = 0;
    for (key, value) in rows {
        bytes += (key.len() + value.len()) as u64;
        stored.insert(key.as_slice(), value.as_slice()).map_err(storage_error)?;
    }
    drop(stored);
    txn.commit().map_err(storage_error)?;
    Ok(bytes)
}

/// Writes some changes in a transaction that no power cut need leave whole.
pub(super) fn some<'r>(
    database: &Database,
    table: Table,
    rows: impl ExactSizeIterator<Item = (&'r [u8], Option<&'r [u8]>)>,
    live_bytes: u64,
) -> Result<u64, StorageError> {
    let mut txn = database.begin_write().map_err(storage_error)?;
    txn.set_durability(Durability::None).map_err(storage_error)?;
    let mut live_bytes = Live(live_bytes);
    changes(&txn, table, rows, &mut live_bytes)?;
    txn.commit().map_err(storage_error)?;
    Ok(live_bytes.0)
}

/// Writes what is no row of ours, durably.
pub(super) fn beside(
    database: &Database,
    change: impl FnOnce(&WriteTransaction) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut txn = database.begin_write().map_err(storage_error)?;
    txn.set_quick_repair(true);
    change(&txn)?;
    txn.commit().map_err(storage_error)
}

/// Says what the store is of, and makes all that was written before durable.
pub(super) fn about(database: &Database, about: About) -> Result<(), StorageError> {
    let mut txn = database.begin_write().map_err(storage_error)?;
    txn.set_quick_repair(true);
    say(&txn, about)?;
    txn.commit().map_err(storage_error)
}

fn say(txn: &WriteTransaction, (store, applied, live_bytes): About) -> Result<(), StorageError> {
    let mut table = txn.open_table(ABOUT).map_err(storage_error)?;
    let about = row::encode_about(store, applied, live_bytes);
    table.insert(APPLIED, about.as_slice()).map_err(storage_error)?;
    Ok(())
}

/// Bytes that rows have.
struct Live(u64);

impl Live {
    fn add(&mut self, key: &[u8], value: usize) {
        self.0 += (key.len() + value) as u64;
    }

    fn take(&mut self, key: &[u8], value: usize) {
        self.0 = self.0.saturating_sub((key.len() + value) as u64);
    }
}

fn changes<'r, R: AsRef<[u8]> + ?Sized + 'r>(
    txn: &WriteTransaction,
    table: Table,
    rows: impl ExactSizeIterator<Item = (&'r [u8], Option<&'r R>)>,
    live_bytes: &mut Live,
) -> Result<(), StorageError> {
    if rows.len() == 0 {
        return Ok(());
    }
    let name = name_of(table);
    let definition = TableDefinition::<&[u8], &[u8]>::new(&name);
    let mut stored = txn.open_table(definition).map_err(storage_error)?;
    let (mut value, mut shrunk) = (Vec::new(), Vec::new());
    for (key, row) in rows {
        let old_len = match row {
            Some(row) => {
                row::encode(table, key, row.as_ref(), &mut value);
                live_bytes.add(key, value.len());
                let old = stored.insert(key, value.as_slice()).map_err(storage_error)?;
                old.map(|old| old.value().len())
            }
            None => stored.remove(key).map_err(storage_error)?.map(|old| old.value().len()),
        };
        let Some(old_len) = old_len else { continue };
        live_bytes.take(key, old_len);
        if row.is_some() && old_len >= value.len() + SHRUNK_BYTES {
            drop(stored.remove(key).map_err(storage_error)?);
            shrunk.push((key, value.clone()));
        }
    }
    // redb joins no pages where rows become short: each would stay alone in its page. A row goes to the page
    // of the next one, so the last comes first.
    for (key, value) in shrunk.into_iter().rev() {
        drop(stored.insert(key, value.as_slice()).map_err(storage_error)?);
    }
    Ok(())
}
