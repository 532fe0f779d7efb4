//! How long things took, in little room.
//!
//! Lives here: counts of times by their size, and percentiles. Not here: when these are taken.
//!
//! A library's histogram keeps a cell for every size there may be, for each of the 1,800 steps of each
//! queue. This one keeps only cells that were hit: times below 16 ms each in their own, longer ones in
//! eight cells for each doubling, so that the middle of a cell is within 7 % of what is in it.

use naven_api::watch::PercentilesReply;

/// Bytes of one cell.
pub(super) const CELL_BYTES: usize = size_of::<Cell>();

/// Times below this have a cell of their own.
const EXACT: u64 = 16;
/// Cells for each doubling, as a power of two.
const SPLIT_BITS: u32 = 3;

type Cell = (u16, u32);

/// Times, counted by their size.
#[derive(Debug, Clone, Default)]
pub(super) struct Times(Vec<Cell>);

impl Times {
    /// Counts one. True where that took a new cell.
    pub(super) fn add(&mut self, ms: u64) -> bool {
        self.count(cell_of(ms), 1)
    }

    /// Counts all of `other` too.
    pub(super) fn merge(&mut self, other: &Self) {
        for &(cell, count) in &other.0 {
            self.count(cell, count);
        }
    }

    /// How many cells are taken.
    pub(super) fn cells(&self) -> usize {
        self.0.len()
    }

    /// The percentiles; none where nothing was counted.
    pub(super) fn percentiles(&self) -> Option<PercentilesReply> {
        let total: u64 = self.0.iter().map(|&(_, count)| u64::from(count)).sum();
        let at = |percent: u64| {
            let mut left = (total * percent).div_ceil(100);
            let found = self.0.iter().find(|&&(_, count)| {
                let count = u64::from(count);
                let is_here = left <= count;
                left = left.saturating_sub(count);
                is_here
            });
            found.map_or(0, |&(cell, _)| middle_of(cell))
        };
        (total > 0).then(|| PercentilesReply { p50: at(50), p95: at(95), p99: at(99) })
    }

    fn count(&mut self, cell: u16, more: u32) -> bool {
        match self.0.binary_search_by_key(&cell, |&(known, _)| known) {
            Ok(at) => {
                self.0[at].1 = self.0[at].1.saturating_add(more);
                false
            }
            Err(at) => {
                self.0.insert(at, (cell, more));
                true
            }
        }
    }
}

fn cell_of(ms: u64) -> u16 {
    if ms < EXACT {
        return ms as u16;
    }
    let doublings = ms.ilog2() - EXACT.ilog2();
    let part = (ms >> (ms.ilog2() - SPLIT_BITS)) & ((1 << SPLIT_BITS) - 1);
    (EXACT + (u64::from(doublings) << SPLIT_BITS) + part) as u16
}

fn middle_of(cell: u16) -> u64 {
    let Some(above) = u64::from(cell).checked_sub(EXACT) else { return u64::from(cell) };
    let (doublings, part) = (above >> SPLIT_BITS, above & ((1 << SPLIT_BITS) - 1));
    let width = 1_u64 << (u64::from(EXACT.ilog2() - SPLIT_BITS) + doublings);
    ((1 << SPLIT_BITS) + part) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_s_middle_is_near_what_is_in_it() {
        for ms in (0..100_000).chain([u64::from(u32::MAX), 1 << 40, u64::MAX / 2]) {
            let middle = middle_of(cell_of(ms));
            assert!(middle.abs_diff(ms) <= ms / 14, "{ms} is taken for {middle}");
        }
        assert!((0..1_000_000_u64).step_by(7).all(|ms| cell_of(ms) <= cell_of(ms + 1)), "cells rise");
    }

    #[test]
    fn percentiles_are_of_all_that_was_counted() {
        assert_eq!(Times::default().percentiles(), None);
        let (mut even, mut odd) = (Times::default(), Times::default());
        for ms in 1..=15 {
            if ms % 2 == 0 {
                even.add(ms)
            } else {
                odd.add(ms)
            };
        }
        even.merge(&odd);
        assert_eq!(even.percentiles(), Some(PercentilesReply { p50: 8, p95: 15, p99: 15 }));
        assert_eq!(even.cells(), 15);
        assert!(!even.add(3), "the cell is there");
    }
}
