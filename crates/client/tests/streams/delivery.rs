//! Entries on their way through a handler.
//!
//! Lives here: what happens while nothing fails. Not here: retries (`retries.rs`), several consumers (`sharing.rs`).

use std::time::Duration;

use naven_client::EntryId;
use naven_client::streams::{Entry, Fields};
use tokio::time::{sleep, timeout};

use crate::bench::{Seen, consumer, lease, run};
use crate::servers::Server;

/// Far more than anything here takes, and less than a read blocks.
const SOON: Duration = Duration::from_secs(15);

pub(crate) async fn each_entry_is_worked_on_once_and_acked(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    let ids = wire.add_many(200);
    seen.until_runs(200).await;
    wire.until_pending(0).await;
    let drained = running.stop().await;
    assert_eq!(seen.numbers(), (1..=200).collect::<Vec<u32>>());
    assert!(seen.runs().iter().all(|run| (run.attempt, run.fence) == (1, 1)));
    let mut known: Vec<EntryId> = ids.iter().map(|id| id.parse().expect("an id")).collect();
    known.sort_unstable();
    let mut read: Vec<EntryId> = seen.runs().iter().map(|run| run.id).collect();
    read.sort_unstable();
    assert_eq!((drained.done, drained.lost, read), (200, 0, known));
}

pub(crate) async fn what_was_there_before_the_group_is_read_too(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.add_many(3);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    seen.until_runs(3).await;
    running.stop().await;
    assert_eq!(seen.numbers(), [1, 2, 3]);
}

pub(crate) async fn an_ack_does_not_wait_behind_a_read_that_blocks(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    // With free slots it reads on at once, and its read blocks for as long as nothing comes.
    let running = run(consumer(server.at(), "w1", &seen).lease(lease(600)), &seen, |_, _| async {
        sleep(Duration::from_millis(300)).await;
    });
    wire.add(1);
    seen.until_runs(1).await;
    timeout(SOON, wire.until_pending(0)).await.expect("it is acked while the read blocks");
    running.stop().await;
}

pub(crate) async fn a_slow_handler_holds_nobody_up(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, run| async move {
        if run.n == 1 {
            sleep(Duration::from_secs(3_600)).await;
        }
    });
    wire.add_many(20);
    seen.until_runs(20).await;
    wire.until_pending(1).await;
    running.abandon();
}

pub(crate) async fn a_consumer_that_is_told_to_stop_does_not_wait_for_its_read(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen).lease(lease(600)), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    timeout(SOON, running.stop()).await.expect("it blocks for longer, and is not waited for");
    assert_eq!(seen.numbers(), [1]);
}

pub(crate) async fn what_has_not_ended_at_the_end_of_a_drain_is_given_back_without_an_attempt(
    server: Server,
) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let slow = consumer(server.at(), "w1", &seen).drain_limit(Duration::from_millis(500)).lease(lease(60));
    let running = run(slow, &seen, |_, _| std::future::pending::<()>());
    wire.add(1);
    seen.until_runs(1).await;
    running.stop().await;
    assert_eq!(wire.pending().len(), 1);
    // Its lease is not waited for: it is due.
    let next = consumer(server.at(), "w2", &seen).lease(lease(60));
    let running = run(next, &seen, |_, _| async {});
    timeout(SOON, seen.until_runs(2)).await.expect("it is due at once");
    wire.until_pending(0).await;
    running.stop().await;
    let last = seen.runs()[1];
    // A Naven server counts attempts by itself: here only deliveries are known.
    let attempt = if server.is_plain() { 1 } else { 2 };
    assert_eq!((last.attempt, last.fence), (attempt, 2));
}

pub(crate) async fn an_entry_of_another_shape_is_a_dead_letter_and_the_raw_form_takes_it(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let add = ["XADD", crate::wire::STREAM, "*", "kind", "ping", "payload", "not JSON"];
    wire.ask::<String>(&add);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    assert_eq!(running.stop().await.not_done, 1);
    if server.is_plain() {
        let dead = wire.dead();
        let of =
            |name: &str| dead[0].iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((dead.len(), of("naven:reason"), of("kind")), (1, Some("rejected"), Some("ping")));
        let error = of("naven:error").expect("it says why");
        assert!(error.starts_with("the field 'payload' is not what the handler takes"), "{error}");
    }
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let raw = consumer(server.at(), "w1", &seen);
    let handle = move |entry: Entry<Fields>| {
        let tell = tell.clone();
        async move {
            let texts = entry.payload().text("kind").map(ToOwned::to_owned);
            tell.send(texts).expect("it is waited for");
        }
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let ended = tokio::spawn(raw.run(async { drop(stopped.await) }, handle));
    wire.ask::<String>(&add);
    assert_eq!(told.recv().await, Some(Some("ping".to_owned())));
    wire.until_pending(0).await;
    drop(stop);
    ended.await.expect("no panic").expect("it was told to stop");
}
