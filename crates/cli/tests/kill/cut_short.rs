//! `kill -9` in the middle of work that takes a while: the deletion of a stream, and the making of a
//! smaller cold store.
//!
//! Lives here: those two. Not here: kills under mixed load, checkpoints among them (`run.rs`), and what
//! a power cut leaves of each write (`naven-store`).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::clock::wall_ms;
use crate::support::{Http, Naven, Start};

const ROUNDS: u64 = 12;
const QUEUES: [&str; 3] = ["mail", "bill", "ship"];
const EVENTS: usize = 1_000;
const BATCH: usize = 500;
/// Longest time from the request to the kill, in microseconds.
const KILL_WITHIN_US: u64 = 12_000;

/// Publishes so many events in batches; their ids.
fn publish(http: &Http, path: &str, count: usize, payload: &Value) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let batch = BATCH.min(count);
    while ids.len() < count {
        let events: Vec<Value> = vec![json!({ "payload": payload }); batch.min(count - ids.len())];
        let answer = http.post(path, &json!({ "events": events }).to_string()).success();
        ids.extend(answer["items"].as_array().expect("items").iter().map(id_of));
    }
    ids
}

fn id_of(event: &Value) -> String {
    event["id"].as_str().expect("an id").to_owned()
}

/// Every dead letter of a queue, deleted or not.
fn dead_letters(http: &Http, queue_id: &str) -> BTreeSet<String> {
    let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let page = http.get(&format!("/v1/dead-letters?queueId={queue_id}&limit=500{cursor}")).success();
        ids.extend(page["items"].as_array().expect("items").iter().map(id_of));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

/// Sends a call and kills the process while it is under way, or a moment later. Answers whether it was
/// answered.
fn kill_during(naven: &mut Naven, wait: Duration, method: &str, path: &str) -> bool {
    let http = naven.client();
    std::thread::scope(|scope| {
        let call = scope.spawn(move || http.try_call(method, path, ""));
        std::thread::sleep(wait);
        naven.kill();
        let answer = call.join().expect("a call does not panic");
        answer.is_ok_and(|answer| answer.code == 0)
    })
}

#[test]
fn a_stream_whose_deletion_is_cut_short_is_there_or_gone_as_a_whole() {
    let seed = wall_ms() as u64;
    println!("seed {seed}");
    let mut naven = Start::serve().ready();
    let (mut gone, mut answered) = (0, 0);
    for round in 0..ROUNDS {
        let mut chance = Chance::new(seed, &[round]);
        let http = naven.client();
        let queue_ids: Vec<String> = QUEUES
            .iter()
            .map(|queue| {
                let body = json!({ "name": format!("{queue}-{round}"), "stream": "orders", "from": "start" });
                id_of(&http.post("/v1/event-queues", &body.to_string()).success())
            })
            .collect();
        let events =
            publish(&http, "/v1/streams/orders/events/batch", EVENTS, &json!({ "text": "x".repeat(100) }));
        let claim = json!({ "maxEvents": 20, "leaseSeconds": 900 }).to_string();
        let held = http.post(&format!("/v1/event-queues/mail-{round}/claim-batch"), &claim).success();
        let held = held["claims"].as_array().expect("claims").clone();
        let wait = Duration::from_micros(chance.below(KILL_WITHIN_US));
        let was_answered = kill_during(&mut naven, wait, "DELETE", "/v1/streams/orders?force=true");
        naven = naven.restart();
        let http = naven.client();
        let is_gone = http.get("/v1/streams/orders").status == 404;
        assert!(is_gone || !was_answered, "round {round}: an answered deletion is undone");
        if !is_gone {
            for id in &queue_ids {
                let ready = &http.get(&format!("/v1/event-queues/{id}")).success()["counts"];
                let unfinished: u64 =
                    ["ready", "leased"].map(|state| ready[state].as_u64().unwrap_or(0)).iter().sum();
                assert_eq!(unfinished, EVENTS as u64, "round {round}: {ready}");
            }
            http.call("DELETE", "/v1/streams/orders?force=true", "").success();
        }
        for id in &queue_ids {
            assert!(dead_letters(&http, id) == events, "round {round}: every event is a dead letter of {id}");
        }
        for claim in &held {
            let event = id_of(&claim["event"]);
            let token = json!({ "leaseToken": claim["leaseToken"] }).to_string();
            let ack = http.post(&format!("/v1/events/{event}/ack"), &token);
            assert_eq!(ack.code, 40_901, "round {round}: a token of before: {}", ack.body);
        }
        gone += u64::from(is_gone);
        answered += u64::from(was_answered);
    }
    println!("{ROUNDS} rounds: {gone} deletions took effect, {answered} were answered");
}

/// Large payloads make a large file with few events.
const LARGE_BYTES: usize = 200 << 10;
const LARGE_EVENTS: usize = 560;
/// What stays: it takes a while to copy, and less than a quarter of the file.
const KEPT_EVENTS: usize = 110;

fn is_being_made_smaller(data: &Path) -> bool {
    data.join("cold.redb.new").exists()
}

fn cold_bytes(data: &Path) -> u64 {
    std::fs::metadata(data.join("cold.redb")).map_or(0, |file| file.len())
}

#[test]
fn a_cold_store_that_is_cut_short_in_becoming_smaller_has_everything() {
    let mut naven = Start::serve().own_segment_bytes().ready();
    let http = naven.client();
    http.post("/v1/event-queues", &json!({ "name": "large" }).to_string()).success();
    let payload = json!({ "text": "y".repeat(LARGE_BYTES) });
    let mut events = BTreeSet::new();
    while events.len() < LARGE_EVENTS {
        events.extend(publish(&http, "/v1/event-queues/large/events/batch", 20, &payload));
    }
    naven.wait_until("all of it is in the cold store", |naven| {
        cold_bytes(&naven.data()) > (LARGE_BYTES * LARGE_EVENTS) as u64
    });
    let before = cold_bytes(&naven.data());
    let mut left = events.clone();
    while left.len() > KEPT_EVENTS {
        let claim = http.post("/v1/event-queues/large/claim-batch", "{\"maxEvents\": 30}").success();
        let leases: Vec<Value> = claim["claims"]
            .as_array()
            .expect("claims")
            .iter()
            .map(|claim| json!({ "eventId": claim["event"]["id"], "leaseToken": claim["leaseToken"] }))
            .collect();
        http.post("/v1/leases/ack", &json!({ "items": leases }).to_string()).success();
        for lease in &leases {
            left.remove(lease["eventId"].as_str().expect("an id"));
        }
    }
    let mut cut_short = 0;
    while cut_short < 3 {
        naven.wait_until("the file is being made smaller", |naven| is_being_made_smaller(&naven.data()));
        naven.kill();
        cut_short += u32::from(is_being_made_smaller(&naven.data()));
        let has_become_smaller = cold_bytes(&naven.data()) < before / 2;
        naven = naven.restart();
        let http = naven.client();
        let counts = http.get("/v1/event-queues/large").success()["counts"].clone();
        assert_eq!(counts["ready"], left.len(), "{counts}");
        assert_eq!(counts["done"], LARGE_EVENTS - left.len(), "{counts}");
        if has_become_smaller {
            break;
        }
    }
    println!("cut short {cut_short} times");
    naven.wait_until("the file has become smaller", |naven| cold_bytes(&naven.data()) < before / 2);
    let http = naven.client();
    for event in &left {
        let event = http.get(&format!("/v1/events/{event}")).success();
        assert_eq!(event["payload"], payload);
    }
    assert!(cut_short > 0, "no kill met the file in the making");
}
