//! Where rows were that cannot be read.
//!
//! Lives here: stretches of keys, in little RAM. Not here: what follows (`owners.rs`, `events.rs`).

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::embedded::tables::Table;

/// Past every key of a table.
pub(super) const PAST_ALL: [u8; 64] = [0xff; 64];
/// Most stretches that are kept of one table: where there are more, neighbours become one.
const STRETCHES_MAX: usize = 50_000;

/// For each table, stretches of keys in which rows are lost: each begins at a key and ends before another.
#[derive(Debug)]
pub(super) struct Lost([BTreeMap<Vec<u8>, Vec<u8>>; Table::ALL.len()]);

impl Default for Lost {
    fn default() -> Self {
        Self(std::array::from_fn(|_| BTreeMap::new()))
    }
}

/// The key right behind this one.
pub(super) fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

impl Lost {
    /// The row of this key is lost.
    pub(super) fn key(&mut self, table: Table, key: &[u8]) {
        if !self.is_lost(table, key) {
            self.stretch(table, key.to_vec(), behind(key));
        }
    }

    /// Any row from `from` on and before `to` may be lost.
    pub(super) fn stretch(&mut self, table: Table, from: Vec<u8>, to: Vec<u8>) {
        let stretches = &mut self.0[table as usize];
        let end = stretches.entry(from).or_default();
        *end = to.max(std::mem::take(end));
        if stretches.len() > STRETCHES_MAX {
            let all: Vec<_> = std::mem::take(stretches).into_iter().collect();
            for pair in all.chunks(2) {
                let to = pair.iter().map(|(_, to)| to.clone()).max().unwrap_or_default();
                stretches.insert(pair[0].0.clone(), to);
            }
        }
    }

    /// Any row of this table may be lost.
    pub(super) fn all(&mut self, table: Table) {
        self.0[table as usize] = BTreeMap::from([(Vec::new(), PAST_ALL.to_vec())]);
    }

    /// True where a row of this key may have been there.
    pub(super) fn is_lost(&self, table: Table, key: &[u8]) -> bool {
        let before =
            self.0[table as usize].range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before.is_some_and(|(_, to)| key < to.as_slice())
    }

    /// True where a row of this key was there.
    pub(super) fn is_named(&self, table: Table, key: &[u8]) -> bool {
        self.0[table as usize].get(key).is_some_and(|to| *to == behind(key))
    }

    /// True where nothing of this table is known to be lost.
    pub(super) fn has_none(&self, table: Table) -> bool {
        self.0[table as usize].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_stretches_are_told_apart_and_stay_bounded() {
        let mut lost = Lost::default();
        lost.key(Table::Body, b"b");
        lost.stretch(Table::Body, b"d".to_vec(), b"f".to_vec());
        let is_lost = |key: &[u8]| lost.is_lost(Table::Body, key);
        assert_eq!(
            [&b"a"[..], b"b", b"b\0", b"c", b"d", b"e9", b"f"].map(is_lost),
            [false, true, false, false, true, true, false]
        );
        assert!(lost.is_named(Table::Body, b"b") && !lost.is_named(Table::Body, b"d"));
        assert!(lost.has_none(Table::Entry));
        for n in 0..200_000_u32 {
            lost.key(Table::Entry, &(n * 2).to_be_bytes());
        }
        assert!(lost.0[Table::Entry as usize].len() <= STRETCHES_MAX);
        assert!((0..200_000_u32).all(|n| lost.is_lost(Table::Entry, &(n * 2).to_be_bytes())));
    }
}
