//! FC-19: a failure that is retried at once, without an end.
//!
//! Lives here: one poison event among a thousand good ones, and what it costs them and the server. Not
//! here: attempts that end without a failure (`fc08_attempts_used_up.rs`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clock::{assert_within, millis, now, seconds, sleep, spread, until};
use crate::scene::{Claim, Scene};
use crate::wire::Wire;

const GOOD: usize = 1_000;
const CONSUMERS: usize = 2;
const ATTEMPTS_MAX: usize = 20;
/// Good events that are published before the poison.
const BEFORE: usize = 100;
/// Pause between two publishes, so that a queue of waiting events is the poison's doing alone.
const PACE: Duration = millis(4);
const WAIT_FIGURE: Duration = seconds(1);
/// CPU with the poison, as a multiple of the CPU without it.
const CPU_FIGURE: f64 = 1.2;
/// A crowded machine makes CPU times differ too: what is over 1 may be three times the figure's.
const CPU_HELD: f64 = 1.0 + (CPU_FIGURE - 1.0) * 3.0;

#[test]
fn fc19_a_poison_event_ends_as_one_dead_letter_and_costs_the_good_ones_nothing() {
    let without = play(None);
    let with = play(Some("poison"));
    assert_eq!((without.poisonings, without.waits.len()), (0, GOOD));
    assert_eq!((with.poisonings, with.waits.len()), (ATTEMPTS_MAX, GOOD));
    for (what, run) in [("without poison", &without), ("with poison", &with)] {
        println!("fc19: {what}: CPU {} ticks, waits: {}", run.cpu_ticks, spread(run.waits.clone()));
        assert_within(&format!("fc19: p99 wait {what}"), p99(&run.waits), WAIT_FIGURE);
    }
    let ratio = with.cpu_ticks as f64 / without.cpu_ticks.max(1) as f64;
    println!(
        "fc19: the poison made it {ratio:.2} times the CPU (figure {CPU_FIGURE}, held at {CPU_HELD:.1})"
    );
    assert!(ratio <= CPU_HELD, "{ratio:.2} times the CPU with one poison event");
}

/// What one run came to.
#[derive(Debug)]
struct Run {
    /// From a good event's publish to its claim.
    waits: Vec<Duration>,
    /// Deliveries of the poison.
    poisonings: usize,
    /// CPU time of the server, in the system's ticks.
    cpu_ticks: u64,
}

/// What consumers have seen.
#[derive(Debug, Default)]
struct Seen {
    /// When each good event was claimed, by its number.
    good: BTreeMap<u64, Instant>,
    poisonings: usize,
    poison_is_dead: bool,
}

/// Ends the consumers when it is dropped, also by a panic: nobody waits for them in vain.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Publishes and consumes everything on a server of its own.
fn play(poison: Option<&str>) -> Run {
    let scene = Scene::with_queue(json!({ "maxAttempts": ATTEMPTS_MAX }));
    let (seen, over) = (Mutex::<Seen>::default(), AtomicBool::new(false));
    let before = cpu_ticks(&scene);
    let (sent, cpu_ticks) = std::thread::scope(|scope| {
        let _whatever_happens = Ends(&over);
        for _ in 0..CONSUMERS {
            scope.spawn(|| consume(&scene, &seen, &over));
        }
        let sent = publish(&scene, poison);
        until("fc19: everything is settled", seconds(60), || {
            let seen = seen.lock().expect("no holder of this lock panics");
            seen.good.len() == GOOD && (poison.is_none() || seen.poison_is_dead)
        });
        let ticks = cpu_ticks(&scene) - before;
        // A delivery too many would come now.
        sleep(seconds(1));
        (sent, ticks)
    });
    assert_settled(&scene, poison);
    let seen = seen.into_inner().expect("no holder of this lock panics");
    let waits = seen.good.iter().map(|(number, at)| at.saturating_duration_since(sent[number])).collect();
    Run { waits, poisonings: seen.poisonings, cpu_ticks }
}

/// Everything is done, but the poison, which is one dead letter with its last error.
fn assert_settled(scene: &Scene, poison: Option<&str>) {
    let letters = scene.dead_letters("q");
    let Some(poison) = poison else {
        assert_eq!(scene.counts("q"), json!({ "done": GOOD }));
        return assert!(letters.is_empty(), "{letters:?}");
    };
    assert_eq!(scene.counts("q"), json!({ "done": GOOD, "dead": 1 }));
    let [letter] = letters.as_slice() else { panic!("not one dead letter: {letters:?}") };
    assert_eq!(letter["reason"], "attempts_used_up", "{letter}");
    assert_eq!(letter["deliveryCount"], ATTEMPTS_MAX, "{letter}");
    assert_eq!(letter["lastError"], error_of(ATTEMPTS_MAX as u64), "{letter}");
    let event =
        scene.http.get(&format!("/v1/events/{}?includePayload=true", letter["id"].as_str().unwrap_or("")));
    assert_eq!(event.success()["payload"], json!({ "kind": poison }));
    scene.assert_same_process();
}

/// Publishes the good events, and the poison among them; when each good one was sent, by number.
fn publish(scene: &Scene, poison: Option<&str>) -> BTreeMap<u64, Instant> {
    let mut wire = scene.wire();
    let mut put = |payload: Value| {
        wire.post("/v1/event-queues/q/events", &json!({ "payload": payload })).success();
    };
    let mut sent = BTreeMap::new();
    for number in 0..GOOD {
        if number == BEFORE
            && let Some(kind) = poison
        {
            put(json!({ "kind": kind }));
        }
        sent.insert(number as u64, now());
        put(json!({ "n": number }));
        sleep(PACE);
    }
    sent
}

/// Acks good events and refuses the poison without a delay, as it always will.
fn consume(scene: &Scene, seen: &Mutex<Seen>, over: &AtomicBool) {
    let mut wire = scene.wire();
    let ask = json!({ "leaseSeconds": 30, "waitSeconds": 1 });
    while !over.load(Ordering::Relaxed) {
        let Some(claim) = Claim::of(wire.post("/v1/event-queues/q/claim", &ask)) else { continue };
        let at = now();
        let number = claim.data["event"]["payload"]["n"].as_u64();
        let is_dead = settle(&mut wire, &claim, number.is_some());
        let mut seen = seen.lock().expect("no holder of this lock panics");
        match number {
            Some(number) => assert_eq!(seen.good.insert(number, at), None, "{number} was delivered twice"),
            None => {
                seen.poisonings += 1;
                seen.poison_is_dead |= is_dead;
            }
        }
    }
}

/// Acks or nacks; true where the event is dead now.
fn settle(wire: &mut Wire, claim: &Claim, is_good: bool) -> bool {
    if is_good {
        wire.post(&claim.path("ack"), &claim.proof(json!({}))).success();
        return false;
    }
    let refusal = json!({ "error": error_of(claim.attempt()), "retryDelaySeconds": 0 });
    wire.post(&claim.path("nack"), &claim.proof(refusal)).success()["state"] == "dead"
}

fn error_of(attempt: u64) -> String {
    format!("550 no such mailbox, attempt {attempt}")
}

fn p99(waits: &[Duration]) -> Duration {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * 99).div_ceil(100) - 1]
}

/// CPU time of the server so far, in user and system mode.
fn cpu_ticks(scene: &Scene) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", scene.naven.pid()));
    let stat = stat.expect("the server runs");
    // utime and stime, the 12th and 13th field behind the name in brackets.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().expect("a number"));
    ticks.sum()
}
