//! Consumers, servers and connections that end in the midst of work.
//!
//! Lives here: what is left of it. Not here: the consumer that is killed (`worker.rs`).

use std::time::Duration;

use naven_client::consumer::LostReason;
use tokio::time::{sleep, timeout};

use crate::bench::{Seen, consumer, lease, run};
use crate::frozen::Frozen;
use crate::proxy::Proxy;
use crate::servers::Server;
use crate::worker::Worker;

pub(crate) async fn what_a_killed_consumer_had_is_taken_over_and_acked(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let worker = Worker::start(&server.url(), "killed");
    wire.add_many(4);
    wire.until_pending(4).await;
    worker.kill();
    let running = run(consumer(server.at(), "w2", &seen), &seen, |_, _| async {});
    seen.until_runs(4).await;
    wire.until_pending(0).await;
    assert_eq!(running.stop().await.done, 4);
    assert_eq!(seen.numbers(), [1, 2, 3, 4]);
    assert!(seen.runs().iter().all(|run| run.attempt == 2 && run.fence == 2), "{:?}", seen.runs());
}

pub(crate) async fn what_a_killed_consumer_had_comes_first_under_its_own_name(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let worker = Worker::start(&server.url(), "w1");
    wire.add_many(4);
    wire.until_pending(4).await;
    worker.kill();
    wire.add(5);
    // Nobody waits for a lease of an hour.
    let again = consumer(server.at(), "w1", &seen).concurrency(1).lease(lease(3_600));
    let running = run(again, &seen, |_, _| async {});
    timeout(Duration::from_secs(25), seen.until_runs(5)).await.expect("its own are not waited for");
    wire.until_pending(0).await;
    running.stop().await;
    let order: Vec<(u32, u32)> = seen.runs().iter().map(|run| (run.n, run.attempt)).collect();
    assert_eq!(order, [(1, 2), (2, 2), (3, 2), (4, 2), (5, 1)]);
}

pub(crate) async fn a_server_that_is_killed_in_the_midst_of_work_loses_nothing(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen).lease(lease(3)), &seen, |_, _| {
        sleep(Duration::from_millis(40))
    });
    wire.add_many(100);
    seen.until_runs(20).await;
    server.kill();
    sleep(Duration::from_millis(300)).await;
    server.begin();
    let mut wire = server.wire();
    seen.until_runs(100).await;
    wire.until(|wire| wire.pending().is_empty() && numbers(&seen) == 100).await;
    running.stop().await;
    // Whatever ran twice had lost its lease, or its delivery had not been answered.
    let twice = seen.runs().len() - 100;
    assert!(twice <= seen.lost().len(), "{twice} ran again, and {:?} were lost", seen.lost());
}

fn numbers(seen: &Seen) -> usize {
    let mut numbers = seen.numbers();
    numbers.dedup();
    numbers.len()
}

pub(crate) async fn a_server_that_is_not_there_yet_is_waited_for(server: Server) {
    let seen = Seen::default();
    server.kill();
    let first = consumer(server.at(), "w1", &seen);
    let health = first.health();
    let running = run(first, &seen, |_, _| async {});
    while health.claims_failed() == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    server.begin();
    let mut wire = server.wire();
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    running.stop().await;
}

/// Answers are lost after the server acted, and requests before it could. What was handled is handled again only where its
/// consumer was told that the lease was lost.
pub(crate) async fn acks_survive_a_network_that_cuts_connections(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let proxy = Proxy::start(server.address(), 25).await;
    let at = naven_client::streams::Server::new(&format!("redis://{}/", proxy.address())).expect("a URL");
    let running = run(consumer(at, "w1", &seen).lease(lease(3)), &seen, |_, run| async move {
        sleep(Duration::from_millis(u64::from(run.n % 20))).await;
    });
    wire.add_many(300);
    seen.until_runs(300).await;
    wire.until(|wire| wire.pending().is_empty() && numbers(&seen) == 300).await;
    running.stop().await;
    assert!(proxy.cuts() >= 10, "only {} connections were cut", proxy.cuts());
    // An ack that was taken, and whose answer was cut, is no lost lease.
    assert!(seen.lost().iter().all(|lost| lost.reason != LostReason::Unknown), "{:?}", seen.lost());
    for run in seen.runs() {
        let runs = seen.runs().iter().filter(|of| of.id == run.id).count();
        let lost = seen.lost().iter().filter(|of| of.id == run.id).count();
        assert!(runs <= 1 + lost, "{} was handled {runs} times, and lost {lost} times", run.id);
    }
}

pub(crate) async fn a_connection_that_died_without_a_word_is_given_up(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let frozen = Frozen::start(server.address()).await;
    let at = naven_client::streams::Server::new(&format!("redis://{}/", frozen.address())).expect("a URL");
    let running = run(consumer(at, "w1", &seen), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    frozen.freeze();
    wire.add(2);
    seen.until_runs(2).await;
    wire.until_pending(0).await;
    running.stop().await;
}
