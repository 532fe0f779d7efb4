//! Readers that wait: what wakes them, what ends them, and what they cost meanwhile.
//!
//! Lives here: BLOCK over real sockets, with Valkey 9's answers. Not here: reads that find something at once.

use std::time::{Duration, Instant};

use naven_api::limits::WAIT_LOOK_MS;

use crate::client::{Client, TestServer, bytes_of};
use crate::counting::Counting;
use crate::http_call::Call;

const NOGROUP: &str = "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option";

/// A call of the group `g` for what is new in `s`, forever.
const READ: [&str; 9] = ["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"];

async fn with_group(server: &TestServer) -> Client {
    let mut client = server.connect().await;
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"]).await, "+OK");
    client
}

/// A further connection that waits: INFO shows it before this returns.
async fn blocked(server: &TestServer, other: &mut Client, parts: &[&str]) -> Client {
    let before = blocked_clients(other).await;
    let mut client = server.connect().await;
    client.send(&bytes_of(parts)).await;
    until_blocked(other, before + 1).await;
    client
}

async fn blocked_clients(client: &mut Client) -> usize {
    let info = client.call(&["INFO", "clients"]).await;
    let line = info.lines().find_map(|line| line.strip_prefix("blocked_clients:"));
    line.expect("it is told").parse().expect("a number")
}

async fn until_blocked(client: &mut Client, count: usize) {
    let began = Instant::now();
    while blocked_clients(client).await != count {
        assert!(began.elapsed() < Duration::from_secs(20), "never {count} blocked clients");
    }
}

/// The id that XADD gave.
async fn add(client: &mut Client, value: &str) -> String {
    let id = client.call(&["XADD", "s", "*", "k", value]).await;
    assert!(id.contains('-') && !id.starts_with('-'), "{id}");
    id
}

fn read_of(id: &str, value: &str) -> String {
    format!("*1 *2 s *1 *2 {id} *2 k {value}")
}

#[tokio::test]
async fn an_entry_of_another_connection_wakes_a_reader() {
    let server = TestServer::open().await;
    let mut other = with_group(&server).await;
    let mut reader = blocked(&server, &mut other, &READ).await;
    let id = add(&mut other, "1").await;
    assert_eq!(reader.reply().await, read_of(&id, "1"));
    assert_eq!(blocked_clients(&mut other).await, 0);
}

