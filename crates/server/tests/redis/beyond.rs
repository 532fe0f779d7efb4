//! Commands and options that Redis 8 has beyond Redis 7.0, and ours.
//!
//! Lives here: their replies and what they leave, over real sockets. Not here: each rule by itself (the engines'
//! suite), malformed calls of them (`naven-server`'s own tests).

use crate::client::{Client, TestServer};

/// A group at the start of stream `s`, and so many entries `1-1`, `1-2`, ... of one field.
async fn group_of(client: &mut Client, entries: usize) {
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"]).await, "+OK");
    for n in 1..=entries {
        let id = format!("1-{n}");
        assert_eq!(client.call(&["XADD", "s", &id, "f", &n.to_string()]).await, id);
    }
}

async fn read(client: &mut Client, consumer: &str) -> String {
    client.call(&["XREADGROUP", "GROUP", "g", consumer, "STREAMS", "s", ">"]).await
}

async fn pending(client: &mut Client) -> String {
    client.call(&["XPENDING", "s", "g", "-", "+", "9"]).await
}

#[tokio::test]
async fn an_entry_is_added_once_under_its_producer_s_name() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let first = client.call(&["XADD", "s", "IDMP", "p", "order-1", "*", "f", "1"]).await;
    server.clock.advance_ms(5);
    let again = client.call(&["XADD", "s", "IDMP", "p", "order-1", "*", "f", "another"]).await;
    assert_eq!(again, first, "the first one's id");
    let other = client.call(&["XADD", "s", "IDMP", "q", "order-1", "*", "f", "1"]).await;
    assert_ne!(other, first, "another producer's names are its own");
    let auto = client.call(&["XADD", "s", "IDMPAUTO", "p", "*", "f", "1"]).await;
    assert_eq!(client.call(&["XADD", "s", "IDMPAUTO", "p", "*", "f", "1"]).await, auto);
    assert_ne!(client.call(&["XADD", "s", "IDMPAUTO", "p", "*", "f", "2"]).await, auto);
    assert_eq!(client.call(&["XLEN", "s"]).await, ":4");
    for (call, why) in [
        (
            &["XADD", "s", "IDMP", "p", "n", "5-5", "f", "1"][..],
            "-ERR IDMP and IDMPAUTO go with the ID * alone",
        ),
        (
            &["XADD", "s", "IDMP", "p", "", "*", "f", "1"],
            "-ERR the names that IDMP and IDMPAUTO take have 1 to 255 bytes",
        ),
        (
            &["XADD", "s", "IDMPAUTO", "p", "IDMP", "p", "n", "*", "f", "1"],
            "-ERR IDMP and IDMPAUTO can be given once, and not together",
        ),
    ] {
        assert_eq!(client.call(call).await, why, "{call:?}");
    }
    // Past the queue's dedupe window the name is free.
    server.clock.advance_ms(301_000);
    assert_ne!(client.call(&["XADD", "s", "IDMP", "p", "order-1", "*", "f", "1"]).await, first);
}

#[tokio::test]
async fn what_is_given_up_waits_for_its_delay_and_keeps_its_place() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    group_of(&mut client, 3).await;
    read(&mut client, "c").await;
    let nack = ["XNACK", "s", "g", "SILENT", "IDS", "2", "1-1", "9-9", "DELAY", "500"];
    assert_eq!(client.call(&nack).await, ":1", "one of the two was pending");
    assert_eq!(client.call(&["XNACK", "s", "g", "FAIL", "IDS", "1", "1-2", "RETRYCOUNT", "7"]).await, ":1");
    assert_eq!(client.call(&["XNACK", "s", "g", "FATAL", "IDS", "1", "1-3"]).await, ":1");
    let left = pending(&mut client).await;
    assert!(left.starts_with("*2 *4 1-1  "), "it stands under the empty name: {left}");
    assert!(left.ends_with(":7"), "{left}");
    assert_eq!(read(&mut client, "c").await, "*-1", "what is pending never comes as new");
    let taken = ["XAUTOCLAIM", "s", "g", "d", "0", "0", "JUSTID"];
    assert!(!client.call(&taken).await.contains("1-1"), "its delay is not over");
    server.clock.advance_ms(500);
    assert!(client.call(&taken).await.contains("1-1"));
    assert_eq!(client.call(&["XNACK", "s", "g", "FAIL", "IDS", "1", "1-3"]).await, ":0", "it is dead");
    assert_eq!(client.call(&["XACK", "s", "g", "1-1"]).await, ":1");
    for call in [
        &["XNACK", "s", "g", "LOUD", "IDS", "1", "1-1"][..],
        &["XNACK", "s", "g", "FAIL", "IDS", "2", "1-1"],
        &["XNACK", "s", "g", "FAIL", "IDS", "1", "1-1", "DELAY"],
        &["XNACK", "s", "g", "FAIL", "IDS", "1", "1-1", "DELAY", "-1"],
    ] {
        let reply = client.call(call).await;
        assert!(reply.starts_with("-ERR"), "{call:?}: {reply}");
    }
    let none = client.call(&["XNACK", "s", "none", "FAIL", "IDS", "1", "1-1"]).await;
    assert!(none.starts_with("-NOGROUP"), "{none}");
}

