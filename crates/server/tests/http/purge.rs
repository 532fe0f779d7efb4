//! Throwing away what waits in a queue, over HTTP.
//!
//! Lives here: what the call takes, and what is left. Not here: how operations go on (the engines' suite).

use std::time::Duration;

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::test_server::TestServer;

const PURGE: &str = "/v1/event-queues/q/purge";

async fn counts(server: &TestServer) -> Value {
    server.get("/v1/event-queues/q").await.data()["counts"].clone()
}

/// The operation once it is over.
async fn over(server: &TestServer, operation: &Value) -> Value {
    let path = format!("/v1/operations/{}", operation["id"].as_str().unwrap());
    for _ in 0..200 {
        let shown = server.get(&path).await.data();
        if !["pending", "running"].contains(&shown["state"].as_str().unwrap()) {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{operation} does not end")
}

/// A queue with one event that is leased, one that is retried, one that is dead, one ready and one scheduled: the
/// claims of the first three.
async fn filled(server: &TestServer) -> [Value; 3] {
    server.queue("q", json!({})).await;
    let mut claims = Vec::new();
    for n in 0..3 {
        server.publish("q", n).await;
        claims.push(server.claim("q", 900).await);
    }
    server.settle("nack", &claims[1], json!({ "retryDelaySeconds": 600 })).await;
    server.settle("nack", &claims[2], json!({ "mode": "fatal" })).await;
    server.publish("q", 3).await;
    server.post("/v1/event-queues/q/events", json!({ "payload": {}, "delaySeconds": 600 })).await;
    claims.try_into().expect("three")
}

pub(crate) async fn what_waits_is_thrown_away_and_what_is_held_stays(factory: Factory) {
    let server = TestServer::start(factory).await;
    let [leased, retried, dead] = filled(&server).await;
    let dry = server.post(PURGE, json!({ "dryRun": true })).await;
    let matched = json!({ "matched": 3, "scanTruncated": false });
    assert_eq!((dry.status, dry.data()), (200, matched));
    let begun = server.post(PURGE, json!({})).await;
    let operation = begun.data();
    assert_eq!((begun.status, &operation["kind"], &operation["matched"]), (202, &json!("purge"), &json!(3)));
    let path = format!("/v1/operations/{}", operation["id"].as_str().unwrap());
    assert_eq!(begun.header("location"), Some(path.as_str()));
    let ended = over(&server, &operation).await;
    assert_eq!((&ended["state"], &ended["done"], &ended["failed"]), (&json!("done"), &json!(3), &json!(0)));
    assert_shape(
        &counts(&server).await,
        &json!({
            "scheduled": 0, "ready": 0, "leased": 1, "held": 0, "retrying": 0, "done": 0, "dead": 1,
            "cancelled": 3
        }),
    );
    let id = retried["event"]["id"].as_str().unwrap();
    let left = server.get(&format!("/v1/events/{id}")).await.data();
    assert_eq!((&left["state"], &left["cancelReason"]), (&json!("cancelled"), &json!("purged")));
    assert_eq!(left["payload"], Value::Null);
    assert_eq!(server.settle("ack", &retried, json!({})).await.code(), 40_901);
    let dead_too = server.post(PURGE, json!({ "states": ["dead"] })).await.data();
    assert_eq!(over(&server, &dead_too).await["done"], 1);
    assert_eq!(server.settle("ack", &dead, json!({})).await.code(), 40_901);
    assert_eq!(counts(&server).await["dead"], 0);
    assert_eq!(server.settle("ack", &leased, json!({})).await.data()["state"], "done");
}

pub(crate) async fn a_purge_is_told_apart_by_age_and_key(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.publish("q", 1).await;
    server.advance(60);
    let new = server.publish("q", 2).await;
    let end = server.event(&new).await["createdAt"].clone();
    let body = json!({ "olderThan": end, "dryRun": true });
    assert_eq!(server.post(PURGE, body).await.data()["matched"], 1);
    let body = json!({ "olderThan": end });
    let first = server.post_once(PURGE, "once", body.clone()).await.data();
    let again = server.post_once(PURGE, "once", body).await;
    assert_eq!(again.data()["id"], first["id"], "the same operation");
    assert_eq!(server.post_once(PURGE, "once", json!({})).await.code(), 42_200);
    assert_eq!(over(&server, &first).await["done"], 1);
    assert_eq!(server.claim("q", 30).await["event"]["id"], json!(new));
}

pub(crate) async fn what_may_not_be_named_is_refused_with_what_may(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    for states in
        [json!(["leased"]), json!(["held", "ready"]), json!(["done"]), json!(["cancelled"]), json!([])]
    {
        let answer = server.post(PURGE, json!({ "states": states })).await;
        assert_eq!((answer.code(), answer.fields()), (40_001, vec!["states".to_owned()]), "{states}");
        let text = answer.envelope().to_string();
        assert!(text.contains("scheduled, ready, retrying, dead"), "{text}");
    }
    assert_eq!(server.post("/v1/event-queues/nowhere/purge", json!({})).await.code(), 40_401);
    server.post("/v1/event-queues/q/pause", json!({})).await.data();
    for n in 0..3 {
        server.publish("q", n).await;
    }
    let operation = server.post(PURGE, json!({})).await.data();
    assert_eq!(over(&server, &operation).await["done"], 3, "paused or not");
}
