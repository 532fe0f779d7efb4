//! Calling events off over HTTP.
//!
//! Lives here: what becomes of events and what their holders are told. Not here: what late calls of
//! holders get (`lease_table.rs`).

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::Answer;
use crate::test_server::TestServer;

async fn cancel(server: &TestServer, id: &str, body: Value) -> Answer {
    server.post(&format!("/v1/events/{id}/cancel"), body).await
}

async fn counts(server: &TestServer) -> Value {
    server.get("/v1/event-queues/q").await.data()["counts"].clone()
}

pub(crate) async fn what_nobody_holds_is_cancelled_at_once(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let later = json!({ "payload": {}, "delaySeconds": 60 });
    let later = server.post("/v1/event-queues/q/events", later).await.data()["id"].clone();
    let failed = server.publish("q", 1).await;
    let claim = server.claim("q", 10).await;
    server.settle("nack", &claim, json!({ "retryDelaySeconds": 60, "error": "boom" })).await;
    let ready = server.publish("q", 2).await;
    for id in [later.as_str().unwrap(), &failed, &ready] {
        let answer = cancel(&server, id, json!({ "reason": "no use" })).await;
        let event = answer.data();
        assert_eq!((answer.status, &event["state"]), (200, &json!("cancelled")));
        assert_eq!((&event["cancelReason"], &event["nextAttemptAt"]), (&json!("no use"), &Value::Null));
        assert!(event["settledAt"].is_string() && event.get("cancelRequested").is_none());
        let again = cancel(&server, id, json!({ "reason": "another" })).await;
        assert_eq!((again.status, again.data()), (200, event.clone()), "repeated, it is the same");
        assert_eq!(server.get(&format!("/v1/events/{id}")).await.data()["payload"], Value::Null);
    }
    server.advance(3_600);
    assert_eq!(server.claim("q", 10).await, Value::Null, "nobody gets them any more");
    let counts = counts(&server).await;
    assert_eq!(
        (&counts["cancelled"], &counts["scheduled"], &counts["ready"]),
        (&json!(3), &json!(0), &json!(0))
    );
    let timeline = server.get(&format!("/v1/events/{failed}/timeline")).await.data();
    assert_eq!(timeline["items"][0]["error"], "boom");
    // They are kept for as long as events that are done, and do not stand in the way of a deletion.
    assert_eq!(server.call("DELETE", "/v1/event-queues/q", None).await.code(), 0);
}

pub(crate) async fn a_holder_is_told_with_its_next_heartbeat(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let id = server.publish("q", 1).await;
    let claim = server.claim("q", 10).await;
    let before = server.settle("heartbeat", &claim, json!({})).await.data();
    assert_eq!(before["cancelRequested"], false);
    for reason in ["no use", "another"] {
        let answer = cancel(&server, &id, json!({ "reason": reason })).await;
        let event = answer.data();
        assert_eq!((answer.status, answer.code(), &event["state"]), (202, 0, &json!("leased")));
        assert_eq!((&event["cancelRequested"], &event["cancelReason"]), (&json!(true), &json!("no use")));
    }
    let beat = server.settle("heartbeat", &claim, json!({})).await.data();
    assert_eq!((&beat["cancelRequested"], &beat["state"]), (&json!(true), &json!("leased")));
    assert_eq!(server.settle("ack", &claim, json!({})).await.data()["state"], "done");
    assert_eq!(cancel(&server, &id, json!({})).await.code(), 40_908, "it is done");

    let dead = server.publish("q", 2).await;
    let claim = server.claim("q", 10).await;
    server.settle("nack", &claim, json!({ "mode": "fatal" })).await;
    assert_eq!(cancel(&server, &dead, json!({})).await.code(), 40_908, "it is dead");
}

pub(crate) async fn however_a_holder_lets_go_its_event_is_cancelled(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "maxAttempts": 1 })).await;
    for mode in ["fail", "fatal", "release"] {
        let id = server.publish("q", 1).await;
        let claim = server.claim("q", 10).await;
        assert_eq!(cancel(&server, &id, json!({})).await.status, 202);
        let nacked = server.settle("nack", &claim, json!({ "mode": mode })).await.data();
        assert_eq!(
            (&nacked["state"], &nacked["nextAttemptAt"]),
            (&json!("cancelled"), &Value::Null),
            "{mode}"
        );
        assert_eq!(server.get(&format!("/v1/events/{id}")).await.data()["state"], "cancelled");
    }
    let id = server.publish("q", 2).await;
    server.claim("q", 10).await;
    assert_eq!(cancel(&server, &id, json!({ "reason": "no use" })).await.status, 202);
    server.advance(10);
    assert_eq!(server.claim("q", 10).await, Value::Null, "it is not handed out again");
    let event = server.get(&format!("/v1/events/{id}")).await.data();
    assert_eq!((&event["state"], &event["cancelReason"]), (&json!("cancelled"), &json!("no use")));
    assert_eq!((&event["expiryCount"], &event["payload"]), (&json!(1), &Value::Null));
    let counts = counts(&server).await;
    assert_eq!((&counts["cancelled"], &counts["dead"]), (&json!(4), &json!(0)));
}

pub(crate) async fn a_shared_event_is_cancelled_in_the_queue_that_is_named(factory: Factory) {
    let server = TestServer::start(factory).await;
    for name in ["a", "b"] {
        server.queue(name, json!({ "stream": "s" })).await;
    }
    let publish = async |more: Value| {
        let answer = server.post("/v1/streams/s/events", more).await;
        answer.data()["id"].as_str().unwrap().to_owned()
    };
    let id = publish(json!({ "payload": { "n": 1 } })).await;
    let unnamed = cancel(&server, &id, json!({})).await;
    assert_eq!(unnamed.code(), 40_001);
    let rule = unnamed.envelope()["data"]["fields"][0]["rule"].as_str().unwrap().to_owned();
    assert!(rule.contains("a, b"), "{rule}");
    assert_eq!(cancel(&server, &id, json!({ "queue": "none" })).await.code(), 40_401);
    let answer = server.call("POST", &format!("/v1/events/{id}/cancel?queue=b"), None).await;
    let states: Vec<Value> =
        answer.data()["deliveries"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!((answer.status, states), (200, vec![json!("ready"), json!("cancelled")]));
    assert_eq!(server.claim("b", 10).await, Value::Null);
    assert_eq!(server.claim("a", 10).await["event"]["payload"], json!({ "n": 1 }));
    assert_eq!(cancel(&server, &id, json!({ "queue": "a" })).await.status, 202, "a holds it");

    let later = publish(json!({ "payload": {}, "delaySeconds": 60 })).await;
    let refused = cancel(&server, &later, json!({ "queue": "a" })).await;
    assert_eq!(refused.code(), 40_908, "it has one due time for all");
    server.advance(60);
    assert_eq!(
        cancel(&server, &later, json!({ "queue": "a" })).await.data()["deliveries"][0]["state"],
        "cancelled"
    );
}
