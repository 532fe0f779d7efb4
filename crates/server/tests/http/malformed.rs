//! Three hundred malformed requests, each with the code that it must be answered with.
//!
//! Lives here: playing them, and those whose head or framing is wrong. Not here: those whose path or
//! method is (`malformed_targets.rs`), and those whose body is (`malformed_fields.rs`).

use std::time::{Duration, Instant};

use serde_json::json;

use crate::Factory;
use crate::malformed_fields::{BODIES, RAW_BODIES};
use crate::malformed_targets::TARGETS;
use crate::raw::{Connection, request};
use crate::test_server::TestServer;

/// What a malformed request gets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gets {
    /// The envelope with this code.
    Code(u64),
    /// What cannot be parsed as a request at all: the library's bare status, or just the end.
    Bare,
}

use Gets::{Bare, Code};

/// Whole heads, without a key of their own; `{key}` stands for one that is right.
const HEADS: &[(&str, Gets)] = &[
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\n\r\n", Code(40_100)),
    ("GET /v1/me HTTP/1.0\r\n\r\n", Code(40_100)),
    ("POST /v1/event-queues/none/claim HTTP/1.1\r\nHost: t\r\n\r\n", Code(40_100)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization:\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer nvk_\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: {key}\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Basic {key}\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}x\r\n\r\n", Code(40_101)),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}, {key}\r\n\r\n", Code(40_101)),
    (
        "GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nAuthorization: Bearer {key}\r\n\r\n",
        Code(40_101),
    ),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \u{e9}\r\n\r\n", Code(40_101)),
    ("GET /v1/me?key={key} HTTP/1.1\r\nHost: t\r\n\r\n", Code(40_100)),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nIdempotency-Key: k\r\n\r\n",
        Code(40_001),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: text/json\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json; charset=latin1\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        Code(41_500),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json; charset=\"UTF-8\"\r\nContent-Length: 2\r\n\r\n{}",
        Code(40_001),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: bearer {key}\r\nContent-Type: APPLICATION/JSON\r\nContent-Length: 2\r\n\r\n{}",
        Code(40_001),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 8388609\r\n\r\n",
        Code(41_300),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n",
        Code(41_300),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 8388609\r\n\r\n",
        Code(41_300),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        Code(40_800),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{",
        Code(40_800),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        Code(40_000),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n",
        Code(40_000),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        Code(40_000),
    ),
    (
        "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        Code(40_001),
    ),
    ("POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", Bare),
    ("POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nContent-Length: -2\r\n\r\n{}", Bare),
    ("POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n{}", Bare),
    ("POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nContent-Length: 18446744073709551614\r\n\r\n{}", Bare),
    ("POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n{}", Bare),
    ("POST /v1/event-queues HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Bare),
    ("GET /v1/me HTTP/1.1\r\n Host: t\r\n\r\n", Bare),
    ("GET /v1/me HTTP/1.1\r\nHost : t\r\n\r\n", Bare),
    ("GET /v1/me HTTP/1.1\r\nHo\u{0}st: t\r\n\r\n", Bare),
    ("GET /v1/me HTTP/1.1\r\nHost: t\r\nno colon\r\n\r\n", Bare),
    ("GET  /v1/me HTTP/1.1\r\nHost: t\r\n\r\n", Bare),
    ("GET /v1/me HTTP/9.9\r\nHost: t\r\n\r\n", Bare),
    ("GET /v1/me\r\n\r\n", Bare),
    ("GET /v1/\u{7f} HTTP/1.1\r\nHost: t\r\n\r\n", Bare),
    ("\r\n\r\nnonsense\r\n\r\n", Bare),
    ("*1\r\n$4\r\nPING\r\n", Bare),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnot a frame at all, nothing like one", Bare),
    ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n", Bare),
];

