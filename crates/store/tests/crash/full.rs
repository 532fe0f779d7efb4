//! A disk that is full: refusals that come at once, reads and settling that go on, and nothing that hangs.
//!
//! Lives here: the engine on a disk of fixed size. Not here: real file systems.

use std::sync::Arc;

use naven_store::conformance::bench::{append, fail_in};
use naven_store::conformance::{Bench, ManualClock};
use naven_store::embedded::disk::MemDisk;
use naven_store::reply::{Grant, OpError, OpReply};
use naven_store::txn::{Due, OpKind, SettleStep, Txn};

use crate::script::open;

/// Room for four spare segments of 64 KiB beside the first, and a little.
const DISK_BYTES: u64 = 400 << 10;
/// Most operations until a disk of that size must have refused one.
const TRIES_MAX: usize = 10_000;

fn small_disk(bytes: u64) -> (Arc<MemDisk>, Bench) {
    let disk = Arc::new(MemDisk::new());
    disk.set_capacity(bytes);
    let bench = open(&disk, &Arc::new(ManualClock::default()));
    bench.queue("mail");
    (disk, bench)
}

/// Publishes until the disk is full. Answers how many were taken.
fn fill(bench: &Bench, ops: impl Fn() -> Vec<OpKind>) -> usize {
    let mut taken = 0;
    for _ in 0..TRIES_MAX {
        let answers = bench.submit(Txn::all(ops()));
        match &answers[0] {
            Ok(OpReply::Event(_)) => taken += answers.len(),
            Err(OpError::Full | OpError::Undone) => {
                assert!(answers.contains(&Err(OpError::Full)), "{answers:?}");
                return taken;
            }
            other => panic!("neither taken nor refused for want of room: {other:?}"),
        }
    }
    panic!("a small disk took everything");
}

fn large() -> OpKind {
    append("mail", &format!("{{\"x\":\"{}\"}}", "y".repeat(3_000)), Due::Now)
}

#[test]
fn publishes_are_refused_while_settling_and_reads_go_on() {
    let (_disk, bench) = small_disk(DISK_BYTES);
    let taken = fill(&bench, || vec![large()]);
    let leases: Vec<Grant> = bench.claim_up_to("mail", 20);
    assert_eq!(leases.len(), 20);
    for grant in &leases {
        bench.must(grant, SettleStep::Ack);
    }
    // What was under way when the first was refused may have left room for a few more, and no more.
    fill(&bench, || vec![large()]);
    assert!(taken > 20, "{taken} events were taken");
}

#[test]
fn a_batch_that_needs_a_file_of_its_own_is_refused_and_blocks_nobody() {
    let (_disk, bench) = small_disk(4 * DISK_BYTES);
    // Twenty-five of 3,000 bytes are longer than a segment.
    fill(&bench, || (0..25).map(|_| large()).collect());
    let grant = bench.claim("mail");
    bench.must(&grant, SettleStep::Ack);
}

#[test]
fn settling_that_uses_up_the_reserve_is_refused_too_and_reads_go_on() {
    let (disk, bench) = small_disk(DISK_BYTES);
    fill(&bench, || vec![large()]);
    let text = "e".repeat(8_000);
    let refused = (0..TRIES_MAX).any(|_| {
        match bench.ask(OpKind::Claim(naven_store::conformance::bench::claim("mail", 1, 30))) {
            Ok(OpReply::Claimed(claimed)) => {
                let said = bench.say(&claimed.leases[0], fail_in(&text, 0));
                said.is_err_and(|error| error == OpError::Full)
            }
            Err(OpError::Full) => true,
            other => panic!("neither taken nor refused for want of room: {other:?}"),
        }
    });
    assert!(refused, "the reserve has an end");
    assert!(bench.view("mail").counts.unfinished() > 0, "reads go on");
    disk.set_capacity(u64::MAX);
    drop(bench);
    let bench = open(&disk, &Arc::new(ManualClock::default()));
    let again = bench.ask(large());
    assert!(matches!(again, Ok(OpReply::Event(_))), "with room it serves again: {again:?}");
}
