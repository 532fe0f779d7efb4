//! Reading the cold store as it was after one checkpoint.
//!
//! Lives here: single rows, and rows in key order, checked. Not here: what lies over them in RAM
//! (`layered.rs`).

use bytes::Bytes;
use redb::{
    AccessGuard, Database, Range, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTableMetadata,
    TableDefinition, TableError,
};

use super::damage::{guarded, is_stale, storage_error};
use super::{COLD_FILE, name_of, row};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Kept, Order, Table};

type Stored = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// One state of the cold store, unchanged by later writes.
pub(crate) struct ColdReader {
    /// None: the table has no row.
    tables: Vec<Option<Stored>>,
}

/// What a read of the cold store came to.
pub(crate) type Reads<T> = Result<T, ReadFailed>;

/// Why a read of the cold store failed.
#[derive(Debug)]
pub(crate) enum ReadFailed {
    /// A write failed meanwhile: a new reader can tell.
    Stale,
    /// For good.
    Broken(StorageError),
}

impl From<StorageError> for ReadFailed {
    fn from(error: StorageError) -> Self {
        if is_stale(&error) { Self::Stale } else { Self::Broken(error) }
    }
}

impl From<ReadFailed> for StorageError {
    fn from(failed: ReadFailed) -> Self {
        match failed {
            ReadFailed::Broken(error) => error,
            ReadFailed::Stale => Self::Closed,
        }
    }
}

impl ColdReader {
    pub(super) fn begin(database: &Database) -> Result<Self, StorageError> {
        let txn = guarded(|| database.begin_read().map_err(storage_error))?;
        let open = |table| open(&txn, table);
        Ok(Self { tables: Table::ALL.into_iter().map(open).collect::<Result<_, _>>()? })
    }

    /// The same with the tables that can be opened; the others are empty, and why is answered.
    pub(super) fn begin_with_what_opens(
        database: &Database,
    ) -> Result<(Self, Vec<(Table, StorageError)>), StorageError> {
        let txn = guarded(|| database.begin_read().map_err(storage_error))?;
        let (mut tables, mut broken) = (Vec::new(), Vec::new());
        for table in Table::ALL {
            tables.push(open(&txn, table).unwrap_or_else(|error| {
                broken.push((table, error));
                None
            }));
        }
        Ok((Self { tables }, broken))
    }

    /// The row under `key`.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Reads<Option<Bytes>> {
        let Some(stored) = &self.tables[table as usize] else { return Ok(None) };
        guarded(|| match stored.get(key).map_err(storage_error)? {
            Some(value) => checked(table, key, value.value()).map(Some),
            None => self.beside(table, key),
        })
    }

    /// The row of an event that is not under its key, because the bytes of the key were changed: then it
    /// lies beside the key's place, and its checksum, which covers the key that it should have, is right.
    /// Rows of other tables that are not there are missed by those that point to them.
    fn beside(&self, table: Table, key: &[u8]) -> Reads<Option<Bytes>> {
        if table != Table::Body {
            return Ok(None);
        }
        for (from, to, order) in [(key, &[0xff; 12][..], Order::Rising), (&[], key, Order::Falling)] {
            if let Some(row) = self.range(table, from, to, order)?.next()?
                && let Some(found) = row::decode(table, key, row.stored())
            {
                tracing::error!("{}", damaged(table, row.key()));
                return Ok(Some(Bytes::copy_from_slice(found)));
            }
        }
        Ok(None)
    }

    /// The row under `key`, as it was written or not.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn find(&self, table: Table, key: &[u8]) -> Reads<Option<Kept>> {
        let Some(stored) = &self.tables[table as usize] else { return Ok(None) };
        guarded(|| {
            let Some(value) = stored.get(key).map_err(storage_error)? else {
                return Ok(self.beside(table, key)?.map(Kept::Whole));
            };
            Ok(Some(kept(table, key, value.value())))
        })
    }

    /// The rows whose key is at least `from` and below `to`.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn range(&self, table: Table, from: &[u8], to: &[u8], order: Order) -> Reads<ColdRows> {
        let rows = match &self.tables[table as usize] {
            Some(stored) if from < to => Some(guarded(|| stored.range(from..to).map_err(storage_error))?),
            Some(_) | None => None,
        };
        Ok(ColdRows { table, order, rows })
    }

    /// How many rows a table says that it has.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn len(&self, table: Table) -> Reads<u64> {
        match &self.tables[table as usize] {
            Some(stored) => Ok(guarded(|| stored.len().map_err(storage_error))?),
            None => Ok(0),
        }
    }

    /// All rows of a table.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn all(&self, table: Table, order: Order) -> Reads<ColdRows> {
        let rows = match &self.tables[table as usize] {
            Some(stored) => Some(guarded(|| stored.range::<&[u8]>(..).map_err(storage_error))?),
            None => None,
        };
        Ok(ColdRows { table, order, rows })
    }
}

