//! When entries leave a stream: by a trim, or once they are consumed.

use serde_json::{Value, json};

use crate::Factory;
use crate::streams::{fan_out, ids, publish};
use crate::test_server::TestServer;

pub(crate) async fn a_stream_is_trimmed(factory: Factory) {
    let server = fan_out(factory).await;
    let trim =
        async |keep: Value| server.post("/v1/streams/orders/trim", keep).await.data()["trimmed"].clone();
    let length = async || server.get("/v1/streams/orders").await.data()["length"].clone();
    // More than leave in one step.
    for _ in 0..5 {
        let events: Vec<Value> = (0..500).map(|n| json!({ "payload": { "n": n } })).collect();
        assert_eq!(
            server.post("/v1/streams/orders/events/batch", json!({ "events": events })).await.code(),
            0
        );
    }
    assert_eq!((trim(json!({ "maxLength": 4 })).await, length().await), (json!(2_496), json!(4)));
    assert_eq!(trim(json!({ "maxLength": 4 })).await, 0, "there is nothing more to drop");
    let entries = server.get("/v1/streams/orders/entries").await.data();
    let ids = ids(&entries, "streamId");
    assert_eq!(trim(json!({ "id": ids[2] })).await, 2, "the one that is named stays");
    let first = server.get("/v1/streams/orders").await.data()["firstId"].clone();
    assert_eq!(first, ids[2]);
    server.advance(60);
    publish(&server, "orders", 1).await;
    let now = naven_store::Clock::wall(&*server.clock).to_string();
    assert_eq!((trim(json!({ "time": now })).await, length().await), (json!(2), json!(1)));
    // Both queues had read nothing and protect it.
    for queue in ["mail", "audit"] {
        let counts = server.get(&format!("/v1/event-queues/{queue}")).await.data()["counts"].clone();
        assert_eq!(counts["ready"], 2_501, "{queue}");
    }
}

pub(crate) async fn a_shared_stream_may_let_consumed_entries_go(factory: Factory) {
    let server = TestServer::start(factory).await;
    let made = json!({ "name": "mail", "stream": "orders", "retention": "consumed" });
    assert_eq!(server.post("/v1/event-queues", made).await.data()["retention"], "consumed");
    let joined = server.post("/v1/event-queues", json!({ "name": "audit", "stream": "orders" })).await;
    assert_eq!(joined.data()["retention"], "consumed", "whoever joins leaves it as it is");
    let length = async || server.get("/v1/streams/orders").await.data()["length"].clone();
    let ack = async |queue: &str| {
        let claim = server.claim(queue, 30).await;
        assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 0);
    };
    publish(&server, "orders", 1).await;
    ack("mail").await;
    assert_eq!(length().await, 1, "the other queue has not settled it");
    ack("audit").await;
    assert_eq!(length().await, 0);
    let changed = server.call("PATCH", "/v1/event-queues/mail", json!({ "retention": "trim" })).await;
    assert_eq!(changed.data()["retention"], "trim");
    assert_eq!(server.get("/v1/event-queues/audit").await.data()["retention"], "trim", "it is the stream's");
    publish(&server, "orders", 2).await;
    ack("mail").await;
    ack("audit").await;
    assert_eq!(length().await, 1, "from now on entries stay");
}
