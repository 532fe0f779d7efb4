//! The consumer runtime against the real server, over sockets and by the real clock.
//!
//! Lives here: what needs both. Not here: the rules of the runtime, which are tested by a clock that tests move
//! (`src/consumer/tests`).

mod proxy;
mod server;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use naven_client::consumer::{Consumer, ConsumerError, Delivery, Outcome, Undecodable};
use naven_client::{Client, ErrorCode, EventId, LeaseSeconds, PublishRequest, payload};
use serde::Deserialize;
use tokio::sync::Notify;

use proxy::Proxy;
use server::Server;

#[derive(Deserialize)]
struct Numbered {
    n: u32,
}

async fn publish(client: &Client, count: u32) -> Vec<EventId> {
    let event = |n| PublishRequest::new(payload::from_json(&format!("{{\"n\":{n}}}")).expect("a payload"));
    let events: Vec<_> = (1..=count).map(event).collect();
    let mut ids = Vec::new();
    for batch in events.chunks(100) {
        ids.extend(
            client.publish_batch("q", batch).await.expect("published").into_iter().map(|event| event.id),
        );
    }
    ids
}

fn lease(seconds: u32) -> LeaseSeconds {
    LeaseSeconds::try_from(seconds).expect("a lease")
}

/// Comes true once `left` is none.
#[derive(Default)]
struct Countdown {
    left: AtomicU32,
    none: Notify,
}

impl Countdown {
    fn from(count: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(count), none: Notify::new() })
    }

    fn one(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.none.notify_one();
        }
    }
}

/// Everything of this test but the server runs on one thread, and the handler never awaits.
#[tokio::test]
async fn a_handler_that_blocks_its_executor_for_many_leases_has_one_attempt() {
    let server = Server::start();
    let client = server.client();
    let ids = publish(&client, 1).await;
    let all = Countdown::from(1);
    let (ended, handled) = (Arc::clone(&all), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&handled);
    let handle = move |delivery: Delivery<Numbered>| {
        let (all, count) = (Arc::clone(&all), Arc::clone(&count));
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(3_500));
            assert_eq!(delivery.stop_reason(), None);
            all.one();
        }
    };
    let consumer = Consumer::new(server.client(), "q").lease(lease(1));
    let drained = consumer.run(ended.none.notified(), handle).await.expect("it was told to stop");
    assert_eq!((handled.load(Ordering::Relaxed), drained.done, drained.lost), (1, 1, 0));
    let event = client.event(ids[0]).await.expect("it is known");
    assert_eq!((event.state.as_deref(), event.deliveries[0].attempt_count), (Some("done"), 1));
}

/// Answers are lost after the server acted, and requests before it could. What was handled is never handled again, but
/// where its consumer was told that the lease was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_done_once_over_a_network_that_cuts_connections() {
    const EVENTS: u32 = 400;
    let server = Server::start();
    let ids = publish(&server.client(), EVENTS).await;
    let proxy = Proxy::start(server.address(), 20).await;
    let (runs, lost) = (Arc::new(Mutex::new(BTreeMap::new())), Arc::new(Mutex::new(Vec::new())));
    let all = Countdown::from(EVENTS);
    let (ended, handled, told) = (Arc::clone(&all), Arc::clone(&runs), Arc::clone(&lost));
    let handle = move |delivery: Delivery<Numbered>| {
        let (all, handled) = (Arc::clone(&all), Arc::clone(&handled));
        async move {
            tokio::time::sleep(Duration::from_millis(u64::from(delivery.payload().n % 20))).await;
            let mut handled = handled.lock().expect("no handler panics");
            let runs = handled.entry(delivery.event()).or_insert(0);
            *runs += 1;
            if *runs == 1 {
                all.one();
            }
        }
    };
    let consumer = Consumer::new(server.client_at(proxy.address()), "q")
        .concurrency(16)
        .lease(lease(2))
        .on_lost(move |lost| told.lock().expect("nothing panics").push(lost));
    let health = consumer.health();
    consumer.run(ended.none.notified(), handle).await.expect("it was told to stop");
    assert!(proxy.cuts() >= 20, "only {} connections were cut", proxy.cuts());
    let runs = runs.lock().expect("unpoisoned").clone();
    let lost = lost.lock().expect("unpoisoned").clone();
    for id in ids {
        let losses = lost.iter().filter(|lost| lost.event == id).count();
        assert!(runs[&id] <= 1 + losses, "{id} was handled {} times, and lost {losses} times", runs[&id]);
        let event = server.client().event(id).await.expect("it is known");
        assert!(event.state.as_deref() == Some("done") || losses > 0, "{id}: {event:?}");
    }
    println!("{} connections cut, {} leases lost: {:?}", proxy.cuts(), lost.len(), health.so_far());
}

