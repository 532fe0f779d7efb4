//! Connections that end, stall, pipeline, or speak HTTP/2.

use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::Factory;
use crate::faulty::Fault;
use crate::raw::{Connection, request};
use crate::test_server::TestServer;

/// Ends a connection so that the other side is told with a reset.
fn reset(connection: Connection) {
    connection.stream.set_zero_linger().expect("a connected socket takes options");
}

pub(crate) async fn a_closed_connection_is_no_waiter(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(server.begin_claim("q", 20).await);
    }
    server.until_waiting(20).await;
    for (at, client) in clients.into_iter().enumerate() {
        if at % 2 == 0 { drop(client) } else { reset(client) }
    }
    server.until_waiting(0).await;
    assert_eq!(server.get("/v1/system").await.data()["waiters"], json!({ "claims": 0, "queues": 0 }));
    server.publish("q", 1).await;
    let claim = server.claim("q", 900).await;
    assert_eq!(claim["event"]["attemptCount"], 1);
    assert_eq!(claim["event"]["deliveryCount"], 1, "nobody had it before");
}

/// The engine works for a waiter that hangs up meanwhile.
pub(crate) async fn a_lease_whose_answer_was_not_taken_goes_back(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let client = server.begin_claim("q", 20).await;
    server.until_waiting(1).await;
    server.engine.break_with(Fault::Late(1_500));
    // The event is published and leased to the waiter at once; the answers take their time.
    let hang_up = async {
        while server.get("/v1/event-queues/q").await.data()["counts"]["leased"] != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        reset(client);
    };
    tokio::join!(server.publish("q", 1), hang_up);
    server.engine.heal();
    let mut claim = Value::Null;
    for _ in 0..1_000 {
        claim = server.claim("q", 900).await;
        if claim != Value::Null {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let counts = (&claim["event"]["attemptCount"], &claim["event"]["deliveryCount"]);
    assert_eq!(counts, (&json!(1), &json!(2)), "given back: the attempt is not counted, the fence is");
}

pub(crate) async fn a_slow_head_and_an_idle_connection_are_closed(factory: Factory) {
    let server = TestServer::start_with(factory, |config| {
        config.patience.head = Duration::from_millis(300);
        config.patience.keep_alive = Duration::from_millis(900);
    })
    .await;
    let mut silent = server.connect().await;
    let mut slow = server.connect().await;
    slow.send(b"GET /healthz HTTP/1.1\r\nHo").await;
    let mut idle = server.connect().await;
    idle.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n").await;
    assert_eq!(idle.answer().await.expect("an answer").code(), 0);
    let began = std::time::Instant::now();
    assert!(silent.is_closed_within(Duration::from_secs(5)).await, "nothing was ever sent");
    assert!(slow.is_closed_within(Duration::from_secs(5)).await, "half a head was sent");
    println!("silent and slow ones were closed after {:?}", began.elapsed());
    // An idle one may still speak, for longer than a head may take.
    tokio::time::sleep(Duration::from_millis(600).saturating_sub(began.elapsed())).await;
    idle.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n").await;
    assert_eq!(idle.answer().await.expect("kept alive").code(), 0);
    assert!(idle.is_closed_within(Duration::from_secs(6)).await, "idle for too long");
    assert_eq!(server.get("/v1/me").await.code(), 0);
}

/// Room for one large body: a second one waits until the first is read, and small ones never do.
pub(crate) async fn large_bodies_under_way_wait_for_room(factory: Factory) {
    let server = TestServer::start_with(factory, |config| {
        config.limits.request_bytes = 1024 * 1024;
        config.limits.bodies_bytes = 1024 * 1024;
    })
    .await;
    server.queue("q", json!({})).await;
    let events: Vec<Value> =
        (0..9).map(|n| json!({ "payload": { "n": n, "x": "y".repeat(100_000) } })).collect();
    let body = json!({ "events": events }).to_string();
    let bytes = request("POST", "/v1/event-queues/q/events/batch", &server.key, Some(&body));
    let (begin, end) = bytes.split_at(bytes.len() / 2);
    let mut first = server.connect().await;
    first.send(begin).await;
    let mut second = server.connect().await;
    second.send(begin).await;
    server.publish("q", 1).await;
    // Whichever has the room, the other gets it after: both have to be sent to the end.
    let finish = async |mut connection: Connection| {
        connection.send(end).await;
        connection.answer().await.expect("an answer").code()
    };
    let codes = tokio::join!(finish(first), finish(second));
    assert_eq!(codes, (0, 0), "one after the other");
    let counts = &server.get("/v1/event-queues/q").await.data()["counts"];
    assert_eq!(counts["ready"], 19, "both batches and the small one");
}

pub(crate) async fn a_large_body_that_finds_no_room_is_told_so(factory: Factory) {
    let server = TestServer::start_with(factory, |config| {
        config.limits.request_bytes = 1024 * 1024;
        config.limits.bodies_bytes = 1024 * 1024;
        config.patience.body_idle = Duration::from_millis(300);
    })
    .await;
    let head = |length: usize| {
        format!(
            "POST /v1/event-queues HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            server.key
        )
    };
    let mut holder = server.connect().await;
    holder.send(head(1_000_000).as_bytes()).await;
    for _ in 0..5 {
        // Drip, so that the holder's own patience lasts.
        holder.send(b" ").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut late = server.connect().await;
    late.send(head(900_000).as_bytes()).await;
    let dripping = async {
        for _ in 0..20 {
            holder.send(b" ").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (answer, ()) = tokio::join!(late.answer(), dripping);
    let answer = answer.expect("the late one is told");
    assert_eq!(answer.code(), 40_800);
    assert_eq!(answer.envelope()["data"]["retryable"], true);
}

/// Room for one page of large payloads: while nobody reads it, others are told so, and what is small is served.
pub(crate) async fn a_large_answer_that_finds_no_room_is_told_so(factory: Factory) {
    let server = TestServer::start_with(factory, |config| {
        config.limits.answers_bytes = 16 * 1024 * 1024;
        config.patience.body_idle = Duration::from_millis(200);
    })
    .await;
    server.queue("q", json!({})).await;
    let events: Vec<Value> =
        (0..25).map(|n| json!({ "payload": { "n": n, "x": "y".repeat(250_000) } })).collect();
    for _ in 0..3 {
        server.post("/v1/event-queues/q/events/batch", json!({ "events": events })).await;
    }
    let page = "/v1/event-queues/q/events?includePayload=true&limit=64";
    let mut holder = server.connect().await;
    holder.send(&request("GET", page, &server.key, None)).await;
    // The holder may not have been seen yet.
    let told = async {
        loop {
            let answer = server.get(page).await;
            if answer.code() != 0 {
                return answer;
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), told).await.expect("it is told");
    assert_eq!(told.code(), 42_900);
    assert_eq!(told.envelope()["data"]["retryable"], true);
    let claim = json!({ "waitSeconds": 0, "maxEvents": 30 });
    let claim = server.post("/v1/event-queues/q/claim-batch", claim).await;
    assert_eq!(claim.code(), 42_900, "a large claim is answered at once, and given back");
    let list = server.get("/v1/event-queues/q/events?limit=64").await;
    assert_eq!(list.data()["items"].as_array().expect("a list").len(), 64, "what is small needs no room");
    let answer = holder.answer().await.expect("it is read at last");
    assert_eq!(answer.data()["items"].as_array().expect("a list").len(), 64);
    let counts = &server.get("/v1/event-queues/q").await.data()["counts"];
    assert_eq!((&counts["ready"], &counts["leased"]), (&json!(75), &json!(0)));
    let claim = server.claim("q", 900).await;
    assert_eq!(claim["event"]["attemptCount"], 1, "none was counted for the claim that found no room");
}

pub(crate) async fn pipelined_requests_are_answered_in_order(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let mut connection = server.connect().await;
    let mut sent = Vec::new();
    for n in 0..50 {
        let body = json!({ "payload": { "n": n } }).to_string();
        sent.extend(request("POST", "/v1/event-queues/q/events", &server.key, Some(&body)));
    }
    connection.send(&sent).await;
    let mut last = String::new();
    for _ in 0..50 {
        let id =
            connection.answer().await.expect("each is answered").data()["id"].as_str().unwrap().to_owned();
        assert!(id > last, "ids rise in the order of publishing");
        last = id;
    }
}

pub(crate) async fn http2_is_served_and_its_reset_ends_a_wait(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let stream = std::net::TcpStream::connect(server.running.http_addr()).expect("the server listens");
    stream.set_nonblocking(true).expect("a socket takes options");
    let other_end = stream.try_clone().expect("a descriptor is left");
    let stream = TcpStream::from_std(stream).expect("within the runtime");
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("a handshake");
    let driver = tokio::spawn(connection);
    let call = |method: &str, path: &str, body: Value| {
        http::Request::builder()
            .method(method)
            .uri(format!("http://t{path}"))
            .header("authorization", format!("Bearer {}", server.key))
            .header("content-type", "application/json")
            .body(axum::body::Body::from(body.to_string()))
            .expect("a request")
    };
    let made = sender.send_request(call("POST", "/v1/event-queues/q/events", json!({ "payload": {} }))).await;
    assert_eq!(made.expect("an answer").status(), 201);
    let claim =
        sender.send_request(call("POST", "/v1/event-queues/q/claim", json!({}))).await.expect("an answer");
    assert_eq!(claim.status(), 200);
    drop(claim);

    let waiting = sender.send_request(call("POST", "/v1/event-queues/q/claim", json!({ "waitSeconds": 30 })));
    let waiting = tokio::spawn(waiting);
    server.until_waiting(1).await;
    waiting.abort();
    server.until_waiting(0).await;
    let waiting = sender.send_request(call("POST", "/v1/event-queues/q/claim", json!({ "waitSeconds": 30 })));
    let waiting = tokio::spawn(waiting);
    server.until_waiting(1).await;
    other_end.shutdown(std::net::Shutdown::Both).expect("it is connected");
    server.until_waiting(0).await;
    drop((waiting, driver));
}
