//! No secret is told: a whole life of a server at its most verbose, searched for everything that is nobody
//! else's business.
//!
//! Lives here: the life, what may not be found, and where it is looked for. Not here: that every other test's
//! server tells none (`support/server.rs`).

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use support::{Answer, Http, Naven, Start, assert_no_secret, forms, key};

/// In payloads and headers: not to be told to anybody but who may see the event.
const PAYLOAD: &str = "mark-Of-a-payload-1x7Qz9";
const HEADER: &str = "mark-Of-a-header-2x7Qz9";
/// In errors of attempts: shown with the event, and in no log.
const ERROR: &str = "mark-Of-an-error-3x7Qz9";
/// In bodies that are refused.
const REFUSED: &str = "mark-Of-a-refused-body-4x7Qz9";

/// A server, what may not be told, and what it answered that was a failure.
struct Life {
    naven: Naven,
    secrets: Vec<String>,
    failures: Vec<String>,
}

impl Life {
    fn begin() -> Self {
        let naven = Start::serve().env("NAVEN_LOG", "trace").ready();
        let secrets = vec![key().to_owned(), key()[31..].to_owned()];
        Self { naven, secrets, failures: Vec::new() }
    }

    /// One call under the server's own key. A failure's body is kept, to be searched.
    fn call(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let client = self.naven.client();
        self.call_as(&client, method, path, body)
    }

    fn call_as(&mut self, client: &Http, method: &str, path: &str, body: &str) -> Answer {
        let answer = client.call(method, path, body);
        if answer.status >= 400 {
            self.failures.push(answer.body.clone());
        }
        answer
    }

    fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, &body.to_string())
    }

    /// Whole bytes of a request, for heads that no client sends.
    fn send(&mut self, head: &str) {
        let mut stream = TcpStream::connect(&self.naven.http).expect("the server listens");
        let head = head.replace("{host}", &self.naven.http);
        stream.write_all(head.as_bytes()).expect("the server reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
        self.failures.push(answer);
    }

    fn claim(&mut self) -> (String, String) {
        let claim = self.post("/v1/event-queues/mail/claim", &json!({ "waitSeconds": 0 })).success();
        let token = claim["leaseToken"].as_str().expect("a token").to_owned();
        self.secrets.push(token.clone());
        (claim["event"]["id"].as_str().expect("an id").to_owned(), token)
    }

    fn publish(&mut self) {
        let event = json!({ "payload": { "text": PAYLOAD }, "headers": { "h": HEADER } });
        self.post("/v1/event-queues/mail/events", &event).success();
    }
}

