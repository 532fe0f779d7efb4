//! A thousand events for five thousand claims that wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Factory;
use crate::raw::request;
use crate::test_server::TestServer;

const CLAIMS: u64 = 5_000;
const EVENTS: usize = 1_000;
/// Claims at once on each connection: sockets on both ends share this process' descriptors.
const WAIT_SECONDS: u32 = 60;

/// Each event reaches another claim, none reaches two; the latency is printed, not asserted.
pub(crate) async fn a_thousand_events_reach_a_thousand_of_five_thousand_claims(factory: Factory) {
    let server = Arc::new(TestServer::start(factory).await);
    server.queue("q", json!({})).await;
    let mut claims = JoinSet::new();
    for _ in 0..CLAIMS {
        let server = Arc::clone(&server);
        claims.spawn(async move {
            let mut connection = server.begin_claim("q", WAIT_SECONDS).await;
            let answer = connection.answer().await?;
            Some((Instant::now(), answer.data()))
        });
    }
    server.until_waiting(CLAIMS).await;
    let mut published = std::collections::HashMap::new();
    let mut connection = server.connect().await;
    for n in 0..EVENTS {
        let body = json!({ "payload": { "n": n } }).to_string();
        let began = Instant::now();
        connection.send(&request("POST", "/v1/event-queues/q/events", &server.key, Some(&body))).await;
        let made = connection.answer().await.expect("a publish is answered").data();
        published.insert(made["id"].as_str().unwrap().to_owned(), began);
    }
    server.until_waiting(CLAIMS - EVENTS as u64).await;
    server.running.drain();
    let (mut seen, mut waits, mut empty) = (BTreeSet::new(), Vec::new(), 0);
    while let Some(outcome) = claims.join_next().await {
        match outcome.expect("no claim panics").expect("every claim is answered") {
            (_, Value::Null) => empty += 1,
            (at, claim) => {
                let id = claim["event"]["id"].as_str().unwrap().to_owned();
                waits.push(at.duration_since(published[&id]));
                assert!(seen.insert(id), "delivered twice");
            }
        }
    }
    assert_eq!((seen.len(), empty), (EVENTS, CLAIMS as usize - EVENTS));
    waits.sort_unstable();
    let at = |share: usize| waits[(waits.len() - 1) * share / 100];
    println!("publish to claim: p50 {:?} p99 {:?} max {:?}", at(50), at(99), at(100));
    assert!(at(100) < Duration::from_secs(30));
}
