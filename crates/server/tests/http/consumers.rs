//! Who holds a queue's events, and who waits for them.
//!
//! Lives here: the list of consumers. Not here: waiting itself (`long_poll.rs`).

use bytes::Bytes;
use naven_store::Engine;
use naven_store::queue::QueueRef;
use naven_store::txn::{GroupFrom, OpKind, ReadGroup, ReaderOp, Txn};
use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request_with;
use crate::test_server::TestServer;

const CONSUMERS: &str = "/v1/event-queues/q/consumers";

async fn claim(server: &TestServer, body: Value, client: &str) -> Value {
    let (path, body) = ("/v1/event-queues/q/claim", body.to_string());
    let bytes = request_with("POST", path, &server.key, &[("User-Agent", client)], Some(&body));
    server.send(&bytes).await.data()
}

/// The consumer of this name; null where none is listed.
fn one(list: &Value, name: Value) -> Value {
    let items = list["items"].as_array().expect("a list");
    items.iter().find(|item| item["consumerId"] == name).cloned().unwrap_or(Value::Null)
}

/// A Redis consumer of this name reads one entry.
pub(crate) fn read_one(queue: &str, consumer: &'static [u8]) -> OpKind {
    OpKind::Reader(ReaderOp::Read(ReadGroup {
        consumer: Bytes::from_static(consumer),
        count: Some(1),
        max_bytes: u64::MAX,
        no_ack: false,
        idle_ms: None,
        from: vec![GroupFrom { queue: QueueRef::Name(queue.to_owned()), after: None }],
    }))
}

pub(crate) async fn those_who_hold_and_wait_are_listed(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    assert_eq!(server.get(CONSUMERS).await.data(), json!({ "items": [], "truncated": false }));
    for n in 0..4 {
        server.publish("q", n).await;
    }
    let began = naven_store::Clock::wall(&*server.clock).to_string();
    let long = "x".repeat(300);
    claim(&server, json!({ "consumerId": "w1", "leaseSeconds": 900, "waitSeconds": 0 }), &long).await;
    server.advance(1);
    let later = naven_store::Clock::wall(&*server.clock).to_string();
    claim(&server, json!({ "consumerId": "w1", "leaseSeconds": 900, "waitSeconds": 0 }), &long).await;
    claim(&server, json!({ "leaseSeconds": 900, "waitSeconds": 0 }), "anybody/1").await;
    server.engine.submit(vec![Txn::one(read_one("q", b"r\xff1"))]).await;
    let mut waiting = server.connect().await;
    let body = json!({ "consumerId": "w2", "waitSeconds": 30 }).to_string();
    let path = "/v1/event-queues/q/claim";
    waiting.send(&request_with("POST", path, &server.key, &[("User-Agent", "w/2")], Some(&body))).await;
    server.until_waiting(1).await;

    let list = server.get(CONSUMERS).await.data();
    assert_eq!(list["truncated"], false);
    let named = json!({
        "consumerId": "w1", "kind": "http", "address": "127.0.0.1", "client": "x".repeat(256), "waiting": 0,
        "inFlight": 2, "oldestLeaseAt": began, "lastSeenAt": later, "lastClaimAt": later,
    });
    assert_eq!(one(&list, json!("w1")), named);
    let waits = json!({
        "consumerId": "w2", "kind": "http", "address": "127.0.0.1", "client": "w/2", "waiting": 1,
        "inFlight": 0, "oldestLeaseAt": null, "lastSeenAt": later, "lastClaimAt": null,
    });
    assert_eq!(one(&list, json!("w2")), waits);
    let redis = one(&list, json!("r\u{fffd}1"));
    assert_eq!((&redis["kind"], &redis["inFlight"]), (&json!("redis"), &json!(1)));
    let nameless: Vec<_> =
        list["items"].as_array().unwrap().iter().filter(|item| item["consumerId"].is_null()).collect();
    assert_eq!(nameless.len(), 2, "what nobody's name is on, and the address that asked: {list}");
    assert!(nameless.iter().any(|item| item["inFlight"] == 1 && item["address"].is_null()));
    assert!(nameless.iter().any(|item| item["client"] == "anybody/1" && item["address"] == "127.0.0.1"));
    assert_eq!(list["items"][0]["consumerId"], "w1", "those who hold most come first");
    drop(waiting);
    server.until_waiting(0).await;
    let list = server.get(CONSUMERS).await.data();
    assert_eq!(one(&list, json!("w2"))["waiting"], 0);
    assert_eq!(server.get("/v1/event-queues/none/consumers").await.code(), 40_401);
    assert_eq!(server.get(&format!("{CONSUMERS}?limit=1")).await.code(), 40_002);
}

pub(crate) async fn who_does_not_come_back_is_forgotten(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    claim(&server, json!({ "consumerId": "w1", "waitSeconds": 0 }), "w/1").await;
    assert_eq!(
        server.post("/v1/event-queues/none/claim", json!({ "consumerId": "w1" })).await.code(),
        40_401
    );
    server.advance(899);
    assert_eq!(one(&server.get(CONSUMERS).await.data(), json!("w1"))["client"], "w/1");
    server.advance(1);
    assert_eq!(server.get(CONSUMERS).await.data()["items"], json!([]));
    let id = server.get("/v1/event-queues/q").await.data()["id"].as_str().unwrap().to_owned();
    server
        .post(&format!("/v1/event-queues/{id}/claim"), json!({ "consumerId": "w1", "waitSeconds": 0 }))
        .await
        .data();
    assert_ne!(
        one(&server.get(CONSUMERS).await.data(), json!("w1")),
        Value::Null,
        "by id it is the same queue"
    );
}

pub(crate) async fn a_redis_consumer_is_forgotten_with_what_it_holds(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "stream": "s" })).await;
    let event = server.publish("q", 1).await;
    server.publish("q", 2).await;
    server.engine.submit(vec![Txn::one(read_one("q", b"r/1"))]).await;
    let group = "/v1/streams/s/groups/q/consumers";
    let list = server.get(group).await.data();
    assert_eq!(list, server.get(CONSUMERS).await.data(), "one list under two paths");
    assert_eq!(one(&list, json!("r/1"))["inFlight"], 1);
    let gone = server.call("DELETE", &format!("{group}/r%2F1"), None).await;
    assert_eq!((gone.status, gone.data()), (200, json!({ "deadLetters": 1 })));
    assert_eq!(one(&server.get(CONSUMERS).await.data(), json!("r/1")), Value::Null);
    let letters = server.get("/v1/event-queues/q/dead-letters").await.data();
    assert_eq!(
        (&letters["items"][0]["id"], &letters["items"][0]["reason"]),
        (&json!(event), &json!("consumer_deleted"))
    );
    for nobody in ["r%2F1", "@http", "none"] {
        let again = server.call("DELETE", &format!("{group}/{nobody}"), None).await;
        assert_eq!(again.data(), json!({ "deadLetters": 0 }), "{nobody}");
    }
    assert_eq!(server.call("DELETE", "/v1/streams/s/groups/none/consumers/x", None).await.code(), 40_404);
}

pub(crate) async fn the_node_that_answers_is_listed(factory: Factory) {
    let server = TestServer::start(factory).await;
    let (nodes, system) =
        (server.get("/v1/system/nodes").await.data(), server.get("/v1/system").await.data());
    let items = nodes["items"].as_array().expect("a list");
    assert_eq!((items.len(), &items[0]["answers"], &items[0]["draining"]), (1, &json!(true), &json!(false)));
    for field in ["version", "startedAt"] {
        assert_eq!(items[0][field], system[field], "{field}");
    }
}
