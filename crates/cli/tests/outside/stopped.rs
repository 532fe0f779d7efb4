//! A server that stands still for a while: SIGSTOP, and SIGCONT later.
//!
//! Lives here: stops of half a lease, of one and a half and of three, while consumers hold leases, wait and call. Not
//! here: a server that is killed (`kill`), and consumers that stand still, whom the server cannot tell from slow ones.
//!
//! The promise: leases go by the clock that never steps, and it goes on meanwhile. What comes after the stop is judged
//! by the time at which it is read.

use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use crate::clock::{assert_within, counted, now, seconds, sleep, until};
use crate::scene::{Claim, Scene};
use crate::support::Answer;

const LEASE_SECONDS: u32 = 4;
const EVENTS: usize = 12;
/// What nobody holds when the server stops.
const LEASE: Duration = seconds(LEASE_SECONDS as u64);

#[test]
fn leases_outlive_a_stop_of_half_a_lease() {
    let scene = Scene::with_queue(json!({}));
    let held = held(&scene);
    let calls = stop_for(&scene, LEASE / 2, &held[0]);
    for claim in &held[1..] {
        assert_eq!(scene.settle("ack", claim, json!({})).code, 0, "{} has half its time left", claim.id());
    }
    assert_eq!(calls.beat.join().expect("it is answered").success()["state"], "leased");
    let published = calls.published.join().expect("it is answered").success();
    let waited = Claim::of(calls.waited.join().expect("it is answered")).expect("an event came");
    assert_eq!(waited.data["event"]["id"], published["id"], "the one that nobody holds");
    assert!(scene.claim("q", LEASE_SECONDS, 0).is_none(), "nothing was handed out twice");
    assert_eq!(scene.settle("ack", &held[0], json!({})).code, 0);
    assert_eq!(scene.settle("ack", &waited, json!({})).code, 0);
    assert_done_once(&scene, EVENTS + 1);
}

#[test]
fn leases_end_during_a_stop_of_one_and_a_half() {
    leases_end_during(LEASE * 3 / 2);
}

#[test]
fn leases_end_during_a_stop_of_three() {
    leases_end_during(LEASE * 3);
}

/// Every token is refused, every event comes again at once under a higher fence, and is acked once.
fn leases_end_during(stop: Duration) {
    let scene = Scene::with_queue(json!({}));
    let held = held(&scene);
    let fences: BTreeMap<_, _> = held.iter().map(|claim| (claim.id(), claim.fence())).collect();
    let calls = stop_for(&scene, stop, &held[0]);
    let went_on = now();
    let beaten = calls.beat.join().expect("it is answered");
    assert!(is_late(&beaten), "sent in time, read too late: {}", beaten.body);
    for claim in &held {
        let answer = scene.settle("ack", claim, json!({}));
        assert!(is_late(&answer), "the lease of {} is over: {}", claim.id(), answer.body);
    }
    let published = calls.published.join().expect("it is answered").success();
    let waited = Claim::of(calls.waited.join().expect("it is answered")).expect("an event came");
    assert_within("outside: a claim that waited found an event", went_on.elapsed(), seconds(2));
    let mut again = vec![waited];
    again.extend((0..EVENTS).map(|_| scene.claimed("q", LEASE_SECONDS * 10, 0)));
    assert_within("outside: claims got all that had been held", went_on.elapsed(), seconds(3));
    assert!(scene.claim("q", LEASE_SECONDS, 0).is_none(), "nothing was handed out twice");
    for claim in &again {
        let before = fences.get(&claim.id()).copied().unwrap_or_default();
        assert!(claim.fence() > before, "{} came with {} after {before}", claim.id(), claim.fence());
        assert!(before > 0 || claim.id() == published["id"], "{} was never published", claim.id());
        assert_eq!(scene.settle("ack", claim, json!({})).code, 0);
    }
    for claim in &held {
        assert!(is_late(&scene.settle("ack", claim, json!({}))), "and stays so when another has acked");
    }
    assert_done_once(&scene, EVENTS + 1);
}

/// Calls that a server gets while it stands still.
struct Calls {
    beat: JoinHandle<Answer>,
    published: JoinHandle<Answer>,
    waited: JoinHandle<Answer>,
}

fn held(scene: &Scene) -> Vec<Claim> {
    (0..EVENTS).for_each(|_| _ = scene.publish("q"));
    (0..EVENTS).map(|_| scene.claimed("q", LEASE_SECONDS, 0)).collect()
}

/// Stops the server for so long. A claim waits before, a heartbeat and a publish come during the stop.
fn stop_for(scene: &Scene, stop: Duration, beaten: &Claim) -> Calls {
    let post = |path: String, body: String| {
        let http = scene.http.clone();
        std::thread::spawn(move || http.post(&path, &body))
    };
    let lease = LEASE_SECONDS * 10;
    let waited = post(
        "/v1/event-queues/q/claim".to_owned(),
        json!({ "waitSeconds": 60, "leaseSeconds": lease }).to_string(),
    );
    scene.until_waiting(1);
    let began = now();
    scene.naven.signal("STOP");
    until("outside: the server stands still", seconds(10), || is_stopped(scene.naven.pid()));
    let beat = post(beaten.path("heartbeat"), beaten.proof(json!({ "leaseSeconds": lease })).to_string());
    let published = post("/v1/event-queues/q/events".to_owned(), r#"{"payload":{"late":true}}"#.to_owned());
    sleep(stop.saturating_sub(began.elapsed()));
    assert!(
        !beat.is_finished() && !published.is_finished() && !waited.is_finished(),
        "it did not stand still"
    );
    scene.naven.signal("CONT");
    println!("outside: the server stood still for {:?}", began.elapsed());
    assert!(began.elapsed() >= counted(stop));
    Calls { beat, published, waited }
}

fn is_stopped(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the server is there");
    status.lines().any(|line| line.starts_with("State:") && line.contains("stopped"))
}

/// The lease is over, or another has the event by now.
fn is_late(answer: &Answer) -> bool {
    answer.status == 409 && matches!(answer.code, 40_900 | 40_901)
}

fn assert_done_once(scene: &Scene, events: usize) {
    assert_eq!(scene.counts("q"), json!({ "done": events }));
    scene.assert_same_process();
}
