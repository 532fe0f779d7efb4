//! A queue's changes as they happen.
//!
//! Lives here: what a tail tells, how it goes on, and how it ends. Not here: what a change is called
//! (`naven-store`).

use std::time::Duration;

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Connection, request, request_with};
use crate::test_server::TestServer;

const TAIL: &str = "/v1/event-queues/q/tail";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    id: String,
    name: String,
    data: Value,
}

/// A tail's client.
struct Tail {
    connection: Connection,
    text: String,
    /// The last id that came, with an event or without one.
    id: String,
}

impl Tail {
    async fn begin(server: &TestServer, query: &str, last: Option<&str>) -> Self {
        Self::begin_as(server, &server.key, query, last).await
    }

    async fn begin_as(server: &TestServer, key: &str, query: &str, last: Option<&str>) -> Self {
        let headers: Vec<_> = last.map(|id| ("Last-Event-ID", id)).into_iter().collect();
        let mut connection = server.connect().await;
        let path = format!("{TAIL}{query}");
        // Even a client that takes gzip gets each event when it happens.
        let headers = [&headers[..], &[("Accept-Encoding", "gzip")]].concat();
        connection.send(&request_with("GET", &path, key, &headers, None)).await;
        let head = connection.answer().await.expect("an answer");
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!((head.header("content-encoding"), head.header("content-length")), (None, None));
        let mut tail = Self { connection, text: String::new(), id: String::new() };
        let hello = tail.block().await.expect("a beginning");
        assert!(hello.starts_with("retry: 2000\nid: "), "{hello}");
        tail
    }

    /// The next block of lines; none at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(id) = block.lines().find_map(|line| line.strip_prefix("id: ")) {
                    self.id = id.to_owned();
                }
                return Some(block);
            }
            self.text += &String::from_utf8(self.connection.chunk().await?).expect("text");
        }
    }

    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            let block = self.block().await?;
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let Some(data) = field("data: ") {
                let data = serde_json::from_str(&data).expect("data is JSON");
                let (id, name) = (field("id: ").unwrap_or_default(), field("event: ").expect("a name"));
                return Some(Sent { id, name, data });
            }
        }
    }

    async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        while names.len() < count {
            names.push(self.next().await.expect("it goes on").name);
        }
        names
    }

    /// The reason of the end, whatever comes before.
    async fn end(mut self) -> Value {
        loop {
            let next = self.next().await.expect("an end is told");
            if next.name == "end" {
                assert_eq!(self.connection.chunk().await, None, "nothing follows");
                return next.data["reason"].clone();
            }
        }
    }
}

async fn publish_many(server: &TestServer, count: usize) {
    for _ in 0..count.div_ceil(500) {
        let events: Vec<_> = (0..count.min(500)).map(|n| json!({ "payload": { "n": n } })).collect();
        server.post("/v1/event-queues/q/events/batch", json!({ "events": events })).await.data();
    }
}

pub(crate) async fn a_life_is_told_as_it_happens(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.queue("other", json!({})).await;
    let mut tail = Tail::begin(&server, "", None).await;
    let path = "/v1/event-queues/q/events";
    let event = server.post(path, json!({ "payload": { "secret": "hush" } })).await.data();
    server.publish("other", 1).await;
    server.clock.advance_ms(30);
    let body = json!({ "consumerId": "w1", "waitSeconds": 0 });
    let claim = server.post("/v1/event-queues/q/claim", body).await.data();
    server.settle("heartbeat", &claim, json!({})).await.data();
    server.clock.advance_ms(20);
    server.settle("ack", &claim, json!({})).await.data();
    let published = tail.next().await.unwrap();
    let at = published.data["at"].clone();
    let expected = json!({
        "eventId": event["id"], "kind": "published", "from": null, "to": "ready", "at": at, "attemptCount": 0,
        "consumerId": null, "waitMs": null, "runMs": null,
    });
    assert_eq!((published.name.as_str(), &published.data), ("published", &expected));
    let claimed = tail.next().await.unwrap();
    let shown = ["from", "to", "attemptCount", "consumerId", "waitMs"].map(|name| claimed.data[name].clone());
    assert_eq!(shown, [json!("ready"), json!("leased"), json!(1), json!("w1"), json!(30)]);
    let acked = tail.next().await.unwrap();
    assert_eq!((acked.name.as_str(), &acked.data["runMs"]), ("acked", &json!(20)));
    assert!([&published, &claimed, &acked].iter().all(|sent| !sent.data.to_string().contains("hush")));
    let mut head = server.connect().await;
    head.send(&request("HEAD", TAIL, &server.key, None)).await;
    assert!(head.head_answer().await.contains("text/event-stream"));
    for (query, code) in
        [("?sample=0", 40_001), ("?sample=1001", 40_001), ("?states=busy", 40_001), ("?x=1", 40_002)]
    {
        assert_eq!(server.get(&format!("{TAIL}{query}")).await.code(), code, "{query}");
    }
    assert_eq!(server.get("/v1/event-queues/none/tail").await.code(), 40_401);
}