#[tokio::test]
async fn what_a_handler_answers_is_what_becomes_of_its_event() {
    let server = Server::start();
    let client = server.client();
    let ids = publish(&client, 4).await;
    let all = Countdown::from(5);
    let ended = Arc::clone(&all);
    let handle = move |delivery: Delivery<Numbered>| {
        let all = Arc::clone(&all);
        async move {
            all.one();
            match (delivery.payload().n, delivery.attempt()) {
                (1, 1) => Err("not yet"),
                (1, _) => Ok(Outcome::Done),
                (2, _) => Ok(Outcome::dead_letter("no such address")),
                (3, _) => Ok(Outcome::retry_after(Duration::from_secs(3_600), "busy")),
                (_, _) => {
                    Ok(Outcome::DoneWith(naven_client::AckResult::parse("{\"sent\":true}").expect("JSON")))
                }
            }
        }
    };
    Consumer::new(server.client(), "q")
        .run(ended.none.notified(), handle)
        .await
        .expect("it was told to stop");
    let mut states = Vec::new();
    for id in ids {
        let event = client.event(id).await.expect("it is known");
        states.push(event.state.expect("one queue has it"));
    }
    assert_eq!(states, ["done", "dead", "retrying", "done"]);
}

#[tokio::test]
async fn a_payload_that_is_another_is_a_dead_letter_or_a_retry() {
    let server = Server::start();
    let client = server.client();
    let event = PublishRequest::new(payload::from_json("{\"n\":\"one\"}").expect("a payload"));
    for (undecodable, wanted) in [(Undecodable::DeadLetter, "dead"), (Undecodable::Retry, "retrying")] {
        let id = client.publish("q", &event).await.expect("published").id;
        let consumer = Consumer::new(server.client(), "q").undecodable(undecodable);
        let health = consumer.health();
        let settled = async {
            while health.so_far().not_done == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let handle = |delivery: Delivery<Numbered>| async move { panic!("{}: not for it", delivery.event()) };
        let handle = move |delivery| -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(handle(delivery))
        };
        consumer.run(settled, handle).await.expect("it was told to stop");
        let event = client.event(id).await.expect("it is known");
        let state = event.state.expect("one queue has it");
        // The queue's retries are due at once, so it may be at its next attempt by now.
        let again = ["retrying", "ready", "leased"].contains(&state.as_str());
        assert!(state == wanted || (wanted == "retrying" && again), "{state}");
    }
}

#[tokio::test]
async fn what_cannot_get_better_ends_it_with_an_error() {
    let server = Server::start();
    let never = std::future::pending::<()>;
    let handle = |_: Delivery<Numbered>| async {};
    let ended = Consumer::new(server.client(), "nowhere").run(never(), handle).await;
    let Err(ConsumerError::Refused { queue, source }) = ended else { panic!("{ended:?}") };
    assert_eq!((queue.as_str(), source.code()), ("nowhere", Some(ErrorCode::QueueNotFound)));
    let ended = Consumer::new(server.client(), "q").concurrency(0).run(never(), handle).await;
    let Err(error @ ConsumerError::Setup { .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(error.to_string(), "concurrency is 1 to 10000, and not 0");
}
