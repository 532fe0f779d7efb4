//! FC-03: a pass over overdue leases that acts on what it saw earlier.
//!
//! Lives here: thousands of acks at the very end of their leases. Not here: acks that are sure to be
//! late (`fc02_ack_reply_lost.rs`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::clock::{millis, now, seconds, sleep_until};
use crate::random::Random;
use crate::scene::{Claim, Scene};
use crate::wire::Wire;

const EVENTS: usize = 2_000;
const CONSUMERS: usize = 4;
/// Most events that one consumer holds at a time.
const HELD_MAX: usize = 100;
/// Connections over which one consumer sends its acks: one alone would send them late.
const ACKERS: usize = 8;
const ACK_FROM: Duration = millis(950);
const ACK_TO: Duration = millis(1_050);
/// The play ends when every event is acked, or after this long; the rest is for the watch.
const PLAY_MAX: Duration = seconds(25);
const WATCH: Duration = seconds(10);

#[test]
fn fc03_an_ack_at_the_lease_end_is_taken_or_refused_and_nothing_in_between() {
    let scene = Scene::with_queue(json!({ "maxAttempts": 1_000 }));
    publish_all(&scene);
    let (past, mut random) = (Past::default(), Random::fresh("fc03"));
    let began = now();
    std::thread::scope(|scope| {
        for _ in 0..CONSUMERS {
            let (scene, past, random) = (&scene, &past, random.fork());
            scope.spawn(move || play(scene, past, random, began + PLAY_MAX));
        }
    });
    let (taken, refused) = past.totals();
    println!("fc03: {taken} acks were taken and {refused} refused, in {:?}", began.elapsed());
    assert!(taken > 0 && refused > 0, "both sides of the lease's end are needed");
    watch(&scene, &past);
    past.assert_each_is_in_one_class();
    assert_eq!(scene.counts("q"), json!({ "done": EVENTS }), "what was taken stays so");
    let mut wire = scene.wire();
    for id in past.ids() {
        assert_eq!(wire.get(&format!("/v1/events/{id}")).success()["state"], "done", "{id}");
    }
    scene.assert_same_process();
}

fn publish_all(scene: &Scene) {
    let events = vec![json!({ "payload": {} }); 500];
    for _ in 0..EVENTS / 500 {
        let body = json!({ "events": events }).to_string();
        scene.http.post("/v1/event-queues/q/events/batch", &body).success();
    }
}

/// A consumer that acks everything around the end of its lease, until all is acked or `end`.
fn play(scene: &Scene, past: &Past, mut random: Random, end: Instant) {
    let mut claims = scene.wire();
    let mut ackers: Vec<Wire> = (0..ACKERS).map(|_| scene.wire()).collect();
    while past.acked() < EVENTS && now() < end {
        let held = claim_batch(&mut claims, 1);
        let claimed = now();
        let mut acks: Vec<(Instant, Claim)> =
            held.into_iter().map(|claim| (claimed + random.time(ACK_FROM, ACK_TO), claim)).collect();
        acks.sort_unstable_by_key(|(at, _)| *at);
        std::thread::scope(|scope| {
            for (number, wire) in ackers.iter_mut().enumerate() {
                let mine = acks.iter().skip(number).step_by(ACKERS);
                scope.spawn(move || {
                    for (at, claim) in mine {
                        sleep_until(*at);
                        past.note(claim, ack(wire, claim));
                    }
                });
            }
        });
    }
}

/// Free consumers that take what comes, and ack it at once.
fn watch(scene: &Scene, past: &Past) {
    let (end, over) = (now() + WATCH, AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..CONSUMERS {
            scope.spawn(|| {
                let mut wire = scene.wire();
                while !over.load(Ordering::Relaxed) {
                    for claim in claim_batch(&mut wire, 30) {
                        past.note(&claim, ack(&mut wire, &claim));
                    }
                }
            });
        }
        sleep_until(end);
        over.store(true, Ordering::Relaxed);
    });
}

fn claim_batch(wire: &mut Wire, lease: u32) -> Vec<Claim> {
    let body = json!({ "maxEvents": HELD_MAX, "leaseSeconds": lease, "waitSeconds": 1 });
    let data = wire.post("/v1/event-queues/q/claim-batch", &body).success();
    let claims = data["claims"].as_array().expect("a batch has claims").iter();
    claims.map(|data| Claim { data: data.clone(), body: String::new() }).collect()
}

/// True where the ack was taken.
fn ack(wire: &mut Wire, claim: &Claim) -> bool {
    let answer = wire.post(&claim.path("ack"), &claim.proof(json!({})));
    match (answer.status, answer.code) {
        (200, 0) => true,
        (409, 40_900 | 40_901) => false,
        _ => panic!("neither taken nor refused: {}", answer.body),
    }
}

/// What happened to each event.
#[derive(Default)]
struct Past(Mutex<BTreeMap<String, Deliveries>>);

/// By delivery count: the attempt, and whether its ack was taken.
type Deliveries = BTreeMap<u64, (u64, bool)>;

impl Past {
    fn note(&self, claim: &Claim, taken: bool) {
        let mut past = self.0.lock().expect("no holder of this lock panics");
        let deliveries = past.entry(claim.id()).or_default();
        let before = deliveries.insert(claim.fence(), (claim.attempt(), taken));
        assert_eq!(before, None, "delivery {} of {} came twice", claim.fence(), claim.id());
    }

    fn acked(&self) -> usize {
        let past = self.0.lock().expect("no holder of this lock panics");
        past.values().filter(|deliveries| deliveries.values().any(|(_, taken)| *taken)).count()
    }

    fn totals(&self) -> (usize, usize) {
        let past = self.0.lock().expect("no holder of this lock panics");
        let all = past.values().flat_map(BTreeMap::values);
        let (taken, refused): (Vec<&(u64, bool)>, Vec<_>) = all.partition(|(_, taken)| *taken);
        (taken.len(), refused.len())
    }

    fn ids(&self) -> Vec<String> {
        self.0.lock().expect("no holder of this lock panics").keys().cloned().collect()
    }

    /// A taken ack is the last delivery; a refused one is followed by the next attempt.
    fn assert_each_is_in_one_class(&self) {
        let past = self.0.lock().expect("no holder of this lock panics");
        assert_eq!(past.len(), EVENTS, "every event was delivered");
        for (id, deliveries) in past.iter() {
            let all: Vec<(u64, bool)> = deliveries.values().copied().collect();
            let attempts: Vec<u64> = all.iter().map(|(attempt, _)| *attempt).collect();
            assert_eq!(attempts, (1..=all.len() as u64).collect::<Vec<_>>(), "{id}: {all:?}");
            let taken: Vec<bool> = all.iter().map(|(_, taken)| *taken).collect();
            let (last, before) = taken.split_last().expect("it was delivered");
            assert!(*last && before.iter().all(|taken| !taken), "{id}: {all:?}");
        }
    }
}
