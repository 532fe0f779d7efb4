//! `naven consume --forward-to`: events for a web server.
//!
//! Lives here: what it is sent, what its answers do, and what happens where it is away. Not here: programs (`main.rs`).

use std::net::TcpListener;

use serde_json::Value;

use crate::consumer::Consumer;
use crate::receiver::{Got, Receiver};
use crate::{event, publish, server};

/// Answers with the status that the payload asks for, which is `{"status":N}`.
fn as_told(got: &Got) -> Option<&'static str> {
    Some(match got.body.as_str() {
        r#"{"status":202}"# => "HTTP/1.1 202 Accepted",
        r#"{"status":302}"# => "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/",
        r#"{"status":404}"# => "HTTP/1.1 404 Not Found",
        r#"{"status":422}"# => "HTTP/1.1 422 Unprocessable Content",
        r#"{"status":503}"# => "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3600",
        _ => return None,
    })
}

#[test]
fn a_status_says_what_becomes_of_an_event() {
    let (naven, http) = server();
    let receiver = Receiver::start(as_told);
    let statuses = [(202, "done"), (302, "retrying"), (404, "retrying"), (422, "dead"), (503, "retrying")];
    let ids = statuses.map(|(status, _)| publish(&http, &format!(r#"{{"payload":{{"status":{status}}}}}"#)));
    let consumer = Consumer::start(&naven, "q", &["--forward-to", &receiver.url()]);
    for (id, (status, state)) in ids.iter().zip(statuses) {
        naven.wait_until("the end of an attempt", |_| event(&http, id)["state"] == state);
        let attempts = &http.get(&format!("/v1/events/{id}/timeline")).success()["items"];
        let error = attempts[0]["error"].as_str().unwrap_or_default();
        if status == 202 {
            assert_eq!(attempts[0]["error"], Value::Null);
        } else {
            assert!(error.starts_with(&status.to_string()) && error.ends_with(": what it said"), "{error}");
        }
    }
    let next = |id: &str| event(&http, id)["nextAttemptAt"].as_str().expect("it is tried again").to_owned();
    assert!(next(&ids[4]) > next(&ids[2]), "Retry-After counts");
    let ended = consumer.ended_by("TERM");
    assert!(ended.stderr.contains("1 done, 4 not done, 0 leases lost"), "{ended:?}");
}

#[test]
fn a_receiver_is_told_of_its_event_and_given_the_payload_byte_for_byte() {
    let (naven, http) = server();
    let receiver = Receiver::start(|_| Some("HTTP/1.1 200 OK"));
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").expect("a file");
    let payload = r#"{"a": 1.50, "é":"😀","n":[1, 2]}"#;
    let id = publish(&http, &format!(r#"{{"payload":{payload},"headers":{{"k":"é"}}}}"#));
    let secret = secret.to_str().expect("a path of text");
    let _consumer = Consumer::start(&naven, "q", &["--forward-to", &receiver.url(), "--secret-file", secret]);
    naven.wait_until("the event's end", |_| event(&http, &id)["state"] == "done");
    let got = receiver.got();
    let [got] = got.as_slice() else { panic!("{got:?}") };
    assert_eq!((got.line.as_str(), got.body.as_str()), ("POST /hook?k=1 HTTP/1.1", payload));
    let header = |name: &str| got.headers.get(name).map(String::as_str).unwrap_or_default();
    for (name, value) in [
        ("content-type", "application/json"),
        ("webhook-id", &id),
        ("idempotency-key", &id),
        ("naven-queue", "q"),
        ("naven-attempt", "1"),
        ("naven-fence", "1"),
        ("naven-headers", r#"{"k":"\u00e9"}"#),
    ] {
        assert_eq!(header(name), value, "{name}: {got:?}");
    }
    assert!(header("webhook-timestamp").parse::<u64>().is_ok_and(|seconds| seconds > 1_700_000_000));
    assert!(header("webhook-signature").starts_with("v1,"), "{got:?}");
}

#[test]
fn a_receiver_that_is_away_uses_up_no_attempt() {
    let (naven, http) = server();
    let id = publish(&http, r#"{"payload":{}}"#);
    // Nobody listens where somebody just did.
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let consumer = Consumer::start(&naven, "q", &["--forward-to", &format!("http://u:secret@{free}/")]);
    naven.wait_until("a second delivery", |_| event(&http, &id)["deliveryCount"].as_u64() >= Some(2));
    let ended = consumer.ended_by("TERM");
    assert!(ended.stderr.contains("cannot be reached: ") && !ended.stderr.contains("secret"), "{ended:?}");
    let event = event(&http, &id);
    assert_eq!((&event["state"], &event["attemptCount"]), (&"ready".into(), &0.into()), "{event}");
}

#[test]
fn a_receiver_that_does_not_answer_is_left_after_the_time_limit() {
    let (naven, http) = server();
    let receiver = Receiver::start(|_| None);
    let id = publish(&http, r#"{"payload":{}}"#);
    let args = ["--timeout-seconds", "1", "--forward-to", &receiver.url()];
    let _consumer = Consumer::start(&naven, "q", &args);
    naven.wait_until("the end of an attempt", |_| event(&http, &id)["state"] == "retrying");
    assert_eq!(event(&http, &id)["attemptCount"], 1);
}

#[test]
fn a_request_whose_lease_is_lost_is_hung_up() {
    let (naven, http) = server();
    let receiver = Receiver::start(|_| None);
    publish(&http, r#"{"payload":{}}"#);
    let args = ["--lease-seconds", "2", "--timeout-seconds", "600", "--forward-to", &receiver.url()];
    let consumer = Consumer::start(&naven, "q", &args);
    naven.wait_until("a request", |_| !receiver.got().is_empty());
    // Nobody knows its event any more.
    http.call("DELETE", "/v1/event-queues/q?force=true", "").success();
    let ended = consumer.ended();
    assert!(
        ended.stderr.contains("0 not done") || ended.stderr.contains("40401 queue_not_found"),
        "{ended:?}"
    );
}

#[test]
fn an_address_or_a_secret_that_cannot_be_used_is_a_usage_error() {
    let (naven, _) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "whsec_c2hvcnQ=").expect("a file");
    let secret = secret.to_str().expect("a path of text");
    for (args, why) in [
        (&["--forward-to", "no address"][..], "forward-to: "),
        (&["--forward-to", "ftp://h/"], "forward-to: http or https is expected, and not ftp"),
        (&["--forward-to", "http://h/", "--secret-file", "no/such/file"], "secret-file: "),
        (&["--forward-to", "http://h/", "--secret-file", secret], "24 to 64 bytes in base64 are expected"),
        (&["--forward-to", "http://h/", "--timeout-seconds", "0"], "0 is not in 1..=43200"),
        (&["--forward-to", "http://h/", "--exec", "true"], "cannot be used with"),
        (&["--secret-file", secret, "--exec", "true"], "cannot be used with"),
    ] {
        let ended = Consumer::start(&naven, "q", args).ended();
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(why), "{args:?}: {ended:?}");
    }
}