pub(crate) async fn a_tail_may_be_of_some_states_or_some_events(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut done = Tail::begin(&server, "?states=done,dead", None).await;
    let mut sampled = Tail::begin(&server, "?sample=5", None).await;
    let mut all = Tail::begin(&server, "", None).await;
    publish_many(&server, 100).await;
    for _ in 0..100 {
        let claim = server.claim("q", 60).await;
        server.settle("ack", &claim, json!({})).await.data();
    }
    for _ in 0..100 {
        let next = done.next().await.unwrap();
        assert_eq!((next.name.as_str(), &next.data["to"]), ("acked", &json!("done")));
    }
    let mut told = Vec::new();
    for _ in 0..300 {
        told.push(all.next().await.unwrap());
    }
    let first = sampled.next().await.unwrap();
    let mut chosen = vec![first];
    let last = "sampled ones go on until the last change";
    while chosen.last().unwrap().id != told[299].id && chosen.len() < 300 {
        match tokio::time::timeout(Duration::from_millis(500), sampled.next()).await {
            Ok(next) => chosen.push(next.expect(last)),
            Err(_) => break,
        }
    }
    let events: std::collections::BTreeSet<_> =
        chosen.iter().map(|sent| sent.data["eventId"].to_string()).collect();
    assert!((5..50).contains(&events.len()), "{} of 100 are told", events.len());
    let whole: Vec<_> =
        told.iter().filter(|sent| events.contains(&sent.data["eventId"].to_string())).cloned().collect();
    assert_eq!(chosen, whole, "each is told wholly or not at all");
}

pub(crate) async fn a_tail_goes_on_where_it_broke_off(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let tail = Tail::begin(&server, "", None).await;
    let id = tail.id.clone();
    drop(tail);
    let first = server.publish("q", 1).await;
    let mut tail = Tail::begin(&server, "", Some(&id)).await;
    assert_eq!(tail.next().await.unwrap().data["eventId"], first.as_str(), "its first id is enough");
    let id = tail.id.clone();
    drop(tail);
    let more = [server.publish("q", 2).await, server.publish("q", 3).await];
    let mut tail = Tail::begin(&server, "", Some(&id)).await;
    for event in &more {
        let next = tail.next().await.unwrap();
        assert_eq!((next.name.as_str(), next.data["eventId"].as_str()), ("published", Some(&**event)));
    }
    for foreign in ["0000000000000000-1", "nothing", "0000000000000000-18446744073709551615"] {
        let mut tail = Tail::begin(&server, "", Some(foreign)).await;
        let gap = tail.next().await.unwrap();
        assert_eq!((gap.name.as_str(), gap.data), ("gap", json!({ "missed": null })));
        assert_eq!(tail.next().await.unwrap().data["eventId"], first.as_str(), "all that is kept");
    }
}

