//! Streams with several queues.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::test_server::{TestServer, id_of};

/// A server with the stream `orders`, read by the queues `mail` and `audit`.
pub(crate) async fn fan_out(factory: Factory) -> TestServer {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({ "stream": "orders" })).await;
    server.queue("audit", json!({ "stream": "orders", "maxAttempts": 3 })).await;
    server
}

/// Publishes to a stream and gives the event's picture.
pub(crate) async fn publish(server: &TestServer, stream: &str, n: usize) -> Value {
    let path = format!("/v1/streams/{stream}/events");
    server.post(&path, json!({ "payload": { "n": n } })).await.data()
}

pub(crate) fn ids(page: &Value, field: &str) -> Vec<String> {
    let items = page["items"].as_array().expect("a page has items");
    items.iter().map(|item| item[field].as_str().expect("an id is a text").to_owned()).collect()
}

pub(crate) async fn an_event_reaches_every_queue_of_its_stream(factory: Factory) {
    let server = fan_out(factory).await;
    let published = server.post("/v1/streams/orders/events", json!({ "payload": { "n": 1 } })).await;
    assert_eq!(published.status, 201);
    assert_shape(
        &published.data(),
        &json!({
            "id": "$evt", "stream": "orders", "streamId": "$text", "headers": {}, "scheduleId": null,
            "createdAt": "$time", "scheduledAt": "$time", "expiresAt": null, "dedupeKey": null, "traceContext": null,
            "deliveries": []
        }),
    );
    let id = id_of(&published.data());
    let (mail, audit) = (server.claim("mail", 30).await, server.claim("audit", 30).await);
    for (claim, queue) in [(&mail, "mail"), (&audit, "audit")] {
        assert_eq!((&claim["event"]["id"], &claim["event"]["queue"]), (&json!(id), &json!(queue)));
        assert_eq!(claim["event"]["payload"], json!({ "n": 1 }));
    }
    assert_ne!(mail["leaseToken"], audit["leaseToken"]);
    assert_eq!(server.settle("ack", &mail, json!({})).await.code(), 0);
    assert_eq!(server.settle("nack", &audit, json!({ "mode": "fatal" })).await.code(), 0);

    let event = server.event(&id).await;
    assert_eq!(event.get("state"), None, "what is of one queue is not at the top");
    let states: Vec<_> = event["deliveries"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states.len(), 2);
    assert!(states.contains(&&json!("done")) && states.contains(&&json!("dead")), "{event:#}");

    // A publish to one queue stays with that queue.
    let direct = server.publish("mail", 2).await;
    assert_eq!(server.claim("mail", 30).await["event"]["id"], json!(direct));
    assert_eq!(server.claim("audit", 30).await, Value::Null);
    assert_eq!(server.event(&direct).await["queue"], "mail");

    let events: Vec<Value> = (3..6).map(|n| json!({ "payload": { "n": n } })).collect();
    let batch = server.post("/v1/streams/orders/events/batch", json!({ "events": events })).await;
    assert_eq!((batch.status, ids(&batch.data(), "id").len()), (201, 3));
    for queue in ["mail", "audit"] {
        let path = format!("/v1/event-queues/{queue}/claim-batch");
        let claims = server.post(&path, json!({ "maxEvents": 10, "waitSeconds": 0 })).await.data();
        let numbers: Vec<_> = claims["claims"].as_array().unwrap().iter().collect();
        let numbers: Vec<_> = numbers.iter().map(|claim| claim["event"]["payload"]["n"].clone()).collect();
        assert_eq!(numbers, [3, 4, 5], "{queue}: in the order of publishing");
    }
    let bad = server.post("/v1/streams/orders/events/batch", json!({ "events": [{ "payload": 1 }] })).await;
    assert_eq!(bad.fields(), ["events[0].payload"]);
    for path in ["/v1/streams/none/events", "/v1/streams/none/events/batch"] {
        assert_eq!(server.post(path, json!({ "x": 1 })).await.code(), 40_404, "{path}");
        let good = json!({ "payload": {} });
        let body = if path.ends_with("batch") { json!({ "events": [good] }) } else { good };
        assert_eq!(server.post(path, body).await.code(), 40_404, "a publish makes no stream: {path}");
    }
}

