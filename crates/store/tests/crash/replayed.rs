//! What a start makes of the log: what was decided before the crash, and nothing anew.
//!
//! Lives here: due times, fencing numbers, and the log that a start needs. Not here: everything else that a
//! crash may leave (`images.rs`).

use std::sync::Arc;

use naven_core::View;
use naven_store::conformance::ManualClock;
use naven_store::conformance::bench::{append, fail, fail_in};
use naven_store::conformance::streams::reset;
use naven_store::embedded::Pace;
use naven_store::embedded::disk::{Loss, MemDisk, Replay};
use naven_store::txn::{Due, From};

use crate::audit::state;
use crate::script::{open, open_with};

/// What a power cut leaves now.
fn after_a_power_cut(disk: &MemDisk) -> Arc<MemDisk> {
    let recording = disk.recording();
    let mut walk = Replay::new(&recording);
    while walk.advance() {}
    walk.image(Loss::All)
}

#[test]
fn after_a_crash_a_retry_is_due_when_it_was() {
    let (disk, clock) = (Arc::new(MemDisk::recorded()), Arc::new(ManualClock::default()));
    let bench = open(&disk, &clock);
    bench.queue("mail");
    let events = bench.publish_some("mail", 2);
    // By the queue's backoff with its jitter, and at a time of its own.
    bench.must(&bench.claim("mail"), fail());
    bench.must(&bench.claim("mail"), fail_in("no", 7));
    let left = after_a_power_cut(&disk);
    bench.after(1);
    assert_eq!(state(&open(&left, &clock), &events), state(&bench, &events));
}

#[test]
fn after_a_crash_and_a_reset_a_fence_is_higher_than_any_before() {
    for has_checkpoint in [false, true] {
        let (disk, clock) = (Arc::new(MemDisk::recorded()), Arc::new(ManualClock::default()));
        let (bench, engine) = open_with(&disk, &clock, Pace::NEVER);
        bench.queue_on("mail", "orders", From::Start);
        bench.publish("mail", 1);
        let mut highest = 0;
        for nth in 0..3 {
            highest = bench.claim("mail").fence;
            bench.after(30);
            if has_checkpoint && nth == 0 {
                engine.make_checkpoint().expect("the disk is well");
            }
        }
        let bench = open(&after_a_power_cut(&disk), &clock);
        bench.ask(reset("mail", From::Start)).expect("the queue is there");
        let again = bench.claim("mail").fence;
        assert!(again > highest, "{again} after {highest}: a fence was given twice");
    }
}

#[test]
fn no_power_cut_around_a_checkpoint_finds_the_log_freed_before_it() {
    const EVENTS: u64 = 40;
    let (disk, clock) = (Arc::new(MemDisk::recorded()), Arc::new(ManualClock::default()));
    let (bench, engine) = open_with(&disk, &clock, Pace::NEVER);
    bench.queue("mail");
    let payload = format!("{{\"x\":\"{}\"}}", "y".repeat(6_000));
    let mut first = 0;
    // Each covers several segments, and the second gives back those of the first.
    for _ in 0..2 {
        (0..EVENTS)
            .for_each(|_| drop(bench.ask(append("mail", &payload, Due::Now)).expect("the disk is well")));
        first = disk.ops();
        engine.make_checkpoint().expect("the disk is well");
    }
    let recording = disk.recording();
    let (mut walk, mut images) = (Replay::new(&recording), 0);
    while walk.advance() {
        if walk.at() >= first {
            let left = open(&walk.image(Loss::All), &clock);
            assert_eq!(left.view("mail").counts.of(View::Ready), 2 * EVENTS, "at {}", walk.at());
            images += 1;
        }
    }
    assert!(images > 10, "only {images} images");
}