impl std::fmt::Debug for ColdReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ColdReader")
    }
}

fn open(txn: &ReadTransaction, table: Table) -> Result<Option<Stored>, StorageError> {
    let name = name_of(table);
    guarded(|| match txn.open_table(TableDefinition::<&[u8], &[u8]>::new(&name)) {
        Ok(stored) => Ok(Some(stored)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(storage_error(error)),
    })
}

/// Rows of one table, one after the other.
pub(crate) struct ColdRows {
    table: Table,
    order: Order,
    rows: Option<Range<'static, &'static [u8], &'static [u8]>>,
}

/// One row, as it lies in a page.
pub(crate) struct ColdRow {
    table: Table,
    key: AccessGuard<'static, &'static [u8]>,
    value: AccessGuard<'static, &'static [u8]>,
}

impl ColdRows {
    /// The next row.
    ///
    /// # Errors
    /// See [`ReadFailed`].
    pub(crate) fn next(&mut self) -> Reads<Option<ColdRow>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let next = guarded(|| {
            let next = match self.order {
                Order::Rising => rows.next(),
                Order::Falling => rows.next_back(),
            };
            let next = next.transpose().map_err(storage_error)?;
            if let Some((key, value)) = &next {
                // On a damaged page a row may claim bytes beyond its end: better here than at its use.
                let _ = (key.value(), value.value());
            }
            Ok::<_, StorageError>(next)
        })?;
        Ok(next.map(|(key, value)| ColdRow { table: self.table, key, value }))
    }
}

impl ColdRow {
    /// Its key.
    pub(crate) fn key(&self) -> &[u8] {
        self.key.value()
    }

    /// Its table.
    pub(crate) fn table(&self) -> Table {
        self.table
    }

    /// Its value, checksum and all, unchecked.
    pub(crate) fn stored(&self) -> &[u8] {
        self.value.value()
    }

    /// Its value, checked.
    ///
    /// # Errors
    /// `Broken` where it is not what was written.
    pub(crate) fn value(&self) -> Reads<Bytes> {
        checked(self.table, self.key(), self.value.value())
    }

    /// Its value, as it was written or not.
    pub(crate) fn kept(&self) -> Kept {
        kept(self.table, self.key(), self.value.value())
    }
}

fn kept(table: Table, key: &[u8], value: &[u8]) -> Kept {
    match row::decode(table, key, value) {
        Some(row) => Kept::Whole(Bytes::copy_from_slice(row)),
        None => {
            tracing::error!("{}", damaged(table, key));
            Kept::Damaged(Bytes::copy_from_slice(value.get(row::CRC_BYTES..).unwrap_or_default()))
        }
    }
}

fn checked(table: Table, key: &[u8], value: &[u8]) -> Reads<Bytes> {
    match row::decode(table, key, value) {
        Some(row) => Ok(Bytes::copy_from_slice(row)),
        None => Err(ReadFailed::Broken(damaged(table, key))),
    }
}

fn damaged(table: Table, key: &[u8]) -> StorageError {
    row_error(table, key, "is not what was written")
}

/// What is said where a row that another points to is not there.
pub(crate) fn missing_row(table: Table, key: &[u8]) -> StorageError {
    row_error(table, key, "is missing")
}

fn row_error(table: Table, key: &[u8], what: &str) -> StorageError {
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let what = format!("the row {key} of table {table:?} {what}");
    StorageError::DamagedRow { file: COLD_FILE.to_owned(), what }
}