pub(crate) async fn a_stream_and_its_queues_are_shown(factory: Factory) {
    let server = fan_out(factory).await;
    server.queue("own", json!({ "dedupeWindowSeconds": 7 })).await;
    let taken = server.post("/v1/event-queues", json!({ "name": "orders" })).await;
    assert_eq!(taken.code(), 40_903, "its own stream would bear a name that is taken");
    let empty = server.get("/v1/streams/orders").await.data();
    let picture = json!({
        "name": "orders", "retention": "trim", "dedupeWindowSeconds": 300, "length": 0, "firstId": null,
        "lastId": null, "entriesAdded": 0, "scheduled": 0, "queues": 2, "createdAt": "$time"
    });
    assert_shape(&empty, &picture);
    let first = publish(&server, "orders", 1).await["streamId"].clone();
    let last = publish(&server, "orders", 2).await["streamId"].clone();
    let later = json!({ "payload": {}, "delaySeconds": 60 });
    let later = server.post("/v1/streams/orders/events", later).await.data();
    assert_eq!(later["streamId"], Value::Null, "it takes its place when it is due");
    let shown = server.get("/v1/streams/orders").await.data();
    let figures = ["length", "entriesAdded", "scheduled"].map(|name| shown[name].clone());
    assert_eq!(figures, [json!(2), json!(2), json!(1)]);
    assert_eq!((&shown["firstId"], &shown["lastId"]), (&first, &last));
    let own = server.get("/v1/streams/own").await.data();
    assert_eq!((&own["retention"], &own["dedupeWindowSeconds"]), (&json!("consumed"), &json!(7)));

    server.claim("mail", 30).await;
    server.advance(5);
    let groups = server.get("/v1/streams/orders/groups").await.data();
    assert_eq!(ids(&groups, "name"), ["mail", "audit"], "oldest first");
    let counts = |ready: u64, leased: u64| {
        json!({
            "scheduled": 1, "ready": ready, "leased": leased, "held": 0, "retrying": 0, "done": 0, "dead": 0,
            "cancelled": 0
        })
    };
    let mail = json!({
        "queueId": "$evq", "name": "mail", "paused": false, "lastDeliveredId": first, "lag": 1, "pending": 1,
        "oldestPendingAgeSeconds": 5, "trimmedUnread": 0, "counts": counts(1, 1)
    });
    assert_shape(&groups["items"][0], &mail);
    let audit = json!({
        "queueId": "$evq", "name": "audit", "paused": false, "lastDeliveredId": null, "lag": 2, "pending": 0,
        "oldestPendingAgeSeconds": null, "trimmedUnread": 0, "counts": counts(2, 0)
    });
    assert_shape(&groups["items"][1], &audit);

    assert_eq!(ids(&server.get("/v1/streams").await.data(), "name"), ["own", "orders"], "newest first");
    assert_eq!(ids(&server.get("/v1/streams?namePrefix=or").await.data(), "name"), ["orders"]);
    let page = server.get("/v1/streams?limit=1").await.data();
    let cursor = page["nextCursor"].as_str().expect("there is a second page").to_owned();
    let next = server.get(&format!("/v1/streams?cursor={cursor}")).await.data();
    assert_eq!((ids(&next, "name"), &next["nextCursor"]), (vec!["orders".to_owned()], &Value::Null));
    assert_eq!(server.get(&format!("/v1/event-queues?cursor={cursor}")).await.code(), 40_005);
}

