//! What must hold of a folder, whatever was done to its files.
//!
//! Lives here: opening, checking and saving it, and the laws of each. Not here: the folder (`scene.rs`) and the
//! changes (`patch.rs`).
//!
//! The first byte of an input chooses the folder, the second what is tried: `v` a check, `s` saving what can be
//! read, anything else a start and some questions. The rest are changes.

use std::sync::Arc;

use super::patch::patch;
use super::scene::{Scene, open, queues, runtime};
use crate::conformance::SeededRandom;
use crate::conformance::bench::append;
use crate::embedded::Embedded;
use crate::embedded::backup::BackupError;
use crate::embedded::disk::{Disk, MemDisk};
use crate::embedded::salvage::salvage;
use crate::embedded::storage_error::StorageError;
use crate::embedded::verify::verify;
use crate::engine::Engine;
use crate::read::{EventFilter, EventRead, EventView, Page, Read, ScanBound, Wanted};
use crate::txn::{Due, Txn};

/// All files together: what a start, or a salvage, may make of a folder of less than one.
const DISK_BYTES_MAX: u64 = 16 << 20;

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    let (&[number, way], changes) = input.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
    let scene = Scene::nth(number);
    let disk = scene.disk();
    disk.set_capacity(DISK_BYTES_MAX);
    patch(&disk, changes);
    let disk = Arc::new(disk);
    match way {
        b'v' => check_verify(scene, disk),
        b's' => check_salvage(scene, disk),
        _ => check_start(scene, disk, changes.is_empty()),
    }
}

/// It starts and answers, or says which file is wrong, and where.
fn check_start(scene: &Scene, disk: Arc<MemDisk>, is_whole: bool) {
    match open(disk) {
        Ok(engine) => {
            ask(scene, &engine);
            runtime().block_on(engine.close());
        }
        Err(error) => {
            assert!(!is_whole, "{error}");
            check_error(scene, &error);
        }
    }
}

fn check_error(scene: &Scene, error: &StorageError) {
    let in_file = |file: &String| assert!(!file.is_empty(), "{error}");
    let says = |what: &String| assert!(!what.is_empty(), "{error}");
    match error {
        StorageError::Damage { file, offset, what } => {
            in_file(file);
            says(what);
            assert!(*offset <= (scene.longest() as u64).max(2 << 20), "{error}");
        }
        StorageError::DamagedRow { file, what } => {
            in_file(file);
            says(what);
        }
        StorageError::Newer { file, .. }
        | StorageError::Older { file, .. }
        | StorageError::Record { file, .. } => {
            in_file(file);
        }
        StorageError::Disk(error) => in_file(&error.file),
        StorageError::NotOurs { why } => says(why),
        StorageError::NoRoom(_)
        | StorageError::OpenToOthers { .. }
        | StorageError::NotEmpty { .. }
        | StorageError::InUse
        | StorageError::Closed => panic!("it does not say what is wrong: {error}"),
    }
}

/// Whatever it answers, no content is one that nobody published.
fn ask(scene: &Scene, engine: &Embedded) {
    let read = |read: Read| runtime().block_on(engine.read(read));
    let mut views: Vec<EventView> = Vec::new();
    for event in &scene.events {
        if let Ok(Page::Event(view)) = read(Read::Event { event: *event, payload: true }) {
            views.push(*view);
        }
    }
    for queue in queues() {
        let dead = Read::DeadLetters { queue: queue.clone(), cursor: None, limit: 500, payload: true };
        if let Ok(Page::DeadLetters(found, _)) = read(dead) {
            views.extend(found);
        }
        let (wanted, bound) = (Wanted::Items { limit: 500, payload: true }, ScanBound::default());
        let (filter, cursor) = (EventFilter::default(), None);
        let all = EventRead { queue: queue.clone(), filter, cursor, wanted, bound };
        if let Ok(Page::Events(page)) = read(Read::Events(all)) {
            views.extend(page.items);
        }
        drop(read(Read::Holders(queue)));
    }
    let all = [
        Read::Queues { name_prefix: String::new(), cursor: None, limit: 500 },
        Read::Streams { name_prefix: bytes::Bytes::new(), cursor: None, limit: 500 },
        Read::Operations { cursor: None, limit: 500 },
        Read::Audit { cursor: None, limit: 500 },
        Read::Keys,
        Read::System,
    ];
    all.into_iter().for_each(|one| drop(read(one)));
    for view in views {
        let content = view.body.map(|body| body.bytes);
        assert!(content.is_none_or(|content| scene.payloads.contains(&content)), "{:?} was made up", view.id);
    }
    let publish = Txn::one(append("mail", "{}", Due::Now));
    drop(runtime().block_on(engine.submit(vec![publish])));
}

/// Whatever is found is in a file.
fn check_verify(scene: &Scene, disk: Arc<MemDisk>) {
    match verify(disk, &mut |_| {}) {
        Ok(report) => {
            let is_named = |finding: &crate::embedded::finding::Finding| {
                !finding.file.is_empty() && !finding.what.is_empty()
            };
            assert!(report.findings.iter().all(is_named), "{report:?}");
        }
        Err(error) => check_error(scene, &error),
    }
}

/// What is saved starts, and no content in it is one that nobody published.
fn check_salvage(scene: &Scene, disk: Arc<MemDisk>) {
    let made = Arc::new(MemDisk::new());
    made.set_capacity(DISK_BYTES_MAX);
    let to: Arc<dyn Disk> = made.clone();
    match salvage(disk, Some(to), &SeededRandom::new(9), &mut |_| {}) {
        Ok(_) => {
            let engine = open(made).expect("what was saved is whole");
            ask(scene, &engine);
            runtime().block_on(engine.close());
        }
        Err(BackupError::Store(error)) => check_error(scene, &error),
        Err(other) => panic!("{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::laws::saved_inputs;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_folders() {
        saved_inputs("folder_open", check);
    }

    #[test]
    fn the_folders_of_the_fuzzer_are_whole() {
        for number in 0..3 {
            for way in *b"ovs" {
                check(&[number, way]);
            }
            let scene = Scene::nth(number);
            let report = verify(Arc::new(scene.disk()), &mut |_| {}).expect("it can be read");
            assert_eq!(report.findings, [], "folder {number}");
        }
    }
}
