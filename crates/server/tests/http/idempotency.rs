//! Calls that are repeated under an `Idempotency-Key`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Answer, request_with};
use crate::test_server::{TestServer, id_of};

const EVENTS: &str = "/v1/event-queues/q/events";
const CLAIM: &str = "/v1/event-queues/q/claim";

async fn server(factory: Factory) -> TestServer {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server
}

#[track_caller]
fn assert_replayed(answer: &Answer, replayed: bool) {
    assert_eq!(answer.header("idempotent-replayed"), replayed.then_some("true"), "{:?}", answer.headers);
}

async fn count(server: &TestServer, state: &str) -> u64 {
    let queue = server.get("/v1/event-queues/q").await.data();
    queue["counts"][state].as_u64().expect("a count is a number")
}

pub(crate) async fn a_repeated_publish_makes_one_event(factory: Factory) {
    let server = server(factory).await;
    let event = json!({ "payload": { "n": 1 } });
    let first = server.post_once(EVENTS, "k1", event.clone()).await;
    assert_replayed(&first, false);
    let again = server.post_once(EVENTS, "k1", event.clone()).await;
    assert_eq!((again.status, again.data()), (201, first.data()));
    assert_replayed(&again, true);
    let other = server.post_once(EVENTS, "k1", json!({ "payload": { "n": 2 } })).await;
    assert_eq!(other.code(), 42_200, "another body under the same key");
    assert_eq!(count(&server, "ready").await, 1);
    // Another key, another path: another intention.
    assert_ne!(server.post_once(EVENTS, "k2", event.clone()).await.data()["id"], first.data()["id"]);
    server.queue("r", json!({})).await;
    assert_replayed(&server.post_once("/v1/event-queues/r/events", "k1", event.clone()).await, false);
    assert_replayed(&server.post_once("/v1/streams/q/events", "k1", event.clone()).await, false);
    assert_eq!(count(&server, "ready").await, 3);
    // What failed is not kept, and neither is what the answer says of the event later.
    assert_eq!(server.post_once(EVENTS, "k3", json!({ "payload": 1 })).await.code(), 40_001);
    assert_replayed(&server.post_once(EVENTS, "k3", event.clone()).await, false);
    let deduped = json!({ "payload": {}, "dedupeKey": "d" });
    server.post(EVENTS, deduped.clone()).await.data();
    for replayed in [false, true] {
        let answer = server.post_once(EVENTS, "k4", deduped.clone()).await;
        assert_eq!((answer.status, &answer.data()["deduped"]), (200, &json!(true)));
        assert_replayed(&answer, replayed);
    }
    server.advance(86_400);
    assert_replayed(&server.post_once(EVENTS, "k1", event).await, false);
}

pub(crate) async fn a_repeated_batch_makes_one_batch(factory: Factory) {
    let server = server(factory).await;
    let path = format!("{EVENTS}/batch");
    let events: Vec<Value> = (0..12).map(|n| json!({ "payload": { "n": n } })).collect();
    let first = server.post_once(&path, "k", json!({ "events": events })).await;
    assert_replayed(&first, false);
    let again = server.post_once(&path, "k", json!({ "events": events })).await;
    assert_eq!((again.status, again.data()), (201, first.data()));
    assert_replayed(&again, true);
    assert_eq!(count(&server, "ready").await, 12);
    let longer = [events.clone(), vec![json!({ "payload": {} })]].concat();
    let longer = json!({ "events": longer });
    assert_eq!(server.post_once(&path, "k", longer).await.code(), 42_200);
    let shorter = json!({ "events": events[..1] });
    assert_eq!(server.post_once(&path, "k", shorter).await.code(), 42_200);
    assert_eq!(count(&server, "ready").await, 12);
}

/// Sends a POST under the key `k` and cuts the connection without reading an answer.
async fn cut(server: &TestServer, path: &str, body: &Value) {
    let mut connection = server.connect().await;
    let headers = [("Idempotency-Key", "k")];
    connection.send(&request_with("POST", path, &server.key, &headers, Some(&body.to_string()))).await;
    drop(connection);
}

pub(crate) async fn a_publish_whose_answer_was_lost_is_repeated(factory: Factory) {
    let server = server(factory).await;
    let body = json!({ "payload": { "n": 1 } });
    for _ in 0..20 {
        cut(&server, EVENTS, &body).await;
    }
    let id = id_of(&server.post_once(EVENTS, "k", body.clone()).await.data());
    // Those that were cut may still be on their way; none of them makes another event.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let again = server.post_once(EVENTS, "k", body).await;
    assert_replayed(&again, true);
    assert_eq!((id_of(&again.data()), count(&server, "ready").await), (id, 1));
}

