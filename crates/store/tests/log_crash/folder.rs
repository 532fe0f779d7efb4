//! A data folder's making and opening: cut short at every point, strangers' folders, one user at a
//! time.
//!
//! Lives here: the folder without events in it. Not here: the log's own images (`crash.rs`).

use std::sync::Arc;

use naven_store::embedded::disk::{Disk, Fault, Flaw, Lasts, Loss, MemDisk, Replay, Site};
use naven_store::embedded::folder::Folder;
use naven_store::embedded::log::FIRST_LSN;
use naven_store::embedded::meta::{Meta, Secret, StoreId};
use naven_store::embedded::storage_error::StorageError;

use super::script::{SEGMENT, Script, new_store, read};

#[test]
fn a_folder_whose_making_was_cut_short_anywhere_opens_or_is_made_anew_with_an_empty_log() {
    let disk = MemDisk::recorded();
    drop(Folder::open(&disk, new_store).unwrap());
    let recording = disk.recording();
    let mut replay = Replay::new(&recording);
    let mut images = 0;
    loop {
        let mut losses = vec![Loss::All, Loss::None, Loss::Cut { bytes: 7 }];
        losses.extend((0..6).map(|seed| Loss::Torn { piece: 512, seed }));
        for loss in losses {
            images += 1;
            let image = replay.image(loss);
            let place = format!("at {} with {loss:?}", replay.at());
            let folder = Folder::open(&*image, new_store).unwrap_or_else(|error| panic!("{place}: {error}"));
            let opened = read(&image, &folder.meta, FIRST_LSN);
            let (mut log, _, seen) = opened.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(seen.is_empty(), "{place}");
            log.append(&[super::script::batch(FIRST_LSN, 0)]).unwrap();
        }
        if !replay.advance() {
            break;
        }
    }
    println!("{images} images");
    assert!(images > 100);
}

#[test]
fn a_folder_opened_again_is_the_same_and_a_fault_of_any_call_while_it_is_made_is_told() {
    let first = MemDisk::new();
    let made = Folder::open(&first, new_store).unwrap();
    assert!(made.is_new);
    let (meta, secret) = (made.meta, made.secret.clone());
    drop(made);
    let again = Folder::open(&first, || panic!("a second store")).unwrap();
    assert_eq!((again.meta, again.secret.clone(), again.is_new), (meta, secret, false));
    for (site, calls) in first.sites() {
        for (nth, flaw) in
            (1..=calls).flat_map(|nth| [Flaw::Io, Flaw::NoRoom, Flaw::Short].map(|flaw| (nth, flaw)))
        {
            let disk = Arc::new(MemDisk::new());
            disk.fail(Fault { site, nth, lasts: Lasts::Once, flaw });
            let opened = Folder::open(&*disk, new_store);
            if let Err(error) = &opened {
                let is_no_room = matches!(error, StorageError::NoRoom(_));
                assert!(is_no_room || matches!(error, StorageError::Disk(_)), "{site}: {error}");
            }
            drop(opened);
            disk.mend();
            let folder =
                Folder::open(&*disk, new_store).unwrap_or_else(|error| panic!("{site} {nth}: {error}"));
            assert!(read(&disk, &folder.meta, FIRST_LSN).unwrap().2.is_empty());
        }
    }
}

#[test]
fn a_folder_in_use_is_refused_until_it_is_free() {
    let disk = MemDisk::new();
    let first = Folder::open(&disk, new_store).unwrap();
    assert!(matches!(Folder::open(&disk, new_store), Err(StorageError::InUse)));
    drop(first);
    assert!(Folder::open(&disk, new_store).is_ok());
}

#[test]
fn a_strangers_folder_is_refused_and_left_untouched() {
    for name in ["notes.txt", "meta.bak", "wal", "meta"] {
        let disk = MemDisk::recorded();
        disk.plant(name, b"something else, and long enough to be read");
        let refused = Folder::open(&disk, new_store);
        assert!(matches!(refused, Err(StorageError::NotOurs { .. })), "{name}: {refused:?}");
        assert_eq!(disk.ops(), 0, "it was written to");
    }
}

#[test]
fn a_folder_that_lost_its_meta_but_not_its_log_is_refused_and_left_untouched() {
    let (mut script, mut log) = Script::new(MemDisk::recorded(), 5);
    script.run(&mut log, 3, false).unwrap();
    script.disk.remove(Site("test"), "meta").unwrap();
    let before = script.disk.ops();
    let refused = Folder::open(&*script.disk, new_store);
    assert!(matches!(refused, Err(StorageError::Damage { .. })), "{refused:?}");
    assert_eq!(script.disk.ops(), before, "it was written to");
}

#[test]
fn no_room_for_a_new_folder_is_told_as_such() {
    let disk = MemDisk::new();
    disk.set_capacity(SEGMENT);
    assert!(matches!(Folder::open(&disk, new_store), Err(StorageError::NoRoom(_))));
}

#[test]
fn every_flipped_bit_of_meta_and_secret_is_refused() {
    let disk = MemDisk::new();
    drop(Folder::open(&disk, new_store).unwrap());
    for name in ["meta", "secret"] {
        let bytes = disk.peek(name).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut copy = bytes.clone();
            copy[bit / 8] ^= 1 << (bit % 8);
            let damaged = disk.copy();
            damaged.plant(name, &copy);
            assert!(Folder::open(&damaged, new_store).is_err(), "bit {bit} of {name}");
        }
        for len in 0..bytes.len() {
            let damaged = disk.copy();
            damaged.plant(name, &bytes[..len]);
            assert!(Folder::open(&damaged, new_store).is_err(), "{len} bytes of {name}");
        }
    }
}

#[test]
fn meta_can_be_replaced_and_a_crash_leaves_the_old_or_the_new() {
    let disk = MemDisk::recorded();
    let meta = Folder::open(&disk, new_store).unwrap().meta;
    let made = disk.ops();
    let next = Meta { key_epoch: 2, ..meta };
    next.write(&disk).unwrap();
    Secret([9; 32]).write(&disk).unwrap();
    let recording = disk.recording();
    let mut replay = Replay::new(&recording);
    while replay.advance() {
        if replay.at() >= made {
            for seed in 0..8 {
                let image = replay.image(Loss::Torn { piece: 512, seed });
                let found = Folder::open(&*image, || panic!("a second store")).unwrap();
                assert!(found.meta == meta || found.meta == next);
                assert!([new_store().secret, Secret([9; 32])].contains(&found.secret));
            }
        }
    }
    assert_eq!(Meta::read(&disk).unwrap().unwrap(), next);
    assert_eq!(next.store, StoreId(*b"a store of tests"));
}
