//! The ledger in the hands of the consumer runtime, against the real server.
//!
//! Lives here: effects of deliveries. Not here: stores by themselves (`cases`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use naven_client::consumer::{Consumer, Delivery, Outcome, StopReason};
use naven_client::ledger::{Ledger, Memory, OnceError};
use naven_client::{LeaseSeconds, PublishRequest, Unfinished, payload};
use tokio::sync::Notify;

use crate::door::Server;

#[derive(serde::Deserialize)]
struct Order {
    cents: u32,
}

async fn publish(server: &Server) {
    let event = PublishRequest::new(payload::from_json(r#"{"cents":7}"#).expect("a payload"));
    server.client().publish("q", &event).await.expect("published");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_delivered_again_gets_the_result_of_its_first_attempt() {
    let server = Server::start();
    publish(&server).await;
    let (ledger, runs, ended) =
        (Ledger::new(Memory::new()), Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (count, end) = (Arc::clone(&runs), Arc::clone(&ended));
    let handle = move |delivery: Delivery<Order>| {
        let (ledger, count, end) = (ledger.clone(), Arc::clone(&count), Arc::clone(&end));
        async move {
            let lease = ledger.lease(&delivery);
            let charge = async || {
                count.fetch_add(1, SeqCst);
                Ok(delivery.payload().cents * 2)
            };
            assert_eq!(lease.once("charge", charge).await?, 14);
            if delivery.attempt() < 3 {
                return Ok(Outcome::retry("on purpose"));
            }
            end.notify_one();
            Ok::<_, OnceError>(Outcome::Done)
        }
    };
    let drained =
        Consumer::new(server.client(), "q").run(ended.notified(), handle).await.expect("told to stop");
    assert_eq!((drained.done, runs.load(SeqCst)), (1, 1));
}

/// Two ledgers, made of one delivery in the middle of its handler, know of each other's calls; and once the lease is lost,
/// nothing is begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_whose_lease_is_lost_begins_nothing() {
    let server = Server::start();
    publish(&server).await;
    let ledger = Ledger::new(Memory::new());
    let (ended, client) = (Arc::new(Notify::new()), server.client());
    let end = Arc::clone(&ended);
    let handle = move |delivery: Delivery<Order>| {
        let (ledger, end, client) = (ledger.clone(), Arc::clone(&end), client.clone());
        async move {
            let lease = ledger.lease(&delivery);
            let inner = ledger.lease(&delivery);
            let nested = lease.once("x", async || Ok(inner.once("x", async || Ok(1)).await.is_err()));
            assert!(nested.await.expect("it runs"), "the inner call is refused");
            client.cancel(delivery.event(), None, None).await.expect("asked to stop");
            delivery.cancelled().await;
            // Asked to stop, it holds its lease.
            if delivery.stop_reason() == Some(StopReason::CancelRequested) {
                lease.once("undo", async || Ok(())).await.expect("the lease is held");
            }
            client.delete_queue("q", Unfinished::Bury).await.expect("deleted");
            delivery.lease_lost().await;
            let refused = lease.once("y", async || Ok(1)).await;
            assert!(matches!(refused, Err(OnceError::LeaseOver)), "{refused:?}");
            end.notify_one();
        }
    };
    let short = LeaseSeconds::try_from(1).expect("a lease");
    let run = Consumer::new(server.client(), "q").lease(short).run(ended.notified(), handle);
    // The queue is gone, and with it the consumer, if it asks again before it is told to stop.
    let _ = run.await;
}
