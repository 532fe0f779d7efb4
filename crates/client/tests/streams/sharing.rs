//! Several consumers of one group.
//!
//! Lives here: who has an entry. Not here: consumers that die (`deaths.rs`).

use std::time::Duration;

use naven_client::consumer::{LostPhase, LostReason, Outcome, StopReason};
use tokio::time::{sleep, timeout};

use crate::bench::{Seen, consumer, lease, run};
use crate::servers::Server;
use crate::wire::{GROUP, STREAM};

pub(crate) async fn a_handler_longer_than_its_lease_is_not_run_twice(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let slow = |_, _| sleep(Duration::from_millis(3_500));
    let first = run(consumer(server.at(), "w1", &seen), &seen, slow);
    wire.add(1);
    seen.until_runs(1).await;
    let second = run(consumer(server.at(), "w2", &seen), &seen, slow);
    wire.until_pending(0).await;
    let (first, second) = (first.stop().await, second.stop().await);
    assert_eq!((seen.numbers(), seen.lost()), (vec![1], vec![]));
    assert_eq!((first.done, second.done), (1, 0));
}

pub(crate) async fn what_is_taken_by_force_is_told_and_not_acked(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let running = run(consumer(server.at(), "w1", &seen).lease(lease(3)), &seen, move |entry, _| {
        let tell = tell.clone();
        async move {
            tell.send(entry.cancelled().await).expect("it is waited for");
        }
    });
    let id = wire.add(1);
    seen.until_runs(1).await;
    wire.ask::<redis::Value>(&["XCLAIM", STREAM, GROUP, "other", "0", &id]);
    let told = timeout(Duration::from_secs(30), told.recv()).await.expect("the handler is told");
    assert_eq!(told, Some(StopReason::LeaseLost));
    let drained = running.stop().await;
    assert_eq!((drained.lost, drained.done), (1, 0));
    let lost = seen.lost();
    assert_eq!((lost[0].reason, lost[0].phase), (LostReason::Reassigned, LostPhase::Running));
    assert_eq!((lost[0].fence, lost[0].stream.as_str(), lost[0].group.as_str()), (1, STREAM, GROUP));
    let pending = wire.pending();
    assert_eq!((pending.len(), pending[0].consumer.as_str()), (1, "other"), "nobody acked it");
}

/// The second one takes over what the first has, as a process that starts again does; the first is told.
pub(crate) async fn two_consumers_of_one_name_never_both_believe_in_an_entry(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let first = run(consumer(server.at(), "twin", &seen).lease(lease(3)), &seen, |entry, _| async move {
        entry.lease_lost().await;
    });
    wire.add(1);
    seen.until_runs(1).await;
    let second = run(consumer(server.at(), "twin", &seen).lease(lease(3)), &seen, |_, _| async {
        sleep(Duration::from_secs(4)).await;
    });
    seen.until_runs(2).await;
    wire.until_pending(0).await;
    let (first, second) = (first.stop().await, second.stop().await);
    assert_eq!((first.lost, first.done, second.lost, second.done), (1, 0, 0, 1));
    assert_eq!((seen.lost()[0].reason, seen.runs()[1].fence), (LostReason::Reassigned, 2));
}

pub(crate) async fn entries_are_shared_and_each_is_done_once(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let start = |name: &str| {
        run(consumer(server.at(), name, &seen), &seen, |_, run| async move {
            sleep(Duration::from_millis(u64::from(run.n % 7))).await;
        })
    };
    let all = [start("w1"), start("w2"), start("w3")];
    wire.add_many(300);
    seen.until_runs(300).await;
    wire.until_pending(0).await;
    let mut done = 0;
    for running in all {
        done += running.stop().await.done;
    }
    assert_eq!((done, seen.numbers()), (300, (1..=300).collect()));
}

/// More of them than a search takes at once, and all of them older.
pub(crate) async fn entries_that_fail_for_ever_do_not_hide_those_behind(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.make_group();
    wire.add_many(60);
    wire.read_as("crashed", 60);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, run| async move {
        match run.n {
            1..=50 => Outcome::retry_after(Duration::from_secs(3_600), "never works"),
            _ => Outcome::Done,
        }
    });
    wire.until_pending(50).await;
    running.stop().await;
    assert_eq!(seen.numbers(), (1..=60).collect::<Vec<u32>>());
}
