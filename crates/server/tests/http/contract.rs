//! The shapes of the contract: what each route takes and answers when all is well.

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{request, request_with};
use crate::shape::assert_shape;
use crate::test_server::TestServer;

fn queue_picture(name: &str) -> Value {
    json!({
        "id": "$evq", "name": name, "stream": name, "description": "", "paused": false, "pauseReason": null,
        "defaultLeaseSeconds": 60, "maxLeaseSeconds": 0, "maxAttempts": 10,
        "backoff": { "initialSeconds": 5, "factor": 2, "maxSeconds": 3600, "jitter": 1 },
        "lateAckGraceSeconds": 0, "redisLeaseSeconds": null, "keepDonePayload": false, "protectUnread": true,
        "retentionSeconds": { "done": 86400, "dead": 1209600 }, "dedupeWindowSeconds": 300, "retention": "consumed",
        "counts": {
            "scheduled": 0, "ready": 0, "leased": 0, "held": 0, "retrying": 0, "done": 0, "dead": 0, "cancelled": 0
        },
        "oldestReadyAgeSeconds": null, "createdAt": "$time", "updatedAt": "$time"
    })
}

/// An event in the queue `mail`, as it stands after a publish.
pub(crate) fn event_picture() -> Value {
    let delivery = json!({
        "queue": "mail", "queueId": "$evq", "state": "ready", "nextAttemptAt": "$time", "attemptCount": 0,
        "expiryCount": 0, "deliveryCount": 0, "maxAttempts": 10, "leaseExpiresAt": null, "consumerId": null,
        "settledAt": null, "lastError": null, "progress": null, "result": null
    });
    let mut event = json!({
        "id": "$evt", "stream": "mail", "streamId": "$text", "headers": {}, "scheduleId": null,
        "createdAt": "$time", "scheduledAt": "$time", "expiresAt": null, "dedupeKey": null,
        "traceContext": null
    });
    for (name, value) in delivery.as_object().unwrap() {
        event[name] = value.clone();
    }
    event["deliveries"] = json!([delivery]);
    event
}

/// `event` with these fields at its top and in its one delivery.
pub(crate) fn with(mut event: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        event[name] = value.clone();
        event["deliveries"][0][name] = value.clone();
    }
    event
}

pub(crate) async fn a_queue_is_made_shown_changed_paused_and_deleted(factory: Factory) {
    let server = TestServer::start(factory).await;
    let made = server.post("/v1/event-queues", json!({ "name": "mail" })).await;
    assert_eq!(made.status, 201);
    assert_shape(&made.data(), &queue_picture("mail"));
    let id = made.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(format!("/v1/event-queues/{id}").as_str()));
    for name in ["mail", &id] {
        assert_eq!(server.get(&format!("/v1/event-queues/{name}")).await.data(), made.data());
    }

    let settings = json!({
        "description": "d", "defaultLeaseSeconds": 30, "maxLeaseSeconds": 90, "maxAttempts": 3,
        "backoff": { "initialSeconds": 1, "factor": 1.5, "maxSeconds": 60, "jitter": 0.25 }, "lateAckGraceSeconds": 7,
        "redisLeaseSeconds": 43200, "keepDonePayload": true, "protectUnread": false, "retentionSeconds": { "done": 0, "dead": 9 },
        "dedupeWindowSeconds": 60
    });
    let changed = server.call("PATCH", "/v1/event-queues/mail", settings.clone()).await.data();
    for (name, value) in settings.as_object().unwrap() {
        assert_eq!(&changed[name], value, "{name}");
    }
    let nulls: Value = settings.as_object().unwrap().keys().map(|name| (name.clone(), Value::Null)).collect();
    let defaults = server.call("PATCH", "/v1/event-queues/mail", nulls).await.data();
    assert_shape(&defaults, &queue_picture("mail"));

    let paused = server.post("/v1/event-queues/mail/pause", json!({ "reason": "rest" })).await.data();
    assert_eq!((&paused["paused"], &paused["pauseReason"]), (&json!(true), &json!("rest")));
    let again = server.call("POST", "/v1/event-queues/mail/pause", None).await.data();
    assert_eq!(again["paused"], true, "pausing twice is no fault");
    let resumed = server.call("POST", "/v1/event-queues/mail/resume", None).await.data();
    assert_shape(&resumed, &queue_picture("mail"));

    let gone = server.call("DELETE", "/v1/event-queues/mail", None).await;
    assert_shape(&gone.data(), &json!({ "id": id, "deleted": true }));
    assert_eq!(server.get("/v1/event-queues/mail").await.code(), 40_401);
}

