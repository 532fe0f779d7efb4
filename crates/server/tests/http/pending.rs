//! What is pending in a queue of a stream.
//!
//! Lives here: the list over HTTP. Not here: who holds how much (`consumers.rs`).

use naven_store::Engine;
use naven_store::txn::Txn;
use serde_json::{Value, json};

use crate::Factory;
use crate::consumers::read_one;
use crate::shape::assert_shape;
use crate::streams::{fan_out, ids, publish};
use crate::test_server::TestServer;

const PENDING: &str = "/v1/streams/orders/groups/mail/pending";

async fn pending(server: &TestServer, query: &str) -> Value {
    server.get(&format!("{PENDING}?{query}")).await.data()
}

/// Five entries, one a second: a Redis consumer has the first and the second, another the third, the fourth is
/// leased, the fifth failed and waits. Their places.
async fn scene(factory: Factory) -> (TestServer, Vec<String>) {
    let server = fan_out(factory).await;
    let mut places = Vec::new();
    for n in 0..5 {
        places.push(publish(&server, "orders", n).await["streamId"].as_str().expect("it is due").to_owned());
        server.advance(1);
    }
    for consumer in [&b"r1"[..], b"r1", b"r\xff"] {
        server.engine.submit(vec![Txn::one(read_one("mail", consumer))]).await;
    }
    server.claim("mail", 900).await;
    let failed = server.claim("mail", 900).await;
    assert_eq!(server.settle("nack", &failed, json!({ "retryDelaySeconds": 60 })).await.code(), 0);
    (server, places)
}

pub(crate) async fn what_somebody_has_or_nobody_any_more_is_listed(factory: Factory) {
    let server = fan_out(factory).await;
    let empty = json!({ "items": [], "nextCursor": null, "scanTruncated": false });
    assert_eq!(pending(&server, "").await, empty);
    let place = publish(&server, "orders", 0).await["streamId"].clone();
    assert_eq!(pending(&server, "").await, empty, "what was never handed out is not pending");
    let leased = server.claim("mail", 900).await;
    let at = naven_store::Clock::wall(&*server.clock);
    server.advance(7);
    let event = leased["event"].clone();
    let one = |consumer: Value, state: &str, idle: u64, since: &str, count: u64| {
        json!({
            "streamId": place, "eventId": event["id"], "consumer": consumer, "state": state,
            "idleSeconds": idle, "idleSince": since, "deliveryCount": count, "attemptCount": count
        })
    };
    let list = pending(&server, "").await;
    assert_eq!(list["items"], json!([one(json!("@http"), "leased", 7, &at.to_string(), 1)]));
    // A heartbeat is a word of its holder.
    assert_eq!(server.settle("heartbeat", &leased, json!({ "leaseSeconds": 900 })).await.code(), 0);
    let beat = at.plus_ms(7_000).to_string();
    server.advance(2);
    let list = pending(&server, "").await;
    assert_eq!(list["items"], json!([one(json!("@http"), "leased", 2, &beat, 1)]));

    // One that failed is nobody's, and idle once it is due.
    assert_eq!(server.settle("nack", &leased, json!({ "retryDelaySeconds": 10 })).await.code(), 0);
    let due = at.plus_ms(19_000).to_string();
    assert_eq!(pending(&server, "").await["items"], json!([one(Value::Null, "retrying", 0, &due, 1)]));
    server.advance(13);
    assert_eq!(pending(&server, "").await["items"], json!([one(Value::Null, "ready", 3, &due, 1)]));
    let again = server.claim("mail", 900).await;
    let now = naven_store::Clock::wall(&*server.clock).to_string();
    let list = pending(&server, "").await;
    assert_eq!(list["items"], json!([one(json!("@http"), "leased", 0, &now, 2)]), "as often as it was held");
    assert_eq!(server.settle("ack", &again, json!({})).await.code(), 0);
    assert_eq!(pending(&server, "").await, empty, "what is finished is not");
    let other = server.get("/v1/streams/orders/groups/audit/pending").await.data();
    assert_eq!(other, empty, "nor what another queue has");
}

