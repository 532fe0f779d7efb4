//! What keys with narrower patterns reach.

use serde_json::{Value, json};

use crate::Factory;
use crate::test_server::{TestServer, id_of};

const ALL: [&str; 4] = ["produce", "consume", "read", "admin"];

pub(crate) async fn what_a_key_does_not_reach_is_not_there(factory: Factory) {
    let (server, key) = TestServer::start_with_key(factory, &ALL, &["mail*", "news"]).await;
    for body in
        [json!({ "name": "mail" }), json!({ "name": "audit" }), json!({ "name": "news", "stream": "s" })]
    {
        server.post("/v1/event-queues", body).await.data();
    }
    let audit = server.get("/v1/event-queues/audit").await.data()["id"].as_str().unwrap().to_owned();
    let mail = server.get("/v1/event-queues/mail").await.data()["id"].as_str().unwrap().to_owned();
    let event = json!({ "payload": {} });
    let place = json!({ "id": "0-0" });
    let cases = [
        ("POST", "/v1/event-queues/mail/events", Some(event.clone()), 0),
        ("POST", "/v1/event-queues/news/events", Some(event.clone()), 0),
        ("POST", "/v1/streams/mail/events", Some(event.clone()), 0),
        ("GET", &format!("/v1/event-queues/{mail}"), None, 0),
        ("POST", "/v1/event-queues/audit/events", Some(event.clone()), 40_401),
        ("POST", "/v1/event-queues/audit/events/batch", Some(json!({ "events": [event] })), 40_401),
        ("POST", "/v1/event-queues/audit/claim", Some(json!({ "x": 1 })), 40_401),
        ("POST", &format!("/v1/event-queues/{audit}/claim"), Some(json!({})), 40_401),
        ("GET", "/v1/event-queues/audit", None, 40_401),
        ("GET", &format!("/v1/event-queues/{audit}"), None, 40_401),
        ("PATCH", "/v1/event-queues/audit", Some(json!({})), 40_401),
        ("DELETE", "/v1/event-queues/audit", None, 40_401),
        ("POST", "/v1/event-queues/audit/pause", None, 40_401),
        ("GET", "/v1/event-queues/audit/dead-letters", None, 40_401),
        ("POST", "/v1/event-queues", Some(json!({ "name": "other" })), 40_401),
        ("POST", "/v1/event-queues", Some(json!({ "name": "mail2", "stream": "s" })), 40_404),
        ("POST", "/v1/streams/s/events", Some(event.clone()), 40_404),
        ("POST", "/v1/streams/audit/events/batch", Some(json!({ "events": [event] })), 40_404),
        ("GET", "/v1/streams/s", None, 40_404),
        ("GET", "/v1/streams/audit/entries", None, 40_404),
        ("GET", "/v1/streams/s/groups", None, 40_404),
        ("POST", "/v1/streams/s/groups/news/reset", Some(place.clone()), 40_404),
        ("DELETE", "/v1/streams/s/groups/news", None, 40_404),
        ("DELETE", "/v1/streams/audit?force=true", None, 40_404),
    ];
    for (method, path, body, code) in cases {
        assert_eq!(server.call_as(&key, method, path, body).await.code(), code, "{method} {path}");
    }
    let names = |page: Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().clone();
        let mut names: Vec<_> = items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        names
    };
    let queues = server.call_as(&key, "GET", "/v1/event-queues", None).await.data();
    assert_eq!(names(queues), ["mail", "news"]);
    let streams = server.call_as(&key, "GET", "/v1/streams", None).await.data();
    assert_eq!(names(streams), ["mail"]);
}

pub(crate) async fn a_scope_is_asked_for_on_streams_too(factory: Factory) {
    let (server, key) = TestServer::start_with_key(factory, &["read"], &["*"]).await;
    server.queue("mail", json!({})).await;
    for (method, path, body, code) in [
        ("GET", "/v1/streams/mail", None, 0),
        ("GET", "/v1/streams/mail/entries", None, 0),
        ("GET", "/v1/streams/mail/groups", None, 0),
        ("POST", "/v1/streams/mail/events", Some(json!({ "payload": {} })), 40_300),
        ("DELETE", "/v1/streams/mail", None, 40_300),
        ("POST", "/v1/streams/mail/groups/mail/reset", Some(json!({ "id": "0-0" })), 40_300),
        ("DELETE", "/v1/streams/mail/groups/mail", None, 40_300),
    ] {
        assert_eq!(server.call_as(&key, method, path, body).await.code(), code, "{method} {path}");
    }
}

pub(crate) async fn a_key_sees_of_an_event_what_it_reaches(factory: Factory) {
    let (server, key) = TestServer::start_with_key(factory, &ALL, &["mail"]).await;
    server.queue("mail", json!({ "stream": "orders" })).await;
    server.queue("audit", json!({ "stream": "orders" })).await;
    let event = server.post("/v1/streams/orders/events", json!({ "payload": {} })).await.data();
    let path = format!("/v1/events/{}", id_of(&event));
    let seen = server.call_as(&key, "GET", &path, None).await.data();
    assert_eq!((&seen["queue"], seen["deliveries"].as_array().map(Vec::len)), (&json!("mail"), Some(1)));
    assert_eq!(
        server.call_as(&key, "GET", &format!("{path}/timeline?queue=audit"), None).await.code(),
        40_402
    );
    assert_eq!(server.call_as(&key, "GET", &format!("{path}/timeline"), None).await.data()["queue"], "mail");

    let hidden = format!("/v1/events/{}", server.publish("audit", 1).await);
    for (method, path, body) in [
        ("GET", hidden.clone(), None),
        ("GET", format!("{hidden}/timeline"), None),
        ("POST", format!("{hidden}/redrive"), None),
        ("POST", format!("{hidden}/ack"), Some(json!({ "leaseToken": "t" }))),
        ("POST", format!("{hidden}/nack"), Some(json!({ "leaseToken": "t" }))),
        ("POST", format!("{hidden}/heartbeat"), Some(json!({ "leaseToken": "t" }))),
    ] {
        assert_eq!(server.call_as(&key, method, &path, body).await.code(), 40_402, "{method} {path}");
    }
    let item = json!({ "eventId": hidden.rsplit('/').next(), "leaseToken": "t" });
    let batch = server.call_as(&key, "POST", "/v1/leases/ack", json!({ "items": [item] })).await;
    assert_eq!(batch.envelope()["data"]["items"][0]["code"], 40_402);

    let claim = server.call_as(&key, "POST", "/v1/event-queues/mail/claim", json!({})).await.data();
    let ack = format!("{path}/ack");
    let acked = server.call_as(&key, "POST", &ack, json!({ "leaseToken": claim["leaseToken"] })).await;
    assert_eq!(acked.code(), 0);

    let audit = server.get("/v1/event-queues/audit").await.data()["id"].as_str().unwrap().to_owned();
    server.call("DELETE", "/v1/event-queues/audit?force=true", None).await.data();
    let letters = format!("/v1/dead-letters?queueId={audit}");
    assert_eq!(server.get(&letters).await.data()["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.call_as(&key, "GET", &letters, None).await.code(), 40_401);
}