pub(crate) async fn entries_come_in_pages(factory: Factory) {
    let server = fan_out(factory).await;
    let mut places = Vec::new();
    let mut times = Vec::new();
    for n in 0..5 {
        let event = publish(&server, "orders", n).await;
        places.push(event["streamId"].as_str().expect("it is due").to_owned());
        times.push(event["createdAt"].as_str().expect("a time").to_owned());
        server.advance(1);
    }
    let entries = async |query: &str| server.get(&format!("/v1/streams/orders/entries?{query}")).await.data();
    let all = entries("").await;
    assert_eq!((ids(&all, "streamId"), &all["nextCursor"]), (places.clone(), &Value::Null));
    let entry = json!({
        "streamId": places[0], "eventId": "$evt", "payload": { "n": 0 }, "headers": {}, "createdAt": "$time"
    });
    assert_shape(&all["items"][0], &entry);
    assert_eq!(entries("includePayload=false").await["items"][0].get("payload"), None);

    for (reverse, order) in [(false, [0, 1, 2, 3, 4]), (true, [4, 3, 2, 1, 0])] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        for pages in 1..=3 {
            let page = entries(&format!("limit=2&reverse={reverse}{cursor}")).await;
            seen.extend(ids(&page, "streamId"));
            let Some(next) = page["nextCursor"].as_str() else {
                assert_eq!(pages, 3);
                break;
            };
            assert!(pages < 3, "the third page is the last one");
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen, order.map(|at: usize| places[at].clone()), "reverse: {reverse}");
        let other = server.get(&format!("/v1/streams/orders/entries?reverse={}{cursor}", !reverse)).await;
        assert_eq!(other.code(), 40_005, "a cursor is bound to its list");
    }
    let between = format!("start={}&end={}", places[1], places[3]);
    assert_eq!(ids(&entries(&between).await, "streamId"), places[1..4]);
    let times = format!("start={}&end={}", times[1], times[2]);
    assert_eq!(ids(&entries(&times).await, "streamId"), places[1..3], "both ends are within");
    assert_eq!(entries(&format!("start={}&end={}", places[3], places[1])).await["items"], json!([]));
    assert_eq!(entries("end=1969-12-31T23:59:59Z").await["items"], json!([]));
    // A publish to one queue is no entry of the stream.
    server.publish("mail", 9).await;
    assert_eq!(ids(&entries("").await, "streamId"), places);
}

pub(crate) async fn a_publish_wakes_the_waiters_of_every_queue(factory: Factory) {
    let server = fan_out(factory).await;
    let mut mail = server.begin_claim("mail", 30).await;
    let mut audit = server.begin_claim("audit", 30).await;
    server.until_waiting(2).await;
    let began = Instant::now();
    let event = publish(&server, "orders", 1).await;
    for waiting in [&mut mail, &mut audit] {
        let claim = waiting.answer().await.expect("a waiting claim is answered").data();
        assert_eq!(claim["event"]["id"], event["id"]);
    }
    let took = began.elapsed();
    println!("both woken {took:?} after the publish began");
    assert!(took < Duration::from_millis(900), "by the hint, not by the look once a second: {took:?}");
}

pub(crate) async fn a_stream_without_queues_keeps_its_events(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("gone", json!({ "stream": "s" })).await;
    server.call("DELETE", "/v1/event-queues/gone", None).await.data();
    let event = publish(&server, "s", 1).await;
    assert_eq!((&event["deliveries"], event.get("queue")), (&json!([]), None));
    let path = format!("/v1/events/{}", id_of(&event));
    assert_eq!(server.get(&path).await.data()["payload"], json!({ "n": 1 }));
    let timeline = server.get(&format!("{path}/timeline")).await.data();
    assert_eq!(timeline, json!({ "queue": null, "queueId": null, "items": [], "nextCursor": null }));
    assert_eq!(server.get("/v1/streams/s").await.data()["queues"], 0);
    server.queue("late", json!({ "stream": "s", "from": "start" })).await;
    assert_eq!(server.claim("late", 30).await["event"]["id"], event["id"]);
}

pub(crate) async fn names_are_escaped_in_paths(factory: Factory) {
    let server = TestServer::start(factory).await;
    let name = "Orders/EU é%?#+ 1";
    let path = "/v1/streams/Orders%2FEU%20%C3%A9%25%3F%23%2B%201";
    server.queue("mail", json!({ "stream": name })).await;
    assert_eq!(server.get(path).await.data()["name"], json!(name));
    let event = server.post(&format!("{path}/events"), json!({ "payload": {} })).await.data();
    assert_eq!(event["stream"], json!(name));
    assert_eq!(server.claim("mail", 30).await["event"]["id"], event["id"]);
    assert_eq!(server.get(&format!("{path}/entries")).await.data()["items"][0]["eventId"], event["id"]);
    assert_eq!(server.get(&format!("{path}/groups")).await.data()["items"][0]["name"], "mail");
    assert_eq!(server.get("/v1/streams/Orders/EU").await.code(), 40_400);
    assert_eq!(server.get("/v1/streams/Orders").await.code(), 40_404);
    let long = "ö".repeat(256);
    server.queue("long", json!({ "stream": long })).await;
    assert_eq!(
        server.get(&format!("/v1/streams/{}", "%C3%B6".repeat(256))).await.data()["name"],
        json!(long)
    );
    let made = server.post("/v1/event-queues", json!({ "name": "more", "stream": format!("{long}x") })).await;
    assert_eq!(made.fields(), ["stream"]);
}

