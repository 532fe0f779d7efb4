//! Claims that wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Connection, request};
use crate::test_server::TestServer;

async fn data(connection: &mut Connection) -> Value {
    connection.answer().await.expect("a waiting claim is answered").data()
}

pub(crate) async fn a_waiting_claim_is_woken_by_a_publish(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    // The second waits by the queue's id, and both wait in one line.
    let id = server.get("/v1/event-queues/q").await.data()["id"].as_str().unwrap().to_owned();
    for queue in ["q", &id] {
        let mut waiting = server.begin_claim(queue, 30).await;
        server.until_waiting(1).await;
        let began = Instant::now();
        let event = server.publish("q", 1).await;
        assert_eq!(data(&mut waiting).await["event"]["id"], json!(event));
        let took = began.elapsed();
        println!("woken {took:?} after the publish began");
        assert!(took < Duration::from_millis(900), "by the hint, not by the look once a second: {took:?}");
        server.until_waiting(0).await;
    }
}

pub(crate) async fn a_waiting_claim_ends_with_null_at_its_deadline(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let began = Instant::now();
    let mut waiting = server.begin_claim("q", 1).await;
    assert_eq!(data(&mut waiting).await, Value::Null);
    let waited = began.elapsed();
    println!("waited {waited:?} of 1 s");
    assert!((Duration::from_millis(1_000)..Duration::from_millis(2_500)).contains(&waited), "{waited:?}");
}

pub(crate) async fn a_claim_that_does_not_wait_answers_at_once(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let _waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    let began = Instant::now();
    assert_eq!(server.claim("q", 5).await, Value::Null, "also while others wait");
    assert!(began.elapsed() < Duration::from_millis(900));
    assert_eq!(server.post("/v1/event-queues/none/claim", json!({})).await.code(), 40_401);
}

pub(crate) async fn waiters_are_served_in_the_order_in_which_they_came(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut waiting = Vec::new();
    for count in 1..=20 {
        waiting.push(server.begin_claim("q", 30).await);
        server.until_waiting(count).await;
    }
    let mut published = Vec::new();
    for n in 0..5 {
        published.push(server.publish("q", n).await);
    }
    let events: Vec<Value> = (5..20).map(|n| json!({ "payload": { "n": n } })).collect();
    let items = server.post("/v1/event-queues/q/events/batch", json!({ "events": events })).await.data();
    published.extend(
        items["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
    );
    for (connection, id) in waiting.iter_mut().zip(published) {
        assert_eq!(data(connection).await["event"]["id"], json!(id));
    }
}

pub(crate) async fn a_paused_queue_holds_the_poll(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.publish("q", 1).await;
    server.call("POST", "/v1/event-queues/q/pause", None).await.data();
    let began = Instant::now();
    let mut first = server.begin_claim("q", 1).await;
    assert_eq!(data(&mut first).await, Value::Null);
    assert!(began.elapsed() >= Duration::from_secs(1), "for the whole waitSeconds");
    let mut second = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    server.call("POST", "/v1/event-queues/q/resume", None).await.data();
    assert_ne!(data(&mut second).await, Value::Null, "a resume wakes");
}

pub(crate) async fn a_deleted_queue_ends_its_waiters(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut first = server.begin_claim("q", 30).await;
    let mut second = server.begin_claim("q", 30).await;
    server.until_waiting(2).await;
    server.call("DELETE", "/v1/event-queues/q", None).await.data();
    for waiting in [&mut first, &mut second] {
        assert_eq!(waiting.answer().await.expect("an answer").code(), 40_401);
    }
}

pub(crate) async fn a_retry_wakes_a_waiter_when_it_is_due(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    server.settle("nack", &claim, json!({ "retryDelaySeconds": 40 })).await.data();
    let mut waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    server.advance(40);
    assert_eq!(data(&mut waiting).await["event"]["attemptCount"], 2);
    // And an expired lease is found for those who wait.
    let mut waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    server.advance(900);
    assert_eq!(data(&mut waiting).await["event"]["attemptCount"], 3);
}

pub(crate) async fn too_many_waiters_are_refused(factory: Factory) {
    let server = TestServer::start_with(factory, |config| config.limits.waiters_per_key = 3).await;
    server.queue("q", json!({})).await;
    server.queue("r", json!({})).await;
    let mut waiting = vec![server.begin_claim("q", 30).await, server.begin_claim("q", 30).await];
    waiting.push(server.begin_claim("r", 30).await);
    server.until_waiting(3).await;
    let refused = server.post("/v1/event-queues/r/claim", json!({ "waitSeconds": 30 })).await;
    assert_eq!((refused.code(), refused.header("retry-after")), (42_902, Some("1")));
    assert_eq!(server.claim("q", 5).await, Value::Null, "one that does not wait takes no place");
    let counts = server.get("/v1/system").await.data()["waiters"].clone();
    assert_eq!(counts, json!({ "claims": 3, "queues": 2 }));
    drop(waiting.pop());
    server.until_waiting(2).await;
    waiting.push(server.begin_claim("r", 30).await);
    server.until_waiting(3).await;
}

pub(crate) async fn a_waiter_takes_a_batch(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let body = json!({ "maxEvents": 5, "waitSeconds": 30 }).to_string();
    let mut waiting = server.connect().await;
    waiting.send(&request("POST", "/v1/event-queues/q/claim-batch", &server.key, Some(&body))).await;
    server.until_waiting(1).await;
    let events: Vec<Value> = (0..7).map(|n| json!({ "payload": { "n": n } })).collect();
    server.post("/v1/event-queues/q/events/batch", json!({ "events": events })).await.data();
    assert_eq!(data(&mut waiting).await["claims"].as_array().map(Vec::len), Some(5));
}
