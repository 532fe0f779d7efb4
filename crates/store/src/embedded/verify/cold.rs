//! Every row of the cold store.
//!
//! Lives here: its pages, its rows one by one, and what they lead to. Not here: what a row must be
//! (`row.rs`), and to what it leads (`link.rs`).

use std::cell::RefCell;
use std::sync::Arc;

use super::folder::Report;
use super::link::{self, Unreadable};
use super::row;
use crate::embedded::cold::{Applied, COLD_FILE, Cold, ColdReader, ColdRow, ReadFailed};
use crate::embedded::disk::{Disk, Site};
use crate::embedded::finding::Finding;
use crate::embedded::meta::Meta;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};

/// Checks the cold store and says what it is of; none where that cannot be read.
pub(in crate::embedded) fn check(
    disk: &Arc<dyn Disk>,
    meta: &Meta,
    report: &mut Report,
    progress: &mut dyn FnMut(u64),
) -> Option<Applied> {
    const COUNT: Site = Site("verify.count");
    let mut cold = match Cold::open(Arc::clone(disk), meta) {
        Ok(cold) => cold,
        Err(error) => {
            report.add(Finding::of(&error, COLD_FILE));
            return None;
        }
    };
    let applied = cold.applied();
    match cold.check_pages() {
        Ok(true) => {}
        Ok(false) => report.add(Finding::at(COLD_FILE, 0, "its pages did not agree with each other")),
        Err(error) => report.add(Finding::of(&error, COLD_FILE)),
    }
    match disk.len_of(COUNT, COLD_FILE) {
        Ok(len) => progress(len.unwrap_or(0)),
        Err(error) => report.add(Finding::of(&error.into(), COLD_FILE)),
    }
    match cold.reader() {
        Ok(Some(reader)) => {
            Table::ALL.into_iter().for_each(|table| check_table(&reader, table, report, progress))
        }
        Ok(None) => {}
        Err(error) => report.add(Finding::of(&error, COLD_FILE)),
    }
    Some(applied)
}

fn check_table(reader: &ColdReader, table: Table, report: &mut Report, progress: &mut dyn FnMut(u64)) {
    let broken = |failed: ReadFailed| Finding {
        table: Some(format!("{table:?}")),
        ..Finding::of(&failed.into(), COLD_FILE)
    };
    let mut rows = match reader.all(table, Order::Rising) {
        Ok(rows) => rows,
        Err(failed) => return report.add(broken(failed)),
    };
    loop {
        match rows.next() {
            Ok(Some(row)) => {
                report.rows += 1;
                progress((row.key().len() + row.stored().len()) as u64);
                if let Some(what) = wrong(reader, &row) {
                    report.add(Finding::row(table, row.key(), what));
                }
            }
            Ok(None) => return,
            Err(failed) => return report.add(broken(failed)),
        }
    }
}

/// What is wrong with a row.
fn wrong(reader: &ColdReader, row: &ColdRow) -> Option<String> {
    let (table, key) = (row.table(), row.key());
    let Ok(value) = row.value() else { return Some("its checksum is wrong".to_owned()) };
    if !row::is_one(table, key, &value) {
        return Some("not a row that this version writes".to_owned());
    }
    // Of damaged rows there are findings of their own; of a disk that did not answer there need not be.
    let unanswered = RefCell::new(None);
    let get = |table: Table, key: &[u8]| {
        reader.get(table, key).map_err(|failed| {
            if let ReadFailed::Broken(error @ StorageError::Disk(_)) = failed {
                unanswered.replace(Some(format!("what it leads to cannot be read: {error}")));
            }
            Unreadable
        })
    };
    let found = link::wrong(table, key, &value, &get);
    found.or(unanswered.into_inner())
}
