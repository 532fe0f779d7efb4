//! The cold store by itself: written, read again, on a disk that is full, and damaged.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::{Applied, COLD_FILE, Cold, ReadFailed, Room};
use crate::embedded::disk::{Disk, Loss, MemDisk, Replay};
use crate::embedded::meta::{Meta, StoreId};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};
use crate::embedded::window::Window;

const STORE: StoreId = StoreId([7; 16]);

fn meta(store: StoreId) -> Meta {
    Meta { store, segment_bytes: 64 << 10, key_epoch: 1 }
}

fn at(lsn: u64) -> Applied {
    Applied { lsn, wall: Timestamp::from_ms(lsn as i64 * 10), lease: LeaseTime::from_ms(lsn as i64) }
}

fn open(disk: &Arc<MemDisk>) -> Result<Cold, StorageError> {
    let disk: Arc<dyn Disk> = disk.clone();
    Cold::open(disk, &meta(STORE))
}

fn window(rows: &[(&[u8], Option<&'static [u8]>)]) -> Window {
    let mut window = Window::default();
    for (key, row) in rows {
        window.set(Table::Body, key, row.map(Bytes::from_static));
    }
    window
}

fn row(cold: &mut Cold, key: &[u8]) -> Option<Bytes> {
    let reader = cold.reader().expect("it opens")?;
    reader.get(Table::Body, key).expect("it reads")
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("an empty folder has an empty cold store");
    assert_eq!(cold.applied(), Applied::default());
    assert!(disk.peek(COLD_FILE).is_none(), "no file before the first checkpoint");
    cold.write(&window(&[(b"a", Some(b"1")), (b"b", Some(b"2"))]), at(3)).expect("there is room");
    cold.write(&window(&[(b"a", None), (b"c", Some(b""))]), at(5)).expect("there is room");
    drop(cold);
    let mut cold = open(&disk).expect("it opens");
    assert_eq!(cold.applied(), at(5));
    assert_eq!(row(&mut cold, b"a"), None);
    assert_eq!(row(&mut cold, b"b"), Some(Bytes::from_static(b"2")));
    assert_eq!(row(&mut cold, b"c"), Some(Bytes::new()));
}

#[test]
fn without_room_the_last_state_stands_and_the_next_try_goes_on_from_it() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("it opens");
    cold.write(&window(&[(b"a", Some(b"1"))]), at(1)).expect("there is room");
    let before = cold.reader().expect("it opens").expect("it is there");
    disk.set_capacity(disk.peek(COLD_FILE).expect("it was made").len() as u64);
    let mut large = Window::default();
    for key in 0u32..40_000 {
        large.set(Table::Body, &key.to_be_bytes(), Some(Bytes::from(vec![1; 200])));
    }
    let refused = cold.write(&large, at(9)).expect_err("8 MB do not fit");
    assert!(matches!(&refused, StorageError::Disk(error) if error.is_no_room()), "{refused:?}");
    // From redb's pages in RAM, or not at all: never something else.
    let stale = before.get(Table::Body, b"a");
    assert!(matches!(&stale, Err(ReadFailed::Stale)) || stale.is_ok_and(|row| row.as_deref() == Some(b"1")));
    assert_eq!((row(&mut cold, b"a"), cold.applied()), (Some(Bytes::from_static(b"1")), at(1)));
    disk.set_capacity(u64::MAX);
    cold.write(&large, at(9)).expect("now there is room");
    assert_eq!(row(&mut cold, &9u32.to_be_bytes()), Some(Bytes::from(vec![1; 200])));
}

#[test]
fn a_flipped_bit_of_a_row_is_found_when_it_is_read() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("it opens");
    cold.write(&window(&[(b"a", Some(b"a row that can be found")), (b"b", Some(b"2"))]), at(1))
        .expect("there is room");
    drop(cold);
    let mut bytes = disk.peek(COLD_FILE).expect("it was made");
    let text = b"can be found";
    let place = bytes.windows(text.len()).position(|part| part == text).expect("the row is in the file");
    bytes[place] ^= 1;
    disk.plant(COLD_FILE, &bytes);
    let mut cold = open(&disk).expect("only what is read is checked");
    let reader = cold.reader().expect("it opens").expect("it is there");
    let found = reader.get(Table::Body, b"a");
    assert!(matches!(found, Err(ReadFailed::Broken(StorageError::DamagedRow { .. }))), "{found:?}");
    let mut rows = reader.range(Table::Body, b"", b"z", Order::Rising).expect("it reads");
    let first = rows.next().expect("it reads").expect("there are rows");
    assert!(matches!(first.value(), Err(ReadFailed::Broken(_))), "in a walk too");
    assert_eq!(row(&mut cold, b"b"), Some(Bytes::from_static(b"2")), "other rows are read");
}

