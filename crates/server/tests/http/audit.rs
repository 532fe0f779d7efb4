//! The audit log: every change that an operator makes is in it, once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request_with;
use crate::test_server::TestServer;

/// Every admin call that changes something, played once: method, documented path, path, body, and what the
/// log says of it. In an order in which each succeeds.
type Row = (&'static str, &'static str, String, Option<Value>, &'static str);

async fn rows(server: &TestServer) -> Vec<Row> {
    let of_events = event_rows(server).await;
    let of_keys = key_rows(server).await;
    let queue = "/v1/event-queues/{queue}";
    let new = Some(json!({ "name": "new" }));
    let changes = Some(json!({ "maxAttempts": 3 }));
    let mut rows = vec![
        ("POST", "/v1/event-queues", "/v1/event-queues".to_owned(), new, "queue.create"),
        ("PATCH", queue, "/v1/event-queues/q".to_owned(), changes, "queue.patch"),
        (
            "POST",
            "/v1/event-queues/{queue}/pause",
            "/v1/event-queues/q/pause".to_owned(),
            None,
            "queue.pause",
        ),
        (
            "POST",
            "/v1/event-queues/{queue}/resume",
            "/v1/event-queues/q/resume".to_owned(),
            None,
            "queue.resume",
        ),
    ];
    rows.extend(of_events);
    rows.push(("DELETE", queue, "/v1/event-queues/new".to_owned(), None, "queue.delete"));
    rows.extend(stream_rows());
    rows.extend(of_keys);
    rows
}

async fn event_rows(server: &TestServer) -> Vec<Row> {
    let redriven = format!("/v1/events/{}/redrive", dead_letter(server).await);
    let [to_redrive, to_discard] = [dead_letter(server).await, dead_letter(server).await];
    let letters = |verb: &str| format!("/v1/event-queues/q/dead-letters/{verb}");
    let ids = |id: String| Some(json!({ "ids": [id] }));
    let cancelled = format!("/v1/events/{}/cancel", server.publish("q", 1).await);
    let later = json!({ "payload": {}, "delaySeconds": 600 });
    let waits = server.post("/v1/event-queues/q/events", later).await.data()["id"].clone();
    let waits = format!("/v1/events/{}", waits.as_str().unwrap());
    let sooner = Some(json!({ "maxAttempts": 3 }));
    let purge = "/v1/event-queues/{queue}/purge";
    let old = Some(json!({ "olderThan": "2001-01-01T00:00:00Z" }));
    vec![
        ("PATCH", "/v1/events/{id}", waits.clone(), sooner, "event.patch"),
        ("POST", "/v1/events/{id}/run-now", format!("{waits}/run-now"), None, "event.run-now"),
        ("POST", purge, "/v1/event-queues/q/purge".to_owned(), old, "queue.purge"),
        ("POST", "/v1/events/{id}/redrive", redriven, None, "event.redrive"),
        (
            "POST",
            "/v1/event-queues/{queue}/dead-letters/redrive",
            letters("redrive"),
            ids(to_redrive),
            "event.redrive",
        ),
        (
            "POST",
            "/v1/event-queues/{queue}/dead-letters/discard",
            letters("discard"),
            ids(to_discard),
            "event.discard",
        ),
        ("POST", "/v1/events/{id}/cancel", cancelled, None, "event.cancel"),
    ]
}

fn stream_rows() -> Vec<Row> {
    let group = "/v1/streams/s/groups/shared";
    let (to, keep) = (Some(json!({ "id": "0-0" })), Some(json!({ "maxLength": 0 })));
    vec![
        ("POST", "/v1/streams/{name}/groups/{group}/reset", format!("{group}/reset"), to, "queue.reset"),
        ("POST", "/v1/streams/{name}/trim", "/v1/streams/s/trim".to_owned(), keep, "stream.trim"),
        (
            "DELETE",
            "/v1/streams/{name}/groups/{group}/consumers/{consumer}",
            format!("{group}/consumers/c"),
            None,
            "consumer.delete",
        ),
        ("DELETE", "/v1/streams/{name}/groups/{group}", group.to_owned(), None, "queue.delete"),
        ("DELETE", "/v1/streams/{name}", "/v1/streams/s".to_owned(), None, "stream.delete"),
    ]
}

async fn key_rows(server: &TestServer) -> Vec<Row> {
    let key = |name: &str| json!({ "name": name, "scopes": ["read"] });
    let made = server.post("/v1/keys", key("w")).await.data();
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    let bound = Some(json!({ "rateLimit": 5 }));
    vec![
        ("POST", "/v1/keys", "/v1/keys".to_owned(), Some(key("k")), "key.create"),
        ("PATCH", "/v1/keys/{id}", path.clone(), bound, "key.patch"),
        ("POST", "/v1/keys/{id}/rotate", format!("{path}/rotate"), None, "key.rotate"),
        ("DELETE", "/v1/keys/{id}", path, None, "key.delete"),
    ]
}

/// Makes a dead letter.
async fn dead_letter(server: &TestServer) -> String {
    let event = server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    assert_eq!(server.settle("nack", &claim, json!({ "mode": "fatal" })).await.code(), 0);
    event
}

/// Begins an operation, and ends it before it is over, which may take more than one try.
async fn cancelled_operation(server: &TestServer) {
    for _ in 0..100 {
        dead_letter(server).await;
        let began =
            server.post("/v1/event-queues/q/dead-letters/discard", json!({ "all": true })).await.data();
        let path = format!("/v1/operations/{}/cancel", began["id"].as_str().unwrap());
        if server.call("POST", &path, None).await.code() == 0 {
            let entries = log(server).await;
            assert_eq!(
                (&entries[0]["action"], &entries[0]["target"]),
                (&json!("operation.cancel"), &began["id"])
            );
            assert_eq!(entries[1]["action"], "dead-letters.discard");
            return;
        }
    }
    panic!("every operation was over at once");
}

async fn log(server: &TestServer) -> Vec<Value> {
    server.get("/v1/audit-log?limit=500").await.data()["items"].as_array().expect("a list").clone()
}

pub(crate) async fn every_change_of_an_operator_is_noted(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.post("/v1/event-queues", json!({ "name": "shared", "stream": "s" })).await;
    let mut missing = documented(&server).await;
    for (method, documented, path, body, action) in rows(&server).await {
        let before = log(&server).await.len();
        assert!(
            !missing.is_empty() && missing.remove(&format!("{method} {documented}")),
            "{method} {documented}"
        );
        let head = [("Naven-Request-Id", "ask-1")];
        let text = body.map(|body| body.to_string());
        let answer = server.send(&request_with(method, &path, &server.key, &head, text.as_deref())).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.envelope());
        let entries = log(&server).await;
        assert_eq!(entries.len(), before + 1, "{method} {path}");
        assert_eq!((&entries[0]["action"], &entries[0]["requestId"]), (&json!(action), &json!("ask-1")));
        assert_eq!(entries[0]["by"], server.key[..30]);
    }
    cancelled_operation(&server).await;
    missing.remove("POST /v1/operations/{id}/cancel");
    assert!(missing.is_empty(), "a route that changes something has a row here: {missing:?}");
    // What consumers and producers do is not in it, nor what was refused.
    let before = log(&server).await;
    server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 0);
    assert_eq!(server.call("DELETE", "/v1/event-queues/none", None).await.code(), 40_401);
    assert_eq!(server.post("/v1/event-queues", json!({ "name": "q" })).await.code(), 40_903);
    assert_eq!(log(&server).await, before);
}

