//! The snapshot's file: read back as written, refused where anything of it changed, and whole or
//! not there after a crash.
//!
//! Lives here: the file alone. Not here: what the rows mean.

use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_store::embedded::disk::{Fault, Flaw, Lasts, Loss, MemDisk, Replay};
use naven_store::embedded::meta::StoreId;
use naven_store::embedded::snapshot::{self, Header, read_newest};
use naven_store::embedded::storage_error::StorageError;

const STORE: StoreId = StoreId(*b"a store of tests");

type Row = (u8, Vec<u8>, Vec<u8>);

fn header(lsn: u64) -> Header {
    Header { lsn, wall: Timestamp::from_ms(11), lease: LeaseTime::from_ms(-12) }
}

fn rows(count: usize) -> Vec<Row> {
    let row = |at: usize| ((at % 7) as u8, at.to_be_bytes().to_vec(), vec![at as u8; at % 50 * at % 3_000]);
    (0..count).map(row).collect()
}

fn write(disk: &MemDisk, lsn: u64, rows: &[Row]) {
    let rows = rows.iter().map(|(table, key, value)| (*table, key, value));
    snapshot::write(disk, STORE, &header(lsn), rows).unwrap();
}

fn read(disk: &MemDisk) -> Result<Option<(Header, Vec<Row>)>, StorageError> {
    let mut rows = Vec::new();
    let header = read_newest(disk, STORE, &mut |table, key, value| {
        rows.push((table, key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(header.map(|header| (header, rows)))
}

#[test]
fn a_snapshot_of_many_chunks_is_read_back_as_it_was_written_and_older_ones_go() {
    let disk = MemDisk::new();
    assert_eq!(read(&disk).unwrap(), None);
    write(&disk, 4, &[]);
    assert_eq!(read(&disk).unwrap(), Some((header(4), Vec::new())));
    write(&disk, 70, &rows(3_000));
    assert_eq!(read(&disk).unwrap(), Some((header(70), rows(3_000))));
    assert_eq!(snapshot::list(&disk).unwrap(), [70]);
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_snapshot_is_refused() {
    let disk = MemDisk::new();
    write(&disk, 9, &rows(12));
    let name = snapshot::file_of(9);
    let bytes = disk.peek(&name).unwrap();
    let refused = |copy: &[u8]| {
        disk.plant(&name, copy);
        match read(&disk) {
            Err(StorageError::Damage { file, offset, .. }) => file == name && offset <= bytes.len() as u64,
            // A flip may make a format look newer.
            Err(StorageError::Newer { .. }) => copy[8..10] != bytes[8..10],
            _ => false,
        }
    };
    for bit in 0..bytes.len() * 8 {
        let mut copy = bytes.clone();
        copy[bit / 8] ^= 1 << (bit % 8);
        assert!(refused(&copy), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(refused(&bytes[..len]), "{len} bytes");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(refused(&longer), "one byte more");
    println!("{} flips and {} cuts", bytes.len() * 8, bytes.len());
}

#[test]
fn chunks_that_changed_places_are_refused() {
    let disk = MemDisk::new();
    let same = vec![(1, b"key".to_vec(), vec![5; 256 << 10]); 2];
    write(&disk, 9, &same);
    let name = snapshot::file_of(9);
    let mut bytes = disk.peek(&name).unwrap();
    let chunk = 8 + 9 + 3 + (256 << 10);
    let (first, second) = (60..60 + chunk, 60 + chunk..60 + 2 * chunk);
    let moved = bytes[first].to_vec();
    bytes[second].copy_from_slice(&moved);
    disk.plant(&name, &bytes);
    assert!(matches!(read(&disk), Err(StorageError::Damage { offset, .. }) if offset == 60 + chunk as u64));
}

#[test]
fn a_snapshot_of_another_store_or_under_another_name_is_refused() {
    let disk = MemDisk::new();
    write(&disk, 9, &rows(3));
    let bytes = disk.peek(&snapshot::file_of(9)).unwrap();
    assert!(read_newest(&disk, StoreId([1; 16]), &mut |_, _, _| Ok(())).is_err());
    disk.plant(&snapshot::file_of(10), &bytes);
    assert!(matches!(read(&disk), Err(StorageError::Damage { .. })));
}

#[test]
fn a_row_that_is_not_taken_names_its_file() {
    let disk = MemDisk::new();
    write(&disk, 9, &rows(3));
    let refused = read_newest(&disk, STORE, &mut |_, _, _| Err("no such table".into()));
    assert!(matches!(refused, Err(StorageError::Record { file, .. }) if file == snapshot::file_of(9)));
}

#[test]
fn every_crash_while_a_snapshot_is_written_leaves_it_whole_or_the_one_before() {
    let disk = MemDisk::recorded();
    write(&disk, 5, &rows(40));
    let first = disk.ops();
    write(&disk, 9, &rows(400));
    let done = disk.ops();
    let recording = disk.recording();
    let mut replay = Replay::new(&recording);
    let mut images = 0;
    while replay.advance() {
        let torn = (0..20).map(|seed| Loss::Torn { piece: [512, 4_096][seed as usize % 2], seed });
        for loss in torn.chain([Loss::All, Loss::None, Loss::Cut { bytes: 999 }]) {
            images += 1;
            let found = read(&replay.image(loss)).unwrap_or_else(|error| panic!("{}: {error}", replay.at()));
            match found {
                None => assert!(replay.at() < first),
                Some((found, seen)) if found.lsn == 5 => {
                    assert!(seen == rows(40) && replay.at() < done);
                }
                Some((found, seen)) => assert!(found == header(9) && seen == rows(400)),
            }
        }
    }
    println!("{images} images");
}

#[test]
fn a_fault_of_any_call_while_a_snapshot_is_written_leaves_the_one_before() {
    let clean = MemDisk::new();
    write(&clean, 5, &rows(40));
    let before = clean.sites();
    write(&clean, 9, &rows(400));
    for (site, calls) in clean.sites() {
        let first = before.get(&site).copied().unwrap_or(0) + 1;
        for (nth, flaw) in (first..=calls).flat_map(|nth| [(nth, Flaw::Short), (nth, Flaw::NoRoom)]) {
            let disk = MemDisk::new();
            write(&disk, 5, &rows(40));
            disk.fail(Fault { site, nth, lasts: Lasts::Once, flaw });
            let rows_in = rows(400);
            let rows_in = rows_in.iter().map(|(table, key, value)| (*table, key, value));
            let error = snapshot::write(&disk, STORE, &header(9), rows_in).expect_err("the fault is told");
            assert_eq!(error.is_no_room(), flaw == Flaw::NoRoom);
            disk.mend();
            let (found, seen) = read(&disk).unwrap().expect("the snapshot before is still there");
            let is_whole = if found.lsn == 5 { seen == rows(40) } else { seen == rows(400) };
            assert!(is_whole, "{site} {nth}");
            write(&disk, 9, &rows(400));
            assert_eq!(snapshot::list(&disk).unwrap(), [9], "{site} {nth}");
        }
    }
}
