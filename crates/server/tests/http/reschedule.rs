//! Another due time, another bound on attempts, and running now, over HTTP.
//!
//! Lives here: what these calls answer and refuse. Not here: what becomes of deliveries, which the engines' suite
//! shows.

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::Answer;
use crate::test_server::{TestServer, id_of};

async fn patch(server: &TestServer, id: &str, body: Value) -> Answer {
    server.call("PATCH", &format!("/v1/events/{id}"), body).await
}

async fn run_now(server: &TestServer, id: &str, body: Value) -> Answer {
    server.post(&format!("/v1/events/{id}/run-now"), body).await
}

async fn scheduled(server: &TestServer) -> Value {
    server.post("/v1/event-queues/q/events", json!({ "payload": {}, "delaySeconds": 600 })).await.data()
}

pub(crate) async fn an_event_gets_another_due_time(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let event = scheduled(&server).await;
    let (id, before) = (id_of(&event), event["scheduledAt"].clone());
    let same = patch(&server, &id, json!({})).await;
    assert_eq!((same.code(), &same.data()["scheduledAt"]), (0, &before), "nothing was asked for");
    let far = json!("2026-12-24T18:00:00.5Z");
    let moved = patch(&server, &id, json!({ "scheduledAt": far })).await.data();
    let far = json!("2026-12-24T18:00:00.500Z");
    assert_eq!((&moved["state"], &moved["scheduledAt"]), (&json!("scheduled"), &far));
    assert_eq!((&moved["nextAttemptAt"], moved.get("payload")), (&far, None));
    assert_eq!(server.claim("q", 5).await, Value::Null);
    let now = patch(&server, &id, json!({ "scheduledAt": null, "maxAttempts": 7 })).await.data();
    assert_eq!((&now["state"], &now["maxAttempts"]), (&json!("ready"), &json!(7)));
    let queues = patch(&server, &id, json!({ "maxAttempts": null })).await.data();
    assert_ne!(queues["maxAttempts"], 7);
    let later = patch(&server, &id, json!({ "scheduledAt": far })).await.data();
    assert_eq!(later["state"], "retrying", "it was ready already, and keeps its place");
    let past = patch(&server, &id, json!({ "scheduledAt": "2001-01-01T00:00:00Z" })).await.data();
    assert_eq!((&past["state"], &past["scheduledAt"]), (&json!("ready"), &json!("2001-01-01T00:00:00.000Z")));
    assert_eq!(server.claim("q", 5).await["event"]["id"], event["id"]);
}

pub(crate) async fn a_waiting_claim_wakes_when_an_event_is_to_run_now(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let id = id_of(&scheduled(&server).await);
    let mut waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    let began = std::time::Instant::now();
    let event = run_now(&server, &id, json!({})).await.data();
    assert_eq!(event["id"], json!(id));
    let claimed = waiting.answer().await.expect("an answer").data();
    println!("woken {:?} after the call began", began.elapsed());
    assert_eq!(claimed["event"]["id"], json!(id));
    assert!(began.elapsed() < std::time::Duration::from_millis(900), "by the hint");
    server.settle("nack", &claimed, json!({ "retryDelaySeconds": 600 })).await;
    let retried = run_now(&server, &id, json!({ "queue": "q" })).await.data();
    assert_eq!((&retried["state"], &retried["attemptCount"]), (&json!("ready"), &json!(1)));
    let again = run_now(&server, &id, json!({})).await;
    assert_eq!((again.status, again.data()), (200, retried), "what is ready stays as it is");
}

pub(crate) async fn what_cannot_be_moved_is_told_what_would_help(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.queue("other", json!({})).await;
    let id = server.publish("q", 1).await;
    let refused = async |id: &str, says: &str| {
        let soon = json!({ "scheduledAt": null });
        for answer in [
            patch(&server, id, soon).await,
            patch(&server, id, json!({ "maxAttempts": 5 })).await,
            run_now(&server, id, json!({})).await,
        ] {
            assert_eq!(answer.code(), 40_908, "{says}");
            let text = answer.envelope()["message"].as_str().unwrap().to_owned();
            assert!(text.contains(says), "{text}");
        }
        assert_eq!(patch(&server, id, json!({})).await.code(), 0, "nothing is asked for");
    };
    let claim = server.claim("q", 30).await;
    refused(&id, "somebody has").await;
    server.settle("nack", &claim, json!({ "mode": "fatal" })).await;
    refused(&id, "redrive it").await;
    let done = server.publish("q", 2).await;
    let claim = server.claim("q", 30).await;
    server.settle("ack", &claim, json!({})).await;
    refused(&done, "is over").await;
    for (body, code) in [(json!({ "queue": "nowhere" }), 40_401), (json!({ "queue": "other" }), 40_402)] {
        assert_eq!(run_now(&server, &id, body).await.code(), code);
    }
    assert_eq!(run_now(&server, "evt_00000000000000000000000000", json!({})).await.code(), 40_402);
}

pub(crate) async fn a_shared_event_waits_for_all_its_queues_alike(factory: Factory) {
    let server = TestServer::start(factory).await;
    for name in ["a", "b"] {
        server.post("/v1/event-queues", json!({ "name": name, "stream": "s" })).await.data();
    }
    let body = json!({ "payload": {}, "delaySeconds": 600 });
    let id = id_of(&server.post("/v1/streams/s/events", body).await.data());
    let far = "2026-12-24T18:00:00.000Z";
    let in_a = patch(&server, &id, json!({ "scheduledAt": far, "queue": "a" })).await;
    assert_eq!(in_a.code(), 40_908);
    assert!(in_a.envelope()["message"].as_str().unwrap().contains("all its queues"));
    let moved = patch(&server, &id, json!({ "scheduledAt": far })).await.data();
    assert_eq!(moved["scheduledAt"], far);
    for delivery in moved["deliveries"].as_array().unwrap() {
        assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("scheduled"), &json!(far)));
    }
    assert_eq!(run_now(&server, &id, json!({})).await.code(), 0);
    let needed = patch(&server, &id, json!({ "scheduledAt": far })).await;
    assert_eq!((needed.code(), needed.fields()), (40_001, vec!["queue".to_owned()]));
    assert!(needed.envelope().to_string().contains("a, b"), "{}", needed.envelope());
    let path = format!("/v1/events/{id}?queue=b");
    let in_b = server.call("PATCH", &path, json!({ "scheduledAt": far })).await.data();
    let states: Vec<_> = in_b["deliveries"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["ready", "retrying"]);
    assert_ne!(in_b["scheduledAt"], far, "the event's own time is all queues'");
}
