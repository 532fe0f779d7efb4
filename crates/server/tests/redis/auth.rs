//! Who may call, and what a key may do.

use std::sync::Arc;

use naven_server::{Server, ServerConfig, StartError, SystemClock, SystemRandom};
use naven_store::Clock;
use naven_store::conformance::ManualClock;
use naven_store::key::KeyRecord;

use crate::client::TestServer;

const NOAUTH: &str = "-NOAUTH Authentication required.";
const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.";

#[tokio::test]
async fn a_key_opens_the_door() {
    let server = TestServer::start().await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["PING"]).await, NOAUTH);
    assert!(client.call(&["HELLO", "3"]).await.starts_with("-NOAUTH HELLO must be called"));
    assert_eq!(client.call(&["AUTH", "nvk_x"]).await, WRONGPASS);
    assert_eq!(client.call(&["AUTH", "somebody", "nvk_x"]).await, WRONGPASS);
    assert_eq!(client.call(&["AUTH", "a", "b", "c"]).await, "-ERR syntax error");
    for user in ["somebody", "admin", "default", ""] {
        assert_eq!(
            client.call(&["AUTH", user, &server.key]).await,
            "+OK",
            "the user {user} is not looked at"
        );
        assert_eq!(client.call(&["PING"]).await, "+PONG");
        assert_eq!(client.call(&["RESET"]).await, "+RESET");
    }
    assert_eq!(client.call(&["AUTH", &server.key, "somebody"]).await, WRONGPASS, "the key stands last");
    assert_eq!(client.call(&["AUTH", &server.key]).await, "+OK");
    assert_eq!(client.call(&["RESET"]).await, "+RESET");
    assert_eq!(client.call(&["PING"]).await, NOAUTH, "a reset forgets the key");
    let hello = client.call(&["HELLO", "3", "AUTH", "somebody", &server.key, "SETNAME", "me"]).await;
    assert!(hello.starts_with("%7 server naven version 7.2.4 proto :3 id :1 mode standalone"), "{hello}");
    assert_eq!(client.call(&["CLIENT", "GETNAME"]).await, "me");
    assert!(client.call(&["HELLO", "2"]).await.starts_with("*14 server naven"));
}

#[tokio::test]
async fn a_key_whose_time_is_over_loses_its_access_with_the_next_call() {
    let (record, key) = TestServer::worker(&["read"], &["*"]);
    let expires_at = Some(ManualClock::default().wall().plus_ms(1_000));
    let server = TestServer::with_key(KeyRecord { expires_at, ..record }).await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["AUTH", &key]).await, "+OK");
    server.clock.advance_ms(999);
    assert_eq!(client.call(&["DBSIZE"]).await, ":0");
    server.clock.advance_ms(1);
    assert_eq!(client.call(&["DBSIZE"]).await, NOAUTH);
    assert_eq!(client.call(&["AUTH", &key]).await, WRONGPASS);
    assert_eq!(client.call(&["AUTH", &server.key]).await, "+OK", "another one opens the door again");
}

#[tokio::test]
async fn a_bound_on_calls_is_told_and_is_not_for_the_connection_itself() {
    let (record, key) = TestServer::worker(&["read"], &["*"]);
    let server = TestServer::with_key(KeyRecord { rate_limit: Some(1), ..record }).await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["AUTH", &key]).await, "+OK");
    let mut replies = Vec::new();
    for _ in 0..1_000 {
        replies.push(client.call(&["DBSIZE"]).await);
        assert_eq!(client.call(&["PING"]).await, "+PONG");
    }
    let refused = "-ERR the key makes more than 1 calls a second: try again in 1 seconds";
    assert!(replies.iter().all(|reply| reply == ":0" || reply == refused), "{replies:?}");
    assert_eq!((replies[0].as_str(), replies.iter().any(|reply| reply == refused)), (":0", true));
}

#[tokio::test]
async fn what_a_key_does_not_reach_is_not_there_and_a_missing_scope_is_told() {
    let (record, key) = TestServer::worker(&["read"], &["mine*"]);
    let server = TestServer::with_key(record).await;
    server.stream("mine").await;
    server.stream("theirs").await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["AUTH", "worker", &key]).await, "+OK");
    assert_eq!(client.call(&["EXISTS", "mine", "theirs", "none", "mine"]).await, ":2");
    assert_eq!(client.call(&["TYPE", "theirs"]).await, "+none");
    assert_eq!(client.call(&["KEYS", "*"]).await, "*1 mine");
    assert_eq!(client.call(&["DBSIZE"]).await, ":1");
    assert_eq!(client.call(&["DEL", "theirs"]).await, ":0");
    let refused = "-NOPERM User worker has no permissions to run the 'del' command";
    assert_eq!(client.call(&["DEL", "mine"]).await, refused);
    assert!(client.call(&["FLUSHALL"]).await.starts_with("-NOPERM"));
    let mut admin = server.connect_as_admin().await;
    assert_eq!(admin.call(&["EXISTS", "mine", "theirs"]).await, ":2");
    assert_eq!(admin.call(&["DEL", "mine", "none"]).await, ":1");
    assert!(admin.call(&["FLUSHALL"]).await.contains("--allow-flush"));
}

#[tokio::test]
async fn the_door_without_keys_is_for_loopback_addresses() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    assert_eq!(client.call(&["PING"]).await, "+PONG");
    assert_eq!(client.call(&["AUTH", "wrong"]).await, WRONGPASS);
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    config.redis = Some(([0, 0, 0, 0], 0).into());
    config.redis_settings.no_auth = true;
    let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
    let started = Server::start(config, server.engine.clone(), clock, random).await;
    assert!(matches!(started, Err(StartError::OpenDoor(_))));
}