#[test]
fn a_file_that_is_none_of_ours_is_refused_without_a_panic() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("it opens");
    cold.write(&window(&[(b"a", Some(b"1"))]), at(1)).expect("there is room");
    drop(cold);
    let whole = disk.peek(COLD_FILE).expect("it was made");
    let other: Arc<dyn Disk> = disk.clone();
    let of_another = Cold::open(other, &meta(StoreId([8; 16])));
    assert!(matches!(of_another, Err(StorageError::Damage { .. })), "{of_another:?}");
    for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], &whole[..3], &vec![9; 70_000]] {
        disk.plant(COLD_FILE, bytes);
        let opened = open(&disk);
        assert!(matches!(opened, Err(StorageError::Damage { .. })), "{} bytes: {opened:?}", bytes.len());
    }
}

/// A cold store in which one row in so many is left of twenty thousand.
fn mostly_unused(disk: &Arc<MemDisk>, one_in: u32) -> Cold {
    let mut cold = open(disk).expect("it opens");
    let (mut all, mut most) = (Window::default(), Window::default());
    for key in 0u32..20_000 {
        all.set(Table::Body, &key.to_be_bytes(), Some(Bytes::from(vec![7; 300])));
        if !key.is_multiple_of(one_in) {
            most.set(Table::Body, &key.to_be_bytes(), None);
        }
    }
    cold.write(&all, at(1)).expect("there is room");
    cold.write(&most, at(2)).expect("there is room");
    cold
}

#[test]
fn a_file_that_is_mostly_unused_is_made_smaller_while_it_is_written() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = mostly_unused(&disk, 20);
    let before = disk.peek(COLD_FILE).expect("it was made").len();
    cold.begin_compaction_of(0, 10_000).expect("there is room");
    assert!(cold.is_compacting(), "only one row in twenty is left");
    let mut lsn = 2;
    while !cold.compact_piece().expect("there is room") {
        lsn += 1;
        // Behind the copy's place and ahead of it.
        let mut change = Window::default();
        change.set(Table::Body, &0u32.to_be_bytes(), Some(Bytes::from(format!("of {lsn}"))));
        change.set(Table::Body, &19_980u32.to_be_bytes(), None);
        cold.write(&change, at(lsn)).expect("there is room");
        assert!(lsn < 10_000, "it comes to an end");
    }
    drop(cold);
    let after = disk.peek(COLD_FILE).expect("it is there").len();
    assert!(after < before / 4, "{before} bytes became {after}");
    assert!(disk.peek("cold.redb.new").is_none(), "nothing is left behind");
    let mut cold = open(&disk).expect("it opens");
    assert_eq!(cold.applied(), at(lsn));
    assert_eq!(row(&mut cold, &0u32.to_be_bytes()), Some(Bytes::from(format!("of {lsn}"))));
    assert_eq!(row(&mut cold, &20u32.to_be_bytes()), Some(Bytes::from(vec![7; 300])));
    assert_eq!(row(&mut cold, &21u32.to_be_bytes()), None);
    assert_eq!(row(&mut cold, &19_980u32.to_be_bytes()), None);
}

#[test]
fn a_smaller_file_that_finds_no_room_is_given_up_and_what_a_crash_leaves_of_one_is_removed() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = mostly_unused(&disk, 6);
    cold.begin_compaction_of(0, 10_000).expect("there is room");
    assert!(cold.is_compacting());
    let left = Arc::new(disk.copy());
    disk.set_capacity(0);
    while cold.is_compacting() {
        assert!(!cold.compact_piece().expect("no room is no failure here"), "a megabyte needs room");
    }
    assert!(disk.peek("cold.redb.new").is_none(), "nothing is left behind");
    assert_eq!(row(&mut cold, &6u32.to_be_bytes()), Some(Bytes::from(vec![7; 300])));
    assert!(left.peek("cold.redb.new").is_some());
    let mut cold = open(&left).expect("it opens");
    assert!(left.peek("cold.redb.new").is_none(), "a start cleans up");
    assert_eq!(row(&mut cold, &6u32.to_be_bytes()), Some(Bytes::from(vec![7; 300])));
}

/// Every row of the table that the tests write to.
fn all_rows(cold: &mut Cold) -> BTreeMap<Vec<u8>, Bytes> {
    let Some(reader) = cold.reader().expect("it opens") else { return BTreeMap::new() };
    let mut rows = reader.range(Table::Body, &[], &[0xff; 8], Order::Rising).expect("it reads");
    let mut all = BTreeMap::new();
    while let Some(row) = rows.next().expect("it reads") {
        all.insert(row.key().to_vec(), row.value().expect("it is whole"));
    }
    all
}

