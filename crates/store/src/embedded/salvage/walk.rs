//! Going through a table of which parts may be broken.
//!
//! Lives here: reaching every row that can be reached. Not here: what is done with them (`copy.rs`).
//!
//! A page that cannot be read ends a walk. What lies behind it is reached from the other end, and what
//! lies between two such pages from keys in the middle, which are looked for by halving: the broken page
//! itself stays as a gap.

use std::collections::VecDeque;

use super::lost::{PAST_ALL, behind};
use crate::embedded::cold::{ColdReader, ColdRow};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};

/// Fewest and most stretches that are tried in one table, beside some for each row that it misses.
const TRIES: (u64, u64) = (64, 4_000);
/// After so many rows out of order a table is given up: its pages may lead in a circle.
const DISORDER_MAX: u64 = 100_000;

/// Keys in which no row could be read.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    pub(super) why: String,
}

/// How a walk went.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// In the order of keys.
    pub(super) gaps: Vec<Gap>,
    /// Rows that were met in their order.
    pub(super) rows: u64,
    /// Rows that were met where they should not be.
    pub(super) out_of_order: u64,
}

/// Takes a row. Answers the key that it should have; none where that is not known.
pub(super) type Take<'a> = dyn FnMut(&ColdRow) -> Result<Option<Vec<u8>>, StorageError> + 'a;

/// Hands every row of a table to `take` that can be reached, some perhaps twice.
pub(super) fn walk(reader: &ColdReader, table: Table, take: &mut Take<'_>) -> Result<Walked, StorageError> {
    let mut walked = Walked::default();
    let mut tries = VecDeque::from([(Vec::new(), PAST_ALL.to_vec())]);
    let mut tried = 0;
    while let Some((from, to)) = tries.pop_front() {
        tried += 1;
        let Some(gap) = stretch(reader, table, (from, to), take, &mut walked)? else { continue };
        let missing = reader.len(table).unwrap_or(u64::MAX).saturating_sub(walked.rows);
        let tries_max = missing.saturating_mul(4).clamp(TRIES.0, TRIES.1);
        match middle(&gap.from, &gap.to).filter(|_| missing > 0 && tried < tries_max) {
            Some(middle) => {
                tries.push_back((gap.from, middle.clone()));
                tries.push_back((middle, gap.to));
            }
            None => walked.gaps.push(gap),
        }
    }
    walked.gaps.sort_by(|one, other| one.from.cmp(&other.from));
    walked.gaps.dedup_by(|next, before| {
        let is_one = before.to == next.from;
        if is_one {
            before.to = std::mem::take(&mut next.to);
        }
        is_one
    });
    Ok(walked)
}

/// Reads a stretch from its one end, then from the other. Answers what is left between.
fn stretch(
    reader: &ColdReader,
    table: Table,
    (mut from, mut to): (Vec<u8>, Vec<u8>),
    take: &mut Take<'_>,
    walked: &mut Walked,
) -> Result<Option<Gap>, StorageError> {
    let mut why = String::new();
    for order in [Order::Rising, Order::Falling] {
        let mut rows = match reader.range(table, &from, &to, order) {
            Ok(rows) => rows,
            Err(failed) => {
                why = StorageError::from(failed).to_string();
                continue;
            }
        };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(None),
                Err(failed) => {
                    why = StorageError::from(failed).to_string();
                    break;
                }
            };
            let Some(key) = take(&row)? else {
                // Its key may be what was changed: it says nothing of where the walk stands.
                walked.rows += u64::from(order == Order::Rising);
                continue;
            };
            if key < from || key >= to {
                walked.out_of_order += 1;
                if walked.out_of_order > DISORDER_MAX {
                    why = "its rows are out of order".to_owned();
                    break;
                }
                continue;
            }
            walked.rows += 1;
            match order {
                Order::Rising => from = behind(&key),
                Order::Falling => to = key,
            }
        }
    }
    Ok((from < to).then_some(Gap { from, to, why }))
}

/// A key about half way between two; none where there is none of a useful length.
fn middle(from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    const LEN: usize = 20;
    let byte = |key: &[u8], at: usize| u16::from(key.get(at).copied().unwrap_or(0));
    let (mut sum, mut carry) = ([0_u16; LEN], 0);
    for at in (0..LEN).rev() {
        let both = byte(from, at) + byte(to, at) + carry;
        (sum[at], carry) = (both & 0xff, both >> 8);
    }
    let mut half = Vec::with_capacity(LEN);
    let mut rest = carry;
    for digit in sum {
        let value = rest << 8 | digit;
        half.push((value >> 1) as u8);
        rest = value & 1;
    }
    while half.last() == Some(&0) {
        half.pop();
    }
    (half.as_slice() > from && half.as_slice() < to).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_lies_between() {
        assert_eq!(middle(&[1], &[3]), Some(vec![2]));
        assert_eq!(middle(&[1], &[2]), Some(vec![1, 128]));
        assert_eq!(middle(&[], &PAST_ALL).map(|key| key[0]), Some(127));
        assert_eq!(middle(&[5; 20], &[5; 20]), None);
        let (from, to) = (behind(&[5; 12]), [5; 11].into_iter().chain([6]).collect::<Vec<_>>());
        let between = middle(&from, &to).expect("there is one");
        assert!(from < between && between < to);
    }
}
