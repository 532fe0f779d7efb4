//! Crash images of the log: every operation of a script, with what was not synced lost, kept, torn
//! and cut.
//!
//! Lives here: the images of the log alone. Not here: images of a folder's making (`folder.rs`) and
//! of the engine's (`crash/`).

use naven_store::embedded::disk::{Loss, MemDisk, Replay};

use super::script::{Dice, Script};

/// What is done to each point of a recording.
fn losses(next_write: Option<usize>, dice: &mut Dice) -> Vec<Loss> {
    let mut losses = vec![Loss::All, Loss::None];
    for piece in [512, 4_096] {
        losses.extend([dice.roll(), dice.roll()].map(|seed| Loss::Torn { piece, seed }));
    }
    if let Some(bytes) = next_write {
        let in_pieces = dice.below(bytes / 512 + 1) * 512;
        losses.extend([1, in_pieces, bytes.saturating_sub(1)].map(|bytes| Loss::Cut { bytes }));
    }
    losses
}

/// Checks every image; answers how many there were, and what was wrong with some.
fn check_all(script: &Script, from_ops: usize) -> (usize, Vec<String>) {
    let recording = script.disk.recording();
    let mut replay = Replay::new(&recording);
    let mut dice = Dice(from_ops as u64);
    let (mut images, mut wrong) = (0, Vec::new());
    loop {
        if replay.at() >= from_ops {
            for loss in losses(replay.next_write(), &mut dice) {
                images += 1;
                let image = replay.image(loss);
                let checked = script.check(&image, replay.at(), 1);
                wrong.extend(checked.err().map(|why| format!("at {} with {loss:?}: {why}", replay.at())));
                if images % 100 == 0 {
                    let (more, nested) = check_second_crash(script, &replay, loss);
                    images += more;
                    wrong.extend(nested);
                }
            }
        }
        if !replay.advance() {
            return (images, wrong);
        }
    }
}

/// A crash while the next start reads, mends and goes on: what was answered before the first is
/// still there, and so is what was answered after it.
fn check_second_crash(script: &Script, replay: &Replay<'_>, loss: Loss) -> (usize, Vec<String>) {
    let image = replay.image(loss);
    if script.check(&image, replay.at(), 2).is_err() {
        // Told already.
        return (0, Vec::new());
    }
    let recording = image.recording();
    let mut second = Replay::new(&recording);
    let (mut images, mut wrong) = (0, Vec::new());
    while second.advance() {
        for again in [Loss::All, Loss::Torn { piece: 512, seed: second.at() as u64 }] {
            images += 1;
            let name = || format!("at {} with {loss:?}, then at {} with {again:?}", replay.at(), second.at());
            let checked = script.check_any_end(&second.image(again), replay.at());
            wrong.extend(checked.err().map(|why| format!("{}: {why}", name())));
        }
    }
    (images, wrong)
}

impl Script {
    /// As [`Script::check`], where other batches may follow those of the script.
    fn check_any_end(&self, image: &std::sync::Arc<MemDisk>, ops: usize) -> Result<(), String> {
        let from = self.first_lsn_at(ops);
        let (_, _, seen) = super::script::read(image, &self.meta, from).map_err(|error| error.to_string())?;
        let skipped = self.written.iter().take_while(|batch| batch.lsn < from).count();
        let written = self.written.iter().skip(skipped);
        let same = written.zip(&seen).take_while(|(written, seen)| written == seen).count();
        if skipped + same < self.answered_at(ops) {
            return Err(format!("{} of {} batches are left", skipped + same, self.answered_at(ops)));
        }
        let is_fresh = |seen: &&super::script::Seen| {
            **seen == super::script::Seen::from(&super::script::batch(seen.lsn, 2))
        };
        let fresh = seen.iter().skip(same).take_while(is_fresh).count();
        if same + fresh == seen.len() { Ok(()) } else { Err("a batch came back from a cut tail".to_owned()) }
    }
}

fn show(wrong: &[String]) -> String {
    wrong.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_crash_image_of_a_log_opens_with_all_that_was_answered() {
    let (mut script, mut log) = Script::new(MemDisk::recorded(), 1);
    let made = script.disk.ops();
    script.run(&mut log, 200, false).unwrap();
    let (images, wrong) = check_all(&script, made);
    println!("{images} images of {} operations", script.disk.ops());
    assert!(images >= 1_000, "only {images} images");
    assert!(wrong.is_empty(), "{} of {images} images are wrong:\n{}", wrong.len(), show(&wrong));
}

#[test]
fn every_crash_image_of_a_log_that_gives_segments_back_opens() {
    let (mut script, mut log) = Script::new(MemDisk::recorded(), 2);
    let made = script.disk.ops();
    script.run(&mut log, 200, true).unwrap();
    let (images, wrong) = check_all(&script, made);
    println!("{images} images of {} operations", script.disk.ops());
    assert!(wrong.is_empty(), "{} of {images} images are wrong:\n{}", wrong.len(), show(&wrong));
}

/// The test of the tests: a disk whose syncs do nothing must be found out.
#[test]
fn crash_images_find_out_a_log_whose_syncs_do_nothing() {
    let (mut script, mut log) = Script::new(MemDisk::recorded().without_sync(), 1);
    let made = script.disk.ops();
    script.run(&mut log, 60, false).unwrap();
    let (images, wrong) = check_all(&script, made);
    println!("{} of {images} images are wrong, as they must be", wrong.len());
    assert!(wrong.iter().any(|why| why.contains("were answered")), "nothing was lost without syncs");
}
