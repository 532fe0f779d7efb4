//! Every crash image of a script opens, and shows all that was answered and nothing that was not.
//!
//! Lives here: the images and the comparison. The rule: what a crash leaves is the state after the
//! last answered operation, or after the one that was under way, whole.

use std::sync::Arc;

use naven_store::conformance::bench::beat;
use naven_store::conformance::{Bench, ManualClock};
use naven_store::embedded::Pace;
use naven_store::embedded::disk::{Loss, MemDisk, Replay};

use crate::audit::state;
use crate::script::{Played, Point, open, open_with, play};

/// Operations of the script; its seed is fixed, so that every run builds the same images.
const STEPS: usize = 200;
const SEED: u64 = 20_261_129;
/// So many scripts, each of a seed of its own.
const SCRIPTS: u64 = 3;

/// True where what `image` holds is exactly `point`, its leases alive under their tokens.
fn holds(image: &Arc<MemDisk>, played: &Played, known: usize, point: &Point) -> bool {
    let clock = Arc::new(ManualClock::default());
    clock.set(point.wall, 0);
    let bench = open(&image.copy().into(), &clock);
    if state(&bench, &played.ids[..known]) != point.state {
        return false;
    }
    point.leases.iter().all(|grant| lives(&bench, grant))
}

fn lives(bench: &Bench, grant: &naven_store::reply::Grant) -> bool {
    bench.say(grant, beat(5)).is_ok()
}

/// Checks the image; panics with its name where something answered is lost or something was made up.
fn check(image: &Arc<MemDisk>, played: &Played, at: usize, loss: Loss) {
    let answered = played.points.iter().rposition(|point| point.disk_ops <= at);
    // Before the store was made there is nothing to lose: it only has to open.
    let Some(answered) = answered else {
        open(image, &Arc::new(ManualClock::default()));
        return;
    };
    let next = played.points.get(answered + 1);
    let known = next.unwrap_or(&played.points[answered]).published;
    let is_one = holds(image, played, known, &played.points[answered])
        || next.is_some_and(|next| holds(image, played, known, next));
    assert!(is_one, "crash at disk operation {at} with {loss:?}: step {answered} is not what is left");
}

/// Builds images at every operation of the disk and checks each. Answers how many there were.
fn check_all(played: &Played) -> usize {
    check_from(played, 0)
}

/// The same from the operation of the disk with this number on.
fn check_from(played: &Played, first: usize) -> usize {
    let recording = played.disk.recording();
    let mut walk = Replay::new(&recording);
    let mut images = 0;
    while walk.at() < first {
        assert!(walk.advance(), "the recording goes on");
    }
    loop {
        let at = walk.at();
        let mut losses = vec![Loss::All, Loss::None];
        if let Some(bytes) = walk.next_write() {
            let seed = at as u64;
            losses.extend([Loss::Torn { piece: 512, seed }, Loss::Torn { piece: 4_096, seed: seed + 1 }]);
            losses.extend([Loss::Cut { bytes: bytes / 2 }, Loss::Cut { bytes: bytes.saturating_sub(1) }]);
        }
        for loss in losses {
            check(&walk.image(loss), played, at, loss);
            images += 1;
        }
        if !walk.advance() {
            return images;
        }
    }
}

#[test]
fn every_crash_image_of_a_script_keeps_what_was_answered() {
    let (mut images, mut with_cold) = (0, 0);
    for script in 0..SCRIPTS {
        let played = play(Arc::new(MemDisk::recorded()), SEED + script, STEPS);
        images += check_all(&played);
        with_cold += u64::from(played.disk.names().iter().any(|name| name == "cold.redb"));
    }
    assert!(with_cold > 1, "scripts make checkpoints, so images hold them whole and in the making");
    println!("{images} crash images of {SCRIPTS} scripts of {STEPS} operations");
    assert!(images >= 5_000, "only {images} images");
}

#[test]
fn every_crash_image_of_a_start_that_writes_the_cold_store_keeps_what_was_answered() {
    let played = play(Arc::new(MemDisk::recorded()), SEED + SCRIPTS, STEPS);
    let first = played.disk.ops();
    let clock = Arc::new(ManualClock::default());
    clock.set(played.points[STEPS].wall, 0);
    // A few rows of what there is to replay are enough for a checkpoint.
    drop(open_with(&played.disk, &clock, Pace { rows: 20, ..Pace::NEVER }));
    let images = check_from(&played, first);
    println!("{images} crash images of a start");
    assert!(images >= 50, "only {images} images");
}

/// The test of the test: a disk that lies about syncs must be caught, by a store that does not open
/// or by one that shows something else.
#[test]
fn a_disk_that_does_not_sync_is_caught() {
    let disk = Arc::new(MemDisk::recorded().without_sync());
    let played = play(disk, SEED, 20);
    let found = std::panic::catch_unwind(|| check_all(&played)).expect_err("lost answers are found");
    let what = found.downcast_ref::<String>().expect("a failed check says what it found");
    assert!(what.contains("is not what is left") || what.contains("the store opens"), "{what}");
}
