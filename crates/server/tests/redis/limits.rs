//! Bounds on what a connection may take.

use std::time::Duration;

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
