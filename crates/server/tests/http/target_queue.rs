//! Dead letters that go to another queue, over HTTP.
//!
//! Lives here: what the calls take and answer. Not here: what becomes of deliveries (the engines' suite).

use std::time::Duration;

use serde_json::{Value, json};

use crate::Factory;
use crate::test_server::TestServer;

/// Publishes an event and lets it fail for good: its id, and the claim under which it did.
async fn die(server: &TestServer) -> (String, Value) {
    let id = server.publish("mail", 1).await;
    let claim = server.claim("mail", 30).await;
    server.settle("nack", &claim, json!({ "mode": "fatal", "error": "no" })).await.data();
    (id, claim)
}

async fn ready(server: &TestServer, queue: &str) -> Value {
    server.get(&format!("/v1/event-queues/{queue}")).await.data()["counts"]["ready"].clone()
}

pub(crate) async fn a_dead_letter_goes_to_another_queue(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    server.queue("repair", json!({})).await;
    let (id, claim) = die(&server).await;
    let path = format!("/v1/events/{id}/redrive");
    let to = |target: &str| json!({ "targetQueue": target });
    assert_eq!(server.post(&path, to("nowhere")).await.code(), 40_401);
    let kept = server.post(&path, json!({ "targetQueue": "repair", "resetAttempts": false })).await;
    assert_eq!((kept.code(), kept.fields()), (40_001, vec!["resetAttempts".to_owned()]));
    let answer = server.post_once(&path, "once", to("repair")).await;
    let new = answer.data();
    assert_eq!((answer.status, &new["queue"], &new["state"]), (200, &json!("repair"), &json!("ready")));
    assert_ne!(new["id"], json!(id));
    assert_eq!(server.post_once(&path, "once", to("repair")).await.data()["id"], new["id"], "repeated");
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 40_901);
    assert_eq!(server.post(&path, to("repair")).await.code(), 40_908, "it is gone");
    let letters = server.get("/v1/event-queues/mail/dead-letters").await.data();
    assert_eq!(letters["items"], json!([]));
    let again = server.claim("repair", 30).await;
    assert_eq!((&again["event"]["id"], &again["event"]["payload"]), (&new["id"], &claim["event"]["payload"]));
    let (own, _) = die(&server).await;
    let same = server.post(&format!("/v1/events/{own}/redrive"), to("mail")).await.data();
    assert_eq!((&same["id"], &same["state"]), (&json!(own), &json!("ready")), "a new round of itself");
}

pub(crate) async fn what_a_deleted_queue_left_is_moved_by_its_id(factory: Factory) {
    let server = TestServer::start(factory).await;
    let gone = server.queue("mail", json!({})).await["id"].as_str().unwrap().to_owned();
    server.queue("repair", json!({})).await;
    let id = server.publish("mail", 1).await;
    assert_eq!(server.call("DELETE", "/v1/event-queues/mail?force=true", None).await.code(), 0);
    let path = format!("/v1/events/{id}/redrive");
    assert_eq!(server.post(&path, json!({ "queue": gone })).await.code(), 40_908, "it has no way back");
    let body = json!({ "queue": gone, "targetQueue": "repair" });
    assert_eq!(server.post(&path, body).await.data()["queue"], "repair");
    let letters = server.get(&format!("/v1/dead-letters?queueId={gone}")).await.data();
    assert_eq!(letters["items"], json!([]));
    assert_eq!(ready(&server, "repair").await, json!(1));
}

pub(crate) async fn many_go_to_another_queue(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    server.queue("repair", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(die(&server).await.0);
    }
    let path = "/v1/event-queues/mail/dead-letters/redrive";
    let nowhere = json!({ "all": true, "targetQueue": "nowhere" });
    assert_eq!(server.post(path, nowhere).await.code(), 40_401);
    let rate = json!({ "all": true, "targetQueue": "repair", "ratePerSecond": 5 });
    assert_eq!(server.post(path, rate).await.code(), 40_002);
    let named = server.post(path, json!({ "ids": [ids[0]], "targetQueue": "repair" })).await;
    assert_eq!((named.status, ready(&server, "repair").await), (200, json!(1)));
    let operation = server.post(path, json!({ "all": true, "targetQueue": "repair" })).await.data();
    assert_eq!((&operation["kind"], &operation["matched"]), (&json!("redrive"), &json!(2)));
    let shown = format!("/v1/operations/{}", operation["id"].as_str().unwrap());
    for _ in 0..200 {
        if server.get(&shown).await.data()["state"] == "done" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.get(&shown).await.data()["done"], 2);
    assert_eq!(ready(&server, "repair").await, json!(3));
}

pub(crate) async fn both_queues_must_be_within_the_key_s_reach(factory: Factory) {
    let (server, key) =
        TestServer::start_with_key(factory, &["admin", "produce", "consume"], &["mail"]).await;
    server.queue("mail", json!({})).await;
    server.queue("repair", json!({})).await;
    let (id, _) = die(&server).await;
    let body = || json!({ "targetQueue": "repair" });
    let path = format!("/v1/events/{id}/redrive");
    assert_eq!(server.call_as(&key, "POST", &path, body()).await.code(), 40_401);
    let path = "/v1/event-queues/mail/dead-letters/redrive";
    let all = json!({ "all": true, "targetQueue": "repair" });
    assert_eq!(server.call_as(&key, "POST", path, all).await.code(), 40_401);
    assert_eq!(ready(&server, "repair").await, json!(0));
}
