//! Entries and consumers that are done away with.
//!
//! Lives here: what is deleted, trimmed and removed. Not here: groups (`groups.rs`).

use std::time::Duration;

use redis::Value;
use tokio::time::sleep;

use crate::bench::{Seen, consumer, run};
use crate::servers::Server;
use crate::wire::{GROUP, STREAM};

pub(crate) async fn an_entry_that_was_deleted_while_it_was_pending_is_told_and_acked(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.make_group();
    let ids = wire.add_many(3);
    wire.read_as("crashed", 3);
    wire.ask::<Value>(&["XDEL", STREAM, &ids[1]]);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    seen.until_runs(2).await;
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!(seen.numbers(), [1, 3]);
    let deleted: Vec<String> = seen.deleted().iter().map(ToString::to_string).collect();
    assert_eq!(deleted, [ids[1].clone()]);
}

pub(crate) async fn an_entry_that_is_deleted_in_work_is_worked_on_to_its_end(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| sleep(Duration::from_secs(3)));
    let other = run(consumer(server.at(), "w2", &seen), &seen, |_, _| sleep(Duration::from_secs(3)));
    let id = wire.add(1);
    seen.until_runs(1).await;
    wire.ask::<Value>(&["XDEL", STREAM, &id]);
    sleep(Duration::from_secs(2)).await;
    let (first, second) = (running.stop().await, other.stop().await);
    wire.until_pending(0).await;
    assert_eq!((first.done + second.done, seen.lost(), seen.numbers()), (1, vec![], vec![1]));
}

pub(crate) async fn a_consumer_leaves_only_where_it_has_nothing(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    assert!(wire.consumers().contains(&"w1".to_owned()));
    running.stop().await;
    let at = server.at();
    wire.add(2);
    wire.read_as("crashed", 1);
    let removed = at.remove_consumer(STREAM, GROUP, "crashed").await.expect("it answers");
    assert_eq!((removed, wire.pending().len()), (false, 1));
    let id = wire.pending()[0].id.clone();
    wire.ask::<Value>(&["XACK", STREAM, GROUP, &id]);
    let removed = at.remove_consumer(STREAM, GROUP, "crashed").await.expect("it answers");
    // Our own door cannot look and remove in one step.
    assert_eq!(removed, server.is_plain());
    if server.is_plain() {
        assert_eq!(wire.consumers(), Vec::<String>::new());
    }
}

pub(crate) async fn only_what_all_groups_acked_is_trimmed(server: Server) {
    let mut wire = server.wire();
    wire.make_group();
    wire.ask::<Value>(&["XGROUP", "CREATE", STREAM, "worker-bill", "0"]);
    let ids = wire.add_many(6);
    wire.read_as("w1", 5);
    for id in &ids[..5] {
        wire.ask::<Value>(&["XACK", STREAM, GROUP, id]);
    }
    let at = server.at();
    assert_eq!(at.trim_acked(STREAM).await.expect("it answers"), 0, "the other group has read nothing");
    wire.ask::<Value>(&["XREADGROUP", "GROUP", "worker-bill", "b1", "COUNT", "4", "STREAMS", STREAM, ">"]);
    for id in &ids[..2] {
        wire.ask::<Value>(&["XACK", STREAM, "worker-bill", id]);
    }
    assert_eq!(at.trim_acked(STREAM).await.expect("it answers"), 2);
    let left: Vec<(String, Value)> = wire.ask(&["XRANGE", STREAM, "-", "+"]);
    assert_eq!(left.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), ids[2..]);
}
