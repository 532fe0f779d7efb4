//! A thousand events for five thousand claims that wait.
//!
//! Lives here: the crowd on the real binary, one socket for each claim, with room for it and without.
//! Not here: the same within one process (`naven-server`).

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::clock::{now, seconds, spread, until};
use crate::scene::{Scene, text};
use crate::support::{Answer, Start, key};
use crate::wire::Wire;

const CLAIMS: usize = 5_000;
const EVENTS: usize = 1_000;
/// Descriptors that are needed for anything but waiting claims.
const DESCRIPTORS_SPARE: usize = 200;
const WAIT_SECONDS: u32 = 60;

#[test]
fn a_thousand_events_reach_a_thousand_of_five_thousand_waiting_claims() {
    let claims = CLAIMS.min(descriptors().saturating_sub(DESCRIPTORS_SPARE));
    assert!(claims > 2 * EVENTS, "the hard limit of descriptors leaves room for {claims} claims only");
    println!("crowd: {claims} claims wait for {EVENTS} events");
    let scene = Scene::with_queue(json!({}));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let mut crowd = JoinSet::new();
    for _ in 0..claims {
        crowd.spawn_on(claim(scene.naven.http.clone()), runtime.handle());
    }
    until("crowd: everyone waits", seconds(60), || scene.waiters() == claims as u64);
    let published = publish(&scene);
    let left = (claims - EVENTS) as u64;
    until("crowd: every event found its claim", seconds(30), || scene.waiters() == left);
    // What is left waits for nothing more: the server's end is their answer.
    scene.naven.signal("TERM");
    let (mut waits, mut empty) = (HashMap::new(), 0);
    while let Some(outcome) = runtime.block_on(crowd.join_next()) {
        match outcome.expect("no claim fails") {
            (_, Value::Null) => empty += 1,
            (at, data) => {
                let id = text(&data["event"]["id"]);
                assert_eq!(data["event"]["deliveryCount"], 1, "{data}");
                let wait = at.saturating_duration_since(published[&id]);
                assert_eq!(waits.insert(id, wait), None, "delivered twice");
            }
        }
    }
    assert_eq!((waits.len(), empty), (EVENTS, claims - EVENTS));
    println!("crowd: publish to claim: {}", spread(waits.into_values().collect()));
    assert_eq!(scene.naven.ended().code, Some(0));
}

/// Claims that may hold a connection each under the limit of the test below, and more than that.
const FEW_DESCRIPTORS: u32 = 200;
const TOO_MANY: usize = 300;

#[test]
fn a_crowd_without_room_waits_outside_and_the_storage_goes_on() {
    let scene = Scene::started(Start::serve().descriptors(FEW_DESCRIPTORS), json!({}));
    // Open before the crowd comes: later there is no room for it either.
    let mut wire = scene.wire();
    wire.get("/v1/me").success();
    let body = json!({ "waitSeconds": WAIT_SECONDS }).to_string();
    let crowd: Vec<Wire> = (0..TOO_MANY)
        .map(|_| {
            let mut one = scene.wire();
            one.send("POST", "/v1/event-queues/q/claim", body.as_bytes());
            one
        })
        .collect();
    // Enough for several new files of the log, each of which has to be opened.
    let payload = "x".repeat(100_000);
    let event = json!({ "payload": { "x": payload } });
    for _ in 0..TOO_MANY / 2 {
        wire.post("/v1/event-queues/q/events", &event).success();
    }
    drop(crowd);
    until("crowd: there is room again", seconds(60), || scene.waiters() == 0);
    let log = scene.naven.stderr();
    assert!(!log.contains("Too many open files"), "{log}");
    scene.assert_same_process();
}

/// Publishes one after the other; when each was sent, by id.
fn publish(scene: &Scene) -> HashMap<String, Instant> {
    let mut wire = scene.wire();
    let mut sent = HashMap::new();
    for n in 0..EVENTS {
        let at = now();
        let event = wire.post("/v1/event-queues/q/events", &json!({ "payload": { "n": n } })).success();
        sent.insert(text(&event["id"]), at);
    }
    println!("crowd: {EVENTS} publishes took {:?}", sent.values().min().expect("there are events").elapsed());
    sent
}

/// One claim on a connection of its own: when its answer came, and its data.
async fn claim(address: String) -> (Instant, Value) {
    let body = json!({ "leaseSeconds": 900, "waitSeconds": WAIT_SECONDS }).to_string();
    let request = format!(
        "POST /v1/event-queues/q/claim HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        key(),
        body.len()
    );
    let mut stream = TcpStream::connect(&address).await.expect("the server listens");
    stream.write_all(request.as_bytes()).await.expect("the server takes the request");
    let mut bytes = Vec::new();
    let patience = Duration::from_secs(u64::from(WAIT_SECONDS) + 30);
    let read = tokio::time::timeout(patience, stream.read_to_end(&mut bytes)).await;
    read.expect("an answer in time").expect("the server does not break off");
    (now(), Answer::of(&bytes).expect("a whole answer").success())
}

/// How many descriptors this process may open, once the limit was raised as far as it goes; a server
/// that is started from now on has the same.
fn descriptors() -> usize {
    let (soft, hard) = limits();
    if soft < CLAIMS + DESCRIPTORS_SPARE && soft < hard {
        // The standard library cannot ask for this, and the tool is part of every Debian.
        let pid = std::process::id().to_string();
        let raised =
            Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={hard}:{hard}")]).status();
        println!("crowd: raising the limit of descriptors from {soft} to {hard}: {raised:?}");
    }
    limits().0
}

/// The soft and the hard limit of descriptors.
fn limits() -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/self/limits").expect("Linux tells a process its limits");
    let line = text.lines().find(|line| line.starts_with("Max open files")).expect("one is on files");
    let mut numbers = line["Max open files".len()..].split_whitespace();
    let mut number = || numbers.next().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    (number(), number())
}
