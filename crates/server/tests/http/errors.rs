//! Every code that the server can answer, provoked.

use std::time::Duration;

use naven_api::ErrorCode;
use naven_store::reply::OpError;
use serde_json::{Value, json};

use crate::Factory;
use crate::faulty::Fault;
use crate::raw::{Answer, request, request_with};
use crate::test_server::TestServer;

const UNKNOWN: &str = "evt_00000000000000000000000000";

/// Reasons of the contract that cannot occur yet, and why. One that comes leaves this list for a case below.
const NOT_YET: &[(u32, &str)] = &[
    (40_003, "comes with schedules"),
    (40_004, "comes with schedules"),
    (40_403, "comes with schedules"),
    (40_600, "every answer is JSON, whatever Accept says"),
    (40_905, "calls under one Idempotency-Key stand in the engine's order: the later one finds the answer"),
    (42_901, "comes with a queue's maxDepth"),
    (50_300, "the doors open once the engine is ready"),
];

#[test]
fn what_cannot_occur_is_no_code_yet() {
    for (code, why) in NOT_YET {
        assert_eq!(ErrorCode::from_code(*code), None, "{code} was to be missing: {why}");
    }
}

/// Provokes each code; a code without a case fails the test.
pub(crate) async fn every_code_is_provoked(factory: Factory) {
    for &code in ErrorCode::ALL {
        let server = TestServer::start_with(factory, |config| {
            config.patience.body_idle = Duration::from_millis(50);
            config.limits.waiters_per_node = 1;
        })
        .await;
        server.queue("q", json!({})).await;
        let answer = provoke(&server, code).await;
        assert_eq!(answer.code(), u64::from(code.code()), "{code}");
        let data = &answer.envelope()["data"];
        assert_eq!(data["reason"], code.reason());
        assert!(code == ErrorCode::PartialFailure || data["retryable"] == code.is_retryable(), "{code}");
        check_headers(&answer, code);
    }
}

fn check_headers(answer: &Answer, code: ErrorCode) {
    assert_eq!(answer.header("www-authenticate").is_some(), code.http_status() == 401, "{code}");
    assert_eq!(answer.header("allow").is_some(), code.http_status() == 405, "{code}");
    if matches!(code, ErrorCode::TooLarge | ErrorCode::UriTooLong | ErrorCode::HeadersTooLarge) {
        assert!(answer.envelope()["data"]["details"]["limitBytes"].is_u64(), "{code}");
    }
}

async fn provoke(server: &TestServer, code: ErrorCode) -> Answer {
    match code.code() {
        20_700 => {
            let item = json!({ "eventId": UNKNOWN, "leaseToken": "t" });
            server.post("/v1/leases/ack", json!({ "items": [item] })).await
        }
        40_000 => post_text(server, "/v1/event-queues/q/events", "{").await,
        40_001 => server.post("/v1/event-queues/q/events", json!({})).await,
        40_002 => server.post("/v1/event-queues/q/claim", json!({ "leaseSecond": 1 })).await,
        40_005 => server.get("/v1/event-queues?cursor=x").await,
        40_006 => server.get("/v1/event-queues/q/events?payload.a..b=1").await,
        40_100 => server.send(b"GET /v1/me HTTP/1.1\r\nHost: t\r\n\r\n").await,
        40_101 => server.send(&request("GET", "/v1/me", "not-the-key", None)).await,
        40_102 | 40_300 | 40_405 | 41_200 | 42_900 => provoke_key(server, code).await,
        40_400 => server.get("/v1/nowhere").await,
        40_401 => server.get("/v1/event-queues/none").await,
        40_402 => server.get(&format!("/v1/events/{UNKNOWN}")).await,
        40_404 => server.get("/v1/streams/none").await,
        40_500 => server.call("DELETE", "/v1/me", None).await,
        40_800 => {
            let mut connection = server.connect().await;
            let head = "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n";
            let text = format!("{head}Authorization: Bearer {}\r\nContent-Length: 9\r\n\r\n{{", server.key);
            connection.send(text.as_bytes()).await;
            connection.answer().await.expect("the server answers")
        }
        40_900..=40_902 => provoke_lease(server, code).await,
        40_903 => server.post("/v1/event-queues", json!({ "name": "q" })).await,
        40_907 => {
            server.publish("q", 1).await;
            server.call("DELETE", "/v1/event-queues/q", None).await
        }
        40_908 => {
            let id = server.publish("q", 1).await;
            server.call("POST", &format!("/v1/events/{id}/redrive"), None).await
        }
        41_300 => post_text(server, "/v1/event-queues/q/events", &" ".repeat(8 * 1024 * 1024 + 1)).await,
        41_400 => server.get(&format!("/v1/event-queues/{}", "x".repeat(9_000))).await,
        41_500 => {
            let text =
                String::from_utf8(request("POST", "/v1/event-queues", &server.key, Some("{}"))).unwrap();
            let answer = server.send(text.replace("application/json", "text/plain").as_bytes()).await;
            assert!(answer.envelope()["message"].as_str().unwrap().contains("--json"));
            answer
        }
        42_200 => {
            let path = "/v1/event-queues/q/events";
            assert_eq!(server.post_once(path, "k", json!({ "payload": {} })).await.code(), 0);
            server.post_once(path, "k", json!({ "payload": { "n": 1 } })).await
        }
        42_902 => {
            let _first = server.begin_claim("q", 30).await;
            server.until_waiting(1).await;
            server.post("/v1/event-queues/q/claim", json!({ "waitSeconds": 30 })).await
        }
        _ => provoke_server(server, code).await,
    }
}

