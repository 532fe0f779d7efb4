//! A queue that bounds how long a consumer has what it was handed (`redisLeaseSeconds`), seen from both doors.
//!
//! Lives here: the setting over HTTP, and what becomes of an entry past its end, over real sockets. Not here: each
//! rule by itself (the engines' suite).

use crate::client::{Client, TestServer};
use crate::http_call::Call;

const GROUP: &str = "/v1/event-queues/s%2Fg";

async fn claim(server: &TestServer, wait_seconds: u32) -> Call {
    let body = format!(r#"{{"waitSeconds":{wait_seconds}}}"#);
    Call::send(server, "POST", &format!("{GROUP}/claim"), &body).await
}

/// A group with one entry that `c` has, for 1 s at a time.
async fn held(server: &TestServer) -> (Client, String) {
    let mut client = server.connect_as_admin().await;
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"]).await, "+OK");
    let queue = Call::send(server, "PATCH", GROUP, r#"{"redisLeaseSeconds":1}"#).await.answer().await;
    assert_eq!(queue["redisLeaseSeconds"], 1);
    let id = client.call(&["XADD", "s", "*", "k", "v"]).await;
    let read = client.call(&["XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"]).await;
    assert!(read.contains(&id), "{read}");
    (client, id)
}

#[tokio::test]
async fn past_its_end_a_waiting_claim_takes_what_a_consumer_had() {
    let server = TestServer::start().await;
    let (mut client, id) = held(&server).await;
    assert!(claim(&server, 0).await.answer().await.is_null());
    let waiting = claim(&server, 20).await;
    server.clock.advance_ms(999);
    assert!(claim(&server, 0).await.answer().await.is_null());
    server.clock.advance_ms(1);
    let claimed = waiting.answer().await;
    assert_eq!(
        (&claimed["event"]["attemptCount"], &claimed["event"]["payload"]["k"]),
        (&2.into(), &"v".into())
    );
    let pending = client.call(&["XPENDING", "s", "g", "-", "+", "9"]).await;
    assert!(pending.contains("@http"), "{pending}");
    assert_eq!(client.call(&["XACK", "s", "g", &id]).await, ":0");
}

#[tokio::test]
async fn until_a_claim_comes_a_consumer_may_renew_its_hold_or_finish() {
    let server = TestServer::start().await;
    let (mut client, id) = held(&server).await;
    server.clock.advance_ms(900);
    let renewed = client.call(&["XCLAIM", "s", "g", "c", "0", &id, "JUSTID"]).await;
    assert_eq!(renewed, format!("*1 {id}"));
    server.clock.advance_ms(900);
    assert!(claim(&server, 0).await.answer().await.is_null());
    server.clock.advance_ms(60_000);
    let pending = client.call(&["XPENDING", "s", "g", "-", "+", "9", "c"]).await;
    assert!(pending.contains(&id), "{pending}");
    assert_eq!(client.call(&["XACK", "s", "g", &id]).await, ":1");
    assert!(claim(&server, 0).await.answer().await.is_null());
}
