//! Tables that can take a transaction back.
//!
//! Lives here: the journal of what was overwritten. Not here: the tables beneath it (`tables.rs`,
//! `layered.rs`).

use bytes::Bytes;
use naven_core::planted::{Bug, has};

use super::{Before, Kept, Order, Survey, Table, Tables, Visit};

/// A row's key and what stood there before.
type Overwritten = (Table, Box<[u8]>, Before);

/// Tables that remember what a transaction overwrote, so that it can be undone, and how many rows
/// it wrote, so that one that wrote nothing leaves no record.
#[derive(Debug, Default)]
pub(crate) struct Journaled<T> {
    inner: T,
    writes: u64,
    undo: Option<Vec<Overwritten>>,
}

impl<T: Tables> Journaled<T> {
    /// These tables with a journal over them.
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, writes: 0, undo: None }
    }

    /// The tables themselves.
    pub(crate) fn inner(&self) -> &T {
        &self.inner
    }

    /// The tables themselves, for what is no change of a row.
    pub(crate) fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// How many rows were ever written or removed.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// From here on changes can be undone.
    pub(crate) fn begin(&mut self) {
        self.undo = Some(Vec::new());
    }

    /// What was changed since [`Self::begin`] stays.
    pub(crate) fn keep(&mut self) {
        self.undo = None;
    }

    /// Everything is as it was at [`Self::begin`].
    pub(crate) fn roll_back(&mut self) {
        for (table, key, old) in self.undo.take().unwrap_or_default().into_iter().rev() {
            self.writes = self.writes.saturating_sub(1);
            if has(Bug::UndoForgetsIndex) && matches!(table, Table::Waiting | Table::Ends) {
                continue;
            }
            self.inner.take_back(table, &key, old);
        }
    }

    fn note(&mut self, table: Table, key: &[u8]) {
        self.writes += 1;
        if let Some(undo) = &mut self.undo {
            undo.push((table, key.into(), self.inner.before(table, key)));
        }
    }
}

impl<T: Tables> Tables for Journaled<T> {
    fn get(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        self.inner.get(table, key)
    }

    fn find(&self, table: Table, key: &[u8]) -> Option<Kept> {
        self.inner.find(table, key)
    }

    fn miss(&self, table: Table, key: &[u8]) -> ! {
        self.inner.miss(table, key)
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) {
        self.note(table, key);
        self.inner.put(table, key, value);
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.note(table, key);
        self.inner.delete(table, key);
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Visit<'_>) {
        self.inner.scan(table, from, to, order, visit);
    }

    fn survey(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Survey<'_>) {
        self.inner.survey(table, from, to, order, visit);
    }

    fn before(&self, table: Table, key: &[u8]) -> Before {
        self.inner.before(table, key)
    }

    fn take_back(&mut self, table: Table, key: &[u8], before: Before) {
        self.inner.take_back(table, key, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::tables::RamTables;

    #[test]
    fn a_rolled_back_transaction_leaves_no_trace() {
        let mut tables = Journaled::new(RamTables::default());
        tables.put(Table::Body, b"kept", Bytes::from_static(b"1"));
        let writes = tables.writes();
        tables.begin();
        tables.put(Table::Body, b"kept", Bytes::from_static(b"2"));
        tables.put(Table::Body, b"new", Bytes::from_static(b"3"));
        tables.delete(Table::Body, b"kept");
        tables.roll_back();
        assert_eq!(tables.get(Table::Body, b"kept"), Some(Bytes::from_static(b"1")));
        assert_eq!(tables.get(Table::Body, b"new"), None);
        assert_eq!(tables.writes(), writes);
    }
}
