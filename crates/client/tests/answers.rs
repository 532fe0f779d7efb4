//! How answers, good and bad, are read.
//!
//! Lives here: decoding, failures and time limits against a canned server. Not here: what the real
//! server does with the same calls (`server.rs`).

mod canned;

use std::time::Duration;

use canned::{Canned, Reply, envelope};
use naven_client::{
    AckResult, ClaimRequest, Client, Code, DelaySeconds, Error, ErrorCode, Headers, LeaseSeconds, LeaseToken,
    Nack, NackMode, Percent, Progress, PublishRequest, QueueFields, QueuePatchRequest, RedriveRequest,
    TraceContext, Unfinished, WaitSeconds, payload,
};

const EVENT: &str = "evt_01kb7pn7zzzzzzzzzzzzzzzzzz";

async fn client(replies: Vec<Reply>) -> (Canned, Client) {
    let server = Canned::start(replies).await;
    let client = Client::new(&server.url, "nvk_k").expect("an address");
    (server, client)
}

fn failure(status: u16, headers: &'static str, code: u32, data: &str) -> Reply {
    Reply::Answer(status, headers, format!(r#"{{"code":{code},"message":"no","data":{data}}}"#))
}

#[tokio::test]
async fn a_claim_keeps_the_payload_byte_for_byte_and_takes_unknown_fields() {
    let payload = r#"{"n":1e3, "big":12345678901234567890.10,"a":1,"a":2,"s":"\ud800"}"#;
    let data = format!(
        r#"{{"event":{{"id":"{EVENT}","queue":"mail","scheduleId":null,"payload":{payload},"headers":{{"k":"v"}},
        "scheduledAt":"2026-11-29T15:00:00.000Z","attemptCount":2,"expiryCount":1,"deliveryCount":7,
        "traceContext":null,"fromTheFuture":[1]}},"leaseToken":"t0k3n","leaseExpiresAt":"2026-11-29T15:01:00.000Z","leaseMs":60000}}"#
    );
    let (mut server, client) = client(vec![envelope(&data)]).await;
    let options = ClaimRequest {
        lease_seconds: Some(LeaseSeconds::try_from(900).unwrap()),
        wait_seconds: Some(WaitSeconds::try_from(0).unwrap()),
        consumer_id: Some("w1".parse().unwrap()),
    };
    let claim = client.claim("mail", &options).await.unwrap().expect("an event");
    assert_eq!(claim.event.payload.get(), payload);
    assert_eq!(claim.event.id.to_string(), EVENT);
    assert_eq!((claim.event.attempt_count, claim.event.expiry_count, claim.event.delivery_count), (2, 1, 7));
    assert_eq!(claim.lease_token.reveal(), "t0k3n");
    assert!(!format!("{claim:?}").contains("t0k3n"), "the token is a secret");

    let request = server.request().await;
    assert!(request.starts_with("POST /v1/event-queues/mail/claim HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer nvk_k\r\n"), "{request}");
    assert!(request.ends_with(r#"{"leaseSeconds":900,"waitSeconds":0,"consumerId":"w1"}"#), "{request}");
}

#[tokio::test]
async fn an_empty_claim_is_none() {
    let (_server, client) = client(vec![envelope("null")]).await;
    assert!(client.claim("mail", &ClaimRequest::default()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_published_payload_is_sent_as_it_is_written() {
    let text = r#"{"z":1.50,"a":{"b":[]}}"#;
    let data = format!(
        r#"{{"id":"{EVENT}","stream":"mail","streamId":null,"queue":"mail","state":"brandNew","headers":{{}},
        "createdAt":"2026-11-29T15:00:00.000Z","scheduledAt":"2026-11-29T15:00:00.000Z","deliveries":[]}}"#
    );
    let (mut server, client) = client(vec![envelope(&data)]).await;
    let event = PublishRequest {
        delay_seconds: Some(DelaySeconds::try_from(5).unwrap()),
        headers: Headers::stored(vec![("k".to_owned(), "v".to_owned())]),
        ..PublishRequest::new(payload::from_json(text).unwrap())
    };
    let event = client.publish("mail", &event).await.unwrap();
    assert_eq!(event.state.as_deref(), Some("brandNew"), "a newer server's word");
    let request = server.request().await;
    assert!(
        request.ends_with(&format!(r#"{{"payload":{text},"delaySeconds":5,"headers":{{"k":"v"}}}}"#)),
        "{request}"
    );
}

#[tokio::test]
async fn a_nack_says_why_when_and_how() {
    let data = r#"{"state":"dead","nextAttemptAt":null,"replayed":false}"#;
    let (mut server, client) = client(vec![envelope(data)]).await;
    let nack = Nack { mode: NackMode::Fatal, ..Nack::failed("no such address") };
    let nacked = client.nack(EVENT.parse().unwrap(), &LeaseToken::new("t"), &nack).await.unwrap();
    assert_eq!(nacked.state, "dead");
    let request = server.request().await;
    assert!(request.starts_with(&format!("POST /v1/events/{EVENT}/nack ")), "{request}");
    assert!(request.ends_with(r#"{"leaseToken":"t","error":"no such address","mode":"fatal"}"#), "{request}");
}

#[tokio::test]
async fn a_refusal_carries_all_that_the_server_said() {
    let data = r#"{"reason":"invalid_field","requestId":"req-9","retryable":false,
        "fields":[{"path":"leaseSeconds","rule":"an integer from 1 to 43200","min":1,"max":43200}]}"#;
    let (_server, client) = client(vec![failure(400, "", 40_001, data)]).await;
    let error = client.claim("mail", &ClaimRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::InvalidField));
    let Error::Api(error) = error else { panic!("the server's own answer") };
    assert_eq!((error.status, error.message.as_str(), error.reason.as_str()), (400, "no", "invalid_field"));
    assert_eq!(error.request_id.as_deref(), Some("req-9"));
    assert_eq!(error.fields[0].path, "leaseSeconds");
    assert_eq!(error.fields[0].max, Some(43_200));
}

#[tokio::test]
async fn a_key_travels_in_its_header_and_a_partial_failure_is_an_answer_of_items() {
    let items = r#"[{"index":0,"eventId":"e","code":0,"message":"ok",
        "data":{"state":"done","settledAt":null,"replayed":false}},
        {"index":1,"eventId":"e","code":40998,"message":"no","data":{"reason":"new","retryable":true}}]"#;
    let data = format!(r#"{{"reason":"partial_failure","failed":1,"items":{items}}}"#);
    let (mut server, client) =
        client(vec![envelope("null"), failure(207, "", 20_700, &data), failure(409, "", 40_901, "null")])
            .await;
    let key = "\"k-1\"".parse().unwrap();
    assert!(client.once(&key).claim("mail", &ClaimRequest::default()).await.unwrap().is_none());
    let request = server.request().await;
    assert!(request.contains("idempotency-key: \"k-1\"\r\n"), "{request}");
    let lease = (EVENT.parse().unwrap(), LeaseToken::new("t"));
    let acked = client.ack_batch(&[lease.clone(), lease.clone()]).await.unwrap();
    assert!(!server.request().await.contains("idempotency-key"));
    assert!(acked[0].is_ok());
    let Err(Error::Api(refused)) = &acked[1] else { panic!("the item's own answer") };
    assert_eq!((refused.code, refused.status), (Code::Unknown(40_998), 409));
    assert!(client.ack_batch(&[lease]).await.unwrap_err().is_lease_gone(), "no answer of items");
}

#[tokio::test]
async fn waiting_times_come_from_the_body_or_the_header() {
    let (_server, client) = client(vec![
        failure(
            503,
            "retry-after: 7\r\n",
            50_301,
            r#"{"reason":"storage_unavailable","retryable":true,"retryAfterSeconds":3}"#,
        ),
        failure(
            503,
            "retry-after: 7\r\nnaven-request-id: r7\r\n",
            50_302,
            r#"{"reason":"draining","retryable":true}"#,
        ),
    ])
    .await;
    let mut errors = Vec::new();
    for _ in 0..2 {
        errors.push(client.system().await.unwrap_err());
    }
    assert_eq!(errors[0].retry_after(), Some(Duration::from_secs(3)));
    assert_eq!(errors[1].retry_after(), Some(Duration::from_secs(7)));
    assert!(errors.iter().all(Error::is_retryable));
    let Error::Api(second) = &errors[1] else { panic!("the server's own answer") };
    assert_eq!(second.request_id.as_deref(), Some("r7"));
}

#[tokio::test]
async fn a_code_of_a_newer_server_is_kept_as_a_number() {
    let (_server, client) =
        client(vec![failure(409, "", 40_998, r#"{"reason":"new","retryable":true}"#)]).await;
    let error = client.ack(EVENT.parse().unwrap(), &LeaseToken::new("t")).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(!error.is_lease_gone());
    let Error::Api(error) = error else { panic!("the server's own answer") };
    assert_eq!(error.code, Code::Unknown(40_998));
}

#[tokio::test]
async fn a_page_of_a_proxy_is_no_answer_of_ours() {
    let (_server, client) = client(vec![Reply::Answer(502, "", "<html>Bad Gateway</html>".to_owned())]).await;
    let error = client.system().await.unwrap_err();
    assert!(matches!(error, Error::Decode { status: 502, .. }), "{error:?}");
    assert!(error.is_retryable());
    assert!(error.may_have_applied());
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_the_outcome_open() {
    let (_server, client) = client(vec![Reply::HangUp]).await;
    let error = client.ack(EVENT.parse().unwrap(), &LeaseToken::new("t")).await.unwrap_err();
    assert!(matches!(error, Error::Transport { may_have_arrived: true, .. }), "{error:?}");
    assert!(error.is_retryable());
    assert!(error.may_have_applied());
}

#[tokio::test]
async fn what_never_connected_never_arrived() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::new(&url, "k").unwrap().system().await.unwrap_err();
    assert!(matches!(error, Error::Transport { may_have_arrived: false, .. }), "{error:?}");
    assert!(error.is_retryable());
    assert!(!error.may_have_applied());
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_leaves_the_outcome_open() {
    let server = Canned::start(vec![Reply::Silence]).await;
    let client = Client::new(&server.url, "k").unwrap().with_call_timeout(Duration::from_millis(50));
    let error = client.system().await.unwrap_err();
    assert!(matches!(error, Error::Transport { may_have_arrived: true, .. }), "{error:?}");
}

#[tokio::test]
async fn a_dead_letter_keeps_its_payload_byte_for_byte() {
    let payload = r#"{"n":1.10,"n":2}"#;
    let item = format!(
        r#"{{"id":"{EVENT}","stream":"mail","queue":"mail","state":"dead","payload":{payload},"headers":{{}},
        "createdAt":"2026-11-29T15:00:00.000Z","scheduledAt":"2026-11-29T15:00:00.000Z","deliveries":[],
        "deadAt":"2026-11-29T15:02:00.000Z","reason":"fatal","attempts":[{{"deliveryCount":1,"consumerId":null,
        "leasedAt":"2026-11-29T15:01:00.000Z","endedAt":null,"outcome":"fatal","error":"x"}}]}}"#
    );
    let data = format!(r#"{{"items":[{item}],"nextCursor":"c2"}}"#);
    let (mut server, client) = client(vec![envelope(&data)]).await;
    let page = client.dead_letters("mail", Some("c 1")).await.unwrap();
    assert_eq!(page.next_cursor.as_deref(), Some("c2"));
    assert_eq!(page.items[0].event.payload.as_ref().map(|payload| payload.get()), Some(payload));
    let dead = &page.items[0].dead;
    assert_eq!((dead.reason.as_str(), dead.attempts.len()), ("fatal", 1));
    let request = server.request().await;
    assert!(request.contains("/dead-letters?includePayload=true&cursor=c+1 "), "{request}");
}

/// A queue as a server shows it.
const QUEUE: &str = r#"{"id":"evq_01kb7pn7zzzzzzzzzzzzzzzzzz","name":"mail","stream":"mail","description":"",
    "paused":false,"pauseReason":null,"defaultLeaseSeconds":60,"maxLeaseSeconds":0,"maxAttempts":5,
    "backoff":{"initialSeconds":5,"factor":2,"maxSeconds":3600,"jitter":1},"lateAckGraceSeconds":0,
    "redisLeaseSeconds":null,"keepDonePayload":false,"protectUnread":true,"retentionSeconds":{"done":1,"dead":2},
    "dedupeWindowSeconds":300,"retention":"consumed","counts":{},"oldestReadyAgeSeconds":null,
    "createdAt":"2026-11-29T15:00:00.000Z","updatedAt":"2026-11-29T15:00:00.000Z"}"#;

#[tokio::test]
async fn a_queue_is_changed_at_the_version_that_was_read() {
    let shown = || match envelope(QUEUE) {
        Reply::Answer(status, _, body) => Reply::Answer(status, "etag: \"3\"\r\n", body),
        other => other,
    };
    let gone = envelope(r#"{"id":"evq_01kb7pn7zzzzzzzzzzzzzzzzzz","deleted":true}"#);
    let (mut server, client) = client(vec![shown(), shown(), gone]).await;
    let read = client.queue_tagged("mail").await.unwrap();
    assert_eq!((read.value.name.as_str(), read.etag.as_deref()), ("mail", Some("\"3\"")));
    let request = server.request().await;
    assert!(!request.to_lowercase().contains("if-match"), "{request}");

    let fields = QueueFields { max_attempts: Some(5), ..QueueFields::default() };
    let changes = QueuePatchRequest { fields };
    let changed = client.patch_queue("mail", &changes, read.etag.as_deref()).await.unwrap();
    assert_eq!(changed.value.max_attempts, Some(5));
    let request = server.request().await;
    assert!(request.starts_with("PATCH /v1/event-queues/mail HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("if-match: \"3\"\r\n"), "{request}");
    assert!(request.ends_with(r#"{"maxAttempts":5}"#), "{request}");

    assert!(client.delete_queue_at("mail", Unfinished::Bury, Some("\"3\"")).await.unwrap().deleted);
    let request = server.request().await;
    assert!(request.starts_with("DELETE /v1/event-queues/mail?force=true HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("if-match: \"3\"\r\n"), "{request}");
}

#[tokio::test]
async fn a_queue_is_paused_for_a_reason_and_an_event_redriven_with_its_attempts() {
    let refused = || failure(404, "", 40_401, "null");
    let (mut server, client) = client(vec![refused(), refused(), refused()]).await;
    client.pause_queue("mail", Some("why")).await.unwrap_err();
    let request = server.request().await;
    assert!(request.starts_with("POST /v1/event-queues/mail/pause HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with(r#"{"reason":"why"}"#), "{request}");
    client.resume_queue("mail").await.unwrap_err();
    let request = server.request().await;
    assert!(request.starts_with("POST /v1/event-queues/mail/resume HTTP/1.1\r\n"), "{request}");
    let again = RedriveRequest { reset_attempts: false, queue: Some("mail".to_owned()), target_queue: None };
    client.redrive_as(EVENT.parse().unwrap(), &again).await.unwrap_err();
    let request = server.request().await;
    assert!(request.ends_with(r#"{"resetAttempts":false,"queue":"mail"}"#), "{request}");
}

#[tokio::test]
async fn what_is_told_of_the_work_is_sent_as_it_is_written() {
    let beaten = envelope(r#"{"leaseExpiresAt":null,"leaseMs":null,"state":"done","cancelRequested":false}"#);
    let acked = envelope(r#"{"state":"done","settledAt":null,"replayed":false}"#);
    let (mut server, client) = client(vec![beaten, acked, envelope("null")]).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let client = client.with_trace(TraceContext::of_headers(parent, ["a=1"]).expect("a trace"));
    let (event, token) = (EVENT.parse().unwrap(), LeaseToken::new("t"));
    let progress = Progress::of(Percent::try_from(40).unwrap()).with_note("page 2");
    client.heartbeat_with(event, &token, None, progress).await.unwrap();
    let request = server.request().await;
    assert!(
        request.ends_with(r#"{"leaseToken":"t","progress":{"percent":40,"note":"page 2"}}"#),
        "{request}"
    );
    assert!(request.contains(&format!("traceparent: {parent}\r\n")), "{request}");
    assert!(request.contains("tracestate: a=1\r\n"), "{request}");
    let result = AckResult::parse(r#"{ "sum": 1.50 }"#).unwrap();
    client.ack_with(event, &token, result).await.unwrap();
    let request = server.request().await;
    assert!(request.ends_with(r#"{"leaseToken":"t","result":{ "sum": 1.50 }}"#), "{request}");
    let stateless = TraceContext::of_headers(parent, []).expect("a trace");
    assert!(client.with_trace(stateless).claim("mail", &ClaimRequest::default()).await.unwrap().is_none());
    assert!(!server.request().await.contains("tracestate"), "there is none");
}
