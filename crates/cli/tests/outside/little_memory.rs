//! A server that may have 512 MiB of memory, and clients that would have it hold far more.
//!
//! Lives here: large batches from many at once, large answers that nobody reads, large calls that are never finished.
//! Not here: slow clients and what they cost without a limit (`hostile.rs`), the room for large things itself
//! (`naven-server`).
//!
//! Memory beyond the limit is refused to the process, which then ends: that it goes on is what is tried here.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;

use crate::clock::{now, seconds, sleep, until};
use crate::scene::{Claim, Scene};
use crate::support::{Answer, Resp, Start, key};
use crate::wire::{HangUp, Wire};

const MEMORY_BYTES: u64 = 512 << 20;
const PAYLOAD_BYTES: usize = 256 * 1024 - 64;
/// Nearly 8 MiB.
const BATCH: usize = 30;
const PUBLISHERS: usize = 64;
const BATCHES_EACH: usize = 1;
const LEFT_EACH: usize = 2;
/// Of each kind of unread answer, and of unfinished calls: each kind alone would hold 512 MiB and more.
const CLIENTS: usize = 80;
/// What of a call of nearly 8 MiB is sent.
const UNFINISHED_BYTES: usize = 7 << 20;
const HELD: std::time::Duration = seconds(3);

#[test]
fn what_clients_would_have_it_hold_does_not_end_a_server_with_512_mib() {
    let start = Start::serve().memory(MEMORY_BYTES).own_segment_bytes();
    let scene = Scene::started(start, json!({}));
    scene.queue("good", json!({}));
    scene.queue("left", json!({}));
    let (most, began) = (AtomicU64::new(0), now());
    let told = |what: &str| {
        println!(
            "outside: {what}: {} MiB at most, after {:?}",
            most.load(Ordering::Relaxed),
            began.elapsed()
        );
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let good = scope.spawn(|| good_client(&scene, &over, &most));
        let taken = publish_large(&scene);
        told(&format!("{taken} large batches were taken"));
        assert!(taken > 0);
        publish_and_leave(&scene);
        told("publishers hung up");
        hold_answers(&scene);
        told("large answers were left unread");
        hold_calls(&scene);
        told("large calls were left unfinished");
        over.store(true, Ordering::Relaxed);
        let lives = good.join().expect("the good client is served");
        println!("outside: a good client had {lives} events done meanwhile");
        assert!(lives > 20, "{lives}");
        assert_it_serves_large_calls(&scene, taken);
        told("all was well again");
    });
    let log = scene.naven.stderr();
    assert!(log.contains("512 MiB of memory leave room for"), "it tells at its start: {log}");
    scene.assert_same_process();
    scene.naven.signal("TERM");
    assert_eq!(scene.naven.ended().code, Some(0));
}

/// Publishes from many at once; how many batches were taken.
fn publish_large(scene: &Scene) -> usize {
    let batch = batch();
    let publish = || {
        (0..BATCHES_EACH).filter(|_| is_taken(&scene.http.post("/v1/event-queues/q/events/batch", &batch)))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PUBLISHERS).map(|_| scope.spawn(|| publish().count())).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer that can be read")).sum()
    })
}

/// Publishes from many at once who are gone before they are answered. What they sent may be taken, or not.
fn publish_and_leave(scene: &Scene) {
    let batch = batch();
    std::thread::scope(|scope| {
        let leave = || {
            for _ in 0..LEFT_EACH {
                let mut wire = scene.wire();
                wire.send("POST", "/v1/event-queues/left/events/batch", batch.as_bytes());
                wire.hang_up(HangUp::Fin);
            }
        };
        (0..PUBLISHERS).for_each(|_| _ = scope.spawn(leave));
    });
}

/// A batch of large events.
fn batch() -> String {
    let event = json!({ "payload": { "text": "x".repeat(PAYLOAD_BYTES) } });
    json!({ "events": vec![event; BATCH] }).to_string()
}

/// True for a success. A refusal has to be one of those that say that there was no room.
fn is_taken(answer: &Answer) -> bool {
    let is_refusal = matches!(answer.code, 40_800 | 41_300 | 42_900 | 50_301);
    assert!(answer.code == 0 || is_refusal, "{} {}", answer.status, answer.body);
    answer.code == 0
}

