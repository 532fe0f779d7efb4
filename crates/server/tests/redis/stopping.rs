//! How connections end with the server.

use std::time::{Duration, Instant};

use crate::client::TestServer;

#[tokio::test]
async fn idle_connections_end_soon_after_shutdown_begins() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["PING"]).await, "+PONG");
    let began = Instant::now();
    server.running.drain();
    assert_eq!(client.call(&["PING"]).await, "+PONG", "what is still said is answered");
    assert!(client.is_closed_within(Duration::from_secs(5)).await);
    server.running.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn quit_is_answered_before_the_end() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["QUIT"]).await, "+OK");
    assert_eq!(client.reply().await, "<closed>");
}
