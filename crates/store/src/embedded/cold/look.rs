//! A look at the whole cold store, at a start, while it is small.
//!
//! Lives here: what damage a start may go on with. Not here: single rows that are read later
//! (`read.rs`), and a report of everything that is wrong (`verify/`).
//!
//! redb finds a row by way of pages that it does not check. Where one of those was changed from outside a
//! row is not found that is there, and no checksum of ours tells. So the pages of a file that is not too
//! long are compared with each other first; where they do not agree, every row has to be found one by
//! one. Then only contents of events may be damaged: those become dead letters when their turn comes.

use std::sync::Arc;

use super::damage::guarded;
use super::{COLD_FILE, Cold, ColdReader};
use crate::embedded::disk::overlay::Overlay;
use crate::embedded::disk::{Disk, Site};
use crate::embedded::meta::Meta;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};

/// Longest file that is looked at as a whole at each start: a moment's work. `naven verify` looks at
/// longer ones.
const LOOKED_AT_BYTES_MAX: u64 = 64 << 20;

/// Looks at the cold store of a folder, and changes nothing.
///
/// # Errors
/// `Damage`, `DamagedRow` where rows may not be found; `Disk`.
pub(crate) fn look(disk: &Arc<dyn Disk>, meta: &Meta) -> Result<(), StorageError> {
    let len = disk.len_of(Site("cold.look"), COLD_FILE)?;
    if len.is_none_or(|len| len > LOOKED_AT_BYTES_MAX) {
        return Ok(());
    }
    let over = || -> Arc<dyn Disk> { Arc::new(Overlay::over(Arc::clone(disk))) };
    match Cold::open(over(), meta)?.check_pages() {
        Ok(true) => return Ok(()),
        Err(StorageError::Disk(error)) => return Err(error.into()),
        Ok(false) | Err(_) => {}
    }
    // It lives for as long as its reader is used.
    let mut cold = Cold::open(over(), meta)?;
    let Some(reader) = cold.reader()? else { return Ok(()) };
    Table::ALL.into_iter().try_for_each(|table| guarded(|| find_all(&reader, table)))?;
    tracing::error!(
        "pages of '{COLD_FILE}' are damaged; every row is found, and contents are checked when read"
    );
    Ok(())
}

/// Finds every row of a table by its key.
fn find_all(reader: &ColdReader, table: Table) -> Result<(), StorageError> {
    let damage = |what: String| Err(StorageError::damage(COLD_FILE, 0, what));
    let mut rows = reader.all(table, Order::Rising)?;
    let (mut before, mut count) = (None, 0);
    while let Some(row) = rows.next()? {
        let key = row.key().to_vec();
        if before.is_some_and(|before| before >= key) {
            return damage(format!("rows of table {table:?} are out of order"));
        }
        // Of all rows only events can be gone on without.
        if table != Table::Body {
            row.value()?;
        }
        if reader.find(table, &key)?.is_none() {
            return damage(format!("a row of table {table:?} cannot be found"));
        }
        (before, count) = (Some(key), count + 1);
    }
    let said = reader.len(table)?;
    if count != said {
        return damage(format!("table {table:?} has {count} rows, and says that it has {said}"));
    }
    Ok(())
}
