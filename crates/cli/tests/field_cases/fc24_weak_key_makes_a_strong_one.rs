//! FC-24: a weak key makes a strong one.
//!
//! Lives here: what a key for one queue alone tries in order to get further: other keys, another queue's
//! routes, another queue's lease token, and its own secret after its end. Not here: every scope against
//! every route (`naven-server`, `rights.rs`).

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::clock::{assert_within, now, seconds, until};
use crate::scene::{Claim, Scene, text};
use crate::support::{Answer, Http};

/// The queue that the key reaches, and the one that it does not.
const OWN: &str = "alpha";
const OTHER: &str = "bravo";

/// A key of `scopes` for these queues: its id and a client with it.
fn key(scene: &Scene, name: &str, scopes: &Value, queues: &Value) -> (String, Http) {
    let body = json!({ "name": name, "scopes": scopes, "queues": queues });
    let made = scene.http.post("/v1/keys", &body.to_string()).success();
    (text(&made["id"]), Http::new(&scene.naven.http, &text(&made["secret"])))
}

fn two_queues() -> Scene {
    let scene = Scene::with_queue(json!({}));
    scene.queue(OWN, json!({}));
    scene.queue(OTHER, json!({}));
    scene
}

fn all_scopes() -> Value {
    json!(["produce", "consume", "read", "admin"])
}

/// Everything that there is to be changed, as the operator sees it.
fn picture(scene: &Scene, event: &str) -> Vec<Value> {
    let paths = [
        format!("/v1/events/{event}"),
        format!("/v1/events/{event}/timeline"),
        format!("/v1/event-queues/{OTHER}"),
        format!("/v1/event-queues/{OTHER}/dead-letters"),
        format!("/v1/streams/{OTHER}"),
        "/v1/operations".to_owned(),
        "/v1/audit-log?limit=500".to_owned(),
    ];
    let keys = scene.http.get("/v1/keys?limit=500").success();
    // When a key was last used is not part of what it is.
    let keys = keys["items"].as_array().expect("a list").iter().map(|key| {
        let mut key = key.clone();
        key["lastUsedAt"] = Value::Null;
        key
    });
    let rest = paths.iter().map(|path| scene.http.get(path).success());
    rest.map(without_ages).chain(keys).collect()
}

/// Ages go on by themselves, and the end of a lease is counted anew from each look: what a heartbeat did
/// stands in the timeline.
fn without_ages(mut value: Value) -> Value {
    for name in ["oldestReadyAgeSeconds", "leaseExpiresAt"] {
        if value.get(name).is_some() {
            value[name] = Value::Null;
        }
    }
    for delivery in value["deliveries"].as_array_mut().into_iter().flatten() {
        delivery["leaseExpiresAt"] = Value::Null;
    }
    value
}

