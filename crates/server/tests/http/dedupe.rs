//! Events of a known key, and events that expire.

use naven_store::Clock;
use serde_json::{Value, json};

use crate::Factory;
use crate::test_server::{TestServer, id_of};

const PATH: &str = "/v1/event-queues/q/events";

pub(crate) async fn an_event_of_a_known_key_is_the_first_one_again(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let event = |n: u32, key: &str| json!({ "payload": { "n": n }, "dedupeKey": key });
    let first = server.post(PATH, event(1, "order 7")).await;
    assert_eq!((first.status, &first.data()["dedupeKey"]), (201, &json!("order 7")));
    assert_eq!(first.data().get("deduped"), None);
    let again = server.post(PATH, event(2, "order 7")).await;
    assert_eq!((again.status, &again.data()["deduped"]), (200, &json!(true)));
    assert_eq!(again.data()["id"], first.data()["id"]);
    assert_eq!(
        server.event(&id_of(&first.data())).await["payload"],
        json!({ "n": 1 }),
        "the first one stays"
    );
    let events = json!({ "events": [event(3, "order 7"), event(4, "order 8"), event(5, "order 8")] });
    let batch = server.post(&format!("{PATH}/batch"), events).await;
    assert_eq!(batch.status, 201);
    let items = batch.data()["items"].clone();
    let deduped = [0, 1, 2].map(|at: usize| items[at].get("deduped").cloned());
    assert_eq!(deduped, [Some(json!(true)), None, Some(json!(true))]);
    assert_eq!(items[1]["id"], items[2]["id"]);
    // What became of the first one does not matter.
    let claim = server.claim("q", 30).await;
    server.settle("ack", &claim, json!({})).await.data();
    assert_eq!(server.post(PATH, event(6, "order 7")).await.data()["state"], "done");
    // Keys belong to a stream.
    server.queue("r", json!({})).await;
    assert_eq!(server.post("/v1/event-queues/r/events", event(7, "order 7")).await.status, 201);
    let stream = server.post("/v1/streams/q/events", event(8, "order 8")).await;
    assert_eq!((stream.status, &stream.data()["id"]), (200, &items[1]["id"]), "whichever way it comes");
}

pub(crate) async fn a_window_ends_and_may_be_changed(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "dedupeWindowSeconds": 60 })).await;
    let status = async || server.post(PATH, json!({ "payload": {}, "dedupeKey": "k" })).await.status;
    assert_eq!(status().await, 201);
    server.advance(59);
    assert_eq!(status().await, 200);
    server.advance(1);
    assert_eq!(status().await, 201, "counted from the first one, not from the last repetition");
    let changed = server.call("PATCH", "/v1/event-queues/q", json!({ "dedupeWindowSeconds": null })).await;
    assert_eq!(changed.data()["dedupeWindowSeconds"], 300);
}

pub(crate) async fn an_event_that_expired_is_nobodys(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let at = |seconds: i64| server.clock.wall().plus_ms(seconds * 1_000).to_string();
    let (end, now) = (at(10), at(0));
    let event = server.post(PATH, json!({ "payload": {}, "expiresAt": end })).await.data();
    assert_eq!(event["expiresAt"], json!(end));
    let refused = json!({ "payload": {}, "expiresAt": now });
    assert_eq!(server.post(PATH, refused).await.fields(), ["expiresAt"]);
    let late = json!({ "payload": {}, "delaySeconds": 10, "expiresAt": end });
    assert_eq!(server.post(PATH, late).await.fields(), ["expiresAt"], "it would expire before it is due");
    server.advance(10);
    assert_eq!(server.claim("q", 5).await, Value::Null);
    let letters = server.get("/v1/event-queues/q/dead-letters").await.data();
    assert_eq!(
        (&letters["items"][0]["id"], &letters["items"][0]["reason"]),
        (&event["id"], &json!("event_expired"))
    );

    // One that is in somebody's hands at that time stays there.
    let end = server.clock.wall().plus_ms(10_000).to_string();
    server.post(PATH, json!({ "payload": {}, "expiresAt": end })).await.data();
    let claim = server.claim("q", 60).await;
    server.advance(20);
    assert_eq!(server.settle("heartbeat", &claim, json!({})).await.code(), 0);
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 0);
}
