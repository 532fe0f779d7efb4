//! FC-20: a full disk on which nothing makes room but consumers.
//!
//! Lives here: filling a small disk with publishes, finishing all of it or half, and filling it again, with
//! kills in between. Not here: the disk itself (`small_disk.rs`), and a full disk on which room is made from
//! outside (`fc20_full_disk.rs`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clock::{seconds, until};
use crate::scene::{Claim, Scene};
use crate::small_disk::SmallDisk;
use crate::wire::Wire;

const DISK_BYTES: u64 = 16 << 20;
const ROUNDS: usize = 4;
const PUBLISH: &str = "/v1/event-queues/q/events";

/// What a disk that is emptied has to hold again, as a part of what it held at first: what is kept of
/// events that are done with takes room, too.
const HELD_AGAIN: usize = 4;

/// The events of one disk.
struct Shelf {
    payload_bytes: usize,
    next: usize,
    ready: BTreeSet<String>,
}

impl Shelf {
    /// Publishes one more event; false where it is refused as it should be.
    fn takes_one(&mut self, wire: &mut Wire) -> bool {
        let text = "x".repeat(self.payload_bytes - 30);
        let answer = wire.post(PUBLISH, &json!({ "payload": { "n": self.next, "text": text } }));
        if answer.code != 0 {
            assert!(matches!(answer.code, 50_700 | 50_301), "{} {}", answer.status, answer.body);
            return false;
        }
        self.next += 1;
        self.ready.insert(answer.data["id"].as_str().expect("an id").to_owned());
        true
    }

    /// Publishes until one is refused, and answers how many were taken.
    fn fill(&mut self, wire: &mut Wire) -> usize {
        let before = self.next;
        while self.takes_one(wire) {
            assert!(
                (self.next as u64) * (self.payload_bytes as u64) < 16 * DISK_BYTES,
                "no disk is full here"
            );
        }
        self.next - before
    }

    /// Claims and acks so many events, none of them for the second time; all of that is taken.
    fn finish(&mut self, wire: &mut Wire, count: usize) {
        for _ in 0..count {
            let claim = claim(wire).expect("there is an event");
            let ack = wire.post(&claim.path("ack"), &claim.proof(json!({})));
            assert_eq!(ack.code, 0, "an ack on a full disk: {}", ack.body);
            assert!(self.ready.remove(&claim.id()), "{} is delivered after its ack", claim.id());
        }
    }
}

fn claim(wire: &mut Wire) -> Option<Claim> {
    let answer = wire.post("/v1/event-queues/q/claim", &json!({ "leaseSeconds": 3_600, "waitSeconds": 0 }));
    assert_eq!(answer.code, 0, "a claim on a full disk: {}", answer.body);
    Claim::of(answer)
}

/// Some rounds of filling a disk and finishing one part in so many of what waits, killed while it is full and
/// while it is emptied.
fn fill_and_finish(payload_bytes: usize, one_in: usize) {
    let disk = SmallDisk::of(DISK_BYTES);
    let mut scene = Scene::started(disk.serve().own_segment_bytes(), Value::Object(Default::default()));
    let mut shelf = Shelf { payload_bytes, next: 0, ready: BTreeSet::new() };
    let mut wire = scene.wire();
    let first = shelf.fill(&mut wire);
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            scene = scene.killed_and_restarted();
            wire = scene.wire();
        }
        let finished = shelf.ready.len() / one_in;
        shelf.finish(&mut wire, finished);
        if round % 2 == 1 {
            scene = scene.killed_and_restarted();
            wire = scene.wire();
        }
        let waited = until("fc20: publishes are taken again", seconds(30), || shelf.takes_one(&mut wire));
        let taken = shelf.fill(&mut wire);
        println!("fc20: {finished} of {payload_bytes} bytes are done, {taken} taken after {waited:?}");
        assert!(taken * HELD_AGAIN * one_in >= first, "{taken} events, {first} at first");
    }
    let mut scene = scene.killed_and_restarted();
    wire = scene.wire();
    let left = shelf.ready.len();
    shelf.finish(&mut wire, left);
    scene = scene.killed_and_restarted();
    assert!(claim(&mut scene.wire()).is_none(), "something is delivered after its ack");
}

#[test]
fn fc20_a_full_disk_that_consumers_empty_takes_publishes_again() {
    fill_and_finish(4 << 10, 1);
}

#[test]
fn fc20_a_full_disk_that_consumers_half_empty_takes_publishes_again() {
    fill_and_finish(4 << 10, 2);
}

#[test]
fn fc20_a_full_disk_of_long_events_takes_publishes_again() {
    fill_and_finish(60 << 10, 2);
}