pub(crate) async fn queues_are_listed_in_pages(factory: Factory) {
    let server = TestServer::start(factory).await;
    for name in ["a1", "a2", "b1", "a3"] {
        server.queue(name, json!({})).await;
        server.advance(1);
    }
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = server.get("/v1/event-queues").await.data();
    assert_eq!(names(&all), ["a3", "b1", "a2", "a1"], "newest first");
    assert_eq!(all["nextCursor"], Value::Null);
    let first = server.get("/v1/event-queues?limit=2&namePrefix=a").await.data();
    assert_eq!(names(&first), ["a3", "a2"]);
    let cursor = first["nextCursor"].as_str().expect("there is a second page").to_owned();
    let second = server.get(&format!("/v1/event-queues?namePrefix=a&limit=2&cursor={cursor}")).await.data();
    assert_eq!((names(&second), &second["nextCursor"]), (vec!["a1".to_owned()], &Value::Null));
    let other = server.get(&format!("/v1/event-queues?namePrefix=b&cursor={cursor}")).await;
    assert_eq!(other.code(), 40_005, "a cursor is bound to its filter");
}

pub(crate) async fn an_event_goes_through(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({ "defaultLeaseSeconds": 30 })).await;
    let payload = r#"{"b":1e3,"a":[9007199254740993,-0],"a":"\u00e9"}"#;
    let body = format!(r#"{{"payload":{payload},"headers":{{"k":"v","a":"b"}}}}"#);
    let sent = request("POST", "/v1/event-queues/mail/events", &server.key, Some(&body));
    let made = server.send(&sent).await;
    assert_eq!(made.status, 201);
    let mut picture = event_picture();
    picture["headers"] = json!({ "k": "v", "a": "b" });
    assert_shape(&made.data(), &picture);
    let id = made.data()["id"].as_str().unwrap().to_owned();

    let claim = server.post("/v1/event-queues/mail/claim", json!({ "consumerId": "w1" })).await;
    let text = String::from_utf8(claim.body.clone()).unwrap();
    assert!(text.contains(&format!("\"payload\":{payload}")), "byte for byte: {text}");
    let claim = claim.data();
    assert_shape(
        &claim,
        &json!({
            "event": {
                "id": id, "queue": "mail", "scheduleId": null, "payload": claim["event"]["payload"],
                "headers": { "k": "v", "a": "b" }, "scheduledAt": "$time", "attemptCount": 1, "expiryCount": 0,
                "deliveryCount": 1, "traceContext": null
            },
            "leaseToken": "$text", "leaseExpiresAt": "2025-11-29T14:23:04.120Z", "leaseMs": 30_000
        }),
    );
    let held = json!({
        "state": "leased", "nextAttemptAt": null, "attemptCount": 1, "deliveryCount": 1,
        "leaseExpiresAt": "2025-11-29T14:23:04.120Z", "consumerId": "w1"
    });
    let shown = server.event(&id).await;
    assert_eq!(shown["payload"]["a"], "é", "the last of doubled keys, as JSON readers see it");
    let hidden = server.get(&format!("/v1/events/{id}?includePayload=false")).await.data();
    assert_shape(&hidden, &with(picture, &held));

    let beat = server.settle("heartbeat", &claim, json!({ "leaseSeconds": 60 })).await.data();
    let extended = json!({
        "leaseExpiresAt": "2025-11-29T14:23:34.120Z", "leaseMs": 60_000, "state": "leased", "cancelRequested": false
    });
    assert_shape(&beat, &extended);
    let acked = server.settle("ack", &claim, json!({})).await.data();
    assert_shape(&acked, &json!({ "state": "done", "settledAt": "$time", "replayed": false }));
    let done = server.event(&id).await;
    assert_eq!((&done["state"], &done["payload"]), (&json!("done"), &Value::Null));
    assert_eq!(done["settledAt"], acked["settledAt"]);
}