#[test]
fn every_crash_image_of_checkpoints_and_a_compaction_is_one_of_the_states_that_were_written() {
    let disk = Arc::new(MemDisk::recorded());
    let mut cold = open(&disk).expect("it opens");
    let mut model = BTreeMap::new();
    // By LSN: what is there, and how many operations of the disk there were when it was answered.
    let mut states = vec![(model.clone(), disk.ops())];
    let mut compactions = 0;
    for lsn in 1..=90u64 {
        let mut window = Window::default();
        for n in 0..20u64 {
            let (key, value) = (((lsn * 37 + n * 11) % 90).to_be_bytes(), (lsn * n).to_be_bytes());
            let value = (n % 3 > 0).then(|| Bytes::copy_from_slice(&value));
            window.set(Table::Body, &key, value.clone());
            match value {
                Some(value) => drop(model.insert(key.to_vec(), value)),
                None => drop(model.remove(key.as_slice())),
            }
        }
        cold.write(&window, at(lsn)).expect("there is room");
        states.push((model.clone(), disk.ops()));
        cold.begin_compaction_of(0, 200).expect("there is room");
        compactions += usize::from(cold.compact_piece().expect("there is room"));
    }
    assert!(compactions > 1, "compactions came to their end");
    drop(cold);
    let recording = disk.recording();
    let mut walk = Replay::new(&recording);
    let mut images = 0;
    loop {
        for loss in [Loss::All, Loss::None, Loss::Torn { piece: 512, seed: walk.at() as u64 }] {
            let image = walk.image(loss);
            let mut left = open(&image).unwrap_or_else(|error| panic!("{} {loss:?}: {error}", walk.at()));
            let lsn = left.applied().lsn as usize;
            let answered = states.iter().rposition(|(_, ops)| *ops <= walk.at()).unwrap_or(0);
            assert!((answered..=answered + 1).contains(&lsn), "{} {loss:?}: lsn {lsn}", walk.at());
            assert!(all_rows(&mut left) == states[lsn].0, "{} {loss:?}: rows of lsn {lsn}", walk.at());
            images += 1;
        }
        if !walk.advance() {
            break;
        }
    }
    println!("{images} images, {compactions} compactions");
    assert!(images > 2_000, "only {images} images");
}

/// Leaves the disk so many bytes beside what is on it.
fn leave_free(disk: &MemDisk, bytes: u64) {
    let used: usize = disk.names().iter().filter_map(|name| disk.peek(name)).map(|file| file.len()).sum();
    disk.set_capacity(used as u64 + bytes);
}

#[test]
fn room_is_kept_on_a_small_disk_only_and_outlives_the_process() {
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("it opens");
    cold.write(&window(&[(b"a", Some(b"1"))]), at(1)).expect("there is room");
    assert_eq!(cold.keep_room(0).expect("it is well"), Room::Ample);
    leave_free(&disk, 2_000);
    assert_eq!(cold.keep_room(0).expect("it is well"), Room::Short);
    leave_free(&disk, 580_000);
    assert_eq!(cold.keep_room(999).expect("it is well"), Room::Short, "not tried again yet");
    assert_eq!(cold.keep_room(1_000).expect("it is well"), Room::Kept);
    drop(cold);
    leave_free(&disk, 0);
    let mut cold = open(&disk).expect("it opens");
    assert_eq!(cold.room_found().expect("it is well"), Room::Kept);
    assert_eq!(cold.let_room_go().expect("it is well"), Room::LetGo);
    assert_eq!(cold.let_room_go().expect("it is well"), Room::None, "there is nothing more");
    assert_eq!(row(&mut cold, b"a"), Some(Bytes::from_static(b"1")));
}

#[test]
fn a_full_file_of_rows_that_become_short_takes_as_many_again() {
    const ROWS: u32 = 400;
    let disk = Arc::new(MemDisk::new());
    let mut cold = open(&disk).expect("it opens");
    let (mut first, mut lsn, mut refused) = (0u32, 0, 0);
    for _ in 0..20 {
        for len in [4_100, 50] {
            let mut changed = Window::default();
            for number in first..first + ROWS {
                changed.set(Table::Body, &number.to_be_bytes(), Some(Bytes::from(vec![1; len])));
            }
            lsn += 1;
            refused += u32::from(cold.write(&changed, at(lsn)).is_err());
        }
        if first == 0 {
            leave_free(&disk, 0);
        }
        first += ROWS;
    }
    assert_eq!(refused, 0, "windows that found no room");
}
