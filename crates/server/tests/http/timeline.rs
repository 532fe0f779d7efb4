//! An event's deliveries, one by one.

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::streams::{fan_out, publish};
use crate::test_server::{TestServer, id_of};

pub(crate) async fn deliveries_are_listed_newest_first(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "keepDonePayload": true })).await;
    let id = server.publish("q", 1).await;
    let path = format!("/v1/events/{id}/timeline");
    let none = server.get(&path).await.data();
    assert_shape(&none, &json!({ "queue": "q", "queueId": "$evq", "items": [], "nextCursor": null }));

    server.advance(2);
    let body = json!({ "leaseSeconds": 60, "waitSeconds": 0, "consumerId": "w1" });
    let claim = server.post("/v1/event-queues/q/claim", body).await.data();
    for _ in 0..12 {
        server.advance(1);
        server.settle("heartbeat", &claim, json!({})).await.data();
    }
    let nack = json!({ "error": "boom", "retryDelaySeconds": 5 });
    server.settle("nack", &claim, nack).await.data();
    server.advance(6);
    let claim = server.claim("q", 60).await;
    let live = server.get(&path).await.data();
    assert_eq!((&live["items"][0]["outcome"], &live["items"][0]["runMs"]), (&Value::Null, &Value::Null));
    server.advance(3);
    server.settle("ack", &claim, json!({})).await.data();

    let shown = server.get(&format!("{path}?queue=q")).await.data();
    let acked = json!({
        "deliveryCount": 2, "consumerId": null, "leasedAt": "$time", "heartbeats": [], "settledAt": "$time",
        "outcome": "acked", "error": null, "waitMs": 6000, "runMs": 3000
    });
    let failed = json!({
        "deliveryCount": 1, "consumerId": "w1", "leasedAt": "$time", "heartbeats": vec!["$time"; 10],
        "settledAt": "$time", "outcome": "failed", "error": "boom", "waitMs": 2000, "runMs": 12000
    });
    assert_shape(&shown["items"], &json!([acked, failed]));
    for (query, code) in
        [("?queue=r", 40_402), ("?x=1", 40_002), ("?cursor=00", 40_005), ("?queue=q&queue=q", 40_001)]
    {
        assert_eq!(server.get(&format!("{path}{query}")).await.code(), code, "{query}");
    }
    assert_eq!(server.get("/v1/events/e/timeline").await.code(), 40_402);
    assert_eq!(server.event(&id).await["payload"], json!({ "n": 1 }), "kept, as the queue was told");
}

pub(crate) async fn a_shared_event_has_a_timeline_in_each_queue(factory: Factory) {
    let server = fan_out(factory).await;
    let id = id_of(&publish(&server, "orders", 1).await);
    let claim = server.claim("audit", 30).await;
    server.settle("ack", &claim, json!({})).await.data();
    let path = format!("/v1/events/{id}/timeline");
    let needed = server.get(&path).await;
    assert_eq!(needed.fields(), ["queue"]);
    assert!(needed.envelope()["message"].as_str().unwrap().contains("audit"));
    let audit = server.get(&format!("{path}?queue=audit")).await.data();
    assert_eq!((&audit["queue"], &audit["items"][0]["outcome"]), (&json!("audit"), &json!("acked")));
    let by_id = format!("{path}?queue={}", audit["queueId"].as_str().unwrap());
    assert_eq!(server.get(&by_id).await.data(), audit);
    assert_eq!(server.get(&format!("{path}?queue=mail")).await.data()["items"], json!([]));
}
