//! Every call of the client against the real server, started in this process over the model engine.
//!
//! Lives here: that requests and replies of both sides fit. Not here: what an engine promises, and
//! answers that this server does not give (`answers.rs`).

use std::sync::Arc;
use std::time::Duration;

use naven_client::{
    AckResult, BulkAnswer, ClaimBatchRequest, ClaimReply, ClaimRequest, Client, DeadDiscardRequest,
    DeadFilterRequest, DeadRedriveRequest, DelaySeconds, Entries, Error, ErrorCode, Events, Headers,
    LeaseSeconds, LeaseToken, Nack, NackMode, Pending, PendingListReply, Percent, Progress, PublishRequest,
    PurgeRequest, QueueCreateRequest, QueueFields, RescheduleRequest, ResetRequest, StartFrom, StatsSpan,
    TailFilter, Tailed, Timestamp, TraceContext, Unfinished, WaitSeconds, Which, payload,
};
use naven_server::auth::BearerKey;
use naven_server::{Running, Server, ServerConfig, SystemClock, SystemRandom};
use naven_store::model::Model;

const PAYLOAD: &str = r#"{"n":1.50,"a":1,"a":"é😀"}"#;

/// A server with one queue `q`, whose retries are due at once.
async fn server() -> (Running, Client) {
    let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
    let key = BearerKey::generate(&*clock, &*random);
    let address = "127.0.0.1:0".parse().expect("an address");
    let config = ServerConfig { admin_key: Some(key.clone()), ..ServerConfig::new(address) };
    let engine = Arc::new(Model::new(clock.clone(), random.clone()));
    let running = Server::start(config, engine, clock, random).await.expect("a server");
    let client = Client::new(&format!("http://{}", running.http_addr()), key.reveal()).expect("a client");
    let backoff = naven_client::Backoff { initial_seconds: 0, ..naven_client::Backoff::default() };
    let fields = QueueFields { backoff: Some(backoff), ..QueueFields::default() };
    client.create_queue(&queue("q", fields)).await.expect("a queue");
    (running, client)
}

fn queue(name: &str, fields: QueueFields) -> QueueCreateRequest {
    QueueCreateRequest { fields, ..QueueCreateRequest::new(name.parse().expect("a name")) }
}

fn event() -> PublishRequest {
    PublishRequest::new(payload::from_json(PAYLOAD).expect("a payload"))
}

async fn claim(client: &Client) -> ClaimReply {
    let options = ClaimRequest { wait_seconds: WaitSeconds::try_from(5).ok(), ..ClaimRequest::default() };
    client.claim("q", &options).await.expect("an answer").expect("an event")
}

#[tokio::test]
async fn an_event_goes_through() {
    let (_running, client) = server().await;
    let headers = Headers::stored(vec![("k".to_owned(), "v".to_owned())]);
    let published = client.publish("q", &PublishRequest { headers, ..event() }).await.unwrap();
    assert_eq!(published.state.as_deref(), Some("ready"));
    let claim = claim(&client).await;
    assert_eq!(claim.event.id, published.id);
    assert_eq!(claim.event.payload.get(), PAYLOAD);
    assert_eq!(claim.event.headers.iter().collect::<Vec<_>>(), [("k", "v")]);
    let lease = LeaseSeconds::try_from(900).ok();
    let beat = client.heartbeat(claim.event.id, &claim.lease_token, lease).await.unwrap();
    assert!(beat.lease_expires_at > Some(claim.lease_expires_at));
    assert_eq!(client.event(claim.event.id).await.unwrap().payload.unwrap().get(), PAYLOAD);
    assert!(!client.ack(claim.event.id, &claim.lease_token).await.unwrap().replayed);
    assert!(client.ack(claim.event.id, &claim.lease_token).await.unwrap().replayed);
    let done = client.event(claim.event.id).await.unwrap();
    assert_eq!((done.state.as_deref(), done.payload), (Some("done"), None));
    let finished = client.cancel(claim.event.id, None, None).await.unwrap_err();
    assert_eq!(finished.code(), Some(ErrorCode::WrongState));
    let unheld = client.publish("q", &event()).await.unwrap();
    let request = RescheduleRequest { max_attempts: Some(Some(3)), ..RescheduleRequest::default() };
    let changed = client.reschedule(unheld.id, &request).await.unwrap();
    assert_eq!((changed.deliveries[0].max_attempts, changed.scheduled_at), (Some(3), unheld.scheduled_at));
    assert_eq!(client.run_now(unheld.id, Some("q")).await.unwrap().state.as_deref(), Some("ready"));
    let running = client.run_now(claim.event.id, None).await.unwrap_err();
    assert_eq!(running.code(), Some(ErrorCode::WrongState));
    let cancelled = client.cancel(unheld.id, Some("q"), Some("no use")).await.unwrap();
    assert_eq!(cancelled.state.as_deref(), Some("cancelled"));
    assert_eq!(cancelled.deliveries[0].cancel_reason.as_deref(), Some("no use"));
    let late = client.nack(claim.event.id, &claim.lease_token, &Nack::failed("late")).await.unwrap_err();
    assert_eq!(late.code(), Some(ErrorCode::LeaseSettled));
    assert!(late.is_lease_gone());
}

