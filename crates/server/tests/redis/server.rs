//! What the server tells of itself, its connections and its keys.

use crate::client::TestServer;

#[tokio::test]
async fn connections_are_listed_and_ended() {
    let server = TestServer::open().await;
    let (mut one, mut other) = (server.connect().await, server.connect().await);
    assert_eq!(one.call(&["CLIENT", "SETNAME", "a b"]).await, {
        "-ERR Client names cannot contain spaces, newlines or special characters."
    });
    assert_eq!(one.call(&["CLIENT", "SETNAME", "one"]).await, "+OK");
    assert_eq!(one.call(&["CLIENT", "SETINFO", "LIB-NAME", "lib"]).await, "+OK");
    assert_eq!(other.call(&["CLIENT", "ID"]).await, ":2");
    let list = other.call(&["CLIENT", "LIST"]).await;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(lines[0].starts_with("id=1 addr=127.0.0.1:") && lines[0].contains(" name=one "), "{list}");
    assert!(lines[0].contains(" cmd=client|setinfo ") && lines[0].contains(" lib-name=lib "), "{list}");
    assert_eq!(other.call(&["CLIENT", "LIST", "ID", "2"]).await.lines().count(), 1);
    assert_eq!(other.call(&["CLIENT", "UNBLOCK", "1"]).await, ":0");
    assert_eq!(other.call(&["CLIENT", "KILL", "ID", "1"]).await, ":1");
    assert_eq!(one.reply().await, "<closed>");
    assert_eq!(other.call(&["CLIENT", "KILL", "ID", "2"]).await, ":0", "it is passed over");
    assert_eq!(other.call(&["CLIENT", "KILL", "ID", "2", "SKIPME", "no"]).await, ":1");
    assert_eq!(other.reply().await, "<closed>");
}

#[tokio::test]
async fn info_has_what_clients_look_for() {
    let server = TestServer::open().await;
    server.stream("s").await;
    let mut client = server.connect().await;
    let info = client.call(&["INFO"]).await;
    for line in [
        "# Server",
        "redis_version:7.2.4",
        "arch_bits:64",
        "loading:0",
        "cluster_enabled:0",
        "role:master",
        "connected_clients:1",
        "blocked_clients:0",
        "db0:keys=1,expires=0,avg_ttl=0",
    ] {
        assert!(info.lines().any(|told| told == line), "{line} in {info}");
    }
    assert!(client.call(&["INFO", "clients"]).await.starts_with("# Clients\r\nconnected_clients:1\r\n"));
    assert_eq!(client.call(&["INFO", "nosuch"]).await, "");
}

#[tokio::test]
async fn a_scan_goes_through_all_keys() {
    let server = TestServer::start_with(|config| {
        config.redis_settings.no_auth = true;
        config.redis_settings.allow_flush = true;
    })
    .await;
    for n in 0..25 {
        server.stream(&format!("s{n}")).await;
    }
    let mut client = server.connect().await;
    let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let reply = client.call(&["SCAN", &cursor, "COUNT", "10", "TYPE", "stream"]).await;
        let words: Vec<&str> = reply.split(' ').collect();
        assert_eq!(words[0], "*2");
        seen.extend(words[3..].iter().map(|word| (*word).to_owned()));
        cursor = words[1].to_owned();
        if cursor == "0" {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 25);
    assert_eq!(client.call(&["SCAN", "0", "COUNT", "99", "MATCH", "s2?"]).await.split(' ').count(), 3 + 5);
    assert_eq!(client.call(&["SCAN", "0", "TYPE", "hash"]).await.rsplit(' ').next(), Some("*0"));
    assert_eq!(client.call(&["SCAN", "x"]).await, "-ERR invalid cursor");
    assert_eq!(client.call(&["TTL", "s1"]).await, ":-1");
    assert_eq!(client.call(&["PTTL", "none"]).await, ":-2");
    assert_eq!(client.call(&["OBJECT", "ENCODING", "s1"]).await, "stream");
    assert_eq!(client.call(&["FLUSHALL"]).await, "+OK");
    assert_eq!(client.call(&["DBSIZE"]).await, ":0");
}
