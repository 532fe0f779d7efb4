//! Checking a data folder at rest.
//!
//! Lives here: that whole ones pass, that damage is named, and that nothing is written. Not here: the
//! command line (`crates/cli/tests`).

use std::sync::Arc;

use naven_store::Engine;
use naven_store::conformance::ManualClock;
use naven_store::embedded::Pace;
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::embedded::finding::Finding;
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::verify::{Report, verify};

use crate::folder::{contents, scripted, spoil};
use crate::script::open_with;

fn check(disk: &Arc<MemDisk>) -> Report {
    let on: Arc<dyn Disk> = disk.clone();
    verify(on, &mut |_| {}).expect("the folder is ours")
}

/// The disk of a store with something in the cold store and behind it, which nobody uses any more.
fn at_rest(steps: usize, closes: bool) -> Arc<MemDisk> {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, steps);
    store.publish(100);
    store.engine.make_checkpoint().unwrap();
    store.publish(100);
    if closes {
        store.bench.block_on(store.engine.close());
    }
    disk
}

#[test]
fn whole_stores_pass_and_not_one_byte_of_them_changes() {
    for steps in [0, 20, 60, 150] {
        for closes in [false, true] {
            let disk = at_rest(steps, closes);
            let before = contents(&disk);
            let report = check(&disk);
            assert_eq!(report.findings, [], "{steps} steps");
            assert!(
                report.rows > 5 && report.lsn > 2 && report.segments > 0 && report.bytes > 0,
                "{report:?}"
            );
            assert!(contents(&disk) == before, "{steps} steps: something was written");
        }
    }
}

#[test]
fn a_store_that_writes_rows_all_the_time_passes_when_it_was_killed() {
    let disk = Arc::new(MemDisk::new());
    let clock = Arc::new(ManualClock::default());
    let hasty = Pace { rows: 5, bytes: 1 << 20, age_ms: 0 };
    let (bench, engine) = open_with(&disk, &clock, hasty);
    bench.queue("mail");
    for round in 0..200 {
        bench.publish("mail", round);
        if round % 3 == 0 {
            let grant = bench.claim("mail");
            bench.must(&grant, naven_store::txn::SettleStep::Ack);
        }
        if round % 20 == 0 {
            // The process is killed: what it wrote is there, synced or not.
            let killed: Arc<MemDisk> = Arc::new(disk.copy());
            assert_eq!(check(&killed).findings, [], "round {round}");
        }
    }
    drop((bench, engine));
}

#[test]
fn every_changed_byte_of_meta_and_secret_is_found() {
    let disk = at_rest(0, true);
    for file in ["meta", "secret"] {
        let whole = disk.peek(file).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            disk.plant(file, &bytes);
            let on: Arc<dyn Disk> = disk.clone();
            match verify(on, &mut |_| {}) {
                Ok(report) => assert_eq!(report.findings[0].file, file, "byte {at}"),
                // Another program's file, or another version's: that is said before anything is read.
                Err(
                    StorageError::NotOurs { .. } | StorageError::Newer { .. } | StorageError::Older { .. },
                ) => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
        disk.plant(file, &whole);
    }
}

#[test]
fn every_changed_byte_of_the_log_is_found_or_is_in_its_unfinished_tail() {
    let disk = at_rest(30, false);
    let segments: Vec<String> = disk.names().into_iter().filter(|name| name.ends_with(".seg")).collect();
    let mut found = 0;
    for file in &segments {
        let whole = disk.peek(file).unwrap();
        let used = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for at in (0..used).step_by(53) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            disk.plant(file, &bytes);
            let report = check(&disk);
            let names_it = report.findings.iter().any(|finding| finding.file == *file);
            assert!(names_it || report.tail_bytes > 0, "{file} byte {at}: {report:?}");
            found += usize::from(names_it);
        }
        disk.plant(file, &whole);
    }
    assert!(found > 50, "{found} places");
}

#[test]
fn a_changed_row_is_named_by_table_and_key() {
    let disk = Arc::new(MemDisk::new());
    let mut store = scripted(&disk, 0);
    store.publish(333);
    store.engine.make_checkpoint().unwrap();
    drop(store);
    assert!(spoil(&disk, "cold.redb", &"y".repeat(333)) > 0);
    let report = check(&disk);
    let row = report.findings.iter().find(|finding| finding.table.as_deref() == Some("Body"));
    let row = row.unwrap_or_else(|| panic!("{report:?}"));
    assert!(row.key.as_ref().is_some_and(|key| key.len() == 24) && row.what.contains("checksum"), "{row:?}");
    let pages = |finding: &Finding| finding.file == "cold.redb" && finding.table.is_none();
    assert!(report.findings.iter().any(pages), "{report:?}");
}

#[test]
fn no_changed_byte_of_the_cold_store_makes_it_panic() {
    let disk = at_rest(10, false);
    let whole = disk.peek("cold.redb").unwrap();
    let mut found = 0;
    for at in (0..whole.len()).step_by(499) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        disk.plant("cold.redb", &bytes);
        found += usize::from(!check(&disk).findings.is_empty());
    }
    println!("{found} of {} places are in use", whole.len() / 499);
}

#[test]
fn a_folder_in_use_and_a_strangers_are_refused() {
    let disk = Arc::new(MemDisk::new());
    let store = scripted(&disk, 0);
    let on: Arc<dyn Disk> = disk.clone();
    assert!(matches!(verify(on, &mut |_| {}), Err(StorageError::InUse)));
    drop(store);
    let other = Arc::new(MemDisk::new());
    other.plant("notes.txt", b"mine");
    let on: Arc<dyn Disk> = other.clone();
    assert!(matches!(verify(on, &mut |_| {}), Err(StorageError::NotOurs { .. })));
    assert_eq!(other.names(), ["notes.txt"]);
}