pub(crate) async fn what_is_not_kept_any_more_is_a_gap(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut tail = Tail::begin(&server, "", None).await;
    server.publish("q", 1).await;
    let early = tail.next().await.unwrap().id;
    publish_many(&server, 10_500).await;
    let last = server.publish("q", 2).await;
    let mut told = 0;
    while tail.next().await.unwrap().data["eventId"] != last.as_str() {
        told += 1;
    }
    assert!(told > 0);
    let mut tail = Tail::begin(&server, "", Some(&early)).await;
    let gap = tail.next().await.unwrap();
    assert_eq!((gap.name.as_str(), &gap.data), ("gap", &json!({ "missed": null })));
    let mut told = 1;
    while tail.next().await.unwrap().data["eventId"] != last.as_str() {
        told += 1;
    }
    assert_eq!(told, 10_000, "all that is kept follows");
    let mut again = Tail::begin(&server, "", Some(&gap.id)).await;
    assert_ne!(again.next().await.unwrap().name, "gap", "a gap is told once");
}

pub(crate) async fn a_tail_ends_with_its_queue_its_key_or_the_server(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let tail = Tail::begin(&server, "", None).await;
    server.call("DELETE", "/v1/event-queues/q?force=true", None).await.data();
    assert_eq!(tail.end().await, "queue_deleted");
    server.queue("q", json!({})).await;
    for (change, method) in [(json!(null), "DELETE"), (json!({ "scopes": ["produce"] }), "PATCH")] {
        let key = json!({ "name": format!("watcher.{method}").to_lowercase(), "scopes": ["read"] });
        let made = server.post("/v1/keys", key).await.data();
        let tail = Tail::begin_as(&server, made["secret"].as_str().unwrap(), "", None).await;
        let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
        server.call(method, &path, (!change.is_null()).then_some(change)).await.data();
        assert_eq!(tail.end().await, "key_ended", "{method}");
    }
    let soon = naven_store::Clock::wall(&*server.clock).plus_ms(5_000).to_string();
    let key = json!({ "name": "for.a.while", "scopes": ["read"], "expiresAt": soon });
    let made = server.post("/v1/keys", key).await.data();
    let tail = Tail::begin_as(&server, made["secret"].as_str().unwrap(), "", None).await;
    server.advance(5);
    assert_eq!(tail.end().await, "key_ended");
    let tail = Tail::begin(&server, "", None).await;
    server.running.drain();
    assert_eq!(tail.end().await, "draining");
    assert_eq!(server.get(TAIL).await.code(), 50_302);
}

pub(crate) async fn tails_are_bounded(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut open = Vec::new();
    for nth in 0..10 {
        let made =
            server.post("/v1/keys", json!({ "name": format!("w{nth}"), "scopes": ["read"] })).await.data();
        let secret = made["secret"].as_str().unwrap().to_owned();
        for _ in 0..10 {
            open.push(Tail::begin_as(&server, &secret, "", None).await);
        }
        assert_eq!(server.call_as(&secret, "GET", TAIL, None).await.code(), 42_902, "an eleventh of a key");
    }
    assert_eq!(server.get(TAIL).await.code(), 42_902, "one past a hundred, of whatever key");
    open.truncate(99);
    // The server sees that a connection is closed a moment later.
    for _ in 0..2_000 {
        let mut connection = server.connect().await;
        connection.send(&request("GET", TAIL, &server.key, None)).await;
        if connection.answer().await.expect("an answer").status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("a tail that is gone makes no room");
}

pub(crate) async fn a_slow_tail_holds_nothing_up(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut slow = Tail::begin(&server, "", None).await;
    let mut prompt = Tail::begin(&server, "", None).await;
    let (mut count, mut gaps) = (0, 0);
    for _ in 0..24 {
        publish_many(&server, 500).await;
        let told = prompt.names(500).await;
        assert!(told.iter().all(|name| name == "published"), "who keeps up misses nothing");
    }
    let last = server.publish("q", 1).await;
    loop {
        let next = slow.next().await.unwrap();
        if next.data["eventId"] == last.as_str() {
            break;
        }
        if next.name == "gap" { gaps += 1 } else { count += 1 }
    }
    assert_eq!(gaps > 0, count < 12_000, "{count} were told and {gaps} gaps: what is not told is a gap");
    assert!(gaps <= 1, "{gaps}");
}
