//! `kill -9` in the middle of operations: each dead letter is on exactly one side, and the operation knows
//! on which.
//!
//! Lives here: redriving, discarding and purging all dead letters of a queue. Not here: other work that takes a while
//! (`cut_short.rs`).

use std::collections::BTreeSet;
use std::time::Duration;

use naven_api::Timestamp;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::clock::wall_ms;
use crate::support::{Http, Naven, Start};

const ROUNDS: u64 = 6;
const KILLS_OF_A_ROUND: u64 = 4;
const BATCHES: usize = 6;
const BATCH: usize = 500;
/// How long an event lives: long enough to be published.
const LIVE_MS: i64 = 1_000;
/// Longest time from the request to the kill, in microseconds: an operation takes a few times that long.
const KILL_WITHIN_US: u64 = 30_000;
/// Longest time for all to die, and for an operation to end.
const PATIENCE_MS: i64 = 30_000;

/// A queue with dead letters only, and their ids: events whose time is over soon after they came.
fn dead_queue(http: &Http, name: &str) -> BTreeSet<String> {
    http.post("/v1/event-queues", &json!({ "name": name }).to_string()).success();
    let mut ids = BTreeSet::new();
    for _ in 0..BATCHES {
        let ends = Timestamp::from_ms(wall_ms() + LIVE_MS).to_string();
        let event = json!({ "payload": { "text": "x".repeat(100) }, "expiresAt": ends });
        let body = json!({ "events": vec![event; BATCH] }).to_string();
        let answer = http.post(&format!("/v1/event-queues/{name}/events/batch"), &body).success();
        ids.extend(answer["items"].as_array().expect("items").iter().map(id_of));
    }
    let until = wall_ms() + PATIENCE_MS;
    while count(http, name, "dead") < ids.len() as u64 {
        assert!(wall_ms() < until, "they do not die");
        std::thread::sleep(Duration::from_millis(20));
    }
    ids
}

fn id_of(thing: &Value) -> String {
    thing["id"].as_str().expect("an id").to_owned()
}

fn count(http: &Http, queue: &str, state: &str) -> u64 {
    let queue = http.get(&format!("/v1/event-queues/{queue}")).success();
    queue["counts"][state].as_u64().expect("a count")
}

fn listed(http: &Http, queue: &str) -> BTreeSet<String> {
    let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let path = format!("/v1/event-queues/{queue}/dead-letters?limit=500{cursor}");
        let page = http.get(&path).success();
        ids.extend(page["items"].as_array().expect("items").iter().map(id_of));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

/// Begins an operation on all dead letters and kills the process meanwhile.
fn kill_during(naven: &mut Naven, wait: Duration, path: &str) {
    let body = if path.ends_with("purge") { "{\"states\":[\"dead\"]}" } else { "{\"all\":true}" };
    let http = naven.client();
    std::thread::scope(|scope| {
        let call = scope.spawn(move || http.try_call("POST", path, body));
        std::thread::sleep(wait);
        naven.kill();
        let _ = call.join().expect("a call does not panic");
    });
}

/// Ends the operations of a queue where they stand, and adds up what they did.
fn ended(http: &Http, queue: &str) -> u64 {
    let all = http.get("/v1/operations?limit=500").success();
    let its = all["items"].as_array().expect("items").iter().filter(|one| one["queue"] == queue);
    let done = its.map(|one| {
        let path = format!("/v1/operations/{}", id_of(one));
        http.post(&format!("{path}/cancel"), "");
        let ended = http.get(&path).success();
        let state = ended["state"].as_str().expect("a state");
        assert!(["done", "cancelled"].contains(&state), "{ended}");
        assert_eq!(ended["failed"], 0, "{ended}");
        ended["done"].as_u64().expect("a count")
    });
    done.sum()
}

/// Each event is on exactly one side, as the counts and the operations say.
fn check(http: &Http, queue: &str, kind: &str, events: &BTreeSet<String>, chance: &mut Chance) -> u64 {
    let done = ended(http, queue);
    let dead = listed(http, queue);
    let total = events.len() as u64;
    assert!(dead.is_subset(events));
    assert_eq!(dead.len() as u64 + done, total, "{queue}: {kind} said {done}");
    assert_eq!(count(http, queue, "dead"), total - done, "{queue}");
    let ready = if kind == "redrive" { done } else { 0 };
    assert_eq!(count(http, queue, "ready"), ready, "{queue}");
    let gone: Vec<&String> = events.difference(&dead).collect();
    for _ in 0..20.min(gone.len()) {
        let event = http.get(&format!("/v1/events/{}", gone[chance.place(gone.len())])).success();
        let (state, has_payload) = (event["state"].as_str(), !event["payload"].is_null());
        let expected = match kind {
            "redrive" => (Some("ready"), true),
            "purge" => (Some("cancelled"), false),
            _ => (Some("dead"), false),
        };
        assert_eq!((state, has_payload), expected, "{event}");
    }
    done
}

#[test]
fn an_operation_that_is_cut_short_goes_on_and_does_nothing_twice() {
    let seed = wall_ms() as u64;
    println!("seed {seed}");
    let mut naven = Start::serve().ready();
    let (mut partly, mut resumed) = (0, 0);
    for round in 0..ROUNDS {
        let mut chance = Chance::new(seed, &[round]);
        let (queue, kind) = (format!("q-{round}"), ["redrive", "discard", "purge"][(round % 3) as usize]);
        let events = dead_queue(&naven.client(), &queue);
        let verb = if kind == "purge" { kind.to_owned() } else { format!("dead-letters/{kind}") };
        let path = format!("/v1/event-queues/{queue}/{verb}");
        let mut before = 0;
        for _ in 0..KILLS_OF_A_ROUND {
            let wait = Duration::from_micros(chance.below(KILL_WITHIN_US));
            kill_during(&mut naven, wait, &path);
            naven = naven.restart();
            let done = check(&naven.client(), &queue, kind, &events, &mut chance);
            assert!(done >= before, "what was done is undone");
            partly += u64::from(done > before && done < events.len() as u64);
            before = done;
        }
        // The last one is left to itself: it goes on after the start and comes to its end.
        kill_during(&mut naven, Duration::from_micros(chance.below(KILL_WITHIN_US)), &path);
        naven = naven.restart();
        let http = naven.client();
        let until = wall_ms() + PATIENCE_MS;
        while http.get("/v1/operations?limit=1").success()["items"][0]["state"] != "done" {
            let last = http.get("/v1/operations?limit=1").success()["items"][0].clone();
            if last["state"] == "cancelled" {
                break;
            }
            assert!(wall_ms() < until, "it does not come to its end: {last}");
            std::thread::sleep(Duration::from_millis(10));
            resumed += 1;
        }
        check(&http, &queue, kind, &events, &mut chance);
    }
    println!("{ROUNDS} rounds: {partly} operations were cut short, {resumed} looks met one under way");
    assert!(partly > 0, "no kill met an operation in the middle");
}
