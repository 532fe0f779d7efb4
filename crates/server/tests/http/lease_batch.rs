//! Heartbeats, acks and nacks of many leases in one call.
//!
//! Lives here: that each lease is judged by itself, in order. Not here: what each verb answers for one
//! lease (`lease_table.rs`), and that rate limits let them pass (`keys.rs`).

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::test_server::TestServer;

/// A server with a queue whose two events are leased, and an item for each.
async fn two_leases(factory: Factory) -> (TestServer, Vec<Value>) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "backoff": { "initialSeconds": 5, "jitter": 0 } })).await;
    let mut items = Vec::new();
    for n in 0..2 {
        server.publish("q", n).await;
        let claim = server.claim("q", 10).await;
        items.push(json!({ "eventId": claim["event"]["id"], "leaseToken": claim["leaseToken"] }));
    }
    (server, items)
}

fn with(item: &Value, more: Value) -> Value {
    let mut item = item.clone();
    for (name, value) in more.as_object().unwrap() {
        item[name] = value.clone();
    }
    item
}

pub(crate) async fn each_lease_of_a_batch_is_judged_by_itself(factory: Factory) {
    let beaten = json!({ "leaseExpiresAt": "$time", "leaseMs": "$number", "state": "leased", "cancelRequested": false });
    let nacked = json!({ "state": "retrying", "nextAttemptAt": "$time", "replayed": false });
    let refused = |reason: &str| json!({ "reason": reason, "retryable": false });
    for (verb, taken) in [("heartbeat", beaten), ("nack", nacked)] {
        let (server, items) = two_leases(factory).await;
        let unknown = json!({ "eventId": "evt_x", "leaseToken": "t" });
        let wrong = with(&items[1], json!({ "leaseToken": items[0]["leaseToken"] }));
        let batch = json!({ "items": [items[0], unknown, wrong, items[1]] });
        let mixed = server.post(&format!("/v1/leases/{verb}"), batch).await;
        let envelope = mixed.envelope();
        assert_eq!((mixed.status, &envelope["code"]), (207, &json!(20_700)), "{verb}");
        assert_eq!(envelope["message"], "2 of 4 items failed");
        let item = |index: u32, event: &str, code: u32, data: &Value| {
            let message = if code == 0 { "ok" } else { "$text" };
            json!({ "index": index, "eventId": event, "code": code, "message": message, "data": data })
        };
        assert_shape(
            &envelope["data"],
            &json!({ "reason": "partial_failure", "failed": 2, "items": [
                item(0, "$evt", 0, &taken),
                item(1, "evt_x", 40_402, &refused("event_not_found")),
                item(2, "$evt", 40_901, &refused("lease_lost")),
                item(3, "$evt", 0, &taken),
            ] }),
        );
        let whole = server.post(&format!("/v1/leases/{verb}"), json!({ "items": items })).await;
        assert_eq!((whole.status, whole.code()), (200, 0), "{verb}: repeated, both are taken");
        assert_eq!(whole.data()["items"].as_array().map(Vec::len), Some(2));
        assert!(whole.data().get("failed").is_none());
    }
}

pub(crate) async fn a_batch_is_taken_in_its_order(factory: Factory) {
    let (server, items) = two_leases(factory).await;
    let longer = |seconds: u32| with(&items[0], json!({ "leaseSeconds": seconds }));
    let batch = json!({ "items": [longer(100), longer(200), longer(50)] });
    let ends = server.post("/v1/leases/heartbeat", batch).await.data()["items"].clone();
    let end = |at: usize| ends[at]["data"]["leaseExpiresAt"].as_str().unwrap().to_owned();
    assert!(end(2) < end(0) && end(0) < end(1), "each counts from now: {ends}");
    let path = format!("/v1/events/{}", items[0]["eventId"].as_str().unwrap());
    assert_eq!(server.get(&path).await.data()["leaseExpiresAt"], end(2), "the last word holds");

    // The first word on an event counts; what comes later is told so.
    let fail = with(&items[0], json!({ "retryDelaySeconds": 60, "error": "no" }));
    let release = with(&items[0], json!({ "mode": "release" }));
    let fatal = with(&items[1], json!({ "mode": "fatal", "error": "broken" }));
    let answer = server.post("/v1/leases/nack", json!({ "items": [fail, release, fatal] })).await;
    let items = answer.envelope()["data"]["items"].clone();
    let told: Vec<(u64, &Value)> =
        (0..3).map(|at| (items[at]["code"].as_u64().unwrap(), &items[at]["data"]["state"])).collect();
    assert_eq!(told, [(0, &json!("retrying")), (40_902, &Value::Null), (0, &json!("dead"))]);
    assert_eq!(server.get(&path).await.data()["lastError"], "no");
}
