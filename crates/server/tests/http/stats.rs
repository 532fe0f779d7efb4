//! A queue's figures over time.
//!
//! Lives here: that each figure moves, when it is seen, and the bounds of what may be asked. Not here:
//! percentiles and room (`stats/`).

use std::time::Duration;

use naven_store::Clock;
use serde_json::{Value, json};

use crate::Factory;
use crate::test_server::TestServer;

const STATS: &str = "/v1/event-queues/q/stats";

/// The sum of a figure over all points.
fn sum(stats: &Value, name: &str) -> u64 {
    let points = stats["points"].as_array().expect("points");
    points.iter().map(|point| point[name].as_u64().expect("a number")).sum()
}

/// The stats, once they are as they should be: the node hears of changes a moment after their callers.
async fn once(server: &TestServer, query: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let path = format!("{STATS}{query}");
    for _ in 0..2_000 {
        let stats = server.get(&path).await.data();
        if is_so(&stats) {
            return stats;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never comes: {}", server.get(&path).await.data());
}

async fn claims(server: &TestServer, lease_seconds: u32) -> Value {
    let claim = server.claim("q", lease_seconds).await;
    assert!(claim.is_object(), "something is due");
    claim
}

pub(crate) async fn every_figure_moves(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({ "maxAttempts": 5 })).await;
    server.queue("other", json!({})).await;
    let dead = server.publish("q", 1).await;
    server.advance(2);
    server.settle("nack", &claims(&server, 60).await, json!({ "mode": "fatal" })).await.data();
    server.call("POST", &format!("/v1/events/{dead}/redrive"), json!({})).await.data();
    let held = claims(&server, 60).await;
    server.clock.advance_ms(700);
    server.settle("ack", &held, json!({})).await.data();
    for n in 2..5 {
        server.publish("q", n).await;
    }
    server.publish("other", 1).await;
    server.settle("nack", &claims(&server, 60).await, json!({ "mode": "release" })).await.data();
    server.settle("nack", &claims(&server, 60).await, json!({ "retryDelaySeconds": 600 })).await.data();
    let lapses = claims(&server, 1).await;
    server.advance(2);
    claims(&server, 60).await;
    let next = claims(&server, 60).await;
    assert_eq!(next["event"]["id"], lapses["event"]["id"], "what ran out of time became due only then");
    let id = next["event"]["id"].as_str().unwrap();
    server.post(&format!("/v1/events/{id}/cancel"), json!({})).await.data();
    server.settle("nack", &next, json!({ "mode": "release" })).await.data();

    for query in ["", "?stepSeconds=10", "?stepSeconds=120"] {
        let stats = once(&server, query, |stats| sum(stats, "cancelled") == 1).await;
        let figures = [
            ("enqueued", 4),
            ("delivered", 7),
            ("acked", 1),
            ("nacked", 4),
            ("released", 2),
            ("expired", 1),
            ("dead", 1),
            ("redriven", 1),
        ];
        for (name, expected) in figures {
            assert_eq!(sum(&stats, name), expected, "{name} with {query}: {stats}");
        }
        let ends = |point: &&Value| point["acked"] == 1;
        let acked = stats["points"].as_array().unwrap().iter().find(ends).expect("the ack").clone();
        assert!(acked["runMs"]["p99"].as_u64().unwrap() >= 650, "{acked}");
        assert!(acked["waitMs"]["p99"].as_u64().unwrap() >= 1_800, "{acked}");
        assert!(acked["waitMs"]["p50"].as_u64() <= acked["waitMs"]["p95"].as_u64(), "{acked}");
        let last = stats["points"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["depth"], 2, "one is held, one is to be retried");
    }
    let other = server.get("/v1/event-queues/other/stats").await.data();
    assert_eq!((sum(&other, "enqueued"), sum(&other, "delivered")), (1, 0));
}

pub(crate) async fn depth_and_age_are_seen_at_the_end_of_a_step(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    // Steps are told apart by the clock: the first one begins now.
    let odd = server.clock.wall().as_ms().rem_euclid(10_000);
    server.clock.advance_ms(10_000 - odd);
    let begins = server.clock.wall();
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.publish("q", 1).await;
    server.publish("q", 2).await;
    let step = "?stepSeconds=10&from=";
    let query = format!("{step}{begins}");
    once(&server, &query, |stats| sum(stats, "enqueued") == 2).await;
    server.clock.advance_ms(10_000);
    let stats = once(&server, &query, |stats| stats["points"][0]["depth"] == 2).await;
    assert_eq!(stats["points"][0]["at"], begins.to_string());
    assert_eq!(
        (&stats["stepSeconds"], &stats["points"][0]["oldestReadyAgeSeconds"]),
        (&json!(10), &json!(10))
    );
    server.clock.advance_ms(25_000);
    let stats = once(&server, &query, |stats| stats["points"].as_array().unwrap().len() == 4).await;
    let shown = |name: &str| -> Vec<Value> {
        stats["points"].as_array().unwrap().iter().map(|point| point[name].clone()).collect()
    };
    assert_eq!(shown("depth"), [2, 2, 2, 2], "a queue that does nothing stays as it is");
    assert_eq!(shown("oldestReadyAgeSeconds"), [10, 20, 30, 35]);
    assert_eq!(shown("waitMs")[0], Value::Null, "nothing was delivered");
    server.call("DELETE", "/v1/event-queues/q?force=true", None).await.data();
    assert_eq!(server.get(STATS).await.code(), 40_401);
}

pub(crate) async fn spans_and_steps_have_bounds(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let now = server.clock.wall();
    let ago = |seconds: i64| now.plus_ms(-seconds * 1_000).to_string();
    for (query, fields) in [
        ("stepSeconds=5".to_owned(), vec!["stepSeconds"]),
        ("stepSeconds=15".to_owned(), vec!["stepSeconds"]),
        ("stepSeconds=86460".to_owned(), vec!["stepSeconds"]),
        (format!("from={}&stepSeconds=10", ago(3_601)), vec!["stepSeconds"]),
        (format!("from={}", ago(1_501 * 60)), vec!["from"]),
        (format!("from={}&to={}", ago(60), ago(60)), vec!["from"]),
        (format!("from={}", ago(-60)), vec!["from"]),
        ("from=yesterday".to_owned(), vec!["from"]),
        ("to=1".to_owned(), vec!["to"]),
    ] {
        let answer = server.get(&format!("{STATS}?{query}")).await;
        assert_eq!(
            (answer.code(), answer.fields()),
            (40_001, fields.iter().map(|&one| one.to_owned()).collect()),
            "{query}"
        );
    }
    assert_eq!(server.get(&format!("{STATS}?limit=1")).await.code(), 40_002);
    assert_eq!(server.get("/v1/event-queues/none/stats?stepSeconds=5").await.code(), 40_401);
    for (query, points) in [
        (format!("from={}&stepSeconds=10", ago(3_600)), 360..=362),
        (format!("from={}", ago(1_498 * 60)), 1_498..=1_500),
        (format!("from={}&stepSeconds=86400", ago(86_400)), 1..=2),
    ] {
        let stats = server.get(&format!("{STATS}?{query}")).await.data();
        assert!(points.contains(&stats["points"].as_array().unwrap().len()), "{query}");
    }
}

pub(crate) async fn what_was_before_the_start_is_not_known(factory: Factory) {
    let server = TestServer::start(factory).await;
    let since = server.clock.wall().to_string();
    server.queue("q", json!({})).await;
    let stats = server.get(STATS).await.data();
    assert_eq!((&stats["complete"], stats["recordedSince"].as_str()), (&json!(false), Some(&*since)));
    server.advance(7_200);
    let stats = server.get(STATS).await.data();
    assert_eq!((&stats["complete"], stats["recordedSince"].as_str()), (&json!(true), Some(&*since)));
}