/// Calls that need the scope admin and change something, by the OpenAPI document.
async fn documented(server: &TestServer) -> BTreeSet<String> {
    let answer = server.send(b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n").await;
    let document: Value = serde_json::from_slice(&answer.body).expect("the document is JSON");
    let paths = document["paths"].as_object().expect("paths").iter();
    let calls = paths.flat_map(|(path, item)| {
        let methods = item.as_object().expect("methods").iter();
        let changing = methods.filter(|(method, call)| *method != "get" && call["x-naven-scope"] == "admin");
        changing.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
    });
    calls.collect()
}

pub(crate) async fn the_log_comes_in_pages_and_names_requests(factory: Factory) {
    let (server, limited) = TestServer::start_with_key(factory, &["admin", "read"], &["a.*"]).await;
    for name in ["a", "b", "c"] {
        server.queue(name, json!({})).await;
    }
    let page = server.get("/v1/audit-log?limit=2").await.data();
    let next = format!("/v1/audit-log?limit=2&cursor={}", page["nextCursor"].as_str().unwrap());
    let last = server.get(&next).await.data();
    assert_eq!(last["nextCursor"], Value::Null);
    let all: Vec<&Value> =
        page["items"].as_array().unwrap().iter().chain(last["items"].as_array().unwrap()).collect();
    let targets: Vec<&Value> = all.iter().map(|entry| &entry["target"]).collect();
    assert_eq!(targets, ["c", "b", "a"]);
    assert_eq!(all[0]["previousHash"], all[1]["hash"]);
    assert_eq!(all[2]["previousHash"], "0".repeat(64));
    assert_eq!(all[2]["number"], 1);
    assert_eq!(server.get("/v1/audit-log?cursor=x").await.code(), 40_005);
    let refused = server.call_as(&limited, "GET", "/v1/audit-log", None).await;
    assert_eq!(refused.code(), 40_300, "it names queues that the key does not reach");
}