#[tokio::test]
async fn batches_and_delays_go_through() {
    let (_running, client) = server().await;
    let later = PublishRequest { delay_seconds: DelaySeconds::try_from(60).ok(), ..event() };
    let published = client.publish_batch("q", &[event(), event(), later]).await.unwrap();
    assert_eq!(published[2].state.as_deref(), Some("scheduled"));
    let batch =
        ClaimBatchRequest { max_events: 10, lease_seconds: None, wait_seconds: None, consumer_id: None };
    let claims = client.claim_batch("q", &batch).await.unwrap();
    let ids: Vec<_> = claims.iter().map(|claim| claim.event.id).collect();
    assert_eq!(ids, [published[0].id, published[1].id]);
    let counts = client.queue("q").await.unwrap().counts;
    assert_eq!((counts.leased, counts.scheduled), (2, 1));
}

#[tokio::test]
async fn a_dead_event_is_listed_and_redriven() {
    let (_running, client) = server().await;
    client.publish("q", &event()).await.unwrap();
    let first = claim(&client).await;
    let failed = client.nack(first.event.id, &first.lease_token, &Nack::failed("try again")).await.unwrap();
    assert_ne!(failed.state, "dead");
    let second = claim(&client).await;
    assert_eq!(second.event.attempt_count, 2);
    let fatal = Nack { mode: NackMode::Fatal, ..Nack::failed("no such address") };
    let nacked = client.nack(second.event.id, &second.lease_token, &fatal).await.unwrap();
    assert_eq!((nacked.state.as_str(), nacked.next_attempt_at), ("dead", None));

    let page = client.dead_letters("q", None).await.unwrap();
    let letter = &page.items[0];
    assert_eq!(letter.event.payload.as_ref().unwrap().get(), PAYLOAD);
    assert_eq!((letter.dead.reason.as_str(), letter.dead.attempts.len()), ("fatal", 2));
    client.redrive(letter.event.id).await.unwrap();
    let third = claim(&client).await;
    assert_eq!((third.event.attempt_count, third.event.delivery_count), (1, 3));
    let again = client.redrive(third.event.id).await.unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::WrongState));
}

