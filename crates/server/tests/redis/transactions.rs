//! MULTI, EXEC, DISCARD and WATCH: Valkey 9's answers.

use crate::client::TestServer;

#[tokio::test]
async fn calls_wait_for_exec() {
    let server = TestServer::open().await;
    server.stream("s").await;
    let mut client = server.connect().await;
    for (call, wanted) in [
        (&["EXEC"][..], "-ERR EXEC without MULTI"),
        (&["DISCARD"], "-ERR DISCARD without MULTI"),
        (&["MULTI"], "+OK"),
        (&["ECHO", "a"], "+QUEUED"),
        (&["DEL", "s"], "+QUEUED"),
        (&["EXISTS", "s"], "+QUEUED"),
        (&["SELECT", "1"], "+QUEUED"),
        (&["EXEC"], "*4 a :1 :0 -ERR DB index is out of range"),
        (&["MULTI"], "+OK"),
        (&["ECHO", "a"], "+QUEUED"),
        (&["DISCARD"], "+OK"),
        (&["PING"], "+PONG"),
    ] {
        assert_eq!(client.call(call).await, wanted, "{call:?}");
    }
}

#[tokio::test]
async fn a_refused_call_undoes_the_transaction() {
    let server = TestServer::open().await;
    let mut client = server.connect().await;
    let aborted = "-EXECABORT Transaction discarded because of previous errors.";
    for (wrong, told) in [
        (&["FOO"][..], "-ERR unknown command 'FOO', with args beginning with: "),
        (&["XLEN"], "-ERR wrong number of arguments for 'xlen' command"),
        (&["MULTI"], "-ERR Command 'multi' not allowed inside a transaction"),
        (&["WATCH", "a"], "-ERR Command 'watch' not allowed inside a transaction"),
    ] {
        assert_eq!(client.call(&["MULTI"]).await, "+OK");
        assert_eq!(client.call(wrong).await, told);
        assert_eq!(client.call(&["ECHO", "a"]).await, "+QUEUED");
        assert_eq!(client.call(&["EXEC"]).await, aborted);
    }
    assert_eq!(client.call(&["PING"]).await, "+PONG");
}

#[tokio::test]
async fn a_watched_key_that_changes_undoes_the_transaction() {
    let server = TestServer::open().await;
    server.stream("s").await;
    let (mut client, mut other) = (server.connect().await, server.connect().await);
    assert_eq!(client.call(&["WATCH", "s", "none"]).await, "+OK");
    assert_eq!(other.call(&["DEL", "s"]).await, ":1");
    assert_eq!(client.call(&["MULTI"]).await, "+OK");
    assert_eq!(client.call(&["PING"]).await, "+QUEUED");
    assert_eq!(client.call(&["EXEC"]).await, "*-1");
    assert_eq!(client.call(&["WATCH", "none"]).await, "+OK");
    assert_eq!(client.call(&["MULTI"]).await, "+OK");
    assert_eq!(client.call(&["PING"]).await, "+QUEUED");
    assert_eq!(client.call(&["EXEC"]).await, "*1 +PONG", "nothing changed this time");
}