pub(crate) async fn a_queue_begins_where_it_is_told(factory: Factory) {
    let server = TestServer::start(factory).await;
    let made = server.queue("early", json!({ "stream": "s", "from": "start" })).await;
    assert_eq!((&made["stream"], made.get("firstAvailable")), (&json!("s"), Some(&Value::Null)));
    let mut events = Vec::new();
    for n in 0..3 {
        events.push(publish(&server, "s", n).await);
        server.advance(1);
    }
    let start = server.queue("start", json!({ "stream": "s", "from": "start" })).await;
    assert_eq!(start["firstAvailable"], events[0]["streamId"]);
    let after = server.queue("after", json!({ "stream": "s", "from": events[0]["streamId"] })).await;
    assert_eq!(after.get("firstAvailable"), None);
    server.queue("time", json!({ "stream": "s", "from": events[2]["createdAt"] })).await;
    server.queue("new", json!({ "stream": "s", "from": "new" })).await;
    server.queue("absent", json!({ "stream": "s" })).await;
    publish(&server, "s", 3).await;
    for (queue, expected) in [
        ("early", &[0, 1, 2, 3][..]),
        ("start", &[0, 1, 2, 3]),
        ("after", &[1, 2, 3]),
        ("time", &[2, 3]),
        ("new", &[3]),
        ("absent", &[3]),
    ] {
        let path = format!("/v1/event-queues/{queue}/claim-batch");
        let claims = server.post(&path, json!({ "maxEvents": 10, "waitSeconds": 0 })).await.data();
        let numbers: Vec<_> = claims["claims"].as_array().unwrap().iter().collect();
        let numbers: Vec<_> = numbers.iter().map(|claim| claim["event"]["payload"]["n"].clone()).collect();
        assert_eq!(numbers, expected, "{queue}");
    }
}

pub(crate) async fn a_queue_goes_back_and_forward(factory: Factory) {
    let server = fan_out(factory).await;
    let first = publish(&server, "orders", 1).await;
    server.advance(10);
    publish(&server, "orders", 2).await;
    let one = server.claim("mail", 300).await;
    server.settle("ack", &one, json!({})).await.data();
    let two = server.claim("mail", 300).await;
    let path = "/v1/streams/orders/groups/mail/reset";
    let reset = server.post(path, json!({ "id": "0-0" })).await.data();
    assert_eq!((&reset["name"], &reset["counts"]["ready"]), (&json!("mail"), &json!(2)));
    assert_eq!(server.settle("ack", &two, json!({})).await.code(), 40_901, "old tokens are lost");
    let again = server.claim("mail", 300).await;
    assert_eq!(again["event"]["id"], first["id"], "what was done is done again");
    assert_eq!((&again["event"]["attemptCount"], &again["event"]["deliveryCount"]), (&json!(1), &json!(2)));
    assert_eq!(server.claim("audit", 300).await["event"]["id"], first["id"], "the other queue goes on");

    let now = server.get("/v1/system").await.data()["now"].clone();
    server.post(path, json!({ "time": now })).await.data();
    assert_eq!(server.claim("mail", 300).await["event"]["payload"]["n"], 2, "from that time on");
    server.advance(1);
    let now = server.get("/v1/system").await.data()["now"].clone();
    server.post(path, json!({ "time": now })).await.data();
    assert_eq!(server.claim("mail", 300).await, Value::Null, "there is nothing so late");

    let id = server.get("/v1/event-queues/mail").await.data()["id"].as_str().unwrap().to_owned();
    let by_id = format!("/v1/streams/orders/groups/{id}/reset");
    assert_eq!(server.post(&by_id, json!({ "id": "0-0" })).await.code(), 0);
    server.queue("other", json!({})).await;
    for (path, body, code) in [
        ("/v1/streams/none/groups/mail/reset", json!({ "id": "0-0" }), 40_404),
        ("/v1/streams/orders/groups/none/reset", json!({ "x": 1 }), 40_404),
        ("/v1/streams/orders/groups/other/reset", json!({ "id": "0-0" }), 40_404),
        (path, json!({}), 40_001),
        (path, json!({ "id": "0-0", "time": now }), 40_001),
        (path, json!({ "id": "0" }), 40_001),
        (path, json!({ "time": "now" }), 40_001),
        (path, json!({ "id": "0-0", "force": true }), 40_002),
    ] {
        assert_eq!(server.post(path, body.clone()).await.code(), code, "{path} {body}");
    }
}