async fn provoke_server(server: &TestServer, code: ErrorCode) -> Answer {
    match code.code() {
        42_100 => server.send(b"GET /v1/me HTTP/1.1\r\nHost: evil.example\r\n\r\n").await,
        43_100 => {
            let line = format!("X-Long: {}\r\n", "x".repeat(33_000));
            server.send(format!("GET /v1/me HTTP/1.1\r\nHost: t\r\n{line}\r\n").as_bytes()).await
        }
        40_906 => {
            server.engine.break_with(Fault::BackupRunning);
            server.get("/v1/system/backup").await
        }
        50_000 => with_fault(server, Fault::Panic).await,
        50_301 => with_fault(server, Fault::Error(OpError::Unavailable)).await,
        50_302 => {
            let mut connection = server.connect().await;
            connection.send(&request("GET", "/healthz", &server.key, None)).await;
            connection.answer().await.expect("the server answers");
            server.running.drain();
            connection.send(&request("POST", "/v1/event-queues/q/claim", &server.key, Some("{}"))).await;
            connection.answer().await.expect("the server answers while it drains")
        }
        50_400 => with_fault(server, Fault::Error(OpError::Unknown)).await,
        50_700 => with_fault(server, Fault::Error(OpError::Full)).await,
        other => panic!("no case provokes {other}"),
    }
}

/// What keys meet: a key that may not do it, one whose time is over, one that calls too often, none at all.
async fn provoke_key(server: &TestServer, code: ErrorCode) -> Answer {
    let made = async |more: Value| {
        let mut key = json!({ "name": "w", "scopes": ["read"] });
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = server.post("/v1/keys", key).await.data();
        (answer["id"].as_str().unwrap().to_owned(), answer["secret"].as_str().unwrap().to_owned())
    };
    match code {
        ErrorCode::KeyExpired => {
            let ends = naven_store::Clock::wall(&*server.clock).plus_ms(1_000).to_string();
            let (_, secret) = made(json!({ "expiresAt": ends })).await;
            server.advance(1);
            server.send(&request("GET", "/v1/me", &secret, None)).await
        }
        ErrorCode::ScopeMissing => {
            let (_, secret) = made(json!({})).await;
            server.send(&request("POST", "/v1/event-queues/q/pause", &secret, None)).await
        }
        ErrorCode::RateLimited => {
            let (_, secret) = made(json!({ "rateLimit": 1 })).await;
            loop {
                let answer = server.send(&request("GET", "/v1/me", &secret, None)).await;
                if answer.code() != 0 {
                    return answer;
                }
            }
        }
        ErrorCode::VersionMismatch => {
            let (id, _) = made(json!({})).await;
            let head = [("If-Match", "\"7\"")];
            server.send(&request_with("DELETE", &format!("/v1/keys/{id}"), &server.key, &head, None)).await
        }
        _ => server.get("/v1/keys/key_00000000000000000000000000").await,
    }
}

async fn provoke_lease(server: &TestServer, code: ErrorCode) -> Answer {
    server.publish("q", 1).await;
    let claim = server.claim("q", 10).await;
    match code {
        ErrorCode::LeaseExpired => server.advance(10),
        ErrorCode::LeaseLost => {
            server.advance(10);
            assert_ne!(server.claim("q", 10).await, Value::Null);
        }
        _ => assert_eq!(server.settle("nack", &claim, json!({})).await.code(), 0),
    }
    server.settle("ack", &claim, json!({})).await
}

async fn with_fault(server: &TestServer, fault: Fault) -> Answer {
    server.engine.break_with(fault);
    let answer = server.post("/v1/event-queues/q/events", json!({ "payload": {} })).await;
    server.engine.heal();
    assert_eq!(server.post("/v1/event-queues/q/events", json!({ "payload": {} })).await.code(), 0);
    answer
}

async fn post_text(server: &TestServer, path: &str, body: &str) -> Answer {
    server.send(&request("POST", path, &server.key, Some(body))).await
}
