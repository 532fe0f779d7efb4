//! One event, two doors: what the Redis door shows of the HTTP door's dealing with it, and the other way round.
//!
//! Lives here: forms of content, names, who has what, and what becomes of it, over real sockets. Not here: each rule
//! by itself (the engines' suite), ends of holds (`hold_ends.rs`).

use serde_json::{Value, json};

use crate::client::{Client, TestServer};
use crate::http_call::Call;

/// The queue that is group `g` of stream `s`.
const GROUP: &str = "/v1/event-queues/s%2Fg";

async fn post(server: &TestServer, path: &str, body: Value) -> Value {
    Call::send(server, "POST", path, &body.to_string()).await.answer().await
}

async fn get(server: &TestServer, path: &str) -> Value {
    Call::send(server, "GET", path, "").await.answer().await
}

async fn claim(server: &TestServer) -> Value {
    post(server, &format!("{GROUP}/claim"), json!({ "waitSeconds": 0 })).await
}

async fn settle(server: &TestServer, verb: &str, claimed: &Value, more: Value) -> (String, Value) {
    let mut body = more;
    body["leaseToken"] = claimed["leaseToken"].clone();
    let path = format!("/v1/events/{}/{verb}", claimed["event"]["id"].as_str().expect("an id"));
    Call::send(server, "POST", &path, &body.to_string()).await.outcome().await
}

/// A server with group `g` at the start of stream `s`.
async fn scene() -> (TestServer, Client) {
    let server = TestServer::start().await;
    let mut client = server.connect_as_admin().await;
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"]).await, "+OK");
    (server, client)
}