#[tokio::test]
async fn many_dead_events_are_found_by_error_redriven_and_forgotten() {
    let (_running, client) = server().await;
    let mut died = Vec::new();
    for error in ["no user 1", "no user 2", "timeout"] {
        client.publish("q", &event()).await.unwrap();
        let claimed = claim(&client).await;
        let fatal = Nack { mode: NackMode::Fatal, ..Nack::failed(error) };
        client.nack(claimed.event.id, &claimed.lease_token, &fatal).await.unwrap();
        died.push(claimed.event.id.to_string());
    }
    let filter = DeadFilterRequest { error: Some("no user".to_owned()), ..DeadFilterRequest::default() };
    let page = client.dead_letters_where("q", &filter, None).await.unwrap();
    assert_eq!((page.items.len(), page.next_cursor), (2, None));
    let groups = client.dead_letter_groups("q", &DeadFilterRequest::default(), 9).await.unwrap();
    assert_eq!(groups.items.iter().map(|group| group.count).collect::<Vec<_>>(), [2, 1]);

    let redrive =
        |which, dry_run| DeadRedriveRequest { which, reset_attempts: true, target_queue: None, dry_run };
    let dry = client.redrive_many("q", &redrive(Which::Filter(filter.clone()), true)).await.unwrap();
    assert!(matches!(dry, BulkAnswer::Matched(matched) if matched.matched == 2));
    let key = "redrive-1".parse().unwrap();
    let request = redrive(Which::Filter(filter), false);
    let begun = client.once(&key).redrive_many("q", &request).await.unwrap();
    let BulkAnswer::Begun(operation) = begun else { panic!("{begun:?}") };
    let over = loop {
        let shown = client.operation(operation.id).await.unwrap();
        if !matches!(shown.state.as_str(), "pending" | "running") {
            break shown;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((over.state.as_str(), over.done, over.matched), ("done", 2, Some(2)));
    assert_eq!(client.operations(None).await.unwrap().items, [over]);
    let again = client.cancel_operation(operation.id).await.unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::WrongState));

    let dry = PurgeRequest { dry_run: true, ..PurgeRequest::default() };
    let dry = client.purge("q", &dry).await.unwrap();
    assert!(matches!(dry, BulkAnswer::Matched(matched) if matched.matched == 2));
    let old = PurgeRequest { older_than: Some(Timestamp::from_ms(0)), ..PurgeRequest::default() };
    let key = "purge-1".parse().unwrap();
    let BulkAnswer::Begun(purge) = client.once(&key).purge("q", &old).await.unwrap() else { panic!("begun") };
    assert_eq!(purge.kind, "purge");

    let named = DeadDiscardRequest { which: Which::Ids(died), dry_run: false };
    let BulkAnswer::Done(reply) = client.discard_many("q", &named).await.unwrap() else { panic!("named") };
    assert_eq!(reply.items.iter().map(|item| item.code).collect::<Vec<_>>(), [40_908, 40_908, 0]);
}

