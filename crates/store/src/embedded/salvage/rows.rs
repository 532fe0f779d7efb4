//! The new store's rows while they are being put together.
//!
//! Lives here: reading and writing them with little in RAM. Not here: which (the files beside this).

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

use crate::embedded::cold::{Applied, Cold, ColdReader};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};
use crate::embedded::window::Window;

/// Changes are written in transactions of about so many bytes.
const WINDOW_BYTES: usize = 16 << 20;

/// What is done with each row of a table: its key, and the row.
pub(super) type Each<'a> = dyn FnMut(&mut Rows, &[u8], Bytes) -> Result<(), StorageError> + 'a;

/// The rows of a store in the making: a few changes over its cold store.
pub(super) struct Rows {
    cold: Cold,
    reader: Option<Arc<ColdReader>>,
    window: Window,
    /// Why a row could not be read, which no row of a new file should be.
    failed: RefCell<Option<StorageError>>,
}

impl Rows {
    /// What is in the cold store.
    pub(super) fn over(mut cold: Cold) -> Result<Self, StorageError> {
        let reader = cold.reader()?.map(Arc::new);
        Ok(Self { cold, reader, window: Window::default(), failed: RefCell::default() })
    }

    pub(super) fn get(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        if let Some(said) = self.window.get(table, key) {
            return said.clone();
        }
        match self.reader.as_ref()?.get(table, key) {
            Ok(row) => row,
            Err(failed) => {
                self.failed.borrow_mut().get_or_insert(failed.into());
                None
            }
        }
    }

    pub(super) fn has(&self, table: Table, key: &[u8]) -> bool {
        self.get(table, key).is_some()
    }

    /// Stores a row, unless it is there already.
    pub(super) fn put(&mut self, table: Table, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        if self.get(table, key).as_ref() == Some(&row) { Ok(()) } else { self.set(table, key, Some(row)) }
    }

    /// The same without a look whether it is there.
    pub(super) fn add(&mut self, table: Table, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        self.set(table, key, Some(row))
    }

    pub(super) fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), StorageError> {
        self.set(table, key, None)
    }

    fn set(&mut self, table: Table, key: &[u8], row: Option<Bytes>) -> Result<(), StorageError> {
        self.window.set(table, key, row);
        if self.window.bytes() >= WINDOW_BYTES {
            self.write(Applied::default())?;
        }
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Writes everything down, which is then of `applied`.
    pub(super) fn write(&mut self, applied: Applied) -> Result<(), StorageError> {
        let window = std::mem::take(&mut self.window);
        self.cold.write(&window, applied)?;
        self.reader = self.cold.reader()?.map(Arc::new);
        Ok(())
    }

    /// Calls `each` for every row of a table as it is now; it may change any.
    pub(super) fn for_each(&mut self, table: Table, each: &mut Each<'_>) -> Result<(), StorageError> {
        if self.window.rows() > 0 {
            self.write(Applied::default())?;
        }
        let Some(reader) = self.reader.clone() else { return Ok(()) };
        let mut rows = reader.all(table, Order::Rising)?;
        while let Some(row) = rows.next()? {
            each(self, row.key(), row.value()?)?;
        }
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// The cold store with all rows in it, for whoever goes on from there.
    pub(super) fn into_cold(mut self) -> Result<(Cold, Option<Arc<ColdReader>>), StorageError> {
        self.write(Applied::default())?;
        Ok((self.cold, self.reader))
    }
}