#[tokio::test]
async fn each_door_reads_what_the_other_wrote() {
    let (server, mut client) = scene().await;
    // Written as text: the order of names is to be seen.
    let strings = r#"{"event":"paid","payload":"{\"n\":1}","ts":"2026"}"#;
    let mixed = r#"{"text":"t","n":1.50,"list":[1,{"a":null}],"yes":true}"#;
    for payload in [strings, mixed] {
        let body = format!(r#"{{"payload":{payload}}}"#);
        Call::send(&server, "POST", "/v1/streams/s/events", &body).await.answer().await;
    }
    let read = client.call(&["XRANGE", "s", "-", "+"]).await;
    assert!(read.contains("*6 event paid payload {\"n\":1} ts 2026"), "{read}");
    assert!(read.contains("*8 text t n 1.50 list [1,{\"a\":null}] yes true"), "{read}");
    client.send(b"*7\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nf\r\n$1\r\nv\r\n$3\r\nraw\r\n$2\r\n\xff\x00\r\n").await;
    client.reply().await;
    for wanted in [strings, mixed, r#"{"f":"v","raw":{"$base64":"/wA="}}"#] {
        let wanted: Value = serde_json::from_str(wanted).unwrap();
        assert_eq!(claim(&server).await["event"]["payload"], wanted);
    }
}

#[tokio::test]
async fn a_lease_stands_under_its_own_name_and_no_reader_has_it() {
    let (server, mut client) = scene().await;
    let id = client.call(&["XADD", "s", "*", "k", "v"]).await;
    let claimed = claim(&server).await;
    server.clock.advance_ms(3);
    let pending = client.call(&["XPENDING", "s", "g", "-", "+", "9"]).await;
    assert_eq!(pending, format!("*1 *4 {id} @http :3 :0"), "Redis' count is of its own deliveries");
    assert!(client.call(&["XINFO", "CONSUMERS", "s", "g"]).await.contains("@http pending :1"));
    assert_eq!(client.call(&["XCLAIM", "s", "g", "c", "0", &id]).await, "*0", "a live lease is passed over");
    assert_eq!(client.call(&["XAUTOCLAIM", "s", "g", "c", "0", "0"]).await, "*3 0-0 *0 *0");
    assert_eq!(client.call(&["XACK", "s", "g", &id]).await, ":0");
    assert_eq!(client.call(&["XGROUP", "DELCONSUMER", "s", "g", "@http"]).await, ":0");
    let named = client.call(&["XREADGROUP", "GROUP", "g", "@http-1", "STREAMS", "s", ">"]).await;
    assert_eq!(named, "-ERR consumer names that begin with @http belong to the HTTP door");
    assert_eq!(client.call(&["XDEL", "s", &id]).await, ":1");
    assert_eq!(client.call(&["XLEN", "s"]).await, ":0");
    let event = get(&server, &format!("/v1/events/{}", claimed["event"]["id"].as_str().unwrap())).await;
    assert_eq!(event["payload"], json!({ "k": "v" }), "a lease keeps what its stream lost");
    assert_eq!(settle(&server, "ack", &claimed, json!({})).await.0, "200");
}

#[tokio::test]
async fn what_waits_for_a_retry_is_nobody_s_until_it_is_due() {
    let (server, mut client) = scene().await;
    let id = client.call(&["XADD", "s", "*", "k", "v"]).await;
    let claimed = claim(&server).await;
    let failed = json!({ "error": "no", "retryDelaySeconds": 5 });
    assert_eq!(settle(&server, "nack", &claimed, failed).await.0, "200");
    let stands = client.call(&["XPENDING", "s", "g", "-", "+", "9"]).await;
    assert!(stands.starts_with(&format!("*1 *4 {id}  ")), "{stands}");
    let new = ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"];
    assert_eq!(client.call(&new).await, "*-1", "it keeps its place, and that is not new");
    assert_eq!(client.call(&["XAUTOCLAIM", "s", "g", "c", "0", "0", "JUSTID"]).await, "*3 0-0 *0 *0");
    server.clock.advance_ms(5_000);
    let taken = client.call(&["XAUTOCLAIM", "s", "g", "c", "0", "0", "JUSTID"]).await;
    assert_eq!(taken, format!("*3 0-0 *1 {id} *0"));
    let (status, body) = settle(&server, "ack", &claimed, json!({})).await;
    assert_eq!((status.as_str(), &body["code"]), ("409", &json!(40901)), "another delivery happened");
    assert!(claim(&server).await.is_null(), "a consumer has it, without an end");
    assert_eq!(client.call(&["XACK", "s", "g", &id]).await, ":1");
}

#[tokio::test]
async fn an_unowned_entry_is_finished_by_an_ack() {
    let (server, mut client) = scene().await;
    let id = client.call(&["XADD", "s", "*", "k", "v"]).await;
    let claimed = claim(&server).await;
    assert_eq!(settle(&server, "nack", &claimed, json!({ "mode": "release" })).await.0, "200");
    assert_eq!(client.call(&["XACK", "s", "g", &id]).await, ":1");
    assert!(claim(&server).await.is_null());
}

#[tokio::test]
async fn what_was_published_to_one_queue_alone_is_no_entry_for_others() {
    let (server, mut client) = scene().await;
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "h", "0"]).await, "+OK");
    client.call(&["XADD", "s", "*", "k", "1"]).await;
    server.clock.advance_ms(1);
    post(&server, &format!("{GROUP}/events"), json!({ "payload": { "k": "2" } })).await;
    server.clock.advance_ms(1);
    client.call(&["XADD", "s", "*", "k", "3"]).await;
    assert_eq!(client.call(&["XLEN", "s"]).await, ":2");
    let all = client.call(&["XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"]).await;
    let at = |n: &str| all.find(&format!("*2 k {n}"));
    assert!(all.starts_with("*1 *2 s *3") && at("1") < at("2") && at("2") < at("3"), "by their ids: {all}");
    let others = client.call(&["XREADGROUP", "GROUP", "h", "c", "STREAMS", "s", ">"]).await;
    assert!(others.starts_with("*1 *2 s *2") && !others.contains("*2 k 2"), "{others}");
}

#[tokio::test]
async fn what_redis_would_drop_becomes_dead_letters() {
    let (server, mut client) = scene().await;
    for n in ["1", "2", "3"] {
        client.call(&["XADD", "s", "*", "k", n]).await;
    }
    let read = ["XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">"];
    client.call(&read).await;
    let queue = get(&server, GROUP).await["id"].as_str().unwrap().to_owned();
    assert_eq!(client.call(&["XGROUP", "DELCONSUMER", "s", "g", "c"]).await, ":1");
    let claimed = claim(&server).await;
    assert_eq!(client.call(&["XGROUP", "DESTROY", "s", "g"]).await, ":1");
    let (status, body) = settle(&server, "ack", &claimed, json!({})).await;
    assert_eq!((status.as_str(), &body["code"]), ("409", &json!(40901)));
    let dead = get(&server, &format!("/v1/dead-letters?queueId={queue}")).await;
    let mut reasons: Vec<_> = dead["items"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    reasons.sort_by_key(|reason| reason.to_string());
    assert_eq!(reasons, ["consumer_deleted", "group_destroyed", "group_destroyed"]);
    assert_eq!(client.call(&["XLEN", "s"]).await, ":3", "entries are the stream's");
    assert_eq!(client.call(&["XGROUP", "CREATE", "s", "g", "$"]).await, "+OK");
    assert_ne!(get(&server, GROUP).await["id"], queue, "a group of the same name is another queue");
}