pub(crate) async fn a_repeated_claim_gives_the_same_lease_while_it_lives(factory: Factory) {
    let server = server(factory).await;
    let body = json!({ "leaseSeconds": 30, "waitSeconds": 0 });
    let claim = async || server.post_once(CLAIM, "k", body.clone()).await;
    assert_eq!(claim().await.data(), Value::Null);
    server.publish("q", 1).await;
    server.publish("q", 2).await;
    let first = claim().await;
    assert_replayed(&first, false);
    assert_eq!(first.data()["event"]["payload"]["n"], 1, "that nothing came is not kept");
    let again = claim().await;
    assert_replayed(&again, true);
    assert_eq!(again.data()["leaseToken"], first.data()["leaseToken"]);
    assert_eq!(again.data()["event"], first.data()["event"]);
    assert_eq!(count(&server, "leased").await, 1);
    let longer = server.post_once(CLAIM, "k", json!({ "leaseSeconds": 31, "waitSeconds": 0 })).await;
    assert_eq!(longer.code(), 42_200);
    assert_eq!(server.settle("ack", &again.data(), json!({})).await.code(), 0);
    // The lease is over: the claim is a new one.
    let next = claim().await;
    assert_replayed(&next, false);
    assert_eq!(next.data()["event"]["payload"]["n"], 2);
    server.advance(30);
    let after = claim().await;
    assert_replayed(&after, false);
    assert_eq!(after.data()["event"]["attemptCount"], 2);

    let path = "/v1/event-queues/q/claim-batch";
    server.publish("q", 3).await;
    server.publish("q", 4).await;
    let body = json!({ "maxEvents": 5, "waitSeconds": 0 });
    let first = server.post_once(path, "k", body.clone()).await;
    let again = server.post_once(path, "k", body).await;
    assert_replayed(&again, true);
    assert_eq!((first.data()["claims"].as_array().map(Vec::len), again.data()), (Some(2), first.data()));
}

pub(crate) async fn a_repeated_claim_does_not_stand_in_line(factory: Factory) {
    let server = server(factory).await;
    server.publish("q", 1).await;
    let body = json!({ "leaseSeconds": 900, "waitSeconds": 30 });
    let first = server.post_once(CLAIM, "k", body.clone()).await.data();
    let mut waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    let again = server.post_once(CLAIM, "k", body.clone()).await;
    assert_replayed(&again, true);
    assert_eq!(again.data()["leaseToken"], first["leaseToken"]);

    // A new one waits behind the others, and two of one key that wait at once share a lease.
    let headers = [("Idempotency-Key", "k2")];
    let mut twins = [server.connect().await, server.connect().await];
    for (twin, waiters) in twins.iter_mut().zip(2..) {
        let bytes = request_with("POST", CLAIM, &server.key, &headers, Some(&body.to_string()));
        twin.send(&bytes).await;
        server.until_waiting(waiters).await;
    }
    server.publish("q", 2).await;
    let served = waiting.answer().await.expect("an answer").data();
    assert_eq!(served["event"]["payload"]["n"], 2, "first come, first served");
    server.publish("q", 3).await;
    let one = twins[0].answer().await.expect("an answer").data();
    let two = twins[1].answer().await.expect("an answer").data();
    assert_eq!((&one["event"]["payload"]["n"], &one["leaseToken"]), (&json!(3), &two["leaseToken"]));
}