pub(crate) async fn three_hundred_malformed_requests(factory: Factory) {
    let server =
        TestServer::start_with(factory, |config| config.patience.body_idle = Duration::from_millis(200))
            .await;
    server.queue("q", json!({})).await;
    let mut all: Vec<(Vec<u8>, Gets)> = Vec::new();
    for (target, code) in TARGETS {
        let (method, path) = target.split_once(' ').expect("a target has a method and a path");
        all.push((request(method, path, &server.key, None), Code(*code)));
    }
    all.extend(HEADS.iter().map(|(head, gets)| (head.replace("{key}", &server.key).into_bytes(), *gets)));
    for (target, body, code) in BODIES {
        let (method, path) = target.split_once(' ').expect("a target has a method and a path");
        all.push((request(method, path, &server.key, Some(body)), Code(*code)));
    }
    for (body, code) in RAW_BODIES {
        let mut sent =
            request("POST", "/v1/event-queues/q/events", &server.key, Some(&"x".repeat(body.len())));
        sent.truncate(sent.len() - body.len());
        sent.extend_from_slice(body);
        all.push((sent, Code(*code)));
    }
    all.extend(made_long(&server));
    println!("{} malformed requests", all.len());
    assert!(all.len() >= 300, "only {} malformed requests", all.len());
    for (sent, gets) in &all {
        check(&server, sent, *gets).await;
    }
    // The same process serves on.
    server.publish("q", 1).await;
    assert_eq!(server.claim("q", 5).await["event"]["payload"], json!({ "n": 1 }));
}

/// Requests that are too long to be written down.
fn made_long(server: &TestServer) -> Vec<(Vec<u8>, Gets)> {
    let path = "/v1/event-queues/q/events";
    let body = |text: &str| request("POST", path, &server.key, Some(text));
    let many = |count: usize| vec![r#"{"payload":{}}"#; count].join(",");
    let batch = format!("{path}/batch");
    let events =
        |text: String| request("POST", &batch, &server.key, Some(&format!("{{\"events\":[{text}]}}")));
    let chunked = |bytes: usize| {
        let head = String::from_utf8(body(""))
            .expect("a head is ASCII")
            .replace("Content-Length: 0", "Transfer-Encoding: chunked");
        format!("{head}{bytes:x}\r\n{}\r\n0\r\n\r\n", " ".repeat(bytes)).into_bytes()
    };
    let header =
        |bytes: usize| format!("GET /v1/me HTTP/1.1\r\nHost: t\r\nX-Long: {}\r\n\r\n", "x".repeat(bytes));
    vec![
        (body(&" ".repeat(8 * 1024 * 1024 + 1)), Code(41_300)),
        (chunked(8 * 1024 * 1024 + 1), Code(41_300)),
        (chunked(1024), Code(40_000)),
        (body(&"[".repeat(100_000)), Code(40_000)),
        (body(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))), Code(40_001)),
        (
            body(&format!(
                "{{\"payload\":{}{}}}",
                "{\"a\":".repeat(100_000),
                "1".to_owned() + &"}".repeat(100_000)
            )),
            Code(40_001),
        ),
        (body(&format!("{{\"payload\":{{\"a\":\"{}\"}}}}", "x".repeat(262_144))), Code(40_001)),
        (body(&format!("{{\"payload\":{{}},{}\"x\":1}}", "\"y\":1,".repeat(10_000))), Code(40_002)),
        (body(&format!("{{\"{}\":1}}", "x".repeat(100_000))), Code(40_002)),
        (events(many(501)), Code(40_001)),
        (events(format!("{},{{\"payload\":[]}}", many(499))), Code(40_001)),
        (format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "x".repeat(8 * 1024)).into_bytes(), Code(41_400)),
        (format!("GET /v1/me?{} HTTP/1.1\r\nHost: t\r\n\r\n", "x".repeat(20_000)).into_bytes(), Code(41_400)),
        (format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "x".repeat(70_000)).into_bytes(), Bare),
        (header(32 * 1024).into_bytes(), Code(43_100)),
        (header(200_000).into_bytes(), Bare),
        (format!("GET /v1/me HTTP/1.1\r\nHost: t\r\n{}\r\n", "X: y\r\n".repeat(200)).into_bytes(), Bare),
    ]
}

async fn check(server: &TestServer, sent: &[u8], gets: Gets) {
    let began = Instant::now();
    let shown = String::from_utf8_lossy(&sent[..sent.len().min(300)]).into_owned();
    let mut connection = server.connect().await;
    connection.send(sent).await;
    match gets {
        Code(code) => {
            let answer = connection.answer().await.unwrap_or_else(|| panic!("no answer to {shown:?}"));
            let is_envelope = serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok();
            assert!(is_envelope, "status {} without an envelope for {shown:?}", answer.status);
            assert_eq!(answer.code(), code, "{shown:?}: {}", String::from_utf8_lossy(&answer.body));
        }
        Bare => expect_bare(&mut connection, &shown).await,
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?} for {shown:?}");
}

/// A bare refusal, or the end of the connection.
async fn expect_bare(connection: &mut Connection, shown: &str) {
    if let Some(answer) = connection.answer().await {
        assert!((400..500).contains(&answer.status), "{} for {shown:?}", answer.status);
    }
}
