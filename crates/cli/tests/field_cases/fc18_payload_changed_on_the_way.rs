//! FC-18: a payload that is changed on the way.
//!
//! Lives here: digits, escapes, doubled keys and nesting of payloads, on every route that shows them.
//! Not here: what is no text at all (`fc17_text_that_a_store_cannot_hold.rs`).

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::scene::Scene;
use crate::support::Answer;

const DIGITS: &str = concat!(
    r#"{"a":9007199254740993,"b":18446744073709551615,"c":0.1000000000000000055,"d":-0,"e":1E5,"#,
    r#""f":"\u00e9\ud83d\ude00","g":{},"h":[]}"#
);
/// Documented: a payload with the same key twice is kept as it was sent.
const DOUBLED: &str = r#"{ "a":1,	"a" :2,"b":{"c":[],"c":1.0e-2} }"#;
/// Longer than any number that a computer holds, and not one digit may go.
const LONG: &str = r#"{"pi":3.14159265358979323846264338327950288419716939937510,"big":123456789012345678901234567890e+0,"é":"\/"}"#;

/// An object in an object, `levels` deep.
fn nested(levels: usize) -> String {
    format!("{}{{{}", r#"{"a":"#.repeat(levels - 1), "}".repeat(levels))
}

/// Lists in an object, `levels` deep in all: two bytes a level.
fn nested_lists(levels: usize) -> String {
    format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn fc18_a_payload_comes_back_byte_for_byte_on_every_route() {
    let scene = Scene::with_queue(json!({}));
    let payloads =
        [DIGITS.to_owned(), DOUBLED.to_owned(), LONG.to_owned(), nested(63), nested(64), nested_lists(64)];
    let mut ids = Vec::new();
    for payload in &payloads {
        let id = scene.publish_body("q", &format!(r#"{{"payload": {payload} }}"#));
        assert_eq!(raw(&scene.http.get(&format!("/v1/events/{id}")).body, &["data", "payload"]), *payload);
        ids.push(id);
    }
    // Once more after a kill: what is shown was read back from the disk.
    let scene = scene.killed_and_restarted();
    for (id, payload) in ids.iter().zip(&payloads) {
        assert_eq!(raw(&scene.http.get(&format!("/v1/events/{id}")).body, &["data", "payload"]), *payload);
        let claim = scene.claimed("q", 30, 5);
        assert_eq!((&claim.id(), raw(&claim.body, &["data", "event", "payload"])), (id, payload.clone()));
        scene.settle("nack", &claim, json!({ "mode": "fatal" })).success();
    }
    let queue_id = scene.http.get("/v1/event-queues/q").success()["id"].clone();
    let queue_id = queue_id.as_str().expect("a queue has an id");
    for path in
        ["/v1/event-queues/q/dead-letters?".to_owned(), format!("/v1/dead-letters?queueId={queue_id}&")]
    {
        let letters = scene.http.get(&format!("{path}includePayload=true")).body;
        for (at, payload) in payloads.iter().rev().enumerate() {
            let shown = raw(&letters, &["data", "items", &at.to_string(), "payload"]);
            assert_eq!(shown, *payload, "newest death first");
        }
    }
}

#[test]
fn fc18_a_batch_keeps_every_byte_too() {
    let scene = Scene::with_queue(json!({}));
    let payloads = [DIGITS.to_owned(), DOUBLED.to_owned(), nested(64)];
    let events: Vec<String> = payloads.iter().map(|payload| format!(r#"{{"payload":{payload}}}"#)).collect();
    let body = format!(r#"{{"events":[{}]}}"#, events.join(","));
    scene.http.post("/v1/event-queues/q/events/batch", &body).success();
    let claims = scene.http.post("/v1/event-queues/q/claim-batch", r#"{"maxEvents":3,"waitSeconds":5}"#).body;
    for (at, payload) in payloads.iter().enumerate() {
        assert_eq!(raw(&claims, &["data", "claims", &at.to_string(), "event", "payload"]), *payload);
    }
}

#[test]
fn fc18_nesting_too_deep_is_refused_and_the_process_lives_on() {
    let scene = Scene::with_queue(json!({}));
    let mut wire = scene.wire();
    let mut publish = |body: String| wire.call("POST", "/v1/event-queues/q/events", body.as_bytes());
    for deep in [nested(65), nested_lists(65), nested(100_000), nested_lists(100_000)] {
        let single = publish(format!(r#"{{"payload":{deep}}}"#));
        assert_eq!(refused_fields(&single), ["payload"], "{}", single.body);
        let beside = publish(format!(r#"{{"payload":{{}},"headers":{deep}}}"#));
        assert_eq!(beside.status, 400, "{}", beside.body);
        let unknown = publish(format!(r#"{{"payload":{{}},"odd":{deep}}}"#));
        assert_eq!((unknown.status, unknown.code), (400, 40_002), "{}", unknown.body);
    }
    for unclosed in ["[".repeat(100_000), format!(r#"{{"payload":{}"#, r#"{"a":["#.repeat(100_000))] {
        let broken = publish(unclosed);
        assert_eq!((broken.status, broken.code), (400, 40_000), "{}", broken.body);
    }
    let mut wire = scene.wire();
    let batch = format!(r#"{{"events":[{{"payload":{{}}}},{{"payload":{}}}]}}"#, nested_lists(100_000));
    let batch = wire.call("POST", "/v1/event-queues/q/events/batch", batch.as_bytes());
    assert_eq!(refused_fields(&batch), ["events[1].payload"], "{}", batch.body);
    for (path, field) in [("claim", "leaseSeconds"), ("claim", "waitSeconds"), ("events", "delaySeconds")] {
        let body = format!(r#"{{"{field}":{}}}"#, "[".repeat(50_000) + &"]".repeat(50_000));
        let answer = wire.call("POST", &format!("/v1/event-queues/q/{path}"), body.as_bytes());
        assert!(refused_fields(&answer).contains(&field.to_owned()), "{}", answer.body);
    }
    assert_eq!(scene.counts("q"), json!({}), "nothing of it was taken");
    scene.assert_same_process();
}

fn refused_fields(answer: &Answer) -> Vec<String> {
    assert_eq!((answer.status, answer.code), (400, 40_001), "{}", answer.body);
    let fields = answer.data["fields"].as_array().expect("a refusal names its fields");
    fields.iter().map(|field| field["path"].as_str().expect("a path is a text").to_owned()).collect()
}

/// The text of the value at `path`, as it stands in `body`.
fn raw(body: &str, path: &[&str]) -> String {
    let mut text: &str = body;
    for name in path {
        text = match name.parse::<usize>() {
            Ok(at) => serde_json::from_str::<Vec<&RawValue>>(text).expect("a list")[at].get(),
            Err(_) => member(text, name),
        };
    }
    text.to_owned()
}

fn member<'a>(text: &'a str, name: &str) -> &'a str {
    #[derive(Deserialize)]
    struct Members<'a>(#[serde(borrow)] std::collections::HashMap<&'a str, &'a RawValue>);
    let members: Members<'a> = serde_json::from_str(text).expect("an object");
    members.0.get(name).unwrap_or_else(|| panic!("no {name} in {text}")).get()
}
