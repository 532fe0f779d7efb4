//! Two attempts at once, in two transactions.
//!
//! Lives here: who waits, for how long, and what is answered, at each level of isolation. Not here: one at a time
//! (`transaction.rs`).

use naven_client::ledger::OnceError;
use tokio_postgres::{Client, IsolationLevel};

use super::bench::{Bench, code_of, write, write_and_commit};

/// An attempt that goes on by itself.
fn attempt(mut client: Client, fence: u64) -> tokio::task::JoinHandle<Result<u64, OnceError>> {
    tokio::spawn(async move { write_and_commit(&mut client, "e", fence).await })
}

#[tokio::test]
async fn a_second_attempt_waits_for_the_transaction_of_the_first() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    write(&transaction, "e", 1).await.unwrap();
    let second = attempt(bench.connect().await, 2);
    bench.until_waiting(1).await;
    // Another event is free.
    let other = write_and_commit(&mut bench.connect().await, "f", 2).await;
    assert_eq!(other.unwrap(), 2);
    transaction.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), 1, "it gets the result");
    assert_eq!(bench.writes("e").await, 1);
}

#[tokio::test]
async fn a_second_attempt_runs_what_the_first_rolls_back() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    write(&transaction, "e", 1).await.unwrap();
    let second = attempt(bench.connect().await, 2);
    bench.until_waiting(1).await;
    transaction.rollback().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), 2);
    assert_eq!(bench.writes("e").await, 1);
}

#[tokio::test]
async fn a_late_handler_that_waits_for_the_next_one_is_refused() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    write(&transaction, "e", 2).await.unwrap();
    let late = attempt(bench.connect().await, 1);
    bench.until_waiting(1).await;
    transaction.commit().await.unwrap();
    let late = late.await.unwrap();
    assert!(matches!(late, Err(OnceError::Stale { fence: 1, seen: 2, ran: false })), "{late:?}");
    assert_eq!(bench.writes("e").await, 1);
}

#[tokio::test]
async fn waiting_has_an_end_and_leaves_the_users_own_as_it_was() {
    let bench = Bench::start().await;
    let (mut client, mut other) = (bench.connect().await, bench.connect().await);
    let transaction = client.transaction().await.unwrap();
    for own in ["0", "1234ms"] {
        transaction.batch_execute(&format!("SET LOCAL lock_timeout = '{own}'")).await.unwrap();
        // The second is stale.
        for fence in [2, 1] {
            drop(write(&transaction, "e", fence).await);
            let left = transaction.query_one("SHOW lock_timeout", &[]).await.unwrap();
            assert_eq!(left.get::<_, &str>(0), own);
        }
    }
    // The user's own, and where there is none, ours.
    for own in ["100ms", "0"] {
        other.batch_execute(&format!("SET lock_timeout = '{own}'")).await.unwrap();
        let waiting = other.transaction().await.unwrap();
        let error = write(&waiting, "e", 3).await.unwrap_err();
        assert_eq!(code_of(&error).as_deref(), Some("55P03"), "{error:?}");
    }
    transaction.commit().await.unwrap();
    assert_eq!(bench.writes("e").await, 1);
}

#[tokio::test]
async fn where_isolation_is_strict_the_second_attempt_fails_and_the_third_gets_the_result() {
    let bench = Bench::start().await;
    for (event, level) in [("r", IsolationLevel::RepeatableRead), ("s", IsolationLevel::Serializable)] {
        for is_first_seen in [true, false] {
            let event = format!("{event}{is_first_seen}");
            if is_first_seen {
                // There is a row of the event already.
                write_and_commit(&mut bench.connect().await, &event, 1).await.unwrap();
            }
            let (mut one, mut two) = (bench.connect().await, bench.connect().await);
            // Its view of the world is from before the first attempt.
            let strict = two.build_transaction().isolation_level(level).start().await.unwrap();
            strict.query("SELECT count(*) FROM writes", &[]).await.unwrap();
            let expected = write_and_commit(&mut one, &event, 2).await.unwrap();
            let error = write(&strict, &event, 3).await.unwrap_err();
            assert_eq!(code_of(&error).as_deref(), Some("40001"), "{error:?}");
            drop(strict);
            let again = two.build_transaction().isolation_level(level).start().await.unwrap();
            assert_eq!(write(&again, &event, 4).await.unwrap(), expected);
            again.commit().await.unwrap();
            assert_eq!(bench.writes(&event).await, 1);
        }
    }
}

/// Some fail, as their level of isolation demands, and are repeated with a higher fence, as an event would be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_attempts_at_once_one_writes() {
    let bench = Bench::start().await;
    let mut attempts = Vec::new();
    for worker in 0..6_u64 {
        let mut client = bench.connect().await;
        let level =
            [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable]
                [worker as usize % 3];
        attempts.push(tokio::spawn(async move {
            for event in 0..30_u64 {
                let event = format!("m{event}");
                for attempt in 0..1_000 {
                    let transaction =
                        client.build_transaction().isolation_level(level).start().await.unwrap();
                    let fence = attempt * 6 + worker + 1;
                    match write(&transaction, &event, fence).await {
                        Ok(_) if transaction.commit().await.is_ok() => break,
                        Ok(_)
                        | Err(OnceError::Stale { .. } | OnceError::Store(_) | OnceError::Failed { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            }
        }));
    }
    for attempt in attempts {
        attempt.await.unwrap();
    }
    for event in 0..30 {
        assert_eq!(bench.writes(&format!("m{event}")).await, 1);
    }
}