/// Keys are made, changed, rotated, used, revoked, and used again.
fn keys(life: &mut Life) {
    let made = life.post("/v1/keys", &json!({ "name": "worker", "scopes": ["consume"] })).success();
    let path = format!("/v1/keys/{}", made["id"].as_str().expect("an id"));
    let keep = |life: &mut Life, made: &Value| {
        let secret = made["secret"].as_str().expect("a secret").to_owned();
        life.secrets.extend([secret.clone(), secret[31..].to_owned()]);
        secret
    };
    let first = keep(life, &made);
    let worker = Http::new(&life.naven.http, &first);
    life.call_as(&worker, "GET", "/v1/me", "").success();
    life.call_as(&worker, "POST", "/v1/keys", &json!({ "name": "x", "scopes": ["admin"] }).to_string());
    life.call("PATCH", &path, r#"{"rateLimit":1000}"#).success();
    let rotated = life.post(&format!("{path}/rotate"), &json!({ "overlapSeconds": 0 })).success();
    let second = keep(life, &rotated);
    assert_eq!(life.call_as(&worker, "GET", "/v1/me", "").code, 40_101);
    life.call("DELETE", &path, "").success();
    for secret in [&first, &second] {
        let gone = Http::new(&life.naven.http, secret);
        assert_eq!(life.call_as(&gone, "GET", "/v1/me", "").code, 40_101);
        let bent = Http::new(&life.naven.http, &format!("{secret}x"));
        assert_eq!(life.call_as(&bent, "GET", "/v1/event-queues", "").code, 40_101);
        // Where a key has no business to be.
        life.send(&format!(
            "GET /v1/me?key={secret} HTTP/1.1\r\nhost: {{host}}\r\nconnection: close\r\n\r\n"
        ));
        life.send(&format!(
            "GET /v1/me HTTP/1.1\r\nhost: {{host}}\r\nauthorization: Basic {secret}\r\nconnection: close\r\n\r\n"
        ));
        life.send(&format!(
            "GET /v1/event-queues/{secret} HTTP/1.1\r\nhost: {{host}}\r\nconnection: close\r\n\r\n"
        ));
        life.call("GET", &format!("/v1/event-queues/{secret}"), "");
        life.call("GET", &format!("/v1/keys/{secret}"), "");
        life.post("/v1/keys", &json!({ "name": "y", "scopes": [secret] }));
    }
}

/// Events go through, fail, die, and are buried.
fn events(life: &mut Life) {
    life.post("/v1/event-queues", &json!({ "name": "mail", "maxAttempts": 2 })).success();
    for _ in 0..4 {
        life.publish();
    }
    let (id, token) = life.claim();
    let proof = json!({ "leaseToken": token });
    for verb in ["heartbeat", "ack", "ack"] {
        life.post(&format!("/v1/events/{id}/{verb}"), &proof).success();
    }
    assert_eq!(life.post(&format!("/v1/events/{id}/nack"), &proof).code, 40_902);
    let (id, token) = life.claim();
    let fatal = json!({ "leaseToken": token, "mode": "fatal", "error": ERROR });
    life.post(&format!("/v1/events/{id}/nack"), &fatal).success();
    life.post(&format!("/v1/events/{id}/redrive"), &json!({})).success();
    assert_eq!(life.post(&format!("/v1/events/{id}/ack"), &json!({ "leaseToken": token })).code, 40_901);
    let (id, token) = life.claim();
    let failed = json!({ "leaseToken": token, "error": ERROR, "retryDelaySeconds": 0 });
    life.post(
        "/v1/leases/nack",
        &json!({ "items": [{ "eventId": id, "leaseToken": token, "error": ERROR }] }),
    );
    life.post(&format!("/v1/events/{id}/nack"), &failed);
    let letters = "/v1/event-queues/mail/dead-letters";
    life.call("GET", letters, "").success();
    life.call("GET", &format!("{letters}?error={ERROR}"), "").success();
    life.call("GET", &format!("{letters}?groupBy=error&reason={ERROR}"), "");
    life.post(&format!("{letters}/redrive"), &json!({ "filter": { "error": ERROR } })).success();
    wrong_places(life);
}

/// Tokens and marks where they have no business to be, and bodies that are refused with them.
fn wrong_places(life: &mut Life) {
    let (id, token) = life.claim();
    let (other, _) = life.claim();
    for path in [
        format!("/v1/events/{token}/ack"),
        format!("/v1/events/{id}/{token}"),
        format!("/v1/event-queues/{token}/claim"),
        format!("/v1/events/{id}/ack?leaseToken={token}"),
        format!("/v1/events/{other}/ack"),
        format!("/v1/streams/{token}"),
    ] {
        let answer = life.post(&path, &json!({ "leaseToken": token }));
        assert!(answer.status >= 400, "{path}: {}", answer.body);
    }
    life.post(&format!("/v1/events/{id}/nack"), &json!({ "leaseToken": token, "mode": token }));
    life.post(&format!("/v1/events/{id}/nack"), &json!({ "leaseToken": [token] }));
    life.post(&format!("/v1/events/{id}/heartbeat"), &json!({ "leaseToken": token, "leaseSeconds": token }));
    life.post("/v1/leases/ack", &json!({ "items": [{ "eventId": token, "leaseToken": 7 }] }));
    life.call("GET", &format!("/v1/event-queues?cursor={token}"), "");
    life.call("GET", &format!("/v1/event-queues?limit={token}"), "");
    let publish = "/v1/event-queues/mail/events";
    for body in [
        format!("{{\"payload\":{{\"a\":\"{REFUSED}\""),
        format!("{{\"payload\":\"{REFUSED}\"}}"),
        format!("{{\"payload\":{{}},\"delaySeconds\":\"{REFUSED}\"}}"),
        format!("{{\"payload\":{{\"a\":\"{REFUSED}\"}},\"scheduledAt\":\"{REFUSED}\"}}"),
        format!("{{\"payload\":{{}},\"headers\":[\"{REFUSED}\"]}}"),
        format!("{{\"payload\":{{}},\"noSuchField\":\"{REFUSED}\"}}"),
        format!("\"{REFUSED}\""),
        REFUSED.to_owned(),
        format!("{{\"payload\":{{}}}}{REFUSED}"),
    ] {
        let answer = life.call("POST", publish, &body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
    }
    life.post("/v1/event-queues", &json!({ "name": REFUSED }));
    life.post("/v1/event-queues/mail/claim", &json!({ "consumerId": format!("{REFUSED}\u{e9}") }));
}

/// What Prometheus is told after all that.
fn metrics(naven: &Naven) -> String {
    let mut stream = TcpStream::connect(&naven.http).expect("the server listens");
    let (host, key) = (&naven.http, key());
    let head = format!(
        "GET /metrics HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let tells =
        ["HTTP/1.1 200 ", "naven_queue_acked_total{queue=\"mail\"}", "route=\"/v1/keys/{id}/rotate\""];
    assert!(tells.iter().all(|part| answer.contains(part)), "{answer}");
    answer
}

fn assert_not_in(what: &str, text: &str, secret: &str) {
    for form in forms(secret) {
        assert!(!text.contains(&form), "{form} is in {what}, which is {secret}: {}", around(text, &form));
    }
}

fn around(text: &str, form: &str) -> String {
    text.lines().filter(|line| line.contains(form)).take(3).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_secret_is_in_any_log_or_failure() {
    let mut life = Life::begin();
    keys(&mut life);
    events(&mut life);
    assert!(life.failures.len() >= 40, "only {} failures", life.failures.len());
    let metrics = metrics(&life.naven);
    let Life { naven, secrets, failures } = life;
    naven.signal("TERM");
    let ended = naven.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("answered"), "it logs every call: {}", ended.stderr);
    let failures_told = failures.join("\n");
    let told = [
        ("stderr", &ended.stderr),
        ("stdout", &ended.stdout),
        ("a failure", &failures_told),
        ("the metrics", &metrics),
    ];
    for (what, text) in told {
        for secret in secrets.iter().map(String::as_str).chain([PAYLOAD, HEADER, REFUSED, ERROR]) {
            assert_not_in(what, text, secret);
        }
        assert_no_secret(what, text);
    }
    let logged = ended.stderr.lines().count();
    println!("{} secrets and marks, {logged} lines of log, {} failures", secrets.len() + 4, failures.len());
}

#[test]
fn a_secret_would_be_found() {
    let secret = "AAAAAQAAAAAAAAAAAAAAAJ2VjcmV0LXNlY3JldC1zZ2";
    for form in forms(secret) {
        let found = std::panic::catch_unwind(|| assert_not_in("a text", &format!("x {form} y"), secret));
        assert!(found.is_err(), "{form}");
    }
    let public = &key()[..30];
    assert_no_secret("a text", &format!("by {public} of evt_01m8n078np0000400000000001"));
    for text in [format!("token={}", &secret[..43]), format!("key {}", key()), key()[..40].to_owned()] {
        assert!(std::panic::catch_unwind(|| assert_no_secret("a text", &text)).is_err(), "{text}");
    }
}