pub(crate) async fn pending_deliveries_come_in_pages_and_by_place(factory: Factory) {
    let (server, places) = scene(factory).await;
    let all = pending(&server, "").await;
    assert_eq!((ids(&all, "streamId"), &all["nextCursor"]), (places.clone(), &Value::Null));
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for page in 1..=3 {
        let list = pending(&server, &format!("limit=2{cursor}")).await;
        assert_eq!(list["scanTruncated"], false);
        seen.push(ids(&list, "streamId"));
        assert_eq!(list["nextCursor"].is_string(), page < 3, "page {page}");
        cursor = format!("&cursor={}", list["nextCursor"].as_str().unwrap_or_default());
        if page < 3 {
            for other in ["minIdleSeconds=1", "consumer=", "consumer=r1", "end=9-9", "start=1-0"] {
                let answer = server.get(&format!("{PENDING}?{other}{cursor}")).await;
                assert_eq!(answer.code(), 40_005, "a cursor is bound to its list: {other}");
            }
            let audit = PENDING.replace("mail", "audit");
            assert_eq!(server.get(&format!("{audit}?limit=2{cursor}")).await.code(), 40_005);
        }
    }
    assert_eq!(seen, [places[..2].to_vec(), places[2..4].to_vec(), places[4..].to_vec()]);

    let between = format!("start={}&end={}", places[1], places[3]);
    assert_eq!(ids(&pending(&server, &between).await, "streamId"), places[1..4], "both ends are within");
    let page = pending(&server, &format!("{between}&limit=2")).await;
    let next = page["nextCursor"].as_str().expect("there is one more");
    let last = pending(&server, &format!("{between}&cursor={next}")).await;
    assert_eq!((ids(&last, "streamId"), &last["nextCursor"]), (places[3..4].to_vec(), &Value::Null));
    let turned = format!("start={}&end={}", places[3], places[1]);
    assert_eq!(pending(&server, &turned).await["items"], json!([]));
    assert_eq!(pending(&server, "end=1969-12-31T23:59:59Z").await["items"], json!([]));
}

pub(crate) async fn pending_deliveries_are_told_apart_by_holder_and_idle_time(factory: Factory) {
    let (server, places) = scene(factory).await;
    let shown = async |query: &str| ids(&pending(&server, query).await, "streamId");
    for (query, found) in [
        ("consumer=r1", &places[..2]),
        ("consumer=r%FF", &places[2..3]),
        ("consumer=r%EF%BF%BD", &[]),
        ("consumer=@http", &places[3..4]),
        ("consumer=", &places[4..]),
        ("consumer=none", &[]),
        ("consumer=r1&limit=1", &places[..1]),
        ("minIdleSeconds=0", &places),
        ("minIdleSeconds=1", &[]),
    ] {
        assert_eq!(shown(query).await, found, "{query}");
    }
    let held = json!({
        "streamId": places[2], "eventId": "$evt", "consumer": "r\u{fffd}", "state": "held", "idleSeconds": 0,
        "idleSince": "$time", "deliveryCount": 1, "attemptCount": 1
    });
    assert_shape(&pending(&server, "consumer=r%FF").await["items"][0], &held);
    server.advance(61);
    // The failed one has been due for a second.
    assert_eq!(shown("minIdleSeconds=1").await, places);
    assert_eq!(shown("minIdleSeconds=2").await, places[..4]);
    assert_eq!(shown("minIdleSeconds=61").await, places[..4]);
    assert_eq!(shown("minIdleSeconds=62").await, places[..0]);
    assert_eq!(shown("minIdleSeconds=2&consumer=").await, places[..0]);
    assert_eq!(shown("minIdleSeconds=315360000").await, places[..0]);
    let page = pending(&server, "minIdleSeconds=2&limit=3").await;
    let next = page["nextCursor"].as_str().expect("there is one more");
    assert_eq!(shown(&format!("minIdleSeconds=2&cursor={next}")).await, places[3..4]);
    let past = server.get(&format!("{PENDING}?minIdleSeconds=315360001")).await;
    assert_eq!((past.code(), past.fields()), (40_001, vec!["minIdleSeconds".to_owned()]));
}

pub(crate) async fn a_page_of_pending_deliveries_is_bounded_by_its_limit(factory: Factory) {
    let server = fan_out(factory).await;
    for first in [0, 500] {
        let count = if first == 0 { 500 } else { 1 };
        let events: Vec<Value> = (0..count).map(|n| json!({ "payload": { "n": first + n } })).collect();
        server.post("/v1/streams/orders/events/batch", json!({ "events": events })).await.data();
    }
    for _ in 0..6 {
        let batch = json!({ "maxEvents": 100, "waitSeconds": 0 });
        server.post("/v1/event-queues/mail/claim-batch", batch).await.data();
    }
    for (query, count) in [("", 50), ("limit=1", 1), ("limit=500", 500)] {
        let list = pending(&server, query).await;
        assert_eq!((ids(&list, "eventId").len(), list["nextCursor"].is_string()), (count, true), "{query}");
    }
}