pub(crate) async fn batches_go_through(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let events: Vec<Value> = (0..3).map(|n| json!({ "payload": { "n": n } })).collect();
    let made = server.post("/v1/event-queues/mail/events/batch", json!({ "events": events })).await;
    assert_eq!(made.status, 201);
    assert_shape(&made.data(), &json!({ "items": [event_picture(), event_picture(), event_picture()] }));

    let path = "/v1/event-queues/mail/claim-batch";
    let claims =
        server.post(path, json!({ "maxEvents": 2, "waitSeconds": 0 })).await.data()["claims"].clone();
    let payloads: Vec<&Value> =
        claims.as_array().unwrap().iter().map(|claim| &claim["event"]["payload"]).collect();
    assert_eq!(payloads, [&json!({ "n": 0 }), &json!({ "n": 1 })], "in the order of publishing");

    let item =
        |at: usize| json!({ "eventId": claims[at]["event"]["id"], "leaseToken": claims[at]["leaseToken"] });
    let unknown = json!({ "eventId": "evt_x", "leaseToken": "t" });
    let wrong = json!({ "eventId": claims[1]["event"]["id"], "leaseToken": claims[0]["leaseToken"] });
    let mixed = server.post("/v1/leases/ack", json!({ "items": [item(0), unknown, wrong] })).await;
    let envelope = mixed.envelope();
    assert_eq!((mixed.status, &envelope["message"]), (207, &json!("2 of 3 items failed")));
    let done = json!({ "state": "done", "settledAt": "$time", "replayed": false });
    let refused = |reason: &str| json!({ "reason": reason, "retryable": false });
    assert_shape(
        &envelope["data"],
        &json!({ "reason": "partial_failure", "failed": 2, "items": [
            { "index": 0, "eventId": "$evt", "code": 0, "message": "ok", "data": done },
            { "index": 1, "eventId": "evt_x", "code": 40402, "message": "$text", "data": refused("event_not_found") },
            { "index": 2, "eventId": "$evt", "code": 40901, "message": "$text", "data": refused("lease_lost") },
        ] }),
    );
    let whole = server.post("/v1/leases/ack", json!({ "items": [item(0), item(1)] })).await;
    let replayed = json!({ "state": "done", "settledAt": "$time", "replayed": true });
    assert_eq!(whole.status, 200);
    assert_shape(&whole.data()["items"][0]["data"], &replayed);

    let empty = server.post(path, json!({ "maxEvents": 1, "waitSeconds": 0 })).await.data();
    assert_eq!(empty["claims"].as_array().map(Vec::len), Some(1), "the third event");
    let empty = server.post(path, json!({ "maxEvents": 1, "waitSeconds": 0 })).await.data();
    assert_shape(&empty, &json!({ "claims": [] }));
}

pub(crate) async fn the_server_describes_itself(factory: Factory) {
    let server = TestServer::start(factory).await;
    let scopes = json!(["produce", "consume", "read", "admin"]);
    let me = server.get("/v1/me").await.data();
    let admin =
        json!({ "keyId": "$key", "name": "admin", "scopes": scopes, "queues": ["*"], "expiresAt": null });
    assert_shape(&me, &admin);
    let system = server.get("/v1/system").await.data();
    assert_shape(&system["waiters"], &json!({ "claims": 0, "queues": 0 }));
    assert_eq!(system["limits"]["payloadBytes"], 262_144);
    assert_eq!(system["draining"], false);
    for (path, status) in [("/healthz", "up"), ("/readyz", "ready")] {
        let answer = server.send(format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes()).await;
        assert_shape(&answer.data(), &json!({ "status": status }));
    }
}

