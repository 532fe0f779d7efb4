//! Rows of several layers in one order: the newest word on each.
//!
//! Lives here: the merge, and the span of keys that is left to walk. Not here: what a walk learns
//! (`layered.rs`).

use std::cmp::Ordering;
use std::collections::btree_map;

use bytes::Bytes;

use crate::embedded::cold::{ColdRow, ColdRows, Reads};
use crate::embedded::tables::{Order, Table};
use crate::embedded::window::Window;

/// Bytes of the number that begins most keys.
pub(super) const OWNER_BYTES: usize = 4;

/// The number that begins a key, if it is long enough to have one. There may be nothing behind it: a consumer's
/// name can be empty.
pub(super) fn owner_of(key: &[u8]) -> Option<[u8; OWNER_BYTES]> {
    key.first_chunk().copied()
}

/// Keys that are still to be walked over: at least `from`, below `to`.
pub(super) struct Span {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    pub(super) order: Order,
}

impl Span {
    /// Everything up to this key is done.
    pub(super) fn pass(&mut self, key: &[u8]) {
        match self.order {
            Order::Rising => {
                self.from.clear();
                self.from.extend_from_slice(key);
                self.from.push(0);
            }
            Order::Falling => {
                self.to.clear();
                self.to.extend_from_slice(key);
            }
        }
    }
}

/// What the newest layer that knows a key says of it.
pub(super) enum Found<'a> {
    /// A window says so: a row, or that it is gone.
    Ram(&'a [u8], Option<&'a Bytes>),
    /// The cold store has it.
    Cold(ColdRow),
}

impl Found<'_> {
    pub(super) fn key(&self) -> &[u8] {
        match self {
            Self::Ram(key, _) => key,
            Self::Cold(row) => row.key(),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Ram(_, None))
    }
}

type Head<'a> = Option<(&'a [u8], Option<&'a Bytes>)>;

struct Layer<'a> {
    rows: btree_map::Range<'a, Box<[u8]>, Option<Bytes>>,
    head: Head<'a>,
}

impl Layer<'_> {
    fn advance(&mut self, order: Order) {
        let next = match order {
            Order::Rising => self.rows.next(),
            Order::Falling => self.rows.next_back(),
        };
        self.head = next.map(|(key, row)| (&**key, row.as_ref()));
    }
}

/// All layers at once, newest first.
pub(super) struct Merge<'a> {
    order: Order,
    layers: Vec<Layer<'a>>,
    cold: Option<ColdRows>,
    cold_head: Option<ColdRow>,
}

impl<'a> Merge<'a> {
    /// The rows of `span`, which must not be empty.
    pub(super) fn new(
        windows: impl Iterator<Item = &'a Window>,
        cold: Option<ColdRows>,
        table: Table,
        span: &Span,
    ) -> Reads<Self> {
        let layers = windows.map(|window| {
            let rows = window.range(table, &span.from, &span.to);
            let mut layer = Layer { rows, head: None };
            layer.advance(span.order);
            layer
        });
        let mut merge = Self { order: span.order, layers: layers.collect(), cold, cold_head: None };
        merge.advance_cold()?;
        Ok(merge)
    }

    /// The next key that any layer knows, and the newest word on it.
    pub(super) fn next(&mut self) -> Reads<Option<Found<'a>>> {
        let mut nearest: Option<&'a [u8]> = None;
        for (key, _) in self.layers.iter().filter_map(|layer| layer.head) {
            if nearest.is_none_or(|other| self.order_of(key, other) == Ordering::Less) {
                nearest = Some(key);
            }
        }
        let cold = match (&self.cold_head, nearest) {
            (Some(row), Some(key)) => self.order_of(row.key(), key),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(None),
        };
        if cold == Ordering::Less {
            let row = self.cold_head.take();
            self.advance_cold()?;
            return Ok(row.map(Found::Cold));
        }
        if cold == Ordering::Equal {
            self.advance_cold()?;
        }
        let mut newest: Head<'a> = None;
        for layer in &mut self.layers {
            if layer.head.map(|(key, _)| key) == nearest {
                newest = newest.or(layer.head);
                layer.advance(self.order);
            }
        }
        Ok(newest.map(|(key, row)| Found::Ram(key, row)))
    }

    fn advance_cold(&mut self) -> Reads<()> {
        self.cold_head = match &mut self.cold {
            Some(rows) => rows.next()?,
            None => None,
        };
        Ok(())
    }

    /// Which of two keys comes first.
    fn order_of(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.order {
            Order::Rising => a.cmp(b),
            Order::Falling => b.cmp(a),
        }
    }
}
