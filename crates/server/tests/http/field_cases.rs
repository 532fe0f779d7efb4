//! Field cases that need only a server: real faults of other queues, as tests.
//!
//! Lives here: the parts that can be played in this process with the clock in hand. Not here: those
//! that need real processes and real time (the command line's tests).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request;
use crate::test_server::TestServer;

/// The outcome of an ack is not known to its sender.
pub(crate) async fn fc02(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let id = server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    // The reply is never read: the connection is cut right after the request.
    let body = json!({ "leaseToken": claim["leaseToken"] }).to_string();
    let mut connection = server.connect().await;
    connection.send(&request("POST", &format!("/v1/events/{id}/ack"), &server.key, Some(&body))).await;
    while server.event(&id).await["state"] != "done" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(connection);
    for _ in 0..2 {
        let again = server.settle("ack", &claim, json!({})).await.data();
        assert_eq!((&again["state"], &again["replayed"]), (&json!("done"), &json!(true)));
    }
    assert_eq!(server.settle("nack", &claim, json!({})).await.code(), 40_902);
    server.advance(60);
    assert_eq!(server.claim("q", 3).await, Value::Null);
    assert_eq!(server.event(&id).await["deliveryCount"], 1);
}

/// Attempts are not used up by an event whose holder beats, and are by one whose holder does not.
pub(crate) async fn fc08(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "maxAttempts": 3 })).await;
    server.publish("q", 1).await;
    let claim = server.claim("q", 2).await;
    for _ in 0..15 {
        server.advance(1);
        assert_eq!(server.settle("heartbeat", &claim, json!({ "leaseSeconds": 2 })).await.code(), 0);
        assert_eq!(server.claim("q", 2).await, Value::Null);
    }
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 0);

    let id = server.publish("q", 2).await;
    for attempt in 1..=3 {
        assert_eq!(server.claim("q", 2).await["event"]["attemptCount"], attempt);
        server.advance(2);
    }
    assert_eq!(server.claim("q", 2).await, Value::Null);
    let letters = server.get("/v1/event-queues/q/dead-letters").await.data()["items"].clone();
    assert_eq!(letters.as_array().map(Vec::len), Some(1));
    assert_eq!((&letters[0]["id"], &letters[0]["reason"]), (&json!(id), &json!("expired_attempts")));
    assert_eq!(letters[0]["attempts"].as_array().map(Vec::len), Some(3));
}

/// The wait of one who did not get the event does not start again.
pub(crate) async fn fc10(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let began = Instant::now();
    let mut winner = server.begin_claim("q", 2).await;
    server.until_waiting(1).await;
    let mut loser = server.begin_claim("q", 2).await;
    server.until_waiting(2).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let published = Instant::now();
    server.publish("q", 1).await;
    assert_ne!(winner.answer().await.expect("an answer").data(), Value::Null, "first come, first served");
    println!("fc10: the winner had the event {:?} after the publish", published.elapsed());
    assert_eq!(loser.answer().await.expect("an answer").data(), Value::Null);
    let waited = began.elapsed();
    println!("fc10: the loser waited {waited:?} of 2 s");
    assert!((Duration::from_millis(2_000)..Duration::from_millis(3_500)).contains(&waited), "{waited:?}");
}