pub(crate) async fn a_stream_is_deleted_with_its_queues(factory: Factory) {
    let server = fan_out(factory).await;
    publish(&server, "orders", 1).await;
    for path in ["/v1/streams/orders/groups/none", "/v1/streams/none/groups/mail", "/v1/streams/none"] {
        assert_eq!(server.call("DELETE", path, None).await.code(), 40_404, "{path}");
    }
    server.queue("other", json!({})).await;
    assert_eq!(server.call("DELETE", "/v1/streams/orders/groups/other", None).await.code(), 40_404);
    let group = "/v1/streams/orders/groups/mail";
    assert_eq!(server.call("DELETE", group, None).await.code(), 40_907);
    assert_eq!(server.call("DELETE", &format!("{group}?force=yes"), None).await.fields(), ["force"]);
    let gone = server.call("DELETE", &format!("{group}?force=true"), None).await.data();
    assert_shape(&gone, &json!({ "id": "$evq", "deleted": true }));
    assert_eq!(server.get("/v1/event-queues/mail").await.code(), 40_401);

    let audit = server.get("/v1/event-queues/audit").await.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.call("DELETE", "/v1/streams/orders", None).await.code(), 40_907);
    let gone = server.call("DELETE", "/v1/streams/orders?force=true", None).await.data();
    assert_eq!(gone, json!({ "name": "orders", "deleted": true }));
    assert_eq!(server.get("/v1/streams/orders").await.code(), 40_404);
    assert_eq!(server.get("/v1/event-queues/audit").await.code(), 40_401);
    let letters = server.get(&format!("/v1/dead-letters?queueId={audit}")).await.data();
    assert_eq!(letters["items"][0]["reason"], "stream_deleted");
    // A queue's own stream goes with the queue.
    server.call("DELETE", "/v1/event-queues/other", None).await.data();
    assert_eq!(server.get("/v1/streams/other").await.code(), 40_404);
}

pub(crate) async fn a_shared_event_is_redriven_in_the_queue_that_is_named(factory: Factory) {
    let server = fan_out(factory).await;
    let id = id_of(&publish(&server, "orders", 1).await);
    for queue in ["mail", "audit"] {
        let claim = server.claim(queue, 30).await;
        server.settle("nack", &claim, json!({ "mode": "fatal" })).await.data();
    }
    let path = format!("/v1/events/{id}/redrive");
    let needed = server.call("POST", &path, None).await;
    assert_eq!((needed.code(), needed.fields()), (40_001, vec!["queue".to_owned()]));
    let rule = needed.envelope()["data"]["fields"][0]["rule"].as_str().unwrap().to_owned();
    assert!(rule.contains("mail") && rule.contains("audit"), "{rule}");
    assert_eq!(server.post(&path, json!({ "queue": "mail" })).await.code(), 0);
    assert_eq!(server.claim("mail", 30).await["event"]["id"], json!(id));
    assert_eq!(server.claim("audit", 30).await, Value::Null);
    let in_query = format!("{path}?queue=audit");
    assert_eq!(server.post(&in_query, json!({ "queue": "audit" })).await.fields(), ["queue"], "given twice");
    assert_eq!(server.post(&format!("{path}?queues=audit"), json!({})).await.code(), 40_002);
    assert_eq!(server.call("POST", &in_query, None).await.code(), 0);
    assert_eq!(server.claim("audit", 30).await["event"]["id"], json!(id));
    server.queue("other", json!({})).await;
    assert_eq!(server.post(&path, json!({ "queue": "other" })).await.code(), 40_402, "it is not in there");
}
