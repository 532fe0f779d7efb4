//! How a server ends, and how it tells those who wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request;
use crate::test_server::TestServer;

pub(crate) async fn draining(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    server.queue("empty", json!({})).await;
    let id = server.publish("q", 1).await;
    let claim = server.claim("q", 30).await;
    let mut holder = server.connect().await;
    holder.send(&request("GET", "/readyz", &server.key, None)).await;
    assert_eq!(holder.answer().await.expect("an answer").code(), 0);
    let mut waiting = server.begin_claim("empty", 30).await;
    server.until_waiting(1).await;
    let began = Instant::now();
    server.running.drain();

    let ended = waiting.answer().await.expect("a waiting claim is answered");
    assert_eq!((ended.data(), ended.header("connection")), (Value::Null, Some("close")));
    assert!(waiting.is_closed_within(Duration::from_secs(5)).await);
    holder.send(&request("GET", "/readyz", &server.key, None)).await;
    assert_eq!(holder.answer().await.expect("an answer").code(), 50_302);
    holder.send(&request("POST", "/v1/event-queues/q/claim", &server.key, Some("{}"))).await;
    assert_eq!(holder.answer().await.expect("an answer").code(), 50_302);
    // Settle calls are served to the end, on old connections and on new ones.
    let body = json!({ "leaseToken": claim["leaseToken"] }).to_string();
    holder.send(&request("POST", &format!("/v1/events/{id}/heartbeat"), &server.key, Some(&body))).await;
    assert_eq!(holder.answer().await.expect("an answer").code(), 0);
    let TestServer { running, key, .. } = server;
    let address = running.http_addr();
    let ending = tokio::spawn(running.shutdown());
    let mut late = crate::raw::Connection::open(address).await;
    late.send(&request("POST", &format!("/v1/events/{id}/ack"), &key, Some(&body))).await;
    assert_eq!(late.answer().await.expect("an answer").code(), 0);
    drop((late, holder));
    ending.await.expect("shutdown does not panic");
    let took = began.elapsed();
    println!("drained and ended in {took:?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

pub(crate) async fn a_failed_engine_ends_the_waits(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut waiting = server.begin_claim("q", 30).await;
    server.until_waiting(1).await;
    let began = Instant::now();
    server.engine.fail("the disk did not sync");
    assert_eq!(server.running.failed().await, "the disk did not sync");
    assert!(began.elapsed() < Duration::from_millis(500));
    assert_eq!(waiting.answer().await.expect("an answer").code(), 50_301);
    assert_eq!(server.get("/readyz").await.code(), 50_301);
}