#[tokio::test]
async fn entries_are_acked_and_deleted_in_one_call() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    group_of(&mut client, 3).await;
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "h", "0"]).await, "+OK");
    read(&mut client, "c").await;
    let acked = client.call(&["XACKDEL", "s", "g", "ACKED", "IDS", "2", "1-1", "9-9"]).await;
    assert_eq!(acked, "*2 :2 :-1", "the other group has not read it");
    assert_eq!(client.call(&["XLEN", "s"]).await, ":3");
    assert_eq!(client.call(&["XACKDEL", "s", "g", "IDS", "1", "1-2"]).await, "*1 :1");
    assert_eq!(client.call(&["XACKDEL", "s", "g", "DELREF", "IDS", "1", "1-3"]).await, "*1 :1");
    assert_eq!(client.call(&["XRANGE", "s", "-", "+"]).await, "*1 *2 1-1 *2 f 1");
    assert_eq!(pending(&mut client).await, "*0");
}

#[tokio::test]
async fn deletions_and_trims_say_what_becomes_of_references() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    group_of(&mut client, 4).await;
    read(&mut client, "c").await;
    assert_eq!(client.call(&["XDELEX", "s", "KEEPREF", "IDS", "2", "1-1", "9-9"]).await, "*2 :1 :-1");
    assert!(pending(&mut client).await.starts_with("*4 *4 1-1 c"), "its reference stays");
    assert_eq!(client.call(&["XDELEX", "s", "IDS", "1", "1-2", "DELREF"]).await, "*1 :1");
    assert!(!pending(&mut client).await.contains("1-2"), "its reference went too");
    assert_eq!(client.call(&["XDELEX", "s", "ACKED", "IDS", "1", "1-3"]).await, "*1 :2", "it is pending");
    assert_eq!(client.call(&["XTRIM", "s", "MAXLEN", "0", "ACKED"]).await, ":0");
    assert_eq!(client.call(&["XACK", "s", "g", "1-3"]).await, ":1");
    assert_eq!(client.call(&["XTRIM", "s", "MAXLEN", "0", "ACKED"]).await, ":1");
    assert_eq!(client.call(&["XTRIM", "s", "MAXLEN", "0", "DELREF"]).await, ":1");
    assert!(
        pending(&mut client).await.starts_with("*1 *4 1-1 c"),
        "only what was deleted with KEEPREF is left"
    );
    assert_eq!(client.call(&["XDELEX", "none", "IDS", "1", "1-1"]).await, "*1 :-1");
    let wrong = client.call(&["XDELEX", "s", "IDS", "0", "1-1"]).await;
    assert_eq!(wrong, "-ERR Number of IDs must be a positive integer");
}

#[tokio::test]
async fn a_read_takes_what_was_idle_before_what_is_new() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    group_of(&mut client, 1).await;
    read(&mut client, "dead").await;
    server.clock.advance_ms(1_000);
    assert_eq!(client.call(&["XADD", "s", "1-2", "f", "2"]).await, "1-2");
    let call = ["XREADGROUP", "GROUP", "g", "c", "CLAIM", "1001", "STREAMS", "s", ">"];
    let early = client.call(&call).await;
    assert_eq!(early, "*1 *2 s *1 *4 1-2 *2 f 2 :0 :0", "the first was not idle for so long");
    server.clock.advance_ms(1);
    let idle = client.call(&call).await;
    assert_eq!(
        idle, "*1 *2 s *1 *4 1-1 *2 f 1 :1001 :1",
        "how long it was idle, and deliveries before this one"
    );
    assert_eq!(client.call(&["XPENDING", "s", "g"]).await, "*4 :2 1-1 1-2 *1 *2 c 2");
}
