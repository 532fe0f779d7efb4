//! Power cuts at every write of a restore.
//!
//! Lives here: that each leaves a whole store, or none and a folder that the next restore takes. Not
//! here: cuts of a running engine (`crash/`).

use std::sync::Arc;

use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::embedded::disk::{Disk, Loss, MemDisk, Replay};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options};
use naven_store::read::Read;

use crate::audit::state;
use crate::folder::{restore, scripted, whole};

#[test]
fn every_crash_image_of_a_restore_is_a_whole_store_or_none() {
    let store = scripted(&Arc::new(MemDisk::new()), 60);
    let expected = state(&store.bench, &store.ids);
    let bytes = whole(store.backup());
    let disk = Arc::new(MemDisk::recorded());
    restore(&disk, &bytes).unwrap();
    let recording = disk.recording();
    let mut walk = Replay::new(&recording);
    let (mut images, mut stores, mut again) = (0, 0, 0);
    loop {
        let seed = walk.at() as u64;
        let mut losses = vec![Loss::All, Loss::None, Loss::Torn { piece: 512, seed }];
        if let Some(bytes) = walk.next_write() {
            losses.push(Loss::Cut { bytes: bytes / 2 });
        }
        for loss in losses {
            images += 1;
            let image = walk.image(loss);
            let clock = Arc::new(ManualClock::default());
            clock.set(store.bench.wall(), 0);
            match open(&image.copy().into(), &clock) {
                Ok(()) => {
                    let bench = crate::script::open(&image, &clock);
                    let is_empty = bench.read(Read::Event { event: store.ids[0], payload: false }).is_err();
                    if is_empty {
                        assert!(image.recording().is_empty() || walk.at() < 10, "made anew, late");
                    } else {
                        assert_eq!(state(&bench, &store.ids), expected, "at {} with {loss:?}", walk.at());
                        stores += 1;
                    }
                }
                Err(StorageError::NotOurs { why }) => {
                    assert!(why.contains("restore"), "at {}: {why}", walk.at());
                    if images % 7 == 0 {
                        restore(&image, &bytes).expect("the next restore takes the folder");
                        assert_eq!(state(&crate::script::open(&image, &clock), &store.ids), expected);
                        again += 1;
                    }
                }
                Err(error) => panic!("at {} with {loss:?}: {error}", walk.at()),
            }
        }
        if !walk.advance() {
            break;
        }
    }
    println!("{images} images, {stores} whole, {again} restored anew");
    assert!(images > 100 && stores > 0 && again > 5, "{images} {stores} {again}");
}

fn open(disk: &Arc<MemDisk>, clock: &Arc<ManualClock>) -> Result<(), StorageError> {
    let options = Options { segment_bytes: Some(64 << 10), ..Options::default() };
    let on: Arc<dyn Disk> = disk.clone();
    Embedded::open(on, options, clock.clone(), Arc::new(SeededRandom::new(1))).map(drop)
}