pub(crate) async fn a_claim_whose_connection_was_cut_is_repeated(factory: Factory) {
    let server = server(factory).await;
    for n in 0..10 {
        let id = server.publish("q", n).await;
        let body = json!({ "leaseSeconds": 900, "waitSeconds": 0, "consumerId": format!("w{n}") });
        cut(&server, CLAIM, &body).await;
        // The server saw it and gave the lease back, or it did not and gives the same lease again.
        let mut claim = Value::Null;
        for _ in 0..1_000 {
            claim = server.post_once(CLAIM, "k", body.clone()).await.data();
            if claim != Value::Null {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((&claim["event"]["id"], &claim["event"]["attemptCount"]), (&json!(id), &json!(1)));
        let acked = settled(&server, &claim, &body).await;
        assert_eq!(acked["state"], "done");
        // The next round is another intention: its key may be used again once its lease is over, and the
        // same body with it.
        server.advance(86_400);
    }
}

/// Acks `claim`. Where the cut call gave its lease back only now, the key gives a new one.
async fn settled(server: &TestServer, claim: &Value, body: &Value) -> Value {
    let acked = server.settle("ack", claim, json!({})).await;
    if acked.code() == 0 {
        return acked.data();
    }
    assert_eq!(acked.code(), 40_901);
    let again = server.post_once(CLAIM, "k", body.clone()).await.data();
    server.settle("ack", &again, json!({})).await.data()
}

pub(crate) async fn a_repeated_creation_redrive_or_reset_changes_nothing(factory: Factory) {
    let server = server(factory).await;
    let body = json!({ "name": "new", "stream": "s", "from": "start" });
    let made = server.post_once("/v1/event-queues", "k", body.clone()).await;
    let again = server.post_once("/v1/event-queues", "k", body.clone()).await;
    assert_eq!((again.status, again.data()), (201, made.data()));
    assert_eq!(again.header("location"), made.header("location"));
    assert_replayed(&again, true);
    assert_eq!(server.post_once("/v1/event-queues", "k2", body).await.code(), 40_903);

    let id = server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    server.settle("nack", &claim, json!({ "mode": "fatal" })).await.data();
    let path = format!("/v1/events/{id}/redrive");
    let first = server.post_once(&path, "k", json!({})).await.data();
    let again = server.post_once(&path, "k", json!({})).await;
    assert_replayed(&again, true);
    assert_eq!(again.data(), first);
    assert_eq!(
        server.post_once(&format!("{path}?queue=q"), "k", json!({})).await.code(),
        42_200,
        "the query counts"
    );

    server.post("/v1/streams/s/events", json!({ "payload": {} })).await.data();
    let claim = server.claim("new", 30).await;
    server.settle("ack", &claim, json!({})).await.data();
    let path = "/v1/streams/s/groups/new/reset";
    assert_replayed(&server.post_once(path, "k", json!({ "id": "0-0" })).await, false);
    let claim = server.claim("new", 30).await;
    assert_replayed(&server.post_once(path, "k", json!({ "id": "0-0" })).await, true);
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 0, "its lease lives on");
}

pub(crate) async fn keys_that_are_none_and_calls_that_take_none(factory: Factory) {
    let server = server(factory).await;
    let event = json!({ "payload": {} });
    for (key, taken) in [("", false), ("a b", false), ("\u{e9}", false), ("\"quoted\"", true)] {
        let answer = server.post_once(EVENTS, key, event.clone()).await;
        assert_eq!(answer.code() == 0, taken, "{key}");
        if !taken {
            assert_eq!((answer.code(), answer.fields()), (40_001, vec!["Idempotency-Key".to_owned()]));
        }
    }
    assert_eq!(server.post_once(EVENTS, &"k".repeat(255), event.clone()).await.code(), 0);
    assert_eq!(server.post_once(EVENTS, &"k".repeat(256), event.clone()).await.code(), 40_001);
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
    let bytes = request_with("POST", EVENTS, &server.key, &twice, Some(&event.to_string()));
    assert_eq!(server.send(&bytes).await.fields(), ["Idempotency-Key"]);
    let none = server.post_once("/v1/event-queues/none/events", "a b", event.clone()).await;
    assert_eq!(none.code(), 40_401, "the queue comes first");
    let claim = server.claim("q", 30).await;
    let id = claim["event"]["id"].as_str().expect("an id").to_owned();
    let token = json!({ "leaseToken": claim["leaseToken"] });
    for (path, body) in [
        ("/v1/event-queues/q/pause".to_owned(), json!({})),
        ("/v1/event-queues/q/resume".to_owned(), json!({})),
        (format!("/v1/events/{id}/heartbeat"), token.clone()),
        (format!("/v1/events/{id}/ack"), token.clone()),
        (format!("/v1/events/{id}/nack"), token.clone()),
    ] {
        assert_eq!(server.post_once(&path, "k", body).await.fields(), ["Idempotency-Key"], "{path}");
    }
    for path in ["/v1/event-queues/q", "/v1/streams/q", "/v1/streams/q/groups/q"] {
        let bytes = request_with("DELETE", path, &server.key, &[("Idempotency-Key", "k")], None);
        assert_eq!(server.send(&bytes).await.fields(), ["Idempotency-Key"], "{path}");
    }
}
