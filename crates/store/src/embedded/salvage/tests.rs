//! Tests of what only rows show.
//!
//! Lives here: that a whole store is saved row by row, and what one changed bit of any row costs. Not here:
//! what can be seen through an engine (`tests/backup`).

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::salvage;
use crate::conformance::play::Scripts;
use crate::conformance::{Fresh, SeededRandom};
use crate::embedded::cold::Remains;
use crate::embedded::disk::{Disk, MemDisk};
use crate::embedded::meta::Meta;
use crate::embedded::restore::Restored;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::embedded::{Embedded, Options, Pace};
use crate::model::Model;

const SLOW: Options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(Pace::NEVER) };
const HASTY: Options = Options { checkpoint: Some(Pace { rows: 5, bytes: 1 << 20, age_ms: 0 }), ..SLOW };

type Row = (Table, Vec<u8>, Bytes);

/// Every row of a store at rest, as a start finds it.
fn rows(disk: &MemDisk) -> Vec<Row> {
    let disk: Arc<dyn Disk> = Arc::new(disk.copy());
    let meta = Meta::read(&*disk).expect("it can be read").expect("it is a store");
    let restored = Restored::open(disk, &meta, Pace::NEVER).expect("it opens");
    let mut rows = Vec::new();
    for table in Table::ALL {
        restored.tables.scan(table, &[], &[0xff; 64], Order::Rising, &mut |key, row| {
            rows.push((table, key.to_vec(), row.clone()));
            ControlFlow::Continue(())
        });
    }
    rows
}

fn saved(disk: &Arc<MemDisk>) -> Arc<MemDisk> {
    let to = Arc::new(MemDisk::new());
    let (from, into): (Arc<dyn Disk>, Arc<dyn Disk>) = (disk.clone(), to.clone());
    let said = salvage(from, Some(into), &SeededRandom::new(9), &mut |_| {}).expect("it is whole");
    assert_eq!((said.findings, said.without_effect), (Vec::new(), 0));
    to
}

/// The disk of an engine; once that is gone, all its rows are saved and compared.
struct Compared(Arc<MemDisk>);

impl Drop for Compared {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let (before, after) = (rows(&self.0), rows(&saved(&self.0)));
            let differs = before.iter().zip(&after).find(|(before, after)| before != after);
            assert_eq!((differs, before.len()), (None, after.len()));
        }
    }
}

#[test]
fn every_row_of_a_whole_store_is_saved_and_no_other() {
    for (options, count) in [(SLOW, 100), (HASTY, 200)] {
        let compared = |clock, random| {
            let disk = Arc::new(MemDisk::new());
            let engine = Embedded::open(disk.clone(), options, clock, random).expect("an empty disk");
            Fresh::new(engine).with_guard(Compared(disk))
        };
        Scripts::from_env(count).play(compared, |clock, random| Fresh::new(Model::new(clock, random)));
    }
}

/// The disk of an engine; once that is gone, bits of its rows are changed.
struct Flipped(Arc<MemDisk>, u64);

/// A row of the cold store, and where its key and its value lie in the file.
struct Place {
    table: Table,
    key: Vec<u8>,
    value_at: Vec<usize>,
    key_at: Vec<usize>,
}

/// Some rows of every table.
fn places(disk: &MemDisk, seed: u64) -> Vec<Place> {
    // Some scripts leave nothing at all.
    let Some(file) = disk.peek("cold.redb") else { return Vec::new() };
    let on: Arc<dyn Disk> = Arc::new(disk.copy());
    let remains = Remains::open(&on).expect("it is whole").expect("it is there");
    let reader = remains.reader.as_ref().expect("it is open");
    let find = |part: &[u8]| -> Vec<usize> {
        (0..file.len() - part.len()).filter(|at| file[*at..].starts_with(part)).collect()
    };
    let mut places = Vec::new();
    for table in Table::ALL {
        let mut all = Vec::new();
        let mut found = reader.all(table, Order::Rising).expect("it is whole");
        while let Some(row) = found.next().expect("it is whole") {
            all.push((row.key().to_vec(), row.stored().to_vec()));
        }
        let count = all.len();
        for (key, stored) in all.into_iter().skip(seed as usize % 3).step_by(1 + count / 2) {
            let key_at = if key.len() < 8 { Vec::new() } else { find(&key) };
            places.push(Place { table, value_at: find(&stored), key_at, key });
        }
    }
    places
}