#[tokio::test]
async fn an_event_published_over_http_wakes_a_reader() {
    let server = TestServer::start().await;
    let mut other = server.connect_as_admin().await;
    assert_eq!(other.call(&["XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"]).await, "+OK");
    let mut reader = server.connect_as_admin().await;
    reader.send(&bytes_of(&READ)).await;
    until_blocked(&mut other, 1).await;
    Call::send(&server, "POST", "/v1/streams/s/events", r#"{"payload":{"to":"ada"}}"#).await.answer().await;
    let reply = reader.reply().await;
    assert!(reply.starts_with("*1 *2 s *1 *2 ") && reply.contains("ada"), "{reply}");
}

#[tokio::test]
async fn a_stream_without_groups_wakes_all_its_readers() {
    let server = TestServer::open().await;
    let mut other = server.connect().await;
    let read = ["XREAD", "BLOCK", "0", "STREAMS", "s", "$"];
    let mut one = blocked(&server, &mut other, &read).await;
    let mut two = blocked(&server, &mut other, &read).await;
    let id = add(&mut other, "1").await;
    assert_eq!(one.reply().await, read_of(&id, "1"));
    assert_eq!(two.reply().await, read_of(&id, "1"));
}

#[tokio::test]
async fn two_readers_of_a_group_get_one_entry_each() {
    let server = TestServer::open().await;
    let mut other = with_group(&server).await;
    let read = ["XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">"];
    let mut one = blocked(&server, &mut other, &read).await;
    let mut two = blocked(&server, &mut other, &read).await;
    let first = add(&mut other, "1").await;
    let second = add(&mut other, "2").await;
    let mut replies = [one.reply().await, two.reply().await];
    replies.sort();
    assert_eq!(replies, [read_of(&first, "1"), read_of(&second, "2")]);
    assert_eq!(blocked_clients(&mut other).await, 0);
}

#[tokio::test]
async fn a_reader_is_let_go_by_another_connection() {
    let server = TestServer::open().await;
    let mut other = with_group(&server).await;
    for (how, wanted) in [
        (&[][..], "*-1"),
        (&["TIMEOUT"], "*-1"),
        (&["ERROR"], "-UNBLOCKED client unblocked via CLIENT UNBLOCK"),
    ] {
        let mut reader = server.connect().await;
        let id = reader.call(&["CLIENT", "ID"]).await;
        reader.send(&bytes_of(&READ)).await;
        until_blocked(&mut other, 1).await;
        let mut call = vec!["CLIENT", "UNBLOCK", &id[1..]];
        call.extend(how);
        assert_eq!(other.call(&call).await, ":1");
        assert_eq!(reader.reply().await, wanted, "{how:?}");
        assert_eq!(blocked_clients(&mut other).await, 0);
        assert_eq!(other.call(&call).await, ":0", "it does not wait any more");
        assert_eq!(reader.call(&["PING"]).await, "+PONG");
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_takes_nothing() {
    let server = TestServer::open().await;
    let mut other = with_group(&server).await;
    let gone = blocked(&server, &mut other, &READ).await;
    let mut stays = blocked(&server, &mut other, &READ).await;
    drop(gone);
    until_blocked(&mut other, 1).await;
    let id = add(&mut other, "1").await;
    assert_eq!(stays.reply().await, read_of(&id, "1"));
    assert_eq!(blocked_clients(&mut other).await, 0);
}

#[tokio::test]
async fn a_group_that_goes_ends_its_readers() {
    let server = TestServer::open().await;
    for ended_by in [&["XGROUP", "DESTROY", "s", "g"][..], &["DEL", "s"]] {
        let mut other = with_group(&server).await;
        let mut reader = blocked(&server, &mut other, &READ).await;
        assert_eq!(other.call(ended_by).await, ":1");
        assert_eq!(reader.reply().await, NOGROUP, "{ended_by:?}");
        other.call(&["DEL", "s"]).await;
    }
}

#[tokio::test]
async fn a_reader_does_not_hold_the_server_up() {
    let server = TestServer::open().await;
    let mut other = with_group(&server).await;
    let mut reader = blocked(&server, &mut other, &READ).await;
    drop(other);
    let began = Instant::now();
    server.running.shutdown().await;
    // The bound is a second; a crowded machine gets three.
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    println!("a server with a blocked reader ended in {:?}", began.elapsed());
    let told = reader.reply().await;
    assert!(["*-1", "<closed>"].contains(&told.as_str()), "{told}");
}

#[tokio::test]
async fn a_blocking_call_inside_a_transaction_answers_at_once() {
    let server = TestServer::open().await;
    let mut client = with_group(&server).await;
    assert_eq!(client.call(&["MULTI"]).await, "+OK");
    assert_eq!(client.call(&READ).await, "+QUEUED");
    assert_eq!(client.call(&["XLEN", "s"]).await, "+QUEUED");
    assert_eq!(client.call(&["EXEC"]).await, "*2 *-1 :0");
}

#[tokio::test]
async fn a_transaction_on_a_watched_stream_that_grew_adds_nothing() {
    let server = TestServer::open().await;
    let (mut client, mut other) = (with_group(&server).await, server.connect().await);
    for (is_changed, wanted_length) in [(true, ":1"), (false, ":2")] {
        assert_eq!(client.call(&["WATCH", "s"]).await, "+OK");
        if is_changed {
            add(&mut other, "1").await;
        }
        assert_eq!(client.call(&["MULTI"]).await, "+OK");
        assert_eq!(client.call(&["XADD", "s", "*", "k", "2"]).await, "+QUEUED");
        assert_eq!(client.call(&["EXEC"]).await == "*-1", is_changed);
        assert_eq!(client.call(&["XLEN", "s"]).await, wanted_length);
    }
}

/// A reader that its own tries wake would try again and again.
#[tokio::test]
async fn readers_that_wait_ask_the_engine_for_nothing() {
    let (server, asked) = Counting::server().await;
    let mut other = with_group(&server).await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        readers.push(blocked(&server, &mut other, &READ).await);
    }
    // Whatever their own first tries hinted has been looked at by then.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (before, began) = (asked.count(), Instant::now());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (tries, most) = (asked.count() - before, looks_in_any_case(began));
    assert!(tries <= most, "{tries} tries of 8 readers in which nothing came, and {most} are the most");
    let (before, began) = (asked.count(), Instant::now());
    let id = add(&mut other, "1").await;
    let mut read = 0;
    for reader in &mut readers {
        tokio::select! {
            reply = reader.reply() => { assert_eq!(reply, read_of(&id, "1")); read += 1; }
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
    }
    assert_eq!(read, 1, "one of them gets it");
    // The entry's own, the first reader's, the next one's in line, and one where a hint came twice.
    let (calls, most) = (asked.count() - before, 4 + looks_in_any_case(began));
    assert!(
        calls <= most,
        "{calls} calls of the engine for one entry and 8 readers, and {most} are the most"
    );
}

/// How often the first in line may have looked since then without a hint.
fn looks_in_any_case(since: Instant) -> u64 {
    let elapsed = u64::try_from(since.elapsed().as_millis()).unwrap();
    elapsed / WAIT_LOOK_MS + 1
}
