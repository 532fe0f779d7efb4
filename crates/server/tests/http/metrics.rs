//! `GET /metrics`: that it is text of the right form, moves with what is done, tells nothing that it should
//! not, and stays bounded.
//!
//! Lives here: its cases, and the table of `docs/watching.md`. Not here: the format (`exposition.rs`).

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use flate2::read::GzDecoder;
use http::StatusCode;
use naven_api::limits::{METRICS_QUEUES_MAX, METRICS_STREAMS_MAX};
use naven_server::MetricsAccess;
use naven_store::Engine;
use naven_store::queue::{QueueSettings, StreamChanges};
use naven_store::reply::OpError;
use naven_store::txn::{From, GroupOp, OpKind, Reading, StreamRef, Txn};
use serde_json::json;

use crate::Factory;
use crate::exposition::{Exposition, Family};
use crate::faulty::Fault;
use crate::raw::{Answer, request, request_with};
use crate::test_server::TestServer;

const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

async fn text(server: &TestServer) -> String {
    let answer = server.get("/metrics").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(TYPE)));
    String::from_utf8(answer.body).expect("it is UTF-8")
}

async fn scrape(server: &TestServer) -> Exposition {
    Exposition::parse(&text(server).await)
}

/// A scrape, once it is as it should be: the node hears of changes a moment after their callers.
async fn once(server: &TestServer, is_so: impl Fn(&Exposition) -> bool) -> Exposition {
    for _ in 0..2_000 {
        let seen = scrape(server).await;
        if is_so(&seen) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never comes: {}", text(server).await);
}

/// Makes a queue, on this stream where one is named, past the door: that takes text alone.
async fn make(server: &TestServer, queues: impl Iterator<Item = (String, Option<Vec<u8>>)>) {
    let ops = queues.map(|(name, on)| {
        OpKind::Group(GroupOp::Create {
            name,
            settings: Box::new(QueueSettings::default()),
            on: on.map(|stream| Reading { stream: StreamRef(stream.into()), from: From::Start }),
            stream: StreamChanges::default(),
        })
    });
    let replies = server.engine.submit(vec![Txn::each(ops)]).await.remove(0).ops;
    replies.into_iter().for_each(|reply| drop(reply.expect("a queue is made")));
}

/// One of everything that is counted of a queue.
async fn live(server: &TestServer) {
    server.queue("q", json!({ "maxAttempts": 9 })).await;
    for n in 0..6 {
        server.publish("q", n).await;
    }
    let claims = async || {
        let claim = server.claim("q", 60).await;
        assert!(claim.is_object(), "something is due");
        claim
    };
    server.settle("ack", &claims().await, json!({})).await.data();
    server.settle("nack", &claims().await, json!({ "retryDelaySeconds": 600 })).await.data();
    let dead = claims().await;
    server.settle("nack", &dead, json!({ "mode": "fatal" })).await.data();
    let id = dead["event"]["id"].as_str().unwrap();
    server.post(&format!("/v1/events/{id}/redrive"), json!({})).await.data();
    server.settle("nack", &claims().await, json!({ "mode": "release" })).await.data();
    let cancelled = server.publish("q", 7).await;
    server.post(&format!("/v1/events/{cancelled}/cancel"), json!({})).await.data();
    claims().await;
    // The hold of the last one runs out, and the next claim finds that out.
    server.advance(61);
    claims().await;
}

pub(crate) async fn values_move_with_what_is_done(factory: Factory) {
    let server = TestServer::start(factory).await;
    let before = scrape(&server).await;
    assert_eq!((before.value("naven_queues", &[]), before.value("naven_engine_up", &[])), (0.0, 1.0));
    live(&server).await;
    server.advance(5);
    let of = [("queue", "q")];
    let seen = once(&server, |seen| seen.value("naven_queue_claimed_total", &of) == 6.0).await;
    for (name, value) in [
        ("naven_queue_published_total", 7.0),
        ("naven_queue_acked_total", 1.0),
        ("naven_queue_failed_total", 2.0),
        ("naven_queue_released_total", 1.0),
        ("naven_queue_expired_total", 1.0),
        ("naven_queue_dead_total", 1.0),
        ("naven_queue_cancelled_total", 1.0),
        ("naven_queue_redriven_total", 1.0),
        ("naven_queue_trimmed_unread_total", 0.0),
        ("naven_queue_paused", 0.0),
        ("naven_queue_oldest_ready_age_seconds", 66.0),
    ] {
        assert_eq!(seen.value(name, &of), value, "{name}");
    }
    let states = ["ready", "leased", "retrying", "done", "cancelled", "dead", "held", "scheduled"];
    let counts = states.map(|state| seen.value("naven_queue_deliveries", &[of[0], ("state", state)]));
    assert_eq!(counts, [3.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(seen.value("naven_stream_entries_added_total", &[("stream", "q")]), 7.0);
    assert_eq!(seen.value("naven_uptime_seconds", &[]), 66.0);
    server.post("/v1/event-queues/q/pause", json!({})).await.data();
    assert_eq!(scrape(&server).await.value("naven_queue_paused", &of), 1.0);
    trimmed(&server).await;
}

/// What a queue loses unread is counted.
async fn trimmed(server: &TestServer) {
    server.queue("loses", json!({ "stream": "s", "protectUnread": false })).await;
    for n in 0..3 {
        server.post("/v1/streams/s/events", json!({ "payload": { "n": n } })).await.data();
    }
    let scheduled = json!({ "payload": {}, "delaySeconds": 60 });
    server.post("/v1/streams/s/events", scheduled).await.data();
    server.post("/v1/streams/s/trim", json!({ "maxLength": 1 })).await.data();
    let seen = scrape(server).await;
    assert_eq!(seen.value("naven_queue_trimmed_unread_total", &[("queue", "loses")]), 2.0);
    let of = [("stream", "s")];
    assert_eq!(seen.value("naven_stream_entries", &of), 1.0);
    assert_eq!(seen.value("naven_stream_entries_added_total", &of), 3.0);
    assert_eq!(seen.value("naven_stream_scheduled", &of), 1.0);
}

pub(crate) async fn calls_are_counted_and_timed_by_their_route(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut waits = server.begin_claim("q", 60).await;
    server.until_waiting(1).await;
    let claim = "/v1/event-queues/{queue}/claim";
    let seen = scrape(&server).await;
    assert_eq!(seen.value("naven_waiting_claims", &[]), 1.0);
    assert_eq!(seen.value("naven_waited_queues", &[]), 1.0);
    assert_eq!(seen.value("naven_http_requests_in_flight", &[]), 2.0, "the claim, and this one");
    assert!(seen.value("naven_connections_open", &[("door", "http")]) >= 2.0);
    assert_eq!(seen.value("naven_connections_accepted_total", &[("door", "redis")]), 0.0);
    assert!(seen.samples("naven_http_requests_total", &[("route", claim)]).is_empty());
    server.publish("q", 1).await;
    waits.answer().await.expect("it is woken").data();
    server.get("/v1/event-queues/none").await;
    server.get("/v1/event-queues/other").await;
    // One whose caller goes away.
    let leaves = server.begin_claim("q", 60).await;
    server.until_waiting(1).await;
    drop(leaves);
    let aborted = [("route", claim), ("method", "POST"), ("status", "aborted")];
    let seen = once(&server, |seen| seen.samples("naven_http_requests_total", &aborted).len() == 1).await;
    let count = |route, method, status| {
        let labels = [("route", route), ("method", method), ("status", status)];
        seen.value("naven_http_requests_total", &labels)
    };
    assert_eq!(count(claim, "POST", "2xx"), 1.0);
    assert_eq!(count("/v1/event-queues/{queue}", "GET", "4xx"), 2.0);
    let events = "/v1/event-queues/{queue}/events";
    assert_eq!(count(events, "POST", "2xx"), 1.0);
    let timed = |end: &str, route| {
        let name = format!("naven_http_request_duration_seconds{end}");
        seen.value(&name, &[("route", route)])
    };
    assert_eq!(timed("_count", claim), 1.0, "who went away waited for nothing");
    assert!(timed("_sum", claim) > 0.0 && timed("_sum", claim) < 60.0);
}

pub(crate) async fn what_callers_choose_is_no_label(factory: Factory) {
    let server = TestServer::start(factory).await;
    let before = scrape(&server).await.label_values("route");
    for n in 0..30 {
        server.get(&format!("/v1/nowhere-{n}")).await;
        server.get(&format!("/v1/event-queues/none-{n}")).await;
        server.call(&format!("BREW{n}"), "/v1/me", None).await;
        server.call("DELETE", &format!("/{n}"), None).await;
    }
    server.send(b"GET /v1/me HTTP/1.1\r\nHost: nobodys.example\r\n\r\n").await;
    let seen = scrape(&server).await;
    let new: Vec<_> = seen.label_values("route").difference(&before).cloned().collect();
    assert_eq!(new, ["/metrics", "/v1/event-queues/{queue}", "/v1/me", "none"]);
    let none = |method, status| {
        let labels = [("route", "none"), ("method", method), ("status", status)];
        seen.value("naven_http_requests_total", &labels)
    };
    assert_eq!((none("GET", "4xx"), none("DELETE", "4xx")), (31.0, 30.0));
    let methods: Vec<_> = seen.label_values("method").into_iter().collect();
    assert_eq!(methods, ["DELETE", "GET", "other"]);
}

pub(crate) async fn who_may_see_them_is_a_setting(factory: Factory) {
    let bare = request_line("GET", "");
    for (access, without, as_nobody) in [
        (MetricsAccess::Key, 40_100, 40_101),
        (MetricsAccess::Open, 0, 0),
        (MetricsAccess::Off, 40_400, 40_400),
    ] {
        let server = TestServer::start_with(factory, |config| config.metrics = access).await;
        let code =
            |answer: Answer| if answer.header("content-type") == Some(TYPE) { 0 } else { answer.code() };
        assert_eq!(code(server.send(&bare).await), without, "{access:?}");
        assert_eq!(code(server.call_as("nvk_x", "GET", "/metrics", None).await), as_nobody, "{access:?}");
        let own = if access == MetricsAccess::Off { 40_400 } else { 0 };
        assert_eq!(code(server.get("/metrics?name[]=a").await), own, "{access:?}");
        let post = if access == MetricsAccess::Off { 40_400 } else { 40_500 };
        assert_eq!(code(server.post("/metrics", json!({})).await), post, "{access:?}");
    }
    for (scopes, queues, expected) in [
        (&["read"][..], &["*"][..], 0),
        (&["admin"], &["a", "*"], 0),
        (&["produce", "consume"], &["*"], 40_300),
        (&["read", "admin"], &["a*"], 40_300),
    ] {
        let (server, key) = TestServer::start_with_key(factory, scopes, queues).await;
        let answer = server.call_as(&key, "GET", "/metrics", None).await;
        let code = if answer.status == 200 { 0 } else { answer.code() };
        assert_eq!(code, expected, "{scopes:?} {queues:?}");
    }
}

fn request_line(method: &str, head: &str) -> Vec<u8> {
    format!("{method} /metrics HTTP/1.1\r\nHost: t\r\n{head}\r\n").into_bytes()
}

pub(crate) async fn it_is_an_answer_like_others(factory: Factory) {
    let server = TestServer::start(factory).await;
    let answer = server.get("/metrics").await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("naven-request-id").is_some_and(|id| id.starts_with("req_")));
    let mut connection = server.connect().await;
    connection.send(&request("HEAD", "/metrics", &server.key, None)).await;
    let head = connection.head_answer().await;
    assert!(head.starts_with("http/1.1 200") && head.contains(&format!("content-type: {TYPE}")), "{head}");
    let gzip = [("Accept-Encoding", "gzip")];
    connection.send(&request_with("GET", "/metrics", &server.key, &gzip, None)).await;
    let (status, headers, body) = connection.chunked_answer().await;
    assert_eq!((status, headers["content-encoding"].as_str()), (StatusCode::OK, "gzip"));
    let mut text = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut text).expect("it is gzip");
    let seen = Exposition::parse(&text);
    assert_eq!(seen.value("naven_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    assert!(text.len() > 2 * body.len(), "{} of {} bytes", body.len(), text.len());
}

pub(crate) async fn no_secret_is_told(factory: Factory) {
    let server = TestServer::start(factory).await;
    let made = json!({ "name": "mark-of-a-key-name", "scopes": ["consume"] });
    let made = server.post("/v1/keys", made).await.data();
    server.queue("q", json!({ "description": "mark-of-a-description" })).await;
    let event = json!({
        "payload": { "text": "mark-of-a-payload" }, "headers": { "h": "mark-of-a-header" },
        "dedupeKey": "mark-of-a-dedupe-key"
    });
    server.post("/v1/event-queues/q/events", event).await.data();
    let claim = json!({ "consumerId": "mark-of-a-consumer", "waitSeconds": 0 });
    let claim = server.post("/v1/event-queues/q/claim", claim).await.data();
    let token = claim["leaseToken"].as_str().expect("a token").to_owned();
    server.get(&format!("/v1/mark-of-a-path/{token}")).await;
    server.get(&format!("/v1/event-queues/{}", server.key)).await;
    server.settle("nack", &claim, json!({ "error": "mark-of-an-error", "mode": "fatal" })).await.data();
    let seen = once(&server, |seen| seen.value("naven_queue_dead_total", &[("queue", "q")]) == 1.0).await;
    assert_eq!(seen.label_values("queue"), BTreeSet::from(["q".to_owned()]));
    let text = text(&server).await;
    let id = made["id"].as_str().expect("an id");
    let secret = made["secret"].as_str().expect("a secret");
    let event = claim["event"]["id"].as_str().expect("an id");
    for told in ["mark-of", "nvk_", &token, id, secret, event, &server.key[4..30]] {
        assert!(!text.contains(told), "{told}");
    }
}

pub(crate) async fn queues_and_streams_that_are_listed_are_bounded(factory: Factory) {
    let server = TestServer::start(factory).await;
    // Some queues read a stream of others, so that there are more of the one than of the other.
    let more = 7;
    let mut names = (0..METRICS_QUEUES_MAX + more).map(|n| (format!("q{n}"), None));
    // Those that are made at the same moment are in no order: the first ten come before all others.
    make(&server, names.by_ref().take(10)).await;
    server.advance(1);
    for some in names.collect::<Vec<_>>().chunks(200) {
        make(&server, some.iter().cloned()).await;
    }
    make(&server, (0..3).map(|n| (format!("shared{n}"), Some(b"q0".to_vec())))).await;
    let seen = scrape(&server).await;
    let figures = ["naven_queues", "naven_queues_omitted", "naven_streams", "naven_streams_omitted"];
    let (queues, streams) = ((METRICS_QUEUES_MAX + more + 3) as f64, (METRICS_STREAMS_MAX + more) as f64);
    assert_eq!(figures.map(|name| seen.value(name, &[])), [queues, 10.0, streams, 7.0]);
    let listed = seen.label_values("queue");
    assert_eq!((listed.len(), seen.label_values("stream").len()), (METRICS_QUEUES_MAX, METRICS_STREAMS_MAX));
    assert!(listed.contains("shared2") && listed.contains("q10") && !listed.contains("q9"), "the newest are");
    for family in ["naven_queue_paused", "naven_queue_published_total"] {
        assert_eq!(seen.samples(family, &[]).len(), METRICS_QUEUES_MAX);
    }
}

pub(crate) async fn names_of_streams_may_be_any_bytes(factory: Factory) {
    let server = TestServer::start(factory).await;
    let names: [&[u8]; 5] =
        [b"a\"b\\c\nd", b"caf\xe9", b"caf\\xe9", "caf\u{e9} {x=\"1\"} 7".as_bytes(), b"e\rf"];
    make(&server, (0..).zip(names).map(|(n, name)| (format!("q{n}"), Some(name.to_vec())))).await;
    let seen = scrape(&server).await;
    let shown = ["a\"b\\c\nd", "caf\\xe9", "caf\u{e9} {x=\"1\"} 7", "e\rf"];
    assert_eq!(seen.label_values("stream"), shown.map(str::to_owned).into());
    let left = ["naven_streams", "naven_streams_omitted"].map(|name| seen.value(name, &[]));
    assert_eq!(left, [5.0, 1.0], "of two names that look alike one is listed");
}

pub(crate) async fn an_engine_that_fails_is_told_of(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.engine.break_with(Fault::Error(OpError::Unavailable));
    let seen = scrape(&server).await;
    assert_eq!((seen.value("naven_engine_up", &[]), seen.value("naven_ready", &[])), (0.0, 1.0));
    assert!(seen.label_values("queue").is_empty() && !seen.families.contains_key("naven_queues"));
    server.engine.heal();
    assert_eq!(scrape(&server).await.value("naven_engine_up", &[]), 1.0);
    server.engine.fail("the disk did not sync");
    let seen = scrape(&server).await;
    assert_eq!((seen.value("naven_engine_up", &[]), seen.value("naven_ready", &[])), (0.0, 0.0));
}

pub(crate) async fn many_may_look_at_once(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let all = futures_util::future::join_all((0..40).map(|_| scrape(&server))).await;
    assert!(all.iter().all(|seen| seen.value("naven_queues", &[]) == 1.0));
}

/// Two servers in one process count each their own.
pub(crate) async fn each_server_counts_its_own(factory: Factory) {
    let (one, other) = (TestServer::start(factory).await, TestServer::start(factory).await);
    for _ in 0..5 {
        one.get("/v1/me").await;
    }
    let me = [("route", "/v1/me")];
    let seen = scrape(&one).await;
    assert_eq!(seen.value("naven_http_request_duration_seconds_count", &me), 5.0);
    assert!(scrape(&other).await.samples("naven_http_requests_total", &me).is_empty());
}

/// A row of the table in the docs: name, type, labels, unit, meaning.
fn row(name: &str, family: &Family) -> String {
    let labels: BTreeSet<&str> =
        family.samples.iter().flat_map(|sample| sample.labels.keys()).map(String::as_str).collect();
    let labels: Vec<_> =
        labels.into_iter().filter(|label| *label != "le").map(|it| format!("`{it}`")).collect();
    let labels = if labels.is_empty() { "-".to_owned() } else { labels.join(", ") };
    let bare = name.trim_end_matches("_total");
    let unit = ["seconds", "bytes"].into_iter().find(|unit| bare.ends_with(&format!("_{unit}")));
    format!("| `{name}` | {} | {labels} | {} | {} |", family.kind, unit.unwrap_or("-"), family.help)
}

/// The page tells of each metric what the server does, and of no other.
pub(crate) async fn the_table_in_the_docs_is_what_is_told(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.get("/v1/me").await;
    let seen = scrape(&server).await;
    let mut told: Vec<_> = seen.families.iter().map(|(name, family)| row(name, family)).collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watching.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    let is_row = |line: &&str| line.starts_with("| `naven_") || line.starts_with("| `process_");
    let mut kept: Vec<_> = page.lines().filter(is_row).collect();
    kept.sort_unstable();
    told.sort_unstable();
    assert_eq!(kept, told, "docs/watching.md: these are its rows:\n{}", told.join("\n"));
}
