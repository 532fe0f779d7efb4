//! Who may call from where, and in which shape they are answered: hosts, origins, gzip, problems.

use std::io::Read;

use flate2::read::GzDecoder;
use http::StatusCode;
use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Answer, request, request_with};
use crate::test_server::TestServer;

/// One request without a key, with these lines in its head.
async fn ask(server: &TestServer, line: &str, head: &str) -> Answer {
    server.send(format!("{line} HTTP/1.1\r\n{head}\r\n").as_bytes()).await
}

pub(crate) async fn only_our_host_names_are_answered(factory: Factory) {
    let server = TestServer::start(factory).await;
    let port = server.running.http_addr().port();
    for (head, code) in [
        (format!("Host: 127.0.0.1:{port}\r\n"), 0),
        ("Host: localhost\r\n".to_owned(), 0),
        ("Host: test\r\n".to_owned(), 0),
        ("Host: rebound.example\r\n".to_owned(), 42_100),
        (String::new(), 40_001),
        ("Host: localhost\r\nHost: localhost\r\n".to_owned(), 40_001),
        ("Host: a b\r\n".to_owned(), 40_001),
    ] {
        let answer = ask(&server, "GET /healthz", &head).await;
        assert_eq!(answer.code(), code, "{head:?}");
        if code == 40_001 {
            assert_eq!(answer.envelope()["data"]["fields"][0]["path"], "Host");
        }
    }
    let answer = ask(&server, "GET http://rebound.example/healthz", "Host: localhost\r\n").await;
    assert_eq!(answer.code(), 42_100, "the request line outranks the header");
}

pub(crate) async fn pages_of_named_origins_may_call(factory: Factory) {
    let origin = "https://app.example.com";
    let server = TestServer::start_with(factory, |config| {
        config.access.cors_origins = vec![origin.parse().expect("an origin")];
    })
    .await;
    let head = format!(
        "Host: t\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,idempotency-key\r\n"
    );
    let preflight = ask(&server, "OPTIONS /v1/event-queues", &head).await;
    assert_eq!((preflight.status, preflight.body.len()), (200, 0), "{preflight:?}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some(origin));
    assert_eq!(preflight.header("access-control-max-age"), Some("600"));
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
    let allowed = preflight.header("access-control-allow-headers").expect("headers are allowed");
    for name in ["authorization", "content-type", "idempotency-key", "if-match", "traceparent", "tracestate"]
    {
        assert!(allowed.split(',').any(|one| one.trim() == name), "{name} in {allowed}");
    }
    // What failed has to be readable too.
    for (path, code) in [("/healthz", 0), ("/v1/me", 40_100), ("/v1/nowhere", 40_400)] {
        let answer = ask(&server, &format!("GET {path}"), &format!("Host: t\r\nOrigin: {origin}\r\n")).await;
        assert_eq!(answer.code(), code);
        assert_eq!(answer.header("access-control-allow-origin"), Some(origin), "{path}");
        let shown = answer.header("access-control-expose-headers").expect("headers are shown");
        assert!(shown.contains("naven-request-id") && shown.contains("retry-after"), "{shown}");
    }
    let other = ask(&server, "GET /healthz", "Host: t\r\nOrigin: https://evil.example\r\n").await;
    assert_eq!((other.code(), other.header("access-control-allow-origin")), (0, None));
    assert!(other.header("vary").is_some_and(|vary| vary.to_ascii_lowercase().contains("origin")));
}

pub(crate) async fn nothing_is_said_to_pages_where_no_origin_is_named(factory: Factory) {
    let server = TestServer::start(factory).await;
    let head = "Host: t\r\nOrigin: https://app.example.com\r\nAccess-Control-Request-Method: GET\r\n";
    assert_eq!(ask(&server, "OPTIONS /v1/me", head).await.code(), 40_500);
    let answer = ask(&server, "GET /healthz", head).await;
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{answer:?}");
}

pub(crate) async fn long_answers_are_compressed_for_those_who_accept_it(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let payload = json!({ "text": "a long one ".repeat(500) });
    let published = server.post("/v1/event-queues/q/events", json!({ "payload": payload })).await;
    let path = format!("/v1/events/{}", published.data()["id"].as_str().expect("an id"));
    let gzip = [("Accept-Encoding", "gzip")];
    let mut connection = server.connect().await;
    connection.send(&request_with("GET", &path, &server.key, &gzip, None)).await;
    let (status, headers, body) = connection.chunked_answer().await;
    assert_eq!((status, headers["content-encoding"].as_str()), (StatusCode::OK, "gzip"));
    assert!(headers["vary"].to_ascii_lowercase().contains("accept-encoding"));
    assert!(body.len() < 1_000, "{} bytes for 5,500", body.len());
    let mut text = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut text).expect("it is gzip");
    let envelope: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(envelope["data"]["payload"], payload);
    // The same connection goes on; a short answer, and one that was not asked for, come as they are.
    connection.send(&request_with("GET", "/v1/me", &server.key, &gzip, None)).await;
    assert_eq!(connection.answer().await.expect("an answer").header("content-encoding"), None);
    connection.send(&request("GET", &path, &server.key, None)).await;
    let plain = connection.answer().await.expect("an answer");
    assert_eq!((plain.header("content-encoding"), plain.data()["payload"].clone()), (None, payload));
    // A claim's answer may be compressed, and its lease is held.
    connection.send(&request_with("POST", "/v1/event-queues/q/claim", &server.key, &gzip, Some("{}"))).await;
    let (_, headers, _) = connection.chunked_answer().await;
    assert_eq!(headers["content-encoding"], "gzip");
    drop(connection);
    assert_eq!(server.get("/v1/event-queues/q").await.data()["counts"]["leased"], 1);
}

pub(crate) async fn failures_are_problems_for_those_who_ask(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let problem = [("Accept", "application/problem+json"), ("Naven-Request-Id", "r1")];
    let ask = async |path: &str, body| {
        server.send(&request_with("POST", path, &server.key, &problem, Some(body))).await
    };
    let answer = ask("/v1/event-queues/q/claim", "{\"leaseSeconds\":0}").await;
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let body: Value = serde_json::from_slice(&answer.body).expect("it is JSON");
    let expected = json!({
        "type": "/docs/errors/40001", "title": "invalid field", "status": 400, "detail": body["detail"],
        "instance": "/v1/event-queues/q/claim", "code": 40_001, "reason": "invalid_field",
        "requestId": "r1", "retryable": false, "fields": body["fields"],
    });
    assert_eq!((answer.status, &body), (400, &expected));
    assert_eq!(body["fields"][0]["path"], "leaseSeconds");
    let nowhere = ask("/v1/nowhere", "{}").await;
    assert_eq!((nowhere.status, nowhere.header("content-type")), (404, Some("application/problem+json")));
    // A success is what it always is.
    let created = ask("/v1/event-queues", "{\"name\":\"p\"}").await;
    assert_eq!((created.code(), created.header("content-type")), (0, Some("application/json")));
}
