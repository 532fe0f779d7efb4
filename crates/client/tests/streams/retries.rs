//! Entries whose attempts fail.
//!
//! Lives here: retries and dead letters. Not here: consumers that fail (`deaths.rs`).

use std::time::Duration;

use naven_client::consumer::Outcome;

use crate::bench::{Seen, consumer, run};
use crate::servers::Server;
use crate::wire::{GROUP, STREAM};

pub(crate) async fn an_error_is_retried_and_its_attempts_and_fences_rise(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, run| async move {
        if run.attempt < 3 { Err("not yet") } else { Ok(()) }
    });
    wire.add(1);
    seen.until_runs(3).await;
    wire.until_pending(0).await;
    let drained = running.stop().await;
    let runs: Vec<(u32, u64)> = seen.runs().iter().map(|run| (run.attempt, run.fence)).collect();
    assert_eq!(runs, [(1, 1), (2, 2), (3, 3)]);
    assert_eq!((drained.done, drained.not_done, drained.lost), (1, 2, 0));
}

pub(crate) async fn a_delayed_retry_waits_through_a_restart_of_server_and_consumer(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {
        Outcome::retry_after(Duration::from_secs(4), "busy")
    });
    wire.add(1);
    seen.until_runs(1).await;
    wire.until(|wire| wire.pending().iter().all(|row| row.consumer != "w1")).await;
    let began = tokio::time::Instant::now();
    running.stop().await;
    assert_eq!(wire.pending().len(), 1, "it stays pending");
    server.kill();
    server.begin();
    let mut wire = server.wire();
    assert_eq!(wire.pending().len(), 1, "the server knows it");
    let next = run(consumer(server.at(), "w2", &seen), &seen, |_, _| async {});
    seen.until_runs(2).await;
    // What was between the answer and the look at the clock, and the time of our own door, which stands still while it is down.
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    wire.until_pending(0).await;
    next.stop().await;
    assert_eq!(seen.runs()[1].attempt, 2);
}

pub(crate) async fn a_poison_entry_is_a_dead_letter_after_its_last_attempt(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let limited = consumer(server.at(), "w1", &seen).max_deliveries(Some(3));
    let running =
        run(limited, &seen, |_, run| async move { if run.n == 1 { Err("never works") } else { Ok(()) } });
    let ids = wire.add_many(3);
    seen.until_runs(5).await;
    wire.until_pending(0).await;
    let drained = running.stop().await;
    assert_eq!((drained.done, drained.not_done, seen.numbers()), (2, 3, vec![1, 1, 1, 2, 3]));
    if server.is_plain() {
        let dead = wire.dead();
        let wanted = [
            ("naven:stream", STREAM),
            ("naven:group", GROUP),
            ("naven:id", ids[0].as_str()),
            ("naven:consumer", "w1"),
            ("naven:deliveries", "3"),
            ("naven:reason", "max_deliveries"),
            ("naven:error", "never works"),
            ("event", "order.paid"),
            ("payload", "{\"n\":1}"),
            ("ts", "1764426154123"),
        ];
        let wanted: Vec<_> = wanted.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(dead, [wanted]);
    }
}

/// No handler lives to say a word of it.
pub(crate) async fn an_entry_that_ends_each_of_its_consumers_is_a_dead_letter(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.make_group();
    let id = wire.add(1);
    wire.read_as("crashed", 1);
    let counted = ["XCLAIM", STREAM, GROUP, "crashed", "0", &id, "IDLE", "60000", "RETRYCOUNT", "5"];
    wire.ask::<redis::Value>(&counted);
    let limited = consumer(server.at(), "w1", &seen).max_deliveries(Some(5));
    let running = run(limited, &seen, |_, _| async {});
    wire.add(2);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!(seen.numbers(), [2]);
    if server.is_plain() {
        let dead = wire.dead();
        let of =
            |name: &str| dead[0].iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((dead.len(), of("naven:id"), of("naven:deliveries")), (1, Some(id.as_str()), Some("5")));
        assert_eq!((of("naven:consumer"), of("naven:reason")), (Some("crashed"), Some("max_deliveries")));
    }
}

pub(crate) async fn a_rejected_entry_is_a_dead_letter_at_once(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {
        Outcome::dead_letter("no such address")
    });
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!(seen.runs().len(), 1);
    if server.is_plain() {
        assert_eq!(wire.dead().len(), 1);
    }
}

/// A call has no room for so many values, and the entry is not cut.
pub(crate) async fn an_entry_of_very_many_fields_is_a_dead_letter_too(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let numbers: Vec<String> = (0..10_000).map(|number| format!("{number}")).collect();
    let mut words = vec!["XADD", STREAM, "*"];
    words.extend(numbers.iter().map(String::as_str));
    wire.ask::<String>(&words);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    running.stop().await;
    if server.is_plain() {
        let dead: Vec<(String, Vec<Vec<u8>>)> = wire.ask(&["XRANGE", &format!("{STREAM}:dead"), "-", "+"]);
        let [.., name, packed] = dead[0].1.as_slice() else { panic!("it has no fields") };
        assert_eq!((dead.len(), name.as_slice()), (1, b"naven:packed".as_slice()));
        // An array of 10,000, as MessagePack begins one.
        assert_eq!(packed[..3], [0xdc, 0x27, 0x10]);
    }
}

pub(crate) async fn an_entry_that_cannot_be_made_a_dead_letter_stays_and_holds_nobody_up(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.make_group();
    let id = wire.add(1);
    wire.read_as("crashed", 1);
    wire.ask::<redis::Value>(&[
        "XCLAIM",
        STREAM,
        GROUP,
        "crashed",
        "0",
        &id,
        "IDLE",
        "60000",
        "RETRYCOUNT",
        "99",
    ]);
    wire.ask::<redis::Value>(&["SET", &format!("{STREAM}:dead"), "a text"]);
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    wire.add_many(20);
    seen.until_runs(20).await;
    wire.until_pending(1).await;
    assert_eq!(wire.pending()[0].id, id);
    // Once it can be, it is.
    wire.ask::<redis::Value>(&["DEL", &format!("{STREAM}:dead")]);
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!((wire.dead().len(), seen.runs().len()), (1, 20));
}
