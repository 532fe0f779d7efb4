//! Dead letters over HTTP: listed, paged, redriven, and left behind by deleted queues.

use serde_json::{Value, json};

use crate::Factory;
use crate::contract::{event_picture, with};
use crate::shape::assert_shape;
use crate::test_server::TestServer;

/// Publishes an event and lets it die of one failure.
async fn dead(server: &TestServer, queue: &str, n: usize) -> String {
    let id = server.publish(queue, n).await;
    let claim = server.claim(queue, 30).await;
    let nacked = server.settle("nack", &claim, json!({ "error": "no", "mode": "fatal" })).await.data();
    assert_shape(&nacked, &json!({ "state": "dead", "nextAttemptAt": null, "replayed": false }));
    server.advance(1);
    id
}

pub(crate) async fn a_dead_letter_is_listed_and_redriven(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({ "maxAttempts": 2 })).await;
    let id = server.publish("mail", 1).await;
    let first = server.claim("mail", 5).await;
    let failed =
        server.settle("nack", &first, json!({ "error": "boom", "retryDelaySeconds": 3 })).await.data();
    assert_shape(&failed, &json!({ "state": "retrying", "nextAttemptAt": "$time", "replayed": false }));
    server.advance(3);
    let second = server.claim("mail", 5).await;
    assert_eq!(second["event"]["attemptCount"], 2);
    server.advance(5);
    assert_eq!(server.claim("mail", 5).await, Value::Null, "its attempts are used up");

    let page = server.get("/v1/event-queues/mail/dead-letters").await.data();
    let fields = json!({
        "state": "dead", "nextAttemptAt": null, "attemptCount": 2, "expiryCount": 1, "deliveryCount": 2,
        "maxAttempts": 2, "settledAt": "$time", "lastError": "boom"
    });
    let mut letter = with(event_picture(), &fields);
    letter["deadAt"] = json!("$time");
    letter["reason"] = json!("expired_attempts");
    let attempt = |fence: u64, outcome: &str, error: Value| {
        json!({
            "deliveryCount": fence, "consumerId": null, "leasedAt": "$time", "endedAt": "$time",
            "outcome": outcome, "error": error
        })
    };
    letter["attempts"] = json!([attempt(1, "failed", json!("boom")), attempt(2, "expired", Value::Null)]);
    assert_shape(&page, &json!({ "items": [letter], "nextCursor": null }));
    let whole = server.get("/v1/event-queues/mail/dead-letters?includePayload=true").await.data();
    assert_eq!(whole["items"][0]["payload"], json!({ "n": 1 }));

    let path = format!("/v1/events/{id}/redrive");
    let redriven = server.call("POST", &path, None).await.data();
    assert_shape(
        &redriven,
        &with(
            event_picture(),
            &json!({ "deliveryCount": 2, "maxAttempts": 2, "lastError": redriven["lastError"] }),
        ),
    );
    assert_eq!(server.call("POST", &path, None).await.code(), 40_908, "it is not dead any more");
    assert_eq!(
        server.settle("ack", &second, json!({})).await.code(),
        40_901,
        "its old token is worth nothing"
    );
    let third = server.claim("mail", 5).await;
    assert_eq!((&third["event"]["attemptCount"], &third["event"]["deliveryCount"]), (&json!(1), &json!(3)));
}

pub(crate) async fn dead_letters_come_in_pages_and_cursors_belong_to_their_list(factory: Factory) {
    let server = TestServer::start(factory).await;
    let queue = server.queue("mail", json!({})).await["id"].as_str().unwrap().to_owned();
    server.queue("other", json!({})).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(dead(&server, "mail", n).await);
    }
    let listed = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = server.get("/v1/event-queues/mail/dead-letters?limit=2").await.data();
    assert_eq!(listed(&first), [ids[2].clone(), ids[1].clone()], "newest death first");
    let cursor = first["nextCursor"].as_str().expect("there is a second page").to_owned();
    let next =
        server.get(&format!("/v1/event-queues/mail/dead-letters?limit=2&cursor={cursor}")).await.data();
    assert_eq!((listed(&next), &next["nextCursor"]), (vec![ids[0].clone()], &Value::Null));
    let by_id = server.get(&format!("/v1/dead-letters?queueId={queue}")).await.data();
    assert_eq!(listed(&by_id).len(), 3);
    for path in [
        format!("/v1/event-queues/other/dead-letters?cursor={cursor}"),
        format!("/v1/event-queues?cursor={cursor}"),
        "/v1/event-queues/mail/dead-letters?cursor=00".to_owned(),
    ] {
        assert_eq!(server.get(&path).await.code(), 40_005, "{path}");
    }
}

pub(crate) async fn a_deleted_queue_leaves_its_dead_letters(factory: Factory) {
    let server = TestServer::start(factory).await;
    let queue = server.queue("mail", json!({})).await["id"].as_str().unwrap().to_owned();
    server.publish("mail", 1).await;
    assert_eq!(server.call("DELETE", "/v1/event-queues/mail", None).await.code(), 40_907);
    assert_eq!(server.call("DELETE", "/v1/event-queues/mail?force=true", None).await.code(), 0);
    assert_eq!(server.get("/v1/event-queues/mail/dead-letters").await.code(), 40_401);
    let letters = server.get(&format!("/v1/dead-letters?queueId={queue}")).await.data();
    assert_eq!(letters["items"][0]["reason"], "queue_deleted");
    assert_eq!(server.get("/v1/dead-letters").await.fields(), ["queueId"]);
    assert_eq!(server.get("/v1/dead-letters?queueId=mail").await.code(), 40_401);
    // A queue made again under the same name shares nothing with the old one.
    let again = server.queue("mail", json!({})).await;
    assert_ne!(again["id"], json!(queue));
    let letters = server.get("/v1/event-queues/mail/dead-letters").await.data();
    assert_eq!(letters["items"], json!([]));
}
