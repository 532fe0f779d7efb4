//! Copying every row that can be read.
//!
//! Lives here: which rows are what was written, and what is said of the others. Not here: reaching them
//! (`walk.rs`), and what becomes of rows that hung on lost ones (`events.rs`, `dealings.rs`).

use bytes::Bytes;

use super::lost::Lost;
use super::report::Salvaged;
use super::rows::Rows;
use super::seen::{Seen, owner};
use super::walk::walk;
use crate::embedded::cold::{COLD_FILE, ColdReader, ColdRow, Remains, row as stored_row};
use crate::embedded::finding::Finding;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::embedded::verify::row;

/// What is known of the rows that were copied, and of those that were not.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub(super) seen: Seen,
    pub(super) lost: Lost,
}

/// Rows on their way.
struct Copying<'a> {
    /// None where nothing is to be made.
    to: Option<&'a mut Rows>,
    report: &'a mut Salvaged,
    progress: &'a mut dyn FnMut(u64),
    copied: Copied,
    /// Rows of this table that can be read.
    good: u64,
}

/// Copies what can be read of the cold store; into nothing where there is no `to`.
pub(super) fn copy(
    from: &Remains,
    to: Option<&mut Rows>,
    report: &mut Salvaged,
    progress: &mut dyn FnMut(u64),
) -> Result<Copied, StorageError> {
    let mut copying = Copying { to, report, progress, copied: Copied::default(), good: 0 };
    for (table, error) in &from.broken {
        copying.copied.lost.all(*table);
        copying.miss(*table, &format!("all its rows are lost: {}", Finding::of(error, COLD_FILE).what));
    }
    if let Some(reader) = &from.reader {
        // Streams and queues come first: rows that cannot be read are counted to those that are there.
        Table::ALL.into_iter().try_for_each(|table| copying.table(reader, table))?;
    }
    Ok(copying.copied)
}

impl Copying<'_> {
    fn table(&mut self, reader: &ColdReader, table: Table) -> Result<(), StorageError> {
        self.good = 0;
        let walked = walk(reader, table, &mut |row| self.row(row))?;
        for gap in &walked.gaps {
            self.copied.lost.stretch(table, gap.from.clone(), gap.to.clone());
            let (from, to) = (hex(&gap.from), hex(&gap.to));
            self.miss(table, &format!("rows from {from} up to {to} cannot be read: {}", gap.why));
        }
        if walked.out_of_order > 0 {
            self.copied.lost.all(table);
            self.miss(table, &format!("{} rows are not where they should be", walked.out_of_order));
        }
        let said = reader.len(table).unwrap_or(walked.rows);
        if said > walked.rows && walked.gaps.is_empty() && walked.out_of_order == 0 {
            self.copied.lost.all(table);
            self.miss(table, &format!("it says that it has {said} rows, and {} are found", walked.rows));
        }
        Ok(())
    }

    /// Something about a whole table.
    fn miss(&mut self, table: Table, what: &str) {
        let finding = Finding { table: Some(format!("{table:?}")), ..Finding::default() };
        self.report.add(Finding { file: COLD_FILE.to_owned(), what: what.to_owned(), ..finding });
    }

    /// Takes a row, and answers its key where that is known.
    fn row(&mut self, found: &ColdRow) -> Result<Option<Vec<u8>>, StorageError> {
        let (table, key) = (found.table(), found.key());
        (self.progress)((key.len() + found.stored().len()) as u64);
        if let Some(value) = whole(table, key, found.stored()) {
            return self.take(table, key, value).map(|()| Some(key.to_vec()));
        }
        if let Some((true_key, value)) = under_another_key(table, key, found.stored()) {
            let what = format!("its key was {}: it is found again", hex(&true_key));
            self.report.add(Finding::row(table, key, what));
            self.take(table, &true_key, value)?;
            return Ok(Some(true_key));
        }
        if self.copied.lost.is_named(table, key) {
            return Ok(None);
        }
        self.copied.lost.key(table, key);
        self.copied.seen.miss(table, key);
        self.report.add(Finding::row(table, key, lost(table, key)));
        // What is left of it counts only where another row bears it out (`events.rs`).
        let rest = found.stored().get(stored_row::CRC_BYTES..).unwrap_or_default();
        match BodyRow::of_damaged(Bytes::copy_from_slice(rest)) {
            Some(body) if table == Table::Body && key.len() == 12 => self.put(table, key, body.encode())?,
            Some(_) | None => {}
        }
        Ok(None)
    }

    fn take(&mut self, table: Table, key: &[u8], value: Bytes) -> Result<(), StorageError> {
        self.report.rows += 1;
        self.good += 1;
        self.copied.seen.note(table, key, &value);
        self.put(table, key, value)
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) -> Result<(), StorageError> {
        match &mut self.to {
            Some(rows) => rows.add(table, key, value),
            None => Ok(()),
        }
    }
}

/// The row, where it is what was written.
fn whole(table: Table, key: &[u8], stored: &[u8]) -> Option<Bytes> {
    let value = Bytes::copy_from_slice(stored_row::decode(table, key, stored)?);
    row::is_one(table, key, &value).then_some(value)
}

/// The row and its key, where one bit of the key is all that was changed: the checksum covers the key that
/// it should have.
fn under_another_key(table: Table, key: &[u8], stored: &[u8]) -> Option<(Vec<u8>, Bytes)> {
    let mut other = key.to_vec();
    for bit in 0..key.len() * 8 {
        other[bit / 8] ^= 1 << (bit % 8);
        if let Some(value) = whole(table, &other, stored) {
            return Some((other, value));
        }
        other[bit / 8] ^= 1 << (bit % 8);
    }
    None
}

/// What the loss of a row means.
fn lost(table: Table, key: &[u8]) -> String {
    let owner = owner(key);
    match (table, key.len()) {
        (Table::Body, 12) => {
            let arrival = key::count_of(key);
            format!("its checksum is wrong: the content of event {arrival} of stream {owner} is lost")
        }
        (Table::Delivery | Table::Outcome | Table::Lane, 12) => {
            let n = key::count_of(key);
            format!("its checksum is wrong: what queue {owner} knew of entry {n} is lost")
        }
        (Table::Stream | Table::Head, 4) => format!("its checksum is wrong: it is of stream {owner}"),
        (Table::Queue | Table::Progress, 4) => format!("its checksum is wrong: it is of queue {owner}"),
        _ => "its checksum is wrong".to_owned(),
    }
}

pub(super) fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
