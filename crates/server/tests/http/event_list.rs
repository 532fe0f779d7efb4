//! Lists of a queue's events.
//!
//! Lives here: what the door says of them. Not here: how far a list looks (the engines' suite), and
//! malformed parameters one by one (`malformed_targets.rs`).

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::test_server::TestServer;

const EVENTS: &str = "/v1/event-queues/mail/events";

async fn publish(server: &TestServer, payload: Value) -> String {
    let made = server.post(EVENTS, json!({ "payload": payload })).await.data();
    made["id"].as_str().unwrap().to_owned()
}

/// The ids of the whole answer to this query.
async fn found(server: &TestServer, query: &str) -> Vec<String> {
    let page = server.get(&format!("{EVENTS}?{query}")).await.data();
    assert_eq!((&page["nextCursor"], &page["scanTruncated"]), (&Value::Null, &json!(false)), "{query}");
    ids(&page)
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("a list");
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn a_queues_events_are_listed_newest_first(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let empty = server.get(EVENTS).await.data();
    assert_eq!(empty, json!({ "items": [], "nextCursor": null, "scanTruncated": false }));
    let done = publish(&server, json!({ "n": 1 })).await;
    let claim = server.claim("mail", 30).await;
    server.settle("ack", &claim, json!({})).await.data();
    let leased = publish(&server, json!({ "n": 2 })).await;
    server.claim("mail", 30).await;
    let page = server.get(EVENTS).await.data();
    assert_eq!(ids(&page), [leased.clone(), done.clone()]);
    assert_eq!((&page["items"][0]["state"], &page["items"][1]["state"]), (&json!("leased"), &json!("done")));
    assert_eq!(page["items"][0].get("payload"), None, "lists leave payloads away");
    let shown = server.get(&format!("{EVENTS}?includePayload=true")).await.data();
    assert_eq!(shown["items"][0]["payload"], json!({ "n": 2 }));
    assert_eq!(shown["items"][1]["payload"], Value::Null, "that of a done event is dropped");
    let alone = server.get(&format!("/v1/events/{leased}")).await.data();
    assert_shape(&shown["items"][0], &alone);
    let cancelled = publish(&server, json!({ "n": 3 })).await;
    server.call("POST", &format!("/v1/events/{cancelled}/cancel"), None).await.data();
    let by_id = server.get("/v1/event-queues/mail").await.data()["id"].as_str().unwrap().to_owned();
    let page = server.get(&format!("/v1/event-queues/{by_id}/events?state=cancelled,done")).await.data();
    assert_eq!(ids(&page), [cancelled, done]);
    server.call("DELETE", "/v1/event-queues/mail?force=true", None).await.data();
    assert_eq!(server.get(EVENTS).await.code(), 40_401);
    assert_eq!(server.get(&format!("/v1/event-queues/{by_id}/events")).await.code(), 40_401);
}

pub(crate) async fn every_filter_lets_in_what_it_says(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({ "maxAttempts": 1 })).await;
    let first = publish(&server, json!({ "user": { "id": 7 }, "text": "Grüße & mehr" })).await;
    let claim = server.claim("mail", 30).await;
    server.settle("nack", &claim, json!({ "error": "no user 7", "mode": "fatal" })).await.data();
    server.advance(10);
    let second = publish(&server, json!({ "user": { "id": "7", "vip": true } })).await;
    let later = server.get(&format!("/v1/events/{second}")).await.data()["createdAt"].clone();
    let later = later.as_str().unwrap();
    let groups = server.get("/v1/event-queues/mail/dead-letters?groupBy=error").await.data();
    let print = groups["items"][0]["fingerprint"].as_str().unwrap();
    let (one, both) = (vec![first.clone()], vec![second.clone(), first]);
    for (query, expected) in [
        ("state=dead".to_owned(), one.clone()),
        ("state=ready,dead".to_owned(), both.clone()),
        ("state=leased".to_owned(), vec![]),
        (format!("createdAfter={later}"), vec![second.clone()]),
        (format!("createdBefore={later}"), one.clone()),
        ("error=no+user".to_owned(), one.clone()),
        (format!("error={print}"), one.clone()),
        ("payload.user.id=7".to_owned(), both.clone()),
        ("payload.user.id=7&payload.user.vip=true".to_owned(), vec![second.clone()]),
        ("payload.user.id=7&state=dead".to_owned(), one.clone()),
        ("payload.text=Gr%C3%BC%C3%9Fe+%26+mehr".to_owned(), one.clone()),
        ("payload.user=7".to_owned(), vec![]),
        ("q=%22vip%22:true".to_owned(), vec![second.clone()]),
        ("q=nothing".to_owned(), vec![]),
    ] {
        assert_eq!(found(&server, &query).await, expected, "{query}");
    }
    let refused = server.get(&format!("{EVENTS}?payload.user..id=7")).await;
    assert_eq!((refused.status, refused.code()), (400, 40_006));
    assert!(refused.envelope()["message"].as_str().unwrap().contains("payload.user..id"));
    let refused = server.get(&format!("{EVENTS}?state=gone&payload.a=&q=")).await;
    assert_eq!(refused.fields(), ["state", "payload.a", "q"]);
}

