//! Bounds on what a connection may take.

use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::client::{TestServer, bytes_of};

#[tokio::test]
async fn before_auth_there_is_room_for_little() {
    let server = TestServer::start().await;
    let mut client = server.connect().await;
    client.send(b"*11\r\n").await;
    assert_eq!(client.reply().await, "-ERR Protocol error: unauthenticated multibulk length");
    assert_eq!(client.reply().await, "<closed>");
    // The call behind AUTH is held to the bounds of who has a key, though both come at once.
    let mut client = server.connect().await;
    let long = "x".repeat(100_000);
    client.send(&[bytes_of(&["AUTH", &server.key]), bytes_of(&["ECHO", &long])].concat()).await;
    assert_eq!((client.reply().await, client.reply().await), ("+OK".to_owned(), long.clone()));
    client.send(&[bytes_of(&["RESET"]), bytes_of(&["ECHO", &long])].concat()).await;
    assert_eq!(client.reply().await, "+RESET");
    assert_eq!(client.reply().await, "-ERR Protocol error: unauthenticated bulk length");
}

#[tokio::test]
async fn who_shows_no_key_in_time_is_let_go() {
    let server =
        TestServer::start_with(|config| config.patience.keep_alive = Duration::from_millis(50)).await;
    let mut known = server.connect_as_admin().await;
    let mut stranger = server.connect().await;
    assert_eq!(stranger.reply().await, "<closed>");
    assert_eq!(known.call(&["PING"]).await, "+PONG", "who has a key may idle");
}

#[tokio::test]
async fn who_does_not_read_is_not_answered_without_end() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let text = "x".repeat(1024 * 1024);
    let call = bytes_of(&["ECHO", &text]);
    let sent = async {
        // Far more than a socket takes by itself: at some point the server reads no more.
        for _ in 0..64 {
            client.send(&call).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(2), sent).await.is_err(), "the server held back");
    assert_eq!(client.reply().await, text, "and goes on once it is read");
}

#[tokio::test]
async fn who_takes_nothing_of_its_answers_is_let_go_in_the_end() {
    let server = TestServer::start_with(|config| {
        config.redis_settings.no_auth = true;
        config.patience.write = Duration::from_millis(50);
    })
    .await;
    let (mut client, mut other) = (server.connect().await, server.connect().await);
    let call = bytes_of(&["ECHO", &"x".repeat(1024 * 1024)]);
    let sent = async {
        for _ in 0..64 {
            client.stream.write_all(&call).await?;
        }
        Ok::<_, std::io::Error>(())
    };
    let sent = tokio::time::timeout(Duration::from_secs(20), sent).await.expect("the connection ends");
    assert!(sent.is_err(), "64 MiB were taken of who reads nothing");
    let is_alone =
        async { while !other.call(&["INFO", "clients"]).await.contains("connected_clients:1\r\n") {} };
    tokio::time::timeout(Duration::from_secs(20), is_alone).await.expect("nothing is left of it");
}

/// More than two sockets take by themselves.
const ENTRIES: usize = 200;
const ENTRY_BYTES: usize = 250_000;

#[tokio::test]
async fn a_large_reply_that_finds_no_room_is_told_so() {
    let server = TestServer::start_with(|config| {
        config.redis_settings.no_auth = true;
        config.limits.answers_bytes = 4 * 1024 * 1024;
        config.patience.body_idle = Duration::from_millis(200);
    })
    .await;
    let (mut holder, mut other) = (server.connect().await, server.connect().await);
    let text = "x".repeat(ENTRY_BYTES);
    for _ in 0..ENTRIES {
        other.call(&["XADD", "s", "*", "text", &text]).await;
    }
    holder.send(&bytes_of(&["XRANGE", "s", "-", "+"])).await;
    let read = ["XREAD", "COUNT", "10", "STREAMS", "s", "0"];
    for call in [&["XRANGE", "s", "-", "+", "COUNT", "10"][..], &read] {
        // The holder may not have been seen yet.
        let is_told = async { while !other.call(call).await.starts_with("-TRYAGAIN large replies") {} };
        tokio::time::timeout(Duration::from_secs(20), is_told).await.expect("it is told");
    }
    assert_eq!(other.call(&["MULTI"]).await, "+OK");
    assert_eq!(other.call(&read).await, "+QUEUED");
    assert!(other.call(&["EXEC"]).await.starts_with("-TRYAGAIN"), "a transaction is held to it too");
    assert_eq!(other.call(&["XLEN", "s"]).await, format!(":{ENTRIES}"), "what is small needs no room");
    drop(holder);
    let is_served = async { while other.call(&read).await.starts_with("-TRYAGAIN") {} };
    tokio::time::timeout(Duration::from_secs(20), is_served).await.expect("the room came back");
}

#[tokio::test]
async fn who_stops_within_a_large_call_keeps_nobody_waiting_for_ever() {
    let server = TestServer::start_with(|config| {
        config.redis_settings.no_auth = true;
        config.limits.bodies_bytes = config.limits.request_bytes;
        config.patience.body_idle = Duration::from_millis(200);
    })
    .await;
    let (mut holder, mut other) = (server.connect().await, server.connect().await);
    let call = bytes_of(&["ECHO", &"x".repeat(1024 * 1024)]);
    holder.send(&call[..call.len() / 2]).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    // It waits for the room, or is told that there was none.
    let text = other.call(&["ECHO", &"y".repeat(200_000)]).await;
    assert!(text.starts_with("yyy") || text.starts_with("-TRYAGAIN large calls"), "{}", &text[..40]);
    assert_eq!(holder.reply().await, "<closed>");
    let mut third = server.connect().await;
    assert_eq!(third.call(&["ECHO", &"z".repeat(200_000)]).await.len(), 200_000);
}