/// Seconds that overflow, in every field that holds some.
pub(crate) async fn fc16(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.publish("q", 0).await;
    let claim = server.claim("q", 900).await;
    let token = claim["leaseToken"].as_str().unwrap();
    let event = format!("/v1/events/{}", claim["event"]["id"].as_str().unwrap());
    let fields = [
        ("/v1/event-queues/q/claim".to_owned(), "leaseSeconds", r#""waitSeconds":0"#.to_owned(), false),
        ("/v1/event-queues/q/claim".to_owned(), "waitSeconds", r#""leaseSeconds":5"#.to_owned(), true),
        (format!("{event}/heartbeat"), "leaseSeconds", format!(r#""leaseToken":"{token}""#), false),
        (format!("{event}/nack"), "retryDelaySeconds", format!(r#""leaseToken":"{token}x""#), true),
        ("/v1/event-queues/q/events".to_owned(), "delaySeconds", r#""payload":{}"#.to_owned(), true),
    ];
    let values = [
        "-1",
        "1.5",
        "\"900\"",
        "1e3",
        "2147483648",
        "9007199254740993",
        "9223372036854775807",
        "18446744073709551616",
        "1e308",
        "null",
        "[]",
        "true",
    ];
    for (path, field, rest, zero_is_taken) in &fields {
        for value in values {
            let body = format!("{{{rest},\"{field}\":{value}}}");
            let answer = server.send(&request("POST", path, &server.key, Some(&body))).await;
            assert_eq!((answer.code(), answer.fields()), (40_001, vec![(*field).to_owned()]), "{body}");
        }
        let body = format!("{{{rest},\"{field}\":0}}");
        let code = server.send(&request("POST", path, &server.key, Some(&body))).await.code();
        assert_eq!(code == 40_001, !zero_is_taken, "{body}: {code}");
    }
    for (at, taken) in [
        ("9999-12-31T23:59:59Z", false),
        ("+010000-01-01T00:00:00Z", false),
        ("2026-02-30T00:00:00Z", false),
        ("0000-00-00T00:00:00Z", false),
        ("1969-12-31T23:59:59Z", true),
        ("2026-06-30T23:59:60Z", false),
        ("tomorrow", false),
    ] {
        let answer =
            server.post("/v1/event-queues/q/events", json!({ "payload": {}, "scheduledAt": at })).await;
        assert_eq!(answer.code(), if taken { 0 } else { 40_001 }, "{at}");
    }
}

/// Text that a store may not be able to hold.
pub(crate) async fn fc17(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let id = server.publish("q", 1).await;
    let nack = async |claim: &Value, error: &[u8]| {
        let token = claim["leaseToken"].as_str().unwrap();
        let mut body = format!(r#"{{"leaseToken":"{token}","retryDelaySeconds":0,"error":""#).into_bytes();
        body.extend_from_slice(error);
        body.extend_from_slice(b"\"}");
        let mut sent = format!(
            "POST /v1/events/{id}/nack HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            server.key,
            body.len()
        )
        .into_bytes();
        sent.extend_from_slice(&body);
        server.send(&sent).await.code()
    };
    let claim = server.claim("q", 30).await;
    assert_eq!(nack(&claim, br"\ud800").await, 40_000, "a lone surrogate");
    assert_eq!(nack(&claim, b"\xff").await, 40_000, "not UTF-8");
    assert_eq!(nack(&claim, br"a\u0000b").await, 0);
    assert_eq!(server.event(&id).await["lastError"], "a\\u0000b");
    let claim = server.claim("q", 30).await;
    assert_eq!(nack(&claim, "é".repeat(512 * 1024).as_bytes()).await, 0, "1 MiB of two-byte letters");
    assert_eq!(server.event(&id).await["lastError"].as_str().map(str::len), Some(8 * 1024));
    let payload = r#"{"k\u0000":"\u0000"}"#;
    let body = format!(r#"{{"payload":{payload}}}"#);
    let sent = request("POST", "/v1/event-queues/q/events", &server.key, Some(&body));
    assert_eq!(server.send(&sent).await.code(), 0);
    let all =
        server.post("/v1/event-queues/q/claim-batch", json!({ "maxEvents": 2, "waitSeconds": 0 })).await;
    assert!(String::from_utf8(all.body).unwrap().contains(payload));
}

/// Payloads that change on the way.
pub(crate) async fn fc18(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let text = concat!(
        r#"{"a":9007199254740993,"b":18446744073709551615,"c":0.1000000000000000055,"d":-0,"e":1E5,"#,
        r#""f":"\u00e9\ud83d\ude00","g":{},"h":[]}"#
    );
    let doubled = r#"{"a":1, "a" :2,"\ud800":"\udc00"}"#;
    let nested = |levels: usize| format!("{}{{{}", "{\"a\":".repeat(levels - 1), "}".repeat(levels));
    let publish = async |payload: &str| {
        let body = format!("{{\"payload\": {payload} }}");
        server.send(&request("POST", "/v1/event-queues/q/events", &server.key, Some(&body))).await
    };
    for kept in [text, doubled, &nested(63), &nested(64)] {
        let id = publish(kept).await.data()["id"].as_str().unwrap().to_owned();
        let shown = server.get(&format!("/v1/events/{id}")).await;
        assert!(String::from_utf8(shown.body).unwrap().contains(&format!("\"payload\":{kept},")), "{kept}");
        let sent = request("POST", "/v1/event-queues/q/claim", &server.key, Some(r#"{"waitSeconds":0}"#));
        let claimed = server.send(&sent).await;
        assert!(String::from_utf8(claimed.body).unwrap().contains(&format!("\"payload\":{kept},")), "{kept}");
    }
    for levels in [65, 100_000] {
        assert_eq!(publish(&nested(levels)).await.fields(), ["payload"], "{levels} levels");
    }
    assert_eq!(publish(&format!("{{\"a\":\"{}\"}}", "x".repeat(262_144 - 8))).await.code(), 0);
    assert_eq!(publish(&format!("{{\"a\":\"{}\"}}", "x".repeat(262_144 - 7))).await.fields(), ["payload"]);
}
