//! A server that may have 128 files open, and three hundred clients.
//!
//! Lives here: who is served, who waits, what that costs, and that the engine opens its files all the same. Not here:
//! how the limit is shared out (`descriptors.rs` of the binary), claims that wait (`waiting_crowd.rs`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::clock::{millis, now, seconds, sleep, until};
use crate::failed_sync::assert_verified;
use crate::scene::{Claim, Scene};
use crate::support::{Start, key};

const DESCRIPTORS: u32 = 128;
const OF_EACH_DOOR: usize = 150;
/// What of the limit is for connections, of which two are in good hands already.
const PLACES: usize = 64;
/// Of this size some forty fill several files of the log.
const PAYLOAD_BYTES: usize = 100_000;
const EVENTS: usize = 40;
const WATCHED: Duration = seconds(2);

#[test]
fn three_hundred_connections_at_128_descriptors_wait_and_the_engine_goes_on() {
    let scene = Scene::started(Start::serve().descriptors(DESCRIPTORS), json!({}));
    let (mut wire, mut redis) = (scene.wire(), scene.redis());
    wire.get("/v1/me").success();
    let mut crowd = crowd(&scene);
    until("outside: as many as there is room for are served", seconds(30), || {
        served(&mut crowd) >= PLACES - 2
    });
    sleep(millis(500));
    let inside = served(&mut crowd);
    println!("outside: {inside} of {} are served beside two", crowd.len());
    assert_eq!(inside, PLACES - 2, "the others wait outside");
    assert!(open_files(&scene) < DESCRIPTORS as usize, "none is left for the engine");

    let (before, began) = (processor_ms(&scene), now());
    sleep(WATCHED);
    let used = processor_ms(&scene) - before;
    println!("outside: it used {used} ms of processor time in {:?} at its limit", began.elapsed());
    assert!(used < WATCHED.as_millis() as u64 / 2, "it spins");

    let text = "x".repeat(PAYLOAD_BYTES);
    for n in 0..EVENTS {
        wire.post("/v1/event-queues/q/events", &json!({ "payload": { "n": n, "text": text } })).success();
        let claim = wire.post("/v1/event-queues/q/claim", &json!({ "waitSeconds": 0 }));
        let claim = Claim::of(claim).expect("the one that is ready");
        assert_eq!(wire.post(&claim.path("ack"), &claim.proof(json!({}))).code, 0);
        redis.done("XADD s * n 1");
    }
    // Long enough for a checkpoint, which writes a file of its own.
    sleep(seconds(2));
    wire.get("/v1/me").success();

    // Whoever is inside goes on, and whoever waited comes in when they go.
    crowd.iter_mut().filter(|one| one.is_served).for_each(Visitor::speak_again);
    crowd.retain(|one| !one.is_served);
    while !crowd.is_empty() {
        let left = crowd.len();
        until("outside: those who waited are served", seconds(30), || served(&mut crowd) > 0);
        crowd.retain(|one| !one.is_served);
        assert!(crowd.len() < left);
    }
    scene.publish("q");
    assert!(scene.claim("q", 60, 0).is_some());
    let log = scene.naven.stderr();
    assert!(!log.contains("Too many open files"), "{log}");
    assert!(log.contains("leaves room for 64 of 25000 connections"), "it tells at its start: {log}");
    scene.assert_same_process();
    let mut naven = scene.naven;
    let data = naven.data();
    naven.stop();
    assert_verified(&data);
}

/// One of many: it has said something, and waits for an answer.
struct Visitor {
    stream: TcpStream,
    said: Vec<u8>,
    is_served: bool,
}

/// As many on either door.
fn crowd(scene: &Scene) -> Vec<Visitor> {
    let call = format!("GET /v1/me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n", key());
    let command = format!("AUTH {}\r\nPING\r\n", key());
    let doors = [(scene.naven.http.as_str(), call), (scene.naven.redis(), command)];
    let pairs =
        (0..OF_EACH_DOOR).flat_map(|_| doors.iter().map(|(address, said)| (*address, said.as_bytes())));
    pairs.map(|(address, said)| Visitor::at(address, said.to_vec())).collect()
}

impl Visitor {
    fn at(address: &str, said: Vec<u8>) -> Self {
        let mut stream = TcpStream::connect(address).expect("the system keeps a place in its line");
        stream.write_all(&said).expect("the system takes it");
        stream.set_nonblocking(true).expect("a fresh socket takes options");
        Self { stream, said, is_served: false }
    }

    /// Looks whether it has been answered.
    fn look(&mut self) {
        let mut answer = [0; 4_096];
        match self.stream.read(&mut answer) {
            Ok(read) => {
                assert!(read > 0, "the server hung up on one who waited");
                self.is_served = true;
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
        }
    }

    fn speak_again(&mut self) {
        self.stream.set_nonblocking(false).expect("a socket takes options");
        self.stream.set_read_timeout(Some(seconds(30))).expect("a socket takes options");
        self.stream.write_all(&self.said).expect("it is open");
        let read = self.stream.read(&mut [0; 4_096]).expect("an answer in time");
        assert!(read > 0, "the server hung up on one whom it had served");
    }
}

/// How many have been answered so far.
fn served(crowd: &mut [Visitor]) -> usize {
    crowd.iter_mut().filter(|one| !one.is_served).for_each(Visitor::look);
    crowd.iter().filter(|one| one.is_served).count()
}

fn open_files(scene: &Scene) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", scene.naven.pid())).expect("the server lives").count()
}

/// Processor time that the server has used so far.
fn processor_ms(scene: &Scene) -> u64 {
    /// What Linux counts in, whatever the machine.
    const TICK_MS: u64 = 10;
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", scene.naven.pid())).expect("the server lives");
    // The name comes second, in brackets, and may have blanks in it.
    let rest = stat.rsplit(')').next().expect("there is something behind the name");
    let ticks = rest.split_whitespace().skip(11).take(2).map(|text| text.parse::<u64>().expect("a number"));
    ticks.sum::<u64>() * TICK_MS
}
