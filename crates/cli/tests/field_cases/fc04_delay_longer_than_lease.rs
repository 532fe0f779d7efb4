//! FC-04: a delay that is longer than the lease time.
//!
//! Lives here: one delayed event and one delayed retry, watched by consumers with short leases. Not
//! here: delays that overflow (`fc16_seconds_that_overflow.rs`).

use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;

use crate::clock::{assert_between, counted, now, seconds};
use crate::scene::{Claim, Scene};

const DELAY: u64 = 12;

#[test]
fn fc04_a_delay_longer_than_the_lease_delivers_once() {
    let scene = Scene::with_queue(json!({}));
    let published = now();
    let id = scene.publish_body("q", &format!(r#"{{"payload":{{}},"delaySeconds":{DELAY}}}"#));
    // Two delays, the second after the first delivery, and time for one too many.
    let end = published + seconds(2 * DELAY + 3);
    let deliveries = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while now() < end {
                    if let Some(claim) = scene.claim("q", 2, 5) {
                        let at = now();
                        answer(&scene, &claim);
                        deliveries.lock().expect("no holder of this lock panics").push((at, claim));
                    }
                }
            });
        }
    });
    let deliveries = deliveries.into_inner().expect("no holder of this lock panics");
    let seen: Vec<_> = deliveries.iter().map(|(_, claim)| (claim.id(), claim.attempt())).collect();
    assert_eq!(seen, [(id.clone(), 1), (id.clone(), 2)], "exactly two deliveries");
    let after = |what, from: Instant, at: Instant| {
        assert_between(what, at - from, counted(seconds(DELAY)), seconds(DELAY + 1));
    };
    after("fc04: publish to delivery", published, deliveries[0].0);
    after("fc04: delivery and nack to next delivery", deliveries[0].0, deliveries[1].0);
    assert_eq!(scene.event(&id)["state"], "done");
}

/// Nacks the first attempt and acks the second.
fn answer(scene: &Scene, claim: &Claim) {
    let is_first = claim.attempt() == 1;
    let (verb, more) =
        if is_first { ("nack", json!({ "retryDelaySeconds": DELAY })) } else { ("ack", json!({})) };
    scene.settle(verb, claim, more).success();
}
