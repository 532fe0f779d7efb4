//! Layers against one plain table: whatever is put, removed, written down and undone, both show the
//! same.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::Layered;
use crate::conformance::SeededRandom;
use crate::embedded::cold::{Applied, Cold};
use crate::embedded::disk::{Disk, MemDisk};
use crate::embedded::meta::{Meta, StoreId};
use crate::embedded::supply::Supply;
use crate::embedded::tables::{Journaled, Kept, Order, RamTables, Table, Tables};

const TABLES: [Table; 3] = [Table::Retry, Table::Delivery, Table::Queue];

struct Both {
    random: SeededRandom,
    layered: Journaled<Layered>,
    plain: Journaled<RamTables>,
    cold: Cold,
    lsn: u64,
}

impl Both {
    fn new(seed: u64) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let cold = Cold::open(disk, &Meta { store: StoreId([1; 16]), segment_bytes: 64 << 10, key_epoch: 1 })
            .expect("an empty disk");
        let layered = Layered::load(None, Arc::new(Supply::default())).expect("nothing to load");
        Self {
            random: SeededRandom::new(seed),
            layered: Journaled::new(layered),
            plain: Journaled::new(RamTables::default()),
            cold,
            lsn: 0,
        }
    }

    /// A key of one of three owners, few enough that they meet.
    fn key(&self) -> Vec<u8> {
        let mut key = self.random.one_of(&[1u32, 2, 9]).to_be_bytes().to_vec();
        // An owner's number alone is a key too: that of a thing whose name is empty.
        if !self.random.once_in(20) {
            key.push(self.random.below(40) as u8);
        }
        key
    }

    fn change(&mut self) {
        let (table, key) = (self.random.one_of(&TABLES), self.key());
        if self.random.once_in(2) {
            let value = Bytes::from(vec![self.random.below(250) as u8; 3]);
            self.layered.put(table, &key, value.clone());
            self.plain.put(table, &key, value);
        } else {
            self.layered.delete(table, &key);
            self.plain.delete(table, &key);
        }
    }

    fn change_and_undo(&mut self) {
        self.layered.begin();
        self.plain.begin();
        for _ in 0..self.random.below(6) {
            self.change();
        }
        self.compare();
        self.layered.roll_back();
        self.plain.roll_back();
    }

    /// Closes the window; whether it is written now is for chance to say.
    fn write_down(&mut self) {
        let tables = self.layered.inner_mut();
        if tables.frozen_upto().is_none() {
            self.lsn += 1;
            let applied = Applied { lsn: self.lsn, ..Applied::default() };
            let window = tables.freeze(applied);
            self.cold.write(&window, applied).expect("there is room");
        }
        if self.random.once_in(2) {
            self.cold.begin_compaction_of(0, 30).expect("there is room");
            self.cold.compact_piece().expect("there is room");
        }
        let tables = self.layered.inner_mut();
        if self.random.once_in(2) {
            let reader = self.cold.reader().expect("it opens").map(Arc::new);
            tables.rest_on(reader, self.lsn);
        }
    }

    fn compare(&self) {
        let (table, key) = (self.random.one_of(&TABLES), self.key());
        assert_eq!(self.layered.get(table, &key), self.plain.get(table, &key));
        let from = match self.random.below(3) {
            0 => 0u32.to_be_bytes().to_vec(),
            1 => self.random.one_of(&[1u32, 2, 9]).to_be_bytes().to_vec(),
            _ => self.key(),
        };
        let to = match self.random.below(3) {
            0 => vec![0xff; 8],
            1 => self.random.one_of(&[2u32, 3, 10]).to_be_bytes().to_vec(),
            _ => self.key(),
        };
        let order = self.random.one_of(&[Order::Rising, Order::Falling]);
        let most = self.random.one_of(&[1, 2, 1_000]);
        let ours = rows(&self.layered, table, &from, &to, order, most);
        let right = rows(&self.plain, table, &from, &to, order, most);
        assert_eq!(ours, right, "{table:?} {from:?} {to:?} {order:?} {most}");
        let mut surveyed = Vec::new();
        self.layered.survey(table, &from, &to, order, &mut |key, kept| {
            let Kept::Whole(value) = kept else { panic!("nothing is damaged here") };
            surveyed.push((key.to_vec(), value));
            if surveyed.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!(surveyed, right, "surveyed: {table:?} {from:?} {to:?} {order:?} {most}");
    }
}

fn rows(
    tables: &impl Tables,
    table: Table,
    from: &[u8],
    to: &[u8],
    order: Order,
    most: usize,
) -> Vec<(Vec<u8>, Bytes)> {
    let mut rows = Vec::new();
    tables.scan(table, from, to, order, &mut |key, value| {
        rows.push((key.to_vec(), value.clone()));
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    rows
}

#[test]
fn layers_show_what_one_table_would() {
    for seed in 1..=60 {
        let mut both = Both::new(seed);
        for _ in 0..400 {
            match both.random.below(20) {
                0 => both.write_down(),
                1 => both.change_and_undo(),
                2..=11 => both.change(),
                _ => both.compare(),
            }
        }
    }
}

#[test]
fn small_tables_are_loaded_whole_at_a_start() {
    let mut both = Both::new(1);
    let key = 5u32.to_be_bytes();
    both.layered.put(Table::Queue, &key, Bytes::from_static(b"a queue"));
    both.layered.put(Table::Delivery, &key, Bytes::from_static(b"a delivery"));
    let applied = Applied { lsn: 1, ..Applied::default() };
    let window = both.layered.inner_mut().freeze(applied);
    both.cold.write(&window, applied).expect("there is room");
    let reader = both.cold.reader().expect("it opens").map(Arc::new);
    let again = Layered::load(reader, Arc::new(Supply::default())).expect("it loads");
    assert_eq!(again.resident.get(Table::Queue, &key), Some(Bytes::from_static(b"a queue")));
    assert_eq!(again.resident.get(Table::Delivery, &key), None, "events stay on disk");
    assert_eq!(again.get(Table::Delivery, &key), Some(Bytes::from_static(b"a delivery")));
}
