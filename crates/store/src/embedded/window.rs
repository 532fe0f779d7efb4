//! What changed since the cold store was last written: rows put and rows gone, in RAM.
//!
//! Lives here: one layer of changes, with its size. Not here: how layers make one table
//! (`layered.rs`), and when one is written (`checkpointer.rs`).

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;

use bytes::Bytes;

use super::tables::Table;

/// What a row takes beside its key and value, roughly.
const ROW_BYTES: usize = 96;

/// The last word on each row that changed.
#[derive(Debug)]
pub(crate) struct Window {
    /// None: the row is gone.
    tables: [BTreeMap<Box<[u8]>, Option<Bytes>>; Table::ALL.len()],
    rows: usize,
    bytes: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { tables: std::array::from_fn(|_| BTreeMap::new()), rows: 0, bytes: 0 }
    }
}

impl Window {
    /// What it says of a row: none where it says nothing, else the row, or that it is gone.
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Option<&Option<Bytes>> {
        self.tables[table as usize].get(key)
    }

    /// Says something of a row.
    pub(crate) fn set(&mut self, table: Table, key: &[u8], row: Option<Bytes>) {
        let rows = &mut self.tables[table as usize];
        self.bytes += row.as_ref().map_or(0, Bytes::len);
        if let Some(old) = rows.get_mut(key) {
            self.bytes -= old.as_ref().map_or(0, Bytes::len);
            *old = row;
        } else {
            self.rows += 1;
            self.bytes += key.len() + ROW_BYTES;
            rows.insert(key.into(), row);
        }
    }

    /// Says nothing of a row any more.
    pub(crate) fn forget(&mut self, table: Table, key: &[u8]) {
        if let Some(old) = self.tables[table as usize].remove(key) {
            self.rows -= 1;
            self.bytes -= key.len() + ROW_BYTES + old.map_or(0, |row| row.len());
        }
    }

    /// What it says of the rows whose key is at least `from` and below `to`, which must not be less.
    pub(crate) fn range(&self, table: Table, from: &[u8], to: &[u8]) -> Range<'_, Box<[u8]>, Option<Bytes>> {
        self.tables[table as usize].range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)))
    }

    /// Everything that it says of one table, in key order.
    pub(crate) fn rows_of(&self, table: Table) -> impl ExactSizeIterator<Item = (&[u8], Option<&Bytes>)> {
        self.tables[table as usize].iter().map(|(key, row)| (&**key, row.as_ref()))
    }

    /// How many rows it speaks of.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of RAM that it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_size_goes_up_and_down_with_what_it_says() {
        let mut window = Window::default();
        window.set(Table::Body, b"a", Some(Bytes::from_static(b"12345")));
        let one = window.bytes();
        window.set(Table::Body, b"a", None);
        assert_eq!((window.rows(), window.bytes()), (1, one - 5));
        assert_eq!(window.get(Table::Body, b"a"), Some(&None));
        window.forget(Table::Body, b"a");
        assert_eq!((window.rows(), window.bytes()), (0, 0));
        assert_eq!(window.get(Table::Body, b"a"), None);
    }
}
