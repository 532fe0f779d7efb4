//! FC-08: attempts that are used up without a failure.
//!
//! Lives here: handlers that take far longer than their lease, with and without heartbeats. Not here:
//! attempts that fail.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::clock::{assert_within, millis, now, seconds, sleep, until};
use crate::scene::{Claim, Scene};

const ATTEMPTS_MAX: usize = 3;
const LEASE: u32 = 2;
const HANDLED_FOR: u64 = 15;
const EVENTS: usize = 10;
/// Twice within a lease would do; three times leaves room for one that is late.
const BEAT_EVERY_MS: u64 = 600;

#[test]
fn fc08_a_heartbeat_keeps_a_long_handler_at_its_first_attempt() {
    let scene = Scene::with_queue(json!({ "maxAttempts": ATTEMPTS_MAX }));
    (0..EVENTS).for_each(|_| drop(scene.publish("q")));
    let (left, all_held) = (AtomicUsize::new(EVENTS), Barrier::new(EVENTS + 1));
    std::thread::scope(|scope| {
        for _ in 0..EVENTS {
            scope.spawn(|| {
                let claim = scene.claimed("q", LEASE, 5);
                all_held.wait();
                handle(&scene, claim);
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        all_held.wait();
        while left.load(Ordering::Relaxed) > 0 {
            let stolen = scene.claim("q", LEASE, 1);
            assert!(stolen.is_none(), "an event was delivered while its holder still beats: {stolen:?}");
        }
    });
    assert_eq!(scene.counts("q"), json!({ "done": EVENTS }));
    assert!(scene.dead_letters("q").is_empty());
}

/// Beats for 15 s, then acks.
fn handle(scene: &Scene, claim: Claim) {
    let mut wire = scene.wire();
    let began = now();
    while began.elapsed() < seconds(HANDLED_FOR) {
        let body = claim.proof(json!({ "leaseSeconds": LEASE }));
        let beat = wire.post(&claim.path("heartbeat"), &body);
        assert_eq!((beat.code, &beat.data["state"]), (0, &json!("leased")), "{}", beat.body);
        sleep(millis(BEAT_EVERY_MS));
    }
    wire.post(&claim.path("ack"), &claim.proof(json!({}))).success();
    let event = scene.event(&claim.id());
    let counts = (&event["attemptCount"], &event["expiryCount"], &event["deliveryCount"]);
    assert_eq!(counts, (&json!(1), &json!(0), &json!(1)), "{event}");
}

#[test]
fn fc08_without_heartbeats_the_attempts_run_out_into_one_dead_letter() {
    let scene = Scene::with_queue(json!({ "maxAttempts": ATTEMPTS_MAX }));
    let id = scene.publish("q");
    let mut held = Vec::new();
    for attempt in 1..=ATTEMPTS_MAX as u64 {
        let claim = scene.claimed("q", LEASE, 20);
        assert_eq!((claim.id(), claim.attempt()), (id.clone(), attempt));
        held.push((now(), claim));
    }
    for pair in held.windows(2) {
        println!("fc08: one delivery to the next: {:?}", pair[1].0 - pair[0].0);
    }
    let last = held.last().expect("it was delivered").0;
    // Nobody claims now: the letter must not wait for a consumer.
    until("fc08: a dead letter", seconds(30), || !scene.dead_letters("q").is_empty());
    let overdue = last.elapsed().saturating_sub(seconds(LEASE.into()));
    assert_within("fc08: end of the last lease to its dead letter", overdue, seconds(1) / 2);
    assert!(scene.claim("q", LEASE, 3).is_none(), "no fourth delivery");

    let letters = scene.dead_letters("q");
    assert_eq!(letters.len(), 1);
    let letter = &letters[0];
    assert_eq!((&letter["id"], &letter["reason"]), (&json!(id), &json!("expired_attempts")));
    assert_eq!((&letter["attemptCount"], &letter["expiryCount"]), (&json!(3), &json!(3)), "{letter}");
    assert_eq!((&letter["state"], &letter["lastError"]), (&json!("dead"), &json!(null)));
    let attempts = letter["attempts"].as_array().expect("a dead letter lists its attempts");
    let listed: Vec<_> = attempts.iter().map(|past| (&past["deliveryCount"], &past["outcome"])).collect();
    let expired = json!("expired");
    assert_eq!(listed, [(&json!(1), &expired), (&json!(2), &expired), (&json!(3), &expired)]);
    for (_, claim) in &held {
        assert_eq!(scene.settle("ack", claim, json!({})).status, 409, "a handler that ends after all that");
    }
    assert_eq!(scene.counts("q"), json!({ "dead": 1 }));
}