/// Large answers on both doors, of which nobody reads a byte.
fn hold_answers(scene: &Scene) {
    let mut redis = scene.redis();
    let (mut pages, mut streams) = (Vec::new(), Vec::new());
    for n in 0..CLIENTS {
        let mut wire = scene.wire();
        wire.send("GET", "/v1/event-queues/q/events?includePayload=true&limit=500", b"");
        pages.push(wire);
        let mut wire = scene.wire();
        let claim = json!({ "maxEvents": 100, "waitSeconds": 0, "leaseSeconds": 1 }).to_string();
        wire.send("POST", "/v1/event-queues/q/claim-batch", claim.as_bytes());
        pages.push(wire);
        redis.done(&format!("XGROUP CREATE q reader{n} 0"));
        streams.push(unread(scene, "XRANGE q - + COUNT 1000\r\n"));
        streams.push(unread(
            scene,
            &format!("XREADGROUP GROUP reader{n} c COUNT 1000 STREAMS q >\r\n").repeat(3),
        ));
    }
    sleep(HELD);
    drop((pages, streams));
}

/// Calls of which everything but the end is sent, so far as the server takes it.
fn hold_calls(scene: &Scene) {
    let (held, text) = (now(), vec![b'x'; UNFINISHED_BYTES / 2]);
    let one = || {
        let head = format!("*5\r\n$4\r\nXADD\r\n$5\r\nlarge\r\n$1\r\n*\r\n${}\r\n", text.len());
        let mut stream = unread(scene, &head);
        stream.set_write_timeout(Some(HELD)).expect("a socket takes options");
        // The server may not want more of it, for now or at all.
        let _ = stream
            .write_all(&text)
            .and_then(|()| stream.write_all(format!("\r\n${}\r\n", text.len() + 1).as_bytes()));
        let _ = stream.write_all(&text);
        sleep((held + HELD).saturating_duration_since(now()));
    };
    std::thread::scope(|scope| (0..CLIENTS).for_each(|_| _ = scope.spawn(one)));
}

/// A connection to the Redis door that says this and reads nothing.
fn unread(scene: &Scene, said: &str) -> TcpStream {
    let mut stream = TcpStream::connect(scene.naven.redis()).expect("the Redis door listens");
    stream.write_all(format!("AUTH {}\r\n{said}", key()).as_bytes()).expect("the server takes it");
    stream
}

/// Events of another queue, each from its publish to its ack, and the most memory that the server has, in MiB.
fn good_client(scene: &Scene, over: &AtomicBool, most: &AtomicU64) -> usize {
    let (mut wire, mut lives) = (scene.wire(), 0);
    while !over.load(Ordering::Relaxed) {
        wire.post("/v1/event-queues/good/events", &json!({ "payload": {} })).success();
        let claim = wire.post("/v1/event-queues/good/claim", &json!({ "waitSeconds": 0 }));
        let claim = Claim::of(claim).expect("the one that is ready");
        assert_eq!(wire.post(&claim.path("ack"), &claim.proof(json!({}))).code, 0);
        lives += 1;
        most.fetch_max(memory_mib(scene), Ordering::Relaxed);
    }
    lives
}

/// Memory of the server's own, as the limit counts it.
fn memory_mib(scene: &Scene) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", scene.naven.pid())).expect("the server lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).expect("it tells its memory");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1024
}

/// With those clients gone, large calls are served as ever, and nothing is missing.
fn assert_it_serves_large_calls(scene: &Scene, taken: usize) {
    let page = |wire: &mut Wire| wire.get("/v1/event-queues/q/events?includePayload=true&limit=50");
    let mut wire = scene.wire();
    until("outside: there is room for large answers again", seconds(60), || is_taken(&page(&mut wire)));
    let first = page(&mut wire).success()["items"][0]["payload"]["text"].clone();
    assert_eq!(first.as_str().map(str::len), Some(PAYLOAD_BYTES));
    let range = Resp::open(scene.naven.redis(), key()).done("XRANGE q - + COUNT 20");
    assert_eq!(range.list().len(), 20);
    assert!(is_taken(&wire.call("POST", "/v1/event-queues/q/events/batch", batch().as_bytes())));
    // Leases that nobody read have gone back, or have run out.
    let all = (taken + 1) * BATCH;
    until("outside: every event is there", seconds(30), || scene.counts("q") == json!({ "ready": all }));
    let left = scene.counts("left")["ready"].as_u64().unwrap_or_default();
    assert!(left.is_multiple_of(BATCH as u64), "a batch is taken wholly or not at all: {left}");
}
