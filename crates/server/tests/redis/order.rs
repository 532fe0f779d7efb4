//! Replies come in the order of calls, whatever they ask for.

use crate::client::{TestServer, bytes_of};

#[tokio::test]
async fn pipelined_calls_are_answered_in_order() {
    let server = TestServer::open().await;
    server.stream("s").await;
    let mut client = server.connect().await;
    let calls: [&[&str]; 8] = [
        &["ECHO", "1"],
        &["EXISTS", "s"],
        &["DEL", "s"],
        &["EXISTS", "s"],
        &["FOO", "a"],
        &["ECHO", "2"],
        &["HELLO", "3"],
        &["CLIENT", "GETNAME"],
    ];
    let bytes: Vec<u8> = calls.iter().flat_map(|parts| bytes_of(parts)).collect();
    client.send(&bytes).await;
    for wanted in ["1", ":1", ":1", ":0", "-ERR unknown command 'FOO', with args beginning with: 'a' ", "2"] {
        assert_eq!(client.reply().await, wanted);
    }
    assert!(client.reply().await.starts_with("%7 "));
    assert_eq!(client.reply().await, "_", "what follows HELLO is in the new protocol");
}

#[tokio::test]
async fn a_reply_that_is_ready_waits_for_those_before_it() {
    let server = TestServer::open().await;
    server.stream("s").await;
    let mut client = server.connect().await;
    let calls: [&[&str]; 4] = [&["XADD", "s", "5-1", "a", "b"], &["ECHO", "1"], &["DEL", "s"], &["FOO"]];
    client.send(&calls.iter().flat_map(|parts| bytes_of(parts)).collect::<Vec<u8>>()).await;
    for wanted in ["5-1", "1", ":1", "-ERR unknown command 'FOO', with args beginning with: "] {
        assert_eq!(client.reply().await, wanted);
    }
}

#[tokio::test]
async fn many_calls_at_once_are_all_answered() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let calls: Vec<u8> = (0..1_000).flat_map(|n: u32| bytes_of(&["ECHO", &n.to_string()])).collect();
    client.send(&calls).await;
    for n in 0..1_000 {
        assert_eq!(client.reply().await, n.to_string());
    }
}

#[tokio::test]
async fn typed_lines_are_calls_too() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    client.send(b"\r\nPING\r\necho \"a b\"\r\n").await;
    assert_eq!((client.reply().await, client.reply().await), ("+PONG".to_owned(), "a b".to_owned()));
}

#[tokio::test]
async fn a_breach_of_the_protocol_is_told_behind_the_answers_and_ends_the_connection() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    client.send(b"*1\r\n$4\r\nPING\r\n*1\r\n$x\r\nPING\r\n").await;
    assert_eq!(client.reply().await, "+PONG");
    assert_eq!(client.reply().await, "-ERR Protocol error: invalid bulk length");
    assert_eq!(client.reply().await, "<closed>");
}