#[tokio::test]
async fn events_are_listed_by_state_payload_and_error() {
    let (_running, client) = server().await;
    let publish = |text: &str| PublishRequest::new(payload::from_json(text).expect("a payload"));
    let first = client.publish("q", &publish(r#"{"user":{"id":7}}"#)).await.unwrap();
    let claimed = claim(&client).await;
    let fatal = Nack { mode: NackMode::Fatal, ..Nack::failed("no user 7") };
    client.nack(claimed.event.id, &claimed.lease_token, &fatal).await.unwrap();
    let second = client.publish("q", &publish(r#"{"user":{"id":8},"a&b":"é +"}"#)).await.unwrap();

    let all = Events { include_total: true, limit: Some(1), ..Events::default() };
    let page = client.events("q", &all).await.unwrap();
    assert_eq!((page.items[0].id, page.items[0].payload.is_none()), (second.id, true));
    assert_eq!(page.total.map(|total| (total.value, total.capped)), Some((2, false)));
    assert!(!page.scan_truncated);
    let next = client.events("q", &Events { cursor: page.next_cursor, ..all }).await.unwrap();
    assert_eq!((next.items[0].id, next.next_cursor), (first.id, None));

    let any = Events { include_payload: true, ..Events::default() };
    let path = |text: &str| text.parse().expect("a path");
    for (events, found) in [
        (any.clone().in_state("dead"), vec![first.id]),
        (any.clone().in_state("dead").in_state("ready"), vec![second.id, first.id]),
        (any.clone().with_payload(path("user.id"), "8").with_payload(path("a&b"), "é +"), vec![second.id]),
        (Events { error: Some("no user".to_owned()), ..any.clone() }, vec![first.id]),
        (Events { text: Some("\"id\":7".to_owned()), ..any.clone() }, vec![first.id]),
        (Events { created_after: Some(first.created_at), ..any.clone() }, vec![second.id, first.id]),
        (Events { created_before: Some(first.created_at), ..any.clone() }, vec![]),
    ] {
        let page = client.events("q", &events).await.unwrap();
        assert_eq!(page.items.iter().map(|item| item.id).collect::<Vec<_>>(), found, "{events:?}");
        assert_eq!(page.total, None);
    }
    let payload = client.events("q", &any).await.unwrap().items.remove(1).payload;
    assert_eq!(payload.unwrap().get(), r#"{"user":{"id":7}}"#);
    let unknown = client.events("q", &any.in_state("gone")).await.unwrap_err();
    assert_eq!(unknown.code(), Some(ErrorCode::InvalidField));
}

#[tokio::test]
async fn one_event_goes_to_several_queues() {
    let (_running, client) = server().await;
    let on = |name: &str| QueueCreateRequest {
        stream: Some("Orders/EU".parse().expect("a name")),
        from: Some(StartFrom::Start),
        ..queue(name, QueueFields::default())
    };
    assert_eq!(client.create_queue(&on("mail")).await.unwrap().first_available, Some(None));
    client.create_queue(&on("audit")).await.unwrap();
    let published = client.publish_to_stream("Orders/EU", &event()).await.unwrap();
    assert_eq!((published.deliveries.len(), published.queue), (0, None));
    client.publish_batch_to_stream("Orders/EU", &[event(), event()]).await.unwrap();
    assert_eq!(client.event(published.id).await.unwrap().deliveries.len(), 2);

    let stream = client.stream("Orders/EU").await.unwrap();
    assert_eq!((stream.length, stream.queues, stream.first_id), (3, 2, published.stream_id));
    assert_eq!(client.streams("Orders", None).await.unwrap().items, [stream]);
    let page = Entries { limit: Some(2), ..Entries::default() };
    let first = client.entries("Orders/EU", &page).await.unwrap();
    assert_eq!(first.items[0].payload.as_ref().unwrap().get(), PAYLOAD);
    let next = Entries { cursor: first.next_cursor, ..page };
    assert_eq!(client.entries("Orders/EU", &next).await.unwrap().items.len(), 1);

    let batch =
        ClaimBatchRequest { max_events: 10, lease_seconds: None, wait_seconds: None, consumer_id: None };
    let claims = client.claim_batch("mail", &batch).await.unwrap();
    let mut leases: Vec<_> = claims.into_iter().map(|claim| (claim.event.id, claim.lease_token)).collect();
    leases[1].1 = LeaseToken::new("wrong");
    let beaten = client.heartbeat_batch(&leases, LeaseSeconds::try_from(900).ok()).await.unwrap();
    assert!(beaten[0].as_ref().is_ok_and(|reply| reply.lease_expires_at.is_some()));
    assert!(beaten[1].as_ref().is_err_and(Error::is_lease_gone));
    what_is_pending_comes_in_pages(&client).await;
    let acked = client.ack_batch(&leases).await.unwrap();
    assert_eq!(acked[0].as_ref().map(|reply| reply.state.as_str()).ok(), Some("done"));
    assert!(acked[1].as_ref().is_err_and(|error| error.code() == Some(ErrorCode::LeaseLost)));
    let (id, token) = leases[0].clone();
    let nacked = client.nack_batch(&[(id, token, Nack::failed("late"))]).await.unwrap();
    assert!(nacked[0].as_ref().is_err_and(|error| error.code() == Some(ErrorCode::LeaseSettled)));
    let timeline = client.timeline(published.id, Some("mail")).await.unwrap();
    assert_eq!(timeline.items[0].outcome.as_deref(), Some("acked"));

    let groups = client.groups("Orders/EU").await.unwrap();
    assert_eq!(groups.iter().map(|group| group.lag).collect::<Vec<_>>(), [0, 3]);
    let start = ResetRequest::Id("0-0".parse().expect("an id"));
    assert_eq!(client.reset_group("Orders/EU", "mail", &start).await.unwrap().counts.ready, 3);
    assert!(client.delete_group("Orders/EU", "audit", Unfinished::Bury).await.unwrap().deleted);
    assert!(client.delete_stream("Orders/EU", Unfinished::Bury).await.unwrap().deleted);
    let gone = client.publish_to_stream("Orders/EU", &event()).await.unwrap_err();
    assert_eq!(gone.code(), Some(ErrorCode::StreamOrGroupNotFound));
}

#[tokio::test]
async fn calls_under_a_key_may_be_repeated() {
    let (_running, client) = server().await;
    let key = "3f1c".parse().expect("a key");
    let once = client.once(&key);
    let published = once.publish("q", &event()).await.unwrap();
    assert_eq!(once.publish("q", &event()).await.unwrap(), published);
    let other = PublishRequest { max_attempts: Some(3), ..event() };
    let reused = once.publish("q", &other).await.unwrap_err();
    assert_eq!(reused.code(), Some(ErrorCode::IdempotencyKeyReused));
    let batch = once.publish_batch("q", &[event(), event()]).await.unwrap();
    assert_eq!(once.publish_batch("q", &[event(), event()]).await.unwrap(), batch);
    let first = once.claim("q", &ClaimRequest::default()).await.unwrap().expect("an event");
    let again = once.claim("q", &ClaimRequest::default()).await.unwrap().expect("the same");
    assert_eq!((again.event.id, again.lease_token), (first.event.id, first.lease_token));
    let made = once.create_queue(&queue("r", QueueFields::default())).await.unwrap();
    assert_eq!(once.create_queue(&queue("r", QueueFields::default())).await.unwrap().id, made.id);
    assert_eq!(client.queue("q").await.unwrap().counts.ready, 2);

    let known = PublishRequest { dedupe_key: "order 7".parse().ok(), ..event() };
    let first = client.publish("q", &known).await.unwrap();
    let second = client.publish("q", &known).await.unwrap();
    assert_eq!((first.deduped, second.deduped, second.id), (false, true, first.id));
}

#[tokio::test]
async fn failures_come_with_code_fields_and_request() {
    let (running, client) = server().await;
    let taken = client.create_queue(&queue("q", QueueFields::default())).await.unwrap_err();
    assert_eq!(taken.code(), Some(ErrorCode::NameTaken));
    let bad =
        client.publish("q", &PublishRequest { max_attempts: Some(1_001), ..event() }).await.unwrap_err();
    let naven_client::Error::Api(bad) = bad else { panic!("the server's own answer") };
    assert_eq!((bad.fields[0].path.as_str(), bad.fields[0].max), ("maxAttempts", Some(1_000)));
    assert!(bad.request_id.is_some());
    // A name with a slash must not reach another route.
    let none = client.queue("q/events").await.unwrap_err();
    assert_eq!(none.code(), Some(ErrorCode::QueueNotFound));
    let stranger = Client::new(&format!("http://{}", running.http_addr()), "nvk_wrong").unwrap();
    assert_eq!(stranger.system().await.unwrap_err().code(), Some(ErrorCode::KeyInvalid));
}

#[tokio::test]
async fn a_queue_is_removed_and_the_server_describes_itself() {
    let (running, client) = server().await;
    assert_eq!(client.system().await.unwrap().engine.name, "memory");
    client.publish("q", &event()).await.unwrap();
    let full = client.delete_queue("q", Unfinished::Refuse).await.unwrap_err();
    assert_eq!(full.code(), Some(ErrorCode::QueueNotEmpty));
    assert!(client.delete_queue("q", Unfinished::Bury).await.unwrap().deleted);
    assert_eq!(client.queue("q").await.unwrap_err().code(), Some(ErrorCode::QueueNotFound));
    running.shutdown().await;
    let gone = client.system().await.unwrap_err();
    assert!(gone.is_retryable(), "{gone:?}");
}

#[tokio::test]
async fn a_queue_is_watched() {
    let (_running, client) = server().await;
    let mut tail = client.tail("q", &TailFilter::default()).await.unwrap();
    client.publish("q", &event()).await.unwrap();
    let claim = claim(&client).await;
    client.ack(claim.event.id, &claim.lease_token).await.unwrap();
    for kind in ["published", "claimed", "acked"] {
        let Some(Tailed::Change(change)) = tail.next().await.unwrap() else { panic!("{kind} is told") };
        assert_eq!((change.kind.as_str(), change.event_id), (kind, claim.event.id));
    }
    let stats =
        client.stats("q", StatsSpan { step_seconds: Some(10), ..StatsSpan::default() }).await.unwrap();
    assert_eq!(stats.points.iter().map(|point| point.acked).sum::<u64>(), 1, "a tail comes last");
    let consumers = client.consumers("q").await.unwrap();
    assert!(consumers.items.iter().any(|item| item.last_claim_at.is_some()));
    let filter = TailFilter { states: vec!["dead".to_owned()], sample: Some(0) };
    let refused = client.tail("q", &filter).await.map(drop);
    assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::InvalidField));
    client.delete_queue("q", Unfinished::Bury).await.unwrap();
    assert_eq!(tail.next().await.unwrap(), None);
}

#[tokio::test]
async fn what_publishers_and_holders_tell_comes_back() {
    let (_running, client) = server().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext::of_headers(parent, ["a=1"]).expect("a trace");
    let traced = client.clone().with_trace(trace.clone());
    assert_eq!(traced.publish("q", &event()).await.unwrap().trace_context, Some(trace.clone()));
    let first = claim(&client).await;
    assert_eq!(first.event.trace_context, Some(trace));
    assert_eq!(client.publish("q", &event()).await.unwrap().trace_context, None);
    let second = claim(&client).await;
    let delivery = async |id| client.event(id).await.unwrap().deliveries.remove(0);
    let (id, token) = (first.event.id, &first.lease_token);
    let percent = |number| Progress::of(Percent::try_from(number).unwrap());
    client.heartbeat_with(id, token, None, percent(40).with_note("page 2")).await.unwrap();
    let said = delivery(id).await.progress.expect("it was said");
    assert_eq!((said.percent, said.note.as_deref()), (Some(40), Some("page 2")));
    let beats = [(id, token.clone(), percent(60))];
    assert!(client.heartbeat_batch_with(&beats, None).await.unwrap()[0].is_ok());
    let said = delivery(id).await.progress.expect("it was said");
    assert_eq!((said.percent, said.note), (Some(60), None));
    let result = AckResult::parse(r#"{ "sum": 1.50 }"#).unwrap();
    client.ack_with(id, token, result.clone()).await.unwrap();
    assert_eq!(delivery(id).await.result, Some(result.clone()));
    let acks = [(second.event.id, second.lease_token.clone(), result.clone())];
    assert!(client.ack_batch_with(&acks).await.unwrap()[0].is_ok());
    assert_eq!(delivery(second.event.id).await.result, Some(result));
}

/// All three events are leased.
async fn what_is_pending_comes_in_pages(client: &Client) {
    let page = async |wanted: &Pending| client.pending("Orders/EU", "mail", wanted).await.expect("a page");
    // Not whole items: when a lease began is told from two clocks, a millisecond more or less each time.
    let places =
        |page: &PendingListReply| -> Vec<_> { page.items.iter().map(|item| item.stream_id).collect() };
    let all = page(&Pending::default()).await;
    let holders: Vec<_> = all.items.iter().map(|item| (item.consumer.as_deref(), &*item.state)).collect();
    assert_eq!(holders, [(Some("@http"), "leased"); 3]);
    let all = places(&all);
    let first = page(&Pending { limit: Some(1), ..Pending::default() }).await;
    let rest = page(&Pending { cursor: first.next_cursor.clone(), ..Pending::default() }).await;
    assert_eq!((places(&first), places(&rest)), (all[..1].to_vec(), all[1..].to_vec()));
    let place = Some(all[1].to_string());
    let one = Pending { start: place.clone(), end: place, ..Pending::default() };
    assert_eq!(places(&page(&one).await), all[1..2]);
    for none in [
        Pending { consumer: Some(String::new()), ..Pending::default() },
        Pending { min_idle_seconds: Some(3_600), ..Pending::default() },
    ] {
        assert_eq!(places(&page(&none).await), [], "{none:?}");
    }
}