pub(crate) async fn pages_and_cursors_belong_to_their_filter(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let mut all = Vec::new();
    for n in 0..5 {
        all.insert(0, publish(&server, json!({ "n": n })).await);
    }
    let first = server.get(&format!("{EVENTS}?limit=2&state=ready")).await.data();
    let cursor = first["nextCursor"].as_str().expect("there is more");
    assert_eq!((ids(&first), &first["scanTruncated"]), (all[..2].to_vec(), &json!(false)));
    publish(&server, json!({ "n": 9 })).await;
    let next = server.get(&format!("{EVENTS}?limit=3&state=ready&cursor={cursor}")).await.data();
    assert_eq!((ids(&next), &next["nextCursor"]), (all[2..].to_vec(), &Value::Null));
    for other in ["limit=2", "state=done", "state=ready&q=n", "state=ready&payload.n=1"] {
        let answer = server.get(&format!("{EVENTS}?{other}&cursor={cursor}")).await;
        assert_eq!(answer.code(), 40_005, "{other}");
    }
    let cut = &cursor[..cursor.len() - 2];
    assert_eq!(server.get(&format!("{EVENTS}?limit=2&state=ready&cursor={cut}")).await.code(), 40_005);
    server.queue("other", json!({})).await;
    let other = format!("/v1/event-queues/other/events?state=ready&cursor={cursor}");
    assert_eq!(server.get(&other).await.code(), 40_005);
}

pub(crate) async fn a_total_is_told_where_it_is_asked_for(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    for n in 0..5 {
        publish(&server, json!({ "n": n, "even": n % 2 == 0 })).await;
    }
    for (query, value) in [("", 5), ("&state=ready", 5), ("&state=done", 0), ("&payload.even=true", 3)] {
        let page = server.get(&format!("{EVENTS}?limit=1&includeTotal=true{query}")).await.data();
        assert_eq!(page["total"], json!({ "value": value, "capped": false }), "{query}");
        let Some(cursor) = page["nextCursor"].as_str() else { continue };
        let next = format!("{EVENTS}?limit=1&includeTotal=true{query}&cursor={cursor}");
        assert_eq!(server.get(&next).await.data()["total"], page["total"], "on each page alike");
    }
    let without = server.get(&format!("{EVENTS}?includeTotal=false")).await.data();
    assert_eq!(without.get("total"), None);
}

pub(crate) async fn a_key_lists_what_it_reaches(factory: Factory) {
    let (server, key) = TestServer::start_with_key(factory, &["read"], &["mail"]).await;
    for name in ["mail", "other"] {
        server.queue(name, json!({ "stream": "s" })).await;
    }
    let shared = json!({ "payload": { "n": 1 } });
    server.post("/v1/streams/s/events", shared).await.data();
    server.publish("other", 2).await;
    let page = server.call_as(&key, "GET", EVENTS, None).await.data();
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "the other lane is none of its");
    let deliveries = page["items"][0]["deliveries"].as_array().unwrap();
    assert_eq!((deliveries.len(), &deliveries[0]["queue"]), (1, &json!("mail")));
    let other = server.call_as(&key, "GET", "/v1/event-queues/other/events", None).await;
    assert_eq!(other.code(), 40_401);
}

pub(crate) async fn pages_with_payloads_are_bounded(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "stream": "s" })).await;
    let events: Vec<Value> = (0..70).map(|n| json!({ "payload": { "n": n } })).collect();
    server.post("/v1/event-queues/q/events/batch", json!({ "events": events })).await.data();
    server.post("/v1/streams/s/events/batch", json!({ "events": events })).await.data();
    for _ in 0..70 {
        let claim = server.claim("q", 30).await;
        server.settle("nack", &claim, json!({ "mode": "fatal" })).await.data();
    }
    let id = server.get("/v1/event-queues/q").await.data()["id"].as_str().expect("an id").to_owned();
    for list in [
        "/v1/event-queues/q/events?".to_owned(),
        "/v1/event-queues/q/dead-letters?".to_owned(),
        "/v1/event-queues/q/dead-letters?reason=fatal&".to_owned(),
        format!("/v1/dead-letters?queueId={id}&"),
        "/v1/streams/s/entries?".to_owned(),
    ] {
        let page = server.get(&format!("{list}limit=100&includePayload=true")).await.data();
        let items = page["items"].as_array().expect("a page").len();
        assert_eq!((items, page["nextCursor"].is_string()), (64, true), "{list}");
        let plain = server.get(&format!("{list}limit=100&includePayload=false")).await.data();
        assert!(plain["items"].as_array().expect("a page").len() >= 70, "{list}");
    }
}
