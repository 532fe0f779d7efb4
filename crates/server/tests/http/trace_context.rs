//! The publisher's trace: from the headers of a publish to those who consume and look.
//!
//! Lives here: that every way of publishing and claiming takes it along, and that log lines name it. Not
//! here: which headers are a trace (`naven_api::trace`).

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Answer, request_with};
use crate::test_server::{TestServer, id_of};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const EVENTS: &str = "/v1/event-queues/q/events";

async fn server(factory: Factory) -> TestServer {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server
}

async fn publish(server: &TestServer, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
    server.send(&request_with("POST", path, &server.key, headers, Some(&body.to_string()))).await
}

pub(crate) async fn every_publish_takes_its_trace_along(factory: Factory) {
    let server = server(factory).await;
    let headers = [("traceparent", PARENT), ("TraceState", "a=1,b=2"), ("tracestate", "c=3")];
    let expected = json!({ "traceparent": PARENT, "tracestate": "a=1,b=2,c=3" });
    let one = json!({ "payload": {} });
    let two = json!({ "events": [one, one] });
    let mut ids = Vec::new();
    for path in [EVENTS, "/v1/streams/q/events"] {
        let made = publish(&server, path, &headers, one.clone()).await;
        assert_eq!(made.header("traceparent"), None, "it is not echoed");
        ids.push(id_of(&made.data()));
        let made = publish(&server, &format!("{path}/batch"), &headers, two.clone()).await.data();
        ids.extend(made["items"].as_array().expect("a list").iter().map(id_of));
    }
    for id in &ids {
        assert_eq!(server.event(id).await["traceContext"], expected);
    }
    assert_eq!(server.claim("q", 30).await["event"]["traceContext"], expected);
    let claims = server.post("/v1/event-queues/q/claim-batch", json!({ "maxEvents": 9 })).await.data();
    let claims = claims["claims"].as_array().expect("a list").clone();
    assert_eq!(claims.len(), 5);
    for claim in claims {
        assert_eq!(claim["event"]["traceContext"], expected);
    }
}

pub(crate) async fn what_is_no_trace_is_passed_over(factory: Factory) {
    let server = server(factory).await;
    let other = PARENT.replace("00f067aa0ba902b7", "00f067aa0ba902b8");
    let zeros = PARENT.replace(TRACE, &"0".repeat(32));
    let forbidden = PARENT.replacen("00", "ff", 1);
    let long = format!("a={},b={}", "x".repeat(256), "y".repeat(252));
    for headers in [
        vec![],
        vec![("traceparent", "no trace")],
        vec![("traceparent", zeros.as_str())],
        vec![("traceparent", forbidden.as_str())],
        vec![("traceparent", PARENT), ("traceparent", other.as_str())],
        vec![("tracestate", "a=1")],
        vec![("traceparent", ""), ("tracestate", "a=1")],
    ] {
        let made = publish(&server, EVENTS, &headers, json!({ "payload": {} })).await.data();
        assert_eq!(made["traceContext"], Value::Null, "{headers:?}");
    }
    for state in ["", "a", "a=1,a=2", "\u{e9}=1", &long] {
        let headers = [("traceparent", PARENT), ("tracestate", state)];
        let made = publish(&server, EVENTS, &headers, json!({ "payload": {} })).await.data();
        let expected = json!({ "traceparent": PARENT, "tracestate": null });
        assert_eq!(made["traceContext"], expected, "{state}");
    }
}

pub(crate) async fn a_repetition_in_another_trace_is_the_same_request(factory: Factory) {
    let server = server(factory).await;
    let other = PARENT.replace("00f067aa0ba902b7", "00f067aa0ba902b8");
    for (path, body) in [
        (EVENTS.to_owned(), json!({ "payload": {} })),
        (format!("{EVENTS}/batch"), json!({ "events": [{ "payload": {} }] })),
    ] {
        let once = |parent| vec![("Idempotency-Key", "k"), ("traceparent", parent)];
        let first = publish(&server, &path, &once(PARENT), body.clone()).await;
        let again = publish(&server, &path, &once(&other), body).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{path}");
        assert_eq!(again.data(), first.data(), "{path}: the first trace stands");
        assert!(first.data().to_string().contains(PARENT), "{path}");
    }
}

pub(crate) async fn a_redriven_event_keeps_its_trace(factory: Factory) {
    let server = server(factory).await;
    publish(&server, EVENTS, &[("traceparent", PARENT)], json!({ "payload": {} })).await.data();
    let claim = server.claim("q", 30).await;
    server.settle("nack", &claim, json!({ "mode": "fatal" })).await.data();
    let id = id_of(&claim["event"]);
    server.post(&format!("/v1/events/{id}/redrive"), json!({})).await.data();
    let again = server.claim("q", 30).await;
    assert_eq!(again["event"]["traceContext"], json!({ "traceparent": PARENT, "tracestate": null }));
}

/// Log lines of this process.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// The lines from now on, of all servers of this process.
    pub(crate) fn of_this_process() -> Self {
        static LINES: OnceLock<Lines> = OnceLock::new();
        let start = || {
            let lines = Self::default();
            let writer = lines.clone();
            tracing_subscriber::fmt()
                .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .init();
            lines
        };
        LINES.get_or_init(start).clone()
    }

    /// The one line that tells of this request.
    pub(crate) fn line(&self, request_id: &str) -> String {
        let text = String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("lines are text");
        let line = text.lines().find(|line| line.contains(request_id) && line.contains("answered"));
        line.unwrap_or_else(|| panic!("no line of {request_id} in:\n{text}")).to_owned()
    }
}

pub(crate) async fn log_lines_name_the_trace(factory: Factory) {
    let lines = Lines::of_this_process();
    let server = server(factory).await;
    let named = format!("trace_id=\"{TRACE}\"");
    for (parent, is_named) in [(PARENT, true), ("no trace", false)] {
        let headers = [("traceparent", parent)];
        for path in ["/v1/me", "/v1/event-queues/none"] {
            let answer = server.send(&request_with("GET", path, &server.key, &headers, None)).await;
            let line = lines.line(answer.header("naven-request-id").expect("every answer has one"));
            assert_eq!(line.contains(&named), is_named, "{line}");
        }
    }
}