#[test]
fn fc24_a_weak_key_makes_no_stronger_one() {
    let scene = two_queues();
    let (_, consumer) = key(&scene, "consumer", &json!(["consume"]), &json!([OWN]));
    let (_, boss) = key(&scene, "boss", &json!(["admin", "consume"]), &json!([OWN]));
    let event = scene.publish(OTHER);
    let before = picture(&scene, &event);
    let thousand: Vec<String> = (0..1_000).map(|n| format!("scope{n}")).collect();
    // What is asked for, and what a key that may make keys at all is told. One that may not is told so.
    let wanted = [
        (json!({ "scopes": ["admin", "read"] }), 40_300),
        (json!({ "scopes": all_scopes() }), 40_300),
        (json!({ "scopes": ["consume"], "queues": [OTHER] }), 40_300),
        (json!({ "scopes": ["consume"], "queues": [OWN, OTHER] }), 40_300),
        (json!({ "scopes": ["consume"], "queues": ["*"] }), 40_300),
        (json!({ "scopes": ["consume"], "queues": [format!("{OWN}*")] }), 40_300),
        (json!({ "scopes": ["*"] }), 40_001),
        (json!({ "scopes": [] }), 40_001),
        (json!({ "scopes": ["bogus"] }), 40_001),
        (json!({ "scopes": ["consume", "bogus"] }), 40_001),
        (json!({ "scopes": thousand }), 40_001),
        (json!({ "scopes": vec!["consume"; 1_000] }), 40_001),
        (json!({ "scopes": "admin" }), 40_001),
        (json!({ "scopes": null }), 40_001),
        (json!({}), 40_001),
    ];
    for (n, (mut body, code)) in wanted.into_iter().enumerate() {
        body["name"] = json!(format!("more{n}"));
        let answer = boss.post("/v1/keys", &body.to_string());
        assert_eq!(answer.code, code, "{body}: {}", answer.body);
        for path in ["/v1/keys", "/v1/keys/"] {
            let answer = consumer.post(path, &body.to_string());
            assert!(matches!(answer.status, 403 | 404), "{body}: {}", answer.body);
        }
    }
    let admin = consumer.post("/v1/keys", r#"{"name":"more","scopes":["admin"]}"#);
    assert_eq!((admin.status, admin.code), (403, 40_300), "{}", admin.body);
    assert_eq!(picture(&scene, &event), before, "nothing was made");

    // What it may make holds no more than its maker, by default too.
    let made = boss.post("/v1/keys", r#"{"name":"child","scopes":["consume"]}"#).success();
    assert_eq!((&made["scopes"], &made["queues"]), (&json!(["consume"]), &json!([OWN])));
    let child = Http::new(&scene.naven.http, &text(&made["secret"]));
    let refused = child.post(&format!("/v1/event-queues/{OTHER}/claim"), r#"{"waitSeconds":0}"#);
    assert_eq!((refused.status, refused.code), (404, 40_401), "{}", refused.body);
    scene.assert_same_process();
}

#[test]
fn fc24_a_key_of_one_queue_moves_nothing_of_another() {
    let scene = two_queues();
    let event = scene.publish(OTHER);
    let claim = scene.claimed(OTHER, 3_600, 0);
    let admin = text(&scene.http.get("/v1/me").success()["keyId"]);
    let letters = format!("/v1/event-queues/{OTHER}/dead-letters/redrive");
    let operation = text(&scene.http.post(&letters, r#"{"all":true}"#).success()["id"]);
    let ended = format!("/v1/operations/{operation}");
    until("the operation is over", seconds(30), || scene.http.get(&ended).success()["state"] == "done");
    let queue = text(&scene.http.get(&format!("/v1/event-queues/{OTHER}")).success()["id"]);
    let weak = key(&scene, "weak", &json!(["consume"]), &json!([OWN])).1;
    let local = key(&scene, "local", &all_scopes(), &json!([OWN])).1;
    let before = picture(&scene, &event);
    let mut called = 0;
    for (method, path, body) in routes(&scene) {
        let things = if path.contains("/keys/") {
            &admin
        } else if path.contains("/operations/") {
            &operation
        } else {
            &event
        };
        for name in [OTHER, &queue] {
            let names = [("{queue}", name), ("{group}", name), ("{name}", OTHER), ("{id}", things)];
            let mut target = names.iter().fold(path.clone(), |path, (part, name)| path.replace(part, name));
            if path == "/v1/dead-letters" {
                target += &format!("?queueId={queue}");
            }
            let body = aimed(&path, &body, &claim);
            for (who, client) in [("weak", &weak), ("local", &local)] {
                let answer = client.call(&method, &target, &body);
                called += 1;
                assert_refused(who, &format!("{method} {path}"), &answer);
            }
        }
    }
    println!("fc24: {called} calls, none of which moved anything");
    assert!(called >= 160, "{called}");
    assert_eq!(picture(&scene, &event), before, "nothing was moved");
    let acked = scene.settle("ack", &claim, json!({})).success();
    assert_eq!(acked["replayed"], false, "the lease was its holder's all the time");
    scene.assert_same_process();
}

/// No, or an answer about the caller's own things alone.
fn assert_refused(who: &str, route: &str, answer: &Answer) {
    let said = format!("{who}: {route}: {}", answer.body);
    if route.contains("/v1/leases/") {
        assert_eq!((answer.code, &answer.data["items"][0]["code"]), (20_700, &json!(40_402)), "{said}");
        return;
    }
    let has_no_thing = ["GET /v1/me", "GET /v1/system"].contains(&route);
    let is_list = route.starts_with("GET ") && !route.contains('{') && route != "GET /v1/dead-letters";
    if answer.code == 0 && (has_no_thing || (is_list && who == "local")) {
        assert!(!answer.body.contains(OTHER), "{said}");
        return;
    }
    assert!(matches!(answer.status, 403 | 404), "{said}");
    assert!(answer.data["details"].is_null(), "{said}");
}

/// The example of a body, aimed at the other queue's event where it can be.
fn aimed(path: &str, body: &Value, claim: &Claim) -> String {
    let mut body = body.clone();
    if body.is_null() {
        return String::new();
    }
    if path.starts_with("/v1/leases/") {
        body = json!({ "items": [claim.proof(json!({ "eventId": claim.id() }))] });
    } else if body["leaseToken"].is_string() {
        body = claim.proof(body);
    } else if path == "/v1/event-queues" {
        // A queue that the key would reach, on a stream that it does not.
        body = json!({ "name": OWN, "stream": OTHER });
    } else if path == "/v1/keys" {
        body = json!({ "name": "x", "scopes": ["read"], "queues": [OTHER] });
    } else if body["ids"].is_array() {
        body = json!({ "ids": [claim.id()] });
    }
    body.to_string()
}

/// Method, path and example body of every route that asks for a key.
fn routes(scene: &Scene) -> Vec<(String, String, Value)> {
    let mut stream = TcpStream::connect(&scene.naven.http).expect("the server listens");
    let host = &scene.naven.http;
    write!(stream, "GET /openapi.json HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, document) = answer.split_once("\r\n\r\n").expect("a body");
    let document: Value = serde_json::from_str(document).expect("the document is JSON");
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, call) in item.as_object().expect("methods") {
            if call["security"].is_null() {
                continue;
            }
            let body = call["requestBody"]["content"]["application/json"]["example"].clone();
            routes.push((method.to_uppercase(), path.clone(), body));
        }
    }
    routes
}

#[test]
fn fc24_a_token_of_a_queue_that_shares_the_stream_is_none() {
    let scene = Scene::with_queue(json!({}));
    for name in [OWN, OTHER] {
        scene.queue(name, json!({ "stream": "shared" }));
    }
    let event = text(&scene.http.post("/v1/streams/shared/events", r#"{"payload":{}}"#).success()["id"]);
    let claim = scene.claimed(OTHER, 3_600, 0);
    assert_eq!(claim.id(), event);
    // It sees the event in its own queue, and holds the token of the other one.
    let weak = key(&scene, "weak", &json!(["consume", "read"]), &json!([OWN])).1;
    let picture = || {
        let timeline = scene.http.get(&format!("/v1/events/{event}/timeline?queue={OTHER}")).success();
        (without_ages(scene.event(&event)), timeline)
    };
    let before = picture();
    for (verb, more) in [
        ("heartbeat", json!({ "leaseSeconds": 1 })),
        ("nack", json!({ "mode": "fatal" })),
        ("nack", json!({ "mode": "release" })),
        ("ack", json!({})),
    ] {
        let answer = weak.post(&claim.path(verb), &claim.proof(more).to_string());
        assert!(matches!(answer.status, 404 | 409), "{verb}: {}", answer.body);
        let item = claim.proof(json!({ "eventId": event }));
        let answer = weak.post(&format!("/v1/leases/{verb}"), &json!({ "items": [item] }).to_string());
        assert_eq!(answer.code, 20_700, "{verb}: {}", answer.body);
        assert_eq!(picture(), before, "{verb}");
    }
    scene.settle("ack", &claim, json!({})).success();
}

#[test]
fn fc24_a_revoked_key_is_refused_within_a_second() {
    let scene = two_queues();
    scene.publish(OWN);
    let (id, client) = key(&scene, "worker", &json!(["consume", "read"]), &json!([OWN]));
    let claim = client.post(&format!("/v1/event-queues/{OWN}/claim"), r#"{"waitSeconds":0}"#);
    let claim = Claim::of(claim).expect("there is an event");
    // A connection that is open all the time is no way around it.
    let mut wire = crate::wire::Wire::open(&scene.naven.http, client.key());
    assert_eq!(wire.get("/v1/me").code, 0);
    let began = now();
    scene.http.call("DELETE", &format!("/v1/keys/{id}"), "").success();
    let refused = || client.get("/v1/me").code == 40_101;
    until("the key is refused", seconds(30), refused);
    assert_within("fc24: from the revocation to the refusal", began.elapsed(), seconds(1));
    assert_eq!(wire.get("/v1/me").code, 40_101, "on its open connection too");
    for (method, path, _) in routes(&scene) {
        let target = path.replace("{queue}", OWN).replace("{id}", &claim.id());
        let target = target.replace("{name}", OWN).replace("{group}", OWN);
        let answer = client.call(&method, &target, "");
        assert_eq!((answer.status, answer.code), (401, 40_101), "{method} {path}: {}", answer.body);
    }
    for verb in ["heartbeat", "nack", "ack"] {
        let answer = client.post(&claim.path(verb), &claim.proof(json!({})).to_string());
        assert_eq!(answer.code, 40_101, "{verb}: {}", answer.body);
    }
    assert_eq!(scene.event(&claim.id())["state"], "leased");
    let restarted = scene.killed_and_restarted();
    let after = Http::new(&restarted.naven.http, client.key());
    assert_eq!(after.get("/v1/me").code, 40_101, "after a restart too");
}
