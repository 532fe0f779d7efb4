//! Names of streams, groups and consumers at the edges of their lengths.
//!
//! Lives here: what is made under which name, and what is said of names that nothing has. Not here: names that a key
//! does not reach (`rights.rs`).

use crate::client::{Client, TestServer};

const STREAM: &str = "-ERR a stream's name has 1 to 512 bytes";
const GROUP: &str = "-ERR a group's name has 1 to 512 bytes";
const CONSUMER: &str = "-ERR a consumer's name has at most 512 bytes";

async fn refused(client: &mut Client, call: &[&str], why: &str) {
    let reply = client.call(call).await;
    assert_eq!(reply, why, "{call:?}");
}

#[tokio::test]
async fn a_stream_s_name_has_its_bounds_where_it_is_made() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let (longest, long) = ("s".repeat(512), "s".repeat(513));
    assert_eq!(client.call(&["XADD", &longest, "1-1", "f", "v"]).await, "1-1");
    assert_eq!(client.call(&["XADD", "s", "1-1", "f", "v"]).await, "1-1");
    for name in ["", &long] {
        refused(&mut client, &["XADD", name, "*", "f", "v"], STREAM).await;
        refused(&mut client, &["XADD", name, "NOMKSTREAM", "*", "f", "v"], STREAM).await;
        refused(&mut client, &["XGROUP", "CREATE", name, "g", "0", "MKSTREAM"], STREAM).await;
        refused(&mut client, &["RENAME", "s", name], STREAM).await;
    }
    assert_eq!(client.call(&["DBSIZE"]).await, ":2");
    assert_eq!(client.call(&["XLEN", &longest]).await, ":1");
}

#[tokio::test]
async fn a_name_that_nothing_can_have_is_missing_where_it_is_read() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let longest = "s".repeat(512);
    assert_eq!(client.call(&["XADD", &longest, "1-1", "f", "v"]).await, "1-1");
    for name in ["", &"s".repeat(513), &"s".repeat(2_000)] {
        for (call, reply) in [
            (&["XLEN", name][..], ":0"),
            (&["EXISTS", name], ":0"),
            (&["TYPE", name], "+none"),
            (&["DEL", name], ":0"),
            (&["XRANGE", name, "-", "+"], "*0"),
            (&["XREAD", "STREAMS", name, "0"], "*-1"),
            (&["XDEL", name, "1-1"], ":0"),
            (&["XTRIM", name, "MAXLEN", "0"], ":0"),
            (&["XACK", name, "g", "1-1"], ":0"),
            (&["XINFO", "STREAM", name], "-ERR no such key"),
            (&["XSETID", name, "1-1"], "-ERR no such key"),
            (&["RENAME", name, "t"], "-ERR no such key"),
        ] {
            refused(&mut client, call, reply).await;
        }
        let reply = client.call(&["XREADGROUP", "GROUP", "g", "c", "STREAMS", name, ">"]).await;
        assert!(reply.starts_with("-NOGROUP No such key"), "{reply}");
        let reply = client.call(&["XPENDING", &longest, name]).await;
        assert!(reply.starts_with("-NOGROUP No such key"), "{reply}");
    }
}

#[tokio::test]
async fn groups_have_the_same_bounds_and_consumers_may_have_no_name() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let (longest, long) = ("n".repeat(512), "n".repeat(513));
    assert_eq!(client.call(&["XADD", "s", "1-1", "f", "v"]).await, "1-1");
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", &longest, "0"]).await, "+OK");
    let made = client.call(&["XGROUP", "CREATECONSUMER", "s", &longest, &longest]).await;
    assert_eq!(made, ":1");
    for name in ["", &long] {
        refused(&mut client, &["XGROUP", "CREATE", "s", name, "0"], GROUP).await;
    }
    refused(&mut client, &["XGROUP", "CREATECONSUMER", "s", &longest, &long], CONSUMER).await;
    refused(&mut client, &["XREADGROUP", "GROUP", &longest, &long, "STREAMS", "s", ">"], CONSUMER).await;
    refused(&mut client, &["XCLAIM", "s", &longest, &long, "0", "1-1"], CONSUMER).await;
    refused(&mut client, &["XAUTOCLAIM", "s", &longest, &long, "0", "0"], CONSUMER).await;
    let nameless = ["XGROUP", "CREATECONSUMER", "s", &longest, ""];
    assert_eq!(client.call(&nameless).await, ":1", "as Redis has it");
    assert_eq!(client.call(&["XGROUP", "DELCONSUMER", "s", &longest, ""]).await, ":0", "it held nothing");
}