pub(crate) async fn every_answer_has_the_same_headers(factory: Factory) {
    let server = TestServer::start(factory).await;
    let sent = b"GET /nowhere HTTP/1.1\r\nHost: t\r\nNaven-Request-Id: mine-1\r\n\r\n";
    let answer = server.send(sent).await;
    assert_eq!((answer.code(), answer.header("naven-request-id")), (40_400, Some("mine-1")));
    let long = format!("GET /nowhere HTTP/1.1\r\nHost: t\r\nNaven-Request-Id: {}\r\n\r\n", "x".repeat(129));
    let answer = server.send(long.as_bytes()).await;
    assert!(answer.header("naven-request-id").unwrap().starts_with("req_"), "too long to be taken over");
    let wrong = server.call("PUT", "/v1/event-queues", None).await;
    assert_eq!((wrong.code(), wrong.header("allow")), (40_500, Some("GET,HEAD,POST")));
    let mut connection = server.connect().await;
    connection.send(&request("HEAD", "/v1/event-queues", &server.key, None)).await;
    let head = connection.head_answer().await;
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("naven-request-id") && !head.contains("content-length: 0"), "{head}");
}

pub(crate) async fn the_body_is_judged_after_the_queue_and_before_the_event(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let unknown = "evt_00000000000000000000000000";
    let cases = [
        ("/v1/event-queues/none/events", json!({ "payload": 1 }), 40_401),
        ("/v1/event-queues/none/events/batch", json!({}), 40_401),
        ("/v1/event-queues/none/claim", json!({ "x": 1 }), 40_401),
        ("/v1/event-queues/none/claim-batch", json!([]), 40_401),
        ("/v1/event-queues/none/pause", json!({ "reason": 1 }), 40_401),
        ("/v1/event-queues/none/resume", json!({ "reason": 1 }), 40_401),
        ("/v1/event-queues/mail/events", json!({ "payload": 1, "x": 1 }), 40_002),
        ("/v1/event-queues/mail/events", json!({ "payload": 1 }), 40_001),
        (&format!("/v1/events/{unknown}/ack"), json!({}), 40_001),
        (&format!("/v1/events/{unknown}/ack"), json!({ "leaseToken": "t" }), 40_402),
        ("/v1/events/no-such-event/nack", json!({ "leaseToken": "t" }), 40_402),
        ("/v1/events/no-such-event/heartbeat", json!({ "leaseToken": "t" }), 40_402),
    ];
    for (path, body, code) in cases {
        assert_eq!(server.post(path, body).await.code(), code, "{path}");
    }
    let no_key = b"POST /v1/event-queues/none/claim HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(server.send(no_key).await.code(), 40_100, "the key comes first");
}

pub(crate) async fn a_queue_changes_under_a_condition(factory: Factory) {
    let server = TestServer::start(factory).await;
    let made = server.post("/v1/event-queues", json!({ "name": "q" })).await;
    assert_eq!(made.header("etag"), Some("\"1\""));
    let change = async |tag: &str, method: &str, body: Option<&str>| {
        let head = [("If-Match", tag)];
        server.send(&request_with(method, "/v1/event-queues/q", &server.key, &head, body)).await
    };
    let body = Some("{\"maxAttempts\":3}");
    assert_eq!(change("\"2\"", "PATCH", body).await.code(), 41_200);
    assert_eq!(change("\"1\"", "PATCH", body).await.header("etag"), Some("\"2\""));
    assert_eq!(change("\"1\"", "PATCH", body).await.code(), 41_200, "it was changed meanwhile");
    assert_eq!(server.get("/v1/event-queues/q").await.header("etag"), Some("\"2\""));
    let paused = server.post("/v1/event-queues/q/pause", json!({})).await;
    assert_eq!(paused.header("etag"), Some("\"3\""));
    assert_eq!(change("\"2\"", "DELETE", None).await.code(), 41_200);
    assert_eq!(change("\"0\", \"3\"", "DELETE", None).await.code(), 0);
}