/// Tables whose rows follow from those of others, byte by byte.
fn is_made_of_others(table: Table) -> bool {
    use Table::{
        Again, Closing, Dead, DedupeUntil, Ends, Entry, IdemUntil, Member, Name, Over, QueueId, Retry,
        Waiting,
    };
    [Again, Closing, DedupeUntil, Dead, Ends, Entry, IdemUntil, Member, Name, Over, QueueId, Retry, Waiting]
        .contains(&table)
}

/// True where the row is there as it is. What was begun before a death is nowhere else, so only that a row
/// tells of the death counts.
fn has_alike(rows: &[Row], row: &Row) -> bool {
    rows.iter().any(|one| one == row || (row.0 == Table::Dead && (one.0, &one.1) == (row.0, &row.1)))
}

impl Drop for Flipped {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let before = rows(&self.0);
        for (nth, place) in places(&self.0, self.1).into_iter().enumerate() {
            let what = format!("seed {}: {:?} {:?}", self.1, place.table, place.key);
            let after = flipped(&self.0, &place.value_at, nth);
            let Some(after) = after else { continue };
            let left: Vec<_> = before.iter().filter(|row| !has_alike(&after, row)).collect();
            let new: Vec<_> = after.iter().filter(|row| !has_alike(&before, row)).collect();
            if is_made_of_others(place.table) {
                assert_eq!((left, new), (Vec::new(), Vec::new()), "{what}");
                continue;
            }
            // The row, and counts and indexes that follow from it; with a queue that was deleted its dead
            // letters go too.
            let is_bound = place.table != Table::Queue;
            assert!(!is_bound || (left.len() < 12 && new.len() < 12), "{what}: {left:?} {new:?}");
            for (table, key, row) in new.into_iter().filter(|(table, ..)| *table == Table::Body) {
                let body = BodyRow::decode(row.clone()).expect("it is one");
                assert!(
                    body.body.is_none() && body.damaged,
                    "{what}: content of {table:?} {key:?} was made up"
                );
            }
            if !place.key_at.is_empty() && place.key_at.len() < 3 {
                flipped(&self.0, &place.key_at[..1], nth);
            }
        }
    }
}

/// What is saved where one bit at these places is another; none where nothing of it was lost.
fn flipped(disk: &MemDisk, at: &[usize], nth: usize) -> Option<Vec<Row>> {
    let copy = Arc::new(disk.copy());
    let mut file = copy.peek("cold.redb").expect("it is there");
    at.iter().for_each(|at| file[*at + nth % 4] ^= 1 << (nth % 8));
    copy.plant("cold.redb", &file);
    let to = Arc::new(MemDisk::new());
    let (from, into): (Arc<dyn Disk>, Arc<dyn Disk>) = (copy, to.clone());
    let said = salvage(from, Some(into), &SeededRandom::new(9), &mut |_| {}).expect("most is there");
    (said.found > 0).then(|| rows(&to))
}

#[test]
fn a_changed_bit_of_a_row_costs_that_row_at_most() {
    let seeds = std::sync::atomic::AtomicU64::new(0);
    let flipped = |clock, random| {
        let disk = Arc::new(MemDisk::new());
        let engine = Embedded::open(disk.clone(), HASTY, clock, random).expect("an empty disk");
        let seed = seeds.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Fresh::new(engine).with_guard(Flipped(disk, seed))
    };
    Scripts::from_env(40).play(flipped, |clock, random| Fresh::new(Model::new(clock, random)));
}
