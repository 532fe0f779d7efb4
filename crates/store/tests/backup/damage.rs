//! Backups that are not what was written.
//!
//! Lives here: every byte changed, every length cut, and folders that cannot be taken. Not here: power
//! cuts (`images.rs`).

use std::sync::Arc;

use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::embedded::backup::{BackupError, Checker, Summary};
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options};

use crate::folder::{restore, scripted, whole};

fn small() -> Vec<u8> {
    let mut store = scripted(&Arc::new(MemDisk::new()), 0);
    store.publish(20);
    store.engine.make_checkpoint().unwrap();
    store.publish(20);
    whole(store.backup())
}

fn check(bytes: &[u8]) -> Result<Summary, BackupError> {
    let mut checker = Checker::new();
    for piece in bytes.chunks(1_000) {
        checker.feed(piece)?;
    }
    checker.finish()
}

#[test]
fn every_changed_byte_is_found() {
    let whole = small();
    let summary = check(&whole).unwrap();
    assert_eq!(summary.bytes, whole.len() as u64);
    assert!(summary.rows > 5 && summary.upto > 1, "{summary:?}");
    println!("{} bytes, {summary:?}", whole.len());
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let said = check(&bytes).expect_err("a changed byte").to_string();
            let names_it = ["not a backup", "format", "damaged", "incomplete"];
            assert!(names_it.iter().any(|name| said.contains(name)), "byte {at}: {said}");
        }
    }
}

#[test]
fn every_cut_is_found_and_so_is_what_comes_after_the_end() {
    let whole = small();
    for len in 0..whole.len() {
        let said = check(&whole[..len]);
        assert!(matches!(said, Err(BackupError::CutShort { at }) if at == len as u64), "{len}: {said:?}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    let said = check(&longer).expect_err("a byte too many").to_string();
    assert!(said.contains("after the end mark"), "{said}");
}

#[test]
fn pieces_that_were_lost_or_doubled_are_found() {
    let mut store = scripted(&Arc::new(MemDisk::new()), 30);
    store.publish(300_000);
    store.engine.make_checkpoint().unwrap();
    let mut backup = store.backup();
    let mut pieces = Vec::new();
    while let Some(piece) = backup.next_piece().unwrap() {
        pieces.push(piece);
    }
    assert!(pieces.len() > 3);
    for at in 0..pieces.len() {
        let mut lost = pieces.clone();
        lost.remove(at);
        check(&lost.concat()).expect_err("a lost piece");
        let mut doubled = pieces.clone();
        doubled.insert(at, pieces[at].clone());
        check(&doubled.concat()).expect_err("a doubled piece");
        let mut swapped = pieces.clone();
        if at > 0 {
            swapped.swap(at - 1, at);
            check(&swapped.concat()).expect_err("swapped pieces");
        }
    }
}

#[test]
fn a_damaged_backup_leaves_no_store_and_the_folder_takes_a_whole_one() {
    let whole = small();
    let (clock, random) = (Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(3)));
    for at in (0..whole.len()).step_by(61) {
        let disk = Arc::new(MemDisk::new());
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        restore(&disk, &bytes).expect_err("a changed byte");
        let on: Arc<dyn Disk> = disk.clone();
        let opened = Embedded::open(on, Options::default(), clock.clone(), random.clone());
        assert!(matches!(opened, Err(StorageError::NotOurs { .. })), "byte {at}: {opened:?}");
        restore(&disk, &whole).expect("the leftovers are cleared");
        crate::script::open(&disk, &clock);
    }
}

#[test]
fn a_damaged_row_is_not_backed_up_as_if_it_were_whole() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    store.publish(20);
    store.engine.make_checkpoint().unwrap();
    let clock = Arc::new(ManualClock::default());
    clock.set(store.bench.wall(), 0);
    drop(store);
    let mut cold = disk.peek("cold.redb").unwrap();
    let place = cold.windows(8).position(|part| part == b"yyyyyyyy").unwrap();
    cold[place] = b'z';
    disk.plant("cold.redb", &cold);
    let (bench, engine) = crate::script::open_with(&disk, &clock, naven_store::embedded::Pace::NEVER);
    let mut backup = bench.block_on(naven_store::Engine::backup(&*engine)).unwrap();
    let why = loop {
        match backup.next_piece() {
            Ok(piece) => assert!(piece.is_some(), "it must not come to an end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(why.contains("cold.redb") && why.contains("Body"), "{why}");
}

#[test]
fn a_folder_that_holds_anything_is_not_touched() {
    let whole = small();
    for name in ["meta", "notes.txt", "cold.redb"] {
        let disk = Arc::new(MemDisk::new());
        disk.plant(name, b"mine");
        let refused = restore(&disk, &whole);
        let refused = refused.expect_err("it is not empty").to_string();
        assert!(refused.contains(name), "{refused}");
        assert_eq!(disk.names(), [name], "nothing was made beside it");
    }
}
