//! Tests of what only rows show.
//!
//! Lives here: that a whole store is saved row by row, and what one changed bit of any row costs. Not here:
//! what can be seen through an engine (`tests/backup`).

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::salvage;
use crate::clock::Random;
use crate::conformance::play::Scripts;
use crate::conformance::{Fresh, SeededRandom};
use crate::embedded::cold::{Applied, Remains};
use crate::embedded::disk::{Disk, MemDisk};
use crate::embedded::meta::Meta;
use crate::embedded::restore::Restored;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::embedded::{Embedded, Options, Pace};
use crate::model::Model;

const SLOW: Options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(Pace::NEVER) };

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

/// The same store with a cold store of all but its last changes, written whenever so many rows had changed.
/// A running engine writes when its threads come to it: then no two runs would find the same file.
fn laid_down(disk: &MemDisk, rows: usize) -> Arc<MemDisk> {
    restored(disk, rows).0
}

/// The same with a cold store of everything: nothing of the log is to be replayed.
fn wholly_laid_down(disk: &MemDisk, rows: usize) -> Arc<MemDisk> {
    let (copy, Restored { mut tables, mut cold, recovered, .. }) = restored(disk, rows);
    let Some(last) = recovered.last else { return copy };
    let applied = Applied { lsn: recovered.next_lsn - 1, wall: last.wall, lease: last.lease };
    let window = tables.inner_mut().freeze(applied);
    cold.write(&window, applied).expect("the disk is well");
    copy
}

fn restored(disk: &MemDisk, rows: usize) -> (Arc<MemDisk>, Restored) {
    let copy = Arc::new(disk.copy());
    let on: Arc<dyn Disk> = copy.clone();
    let meta = Meta::read(&*on).expect("it can be read").expect("it is a store");
    let pace = Pace { rows, bytes: usize::MAX, age_ms: i64::MAX };
    let restored = Restored::open(on, &meta, pace).expect("it opens");
    (copy, restored)
}

fn saved(disk: &Arc<MemDisk>) -> Arc<MemDisk> {
    let to = Arc::new(MemDisk::new());
    let (from, into): (Arc<dyn Disk>, Arc<dyn Disk>) = (disk.clone(), to.clone());
    let said = salvage(from, Some(into), &SeededRandom::new(9), &mut |_| {}).expect("it is whole");
    assert_eq!((said.findings, said.without_effect), (Vec::new(), 0));
    to
}

/// The disk of an engine; once that is gone, it is laid down at so many rows, and all are saved and compared.
struct Compared(Arc<MemDisk>, usize);

impl Drop for Compared {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let disk = laid_down(&self.0, self.1);
            let (before, after) = (rows(&disk), rows(&saved(&disk)));
            let differs = before.iter().zip(&after).find(|(before, after)| before != after);
            assert_eq!((differs, before.len()), (None, after.len()));
        }
    }
}

#[test]
fn every_row_of_a_whole_store_is_saved_and_no_other() {
    for (at_rows, count) in [(usize::MAX, 100), (5, 200)] {
        let compared = |clock, random| {
            let disk = Arc::new(MemDisk::new());
            let engine = Embedded::open(disk.clone(), SLOW, clock, random).expect("an empty disk");
            Fresh::new(engine).with_guard(Compared(disk, at_rows))
        };
        Scripts::from_env(count).play(compared, |clock, random| Fresh::new(Model::new(clock, random)));
    }
}

/// The disk of an engine, and a number that its script gives; once the engine is gone, bits of its rows are
/// changed.
struct Flipped(Arc<MemDisk>, u32);

/// A row of the cold store, and where its key and its value lie in the file.
struct Place {
    table: Table,
    key: Vec<u8>,
    value_at: Vec<usize>,
    key_at: Vec<usize>,
}

/// Some rows of every table.
fn places(disk: &MemDisk, seed: u32) -> Vec<Place> {
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
        Again, Closing, Dead, DedupeUntil, Ends, Entry, HoldEnds, IdemUntil, Member, Name, Over, QueueId,
        Retry, Waiting,
    };
    let timed = [Again, Closing, DedupeUntil, Dead, Ends, HoldEnds, IdemUntil, Over, Retry, Waiting];
    timed.contains(&table) || [Entry, Member, Name, QueueId].contains(&table)
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
        let at_rows = 1 + self.1 as usize % 16;
        costs_that_row_at_most(&wholly_laid_down(&self.0, at_rows), self.1);
        makes_nothing_up(&laid_down(&self.0, at_rows), self.1);
    }
}

/// Nothing is to be replayed, so what is left follows from the rows alone.
fn costs_that_row_at_most(disk: &MemDisk, number: u32) {
    let before = rows(disk);
    for (nth, place) in places(disk, number).into_iter().enumerate() {
        let what = format!("{:?} {:?}", place.table, place.key);
        let Some(after) = flipped(disk, &place.value_at, nth) else { continue };
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
                "{what}: content of {table:?} {key:?} was made up: {body:?}"
            );
        }
        if !place.key_at.is_empty() && place.key_at.len() < 3 {
            flipped(disk, &place.key_at[..1], nth);
        }
    }
}

/// The log goes on from rows of which one is lost, and may decide otherwise than it did: an event stays
/// that a queue now lost was done with, one comes again whose outcome is lost. That is said of `log.rs`, and
/// here only that each content is one that somebody published.
fn makes_nothing_up(disk: &MemDisk, number: u32) {
    let files: Vec<_> = disk.names().iter().filter_map(|name| disk.peek(name)).collect();
    let is_there = |part: &[u8]| {
        let within = |file: &Vec<u8>| (0..file.len()).any(|at| file[at..].starts_with(part));
        files.iter().any(within)
    };
    let before = rows(disk);
    for (nth, place) in places(disk, number).into_iter().enumerate() {
        let Some(after) = flipped(disk, &place.value_at, nth) else { continue };
        let new = after.iter().filter(|row| row.0 == Table::Body && !has_alike(&before, row));
        for (table, key, row) in new {
            let what = format!("{:?} {:?}: {table:?} {key:?}", place.table, place.key);
            let body = BodyRow::decode(row.clone()).expect("it is one");
            let headers = body.headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
            let content = body.body.iter().map(|body| &body.bytes[..]);
            assert!(headers.chain(content).all(is_there), "{what} was made up: {body:?}");
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
    let flipped = |clock, random: Arc<dyn Random>| {
        let disk = Arc::new(MemDisk::new());
        // Before the engine's threads draw too.
        let number = random.draw_u32();
        let engine = Embedded::open(disk.clone(), SLOW, clock, random).expect("an empty disk");
        Fresh::new(engine).with_guard(Flipped(disk, number))
    };
    Scripts::from_env(40).play(flipped, |clock, random| Fresh::new(Model::new(clock, random)));
}
