//! What holders say of their work: how far it came, and what came of it.
//!
//! Lives here: the fields on the wire. Not here: for how long they are kept (`naven-core`, and the engines'
//! conformance suite).

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request;
use crate::shape::assert_shape;
use crate::test_server::TestServer;

/// A server with a leased event in the queue `q`: its id and its claim.
async fn leased(factory: Factory) -> (TestServer, String, Value) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "maxAttempts": 1 })).await;
    let id = server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    (server, id, claim)
}

/// What is shown at the top and in the one delivery alike.
async fn shown(server: &TestServer, id: &str, field: &str) -> Value {
    let event = server.event(id).await;
    assert_eq!(event[field], event["deliveries"][0][field], "{field}");
    event[field].clone()
}

pub(crate) async fn a_heartbeat_says_how_far_the_work_came(factory: Factory) {
    let (server, id, claim) = leased(factory).await;
    assert_eq!(shown(&server, &id, "progress").await, Value::Null);
    let said = json!({ "progress": { "percent": 40, "note": "page 2 of 5" } });
    let beaten = server.settle("heartbeat", &claim, said).await.data();
    let expected = json!({ "leaseExpiresAt": "$time", "leaseMs": "$number", "state": "leased", "cancelRequested": false });
    assert_shape(&beaten, &expected);
    let progress = shown(&server, &id, "progress").await;
    assert_shape(&progress, &json!({ "percent": 40, "note": "page 2 of 5", "at": "$time" }));
    server.advance(1);
    server.settle("heartbeat", &claim, json!({})).await.data();
    assert_eq!(shown(&server, &id, "progress").await, progress, "the last word stands");
    server.settle("heartbeat", &claim, json!({ "progress": { "note": "é".repeat(600) } })).await.data();
    let later = shown(&server, &id, "progress").await;
    assert_eq!((&later["percent"], &later["note"]), (&Value::Null, &json!("é".repeat(512))));
    assert_ne!(later["at"], progress["at"]);
    server.settle("nack", &claim, json!({ "error": "boom" })).await.data();
    server.settle("heartbeat", &claim, json!({ "progress": { "percent": 99 } })).await.data();
    let letters = server.get("/v1/event-queues/q/dead-letters").await.data();
    assert_eq!((&letters["items"][0]["progress"], &letters["items"][0]["result"]), (&later, &Value::Null));
    let redriven = server.post(&format!("/v1/events/{id}/redrive"), json!({})).await.data();
    assert_eq!(redriven["progress"], Value::Null);
}

pub(crate) async fn progress_is_a_percentage_a_note_or_both(factory: Factory) {
    let (server, id, claim) = leased(factory).await;
    let token = &claim["leaseToken"];
    for (progress, code, path) in [
        (json!({}), 40_001, "progress"),
        (json!({ "percent": 101 }), 40_001, "progress.percent"),
        (json!({ "percent": -1 }), 40_001, "progress.percent"),
        (json!({ "percent": 50.5 }), 40_001, "progress.percent"),
        (json!({ "note": 7 }), 40_001, "progress.note"),
        (json!({ "percent": 1, "of": 9 }), 40_002, "progress.of"),
    ] {
        let refused = server.settle("heartbeat", &claim, json!({ "progress": progress })).await;
        assert_eq!((refused.code(), refused.fields()), (code, vec![path.to_owned()]), "{progress}");
        let item = json!({ "eventId": id, "leaseToken": token, "progress": progress });
        let refused = server.post("/v1/leases/heartbeat", json!({ "items": [item] })).await;
        assert_eq!((refused.code(), refused.fields()), (code, vec![format!("items[0].{path}")]));
    }
    for percent in [0, 100] {
        let item = json!({ "eventId": id, "leaseToken": token, "progress": { "percent": percent } });
        server.post("/v1/leases/heartbeat", json!({ "items": [item] })).await.data();
        assert_eq!(shown(&server, &id, "progress").await["percent"], percent);
    }
}

pub(crate) async fn an_ack_says_what_came_of_it(factory: Factory) {
    let (server, id, claim) = leased(factory).await;
    assert_eq!(shown(&server, &id, "result").await, Value::Null);
    let text = r#"{ "sum": 0.10, "n": 9007199254740993, "sum": "\ud800" }"#;
    let token = claim["leaseToken"].as_str().expect("a token");
    let ack = |result: &str| {
        let body = format!(r#"{{"leaseToken":"{token}","result":{result}}}"#);
        request("POST", &format!("/v1/events/{id}/ack"), &server.key, Some(&body))
    };
    let first = server.send(&ack(text)).await.data();
    assert_eq!(first["replayed"], false);
    let again = server.send(&ack("7")).await.data();
    assert_eq!((&again["replayed"], &again["settledAt"]), (&json!(true), &first["settledAt"]));
    let shown = server.get(&format!("/v1/events/{id}")).await;
    let body = String::from_utf8(shown.body.clone()).expect("JSON is UTF-8");
    let found = body.matches(&format!(r#""result":{text}"#)).count();
    assert_eq!(found, 2, "byte for byte, at the top and in the delivery: {body}");
}

pub(crate) async fn results_are_bounded(factory: Factory) {
    let (server, id, claim) = leased(factory).await;
    let token = &claim["leaseToken"];
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    for result in [json!("x".repeat(4_095)), nested(65)] {
        let refused = server.settle("ack", &claim, json!({ "result": result })).await;
        assert_eq!((refused.code(), refused.fields()), (40_001, vec!["result".to_owned()]));
        let item = json!({ "eventId": id, "leaseToken": token, "result": result });
        let refused = server.post("/v1/leases/ack", json!({ "items": [item] })).await;
        assert_eq!((refused.code(), refused.fields()), (40_001, vec!["items[0].result".to_owned()]));
    }
    let largest = json!("x".repeat(4_094));
    let item = json!({ "eventId": id, "leaseToken": token, "result": largest });
    server.post("/v1/leases/ack", json!({ "items": [item] })).await.data();
    assert_eq!(shown(&server, &id, "result").await, largest);
}
