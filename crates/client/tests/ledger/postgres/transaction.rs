//! Effects in the user's own transaction, one at a time.
//!
//! Lives here: what is committed and what is undone, together. Not here: two at once (`racing.rs`), and lost answers
//! (`commit.rs`).

use std::future::pending;

use naven_client::ledger::postgres::{Postgres, once_in};
use naven_client::ledger::{Failed, Ledger, OnceError, RESULT_BYTES_MAX};
use tokio_postgres::NoTls;

use super::bench::{Bench, code_of, holder, write, write_and_commit};
use crate::servers::postgres_server::config;

#[tokio::test]
async fn an_effect_and_its_record_are_committed_or_rolled_back_together() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    assert_eq!(write(&transaction, "e", 1).await.unwrap(), 1);
    transaction.rollback().await.unwrap();
    assert_eq!(bench.writes("e").await, 0);
    assert_eq!(write_and_commit(&mut client, "e", 2).await.unwrap(), 2);
    assert_eq!(write_and_commit(&mut client, "e", 2).await.unwrap(), 2);
    assert_eq!(write_and_commit(&mut client, "e", 3).await.unwrap(), 2);
    assert_eq!(bench.writes("e").await, 1);
    let late = write_and_commit(&mut client, "e", 2).await;
    assert!(matches!(late, Err(OnceError::Stale { fence: 2, seen: 3, ran: false })), "{late:?}");
    // The other forms see the record too.
    let ledger = Ledger::new(Postgres::new(config(bench.server.port), NoTls));
    assert_eq!(ledger.lease(holder("e", 3)).once("x", async || Ok(9)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_failed_effect_is_undone_even_where_the_rest_is_committed() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let insert = "INSERT INTO writes VALUES ('e')";
    for by_the_database in [false, true] {
        let transaction = client.transaction().await.unwrap();
        transaction.batch_execute("INSERT INTO writes VALUES ('rest')").await.unwrap();
        let failed = once_in::<()>(&transaction, holder("e", 1), "x", async || {
            transaction.batch_execute(insert).await?;
            if by_the_database {
                transaction.batch_execute("SELECT 1/0").await?;
            }
            Err(Failed::unknown("on purpose"))
        });
        let error = failed.await.unwrap_err();
        assert!(matches!(error, OnceError::Failed { in_doubt: false, .. }), "{error:?}");
        let too_large = once_in(&transaction, holder("e", 1), "x", async || {
            transaction.batch_execute(insert).await?;
            Ok("x".repeat(RESULT_BYTES_MAX - 1))
        });
        assert!(matches!(too_large.await, Err(OnceError::ResultUnfit { .. })));
        transaction.commit().await.unwrap();
    }
    assert_eq!((bench.writes("e").await, bench.writes("rest").await), (0, 2));
    assert_eq!(write_and_commit(&mut client, "e", 1).await.unwrap(), 1);
}

#[tokio::test]
async fn an_effect_that_hides_an_error_of_the_database_is_not_done() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    let hidden = once_in(&transaction, holder("e", 1), "x", async || {
        drop(transaction.batch_execute("SELECT 1/0").await);
        Ok(1)
    });
    let error = hidden.await.unwrap_err();
    assert!(matches!(error, OnceError::Store(_)), "{error:?}");
    transaction.commit().await.unwrap();
    assert_eq!(write_and_commit(&mut client, "e", 1).await.unwrap(), 1);
}

#[tokio::test]
async fn a_call_that_was_dropped_and_committed_all_the_same_is_in_doubt() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    let began = tokio::sync::Notify::new();
    let dropped = once_in::<()>(&transaction, holder("e", 1), "x", async || {
        transaction.batch_execute("INSERT INTO writes VALUES ('e')").await?;
        began.notify_one();
        pending().await
    });
    tokio::select! {
        answer = dropped => panic!("it ended: {answer:?}"),
        () = began.notified() => {}
    }
    transaction.commit().await.unwrap();
    let doubt = write_and_commit(&mut client, "e", 2).await;
    assert!(matches!(&doubt, Err(OnceError::InDoubt(doubt)) if doubt.earlier_fence == 1), "{doubt:?}");
    assert_eq!(bench.writes("e").await, 1);
}

#[tokio::test]
async fn two_effects_of_one_transaction_stand_by_themselves() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    let holder = holder("e", 1);
    assert_eq!(once_in(&transaction, &holder, "a", async || Ok(1)).await.unwrap(), 1);
    let failed = once_in::<u32>(&transaction, &holder, "b", async || {
        let nested = once_in(&transaction, &holder, "c", async || Ok(3)).await;
        assert!(matches!(nested, Err(OnceError::Running)), "{nested:?}");
        Err(Failed::undone("on purpose"))
    });
    assert!(failed.await.is_err());
    assert_eq!(once_in(&transaction, &holder, "a", async || Ok(2)).await.unwrap(), 1);
    transaction.commit().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    assert_eq!(once_in(&transaction, &holder, "b", async || Ok(4)).await.unwrap(), 4);
    assert_eq!(once_in(&transaction, &holder, "a", async || Ok(5)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_lease_that_is_over_and_bad_names_ask_nothing() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    let transaction = client.transaction().await.unwrap();
    let over = once_in(&transaction, holder("e", 1).watched(|| true), "x", async || Ok(1)).await;
    assert!(matches!(over, Err(OnceError::LeaseOver)), "{over:?}");
    let bad = once_in(&transaction, holder("e", 1), "a b", async || Ok(1)).await;
    assert!(matches!(bad, Err(OnceError::Name(_))), "{bad:?}");
    transaction.commit().await.unwrap();
    let known = "SELECT count(*) FROM naven_ledger_events";
    assert_eq!(client.query_one(known, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn tables_that_are_missing_are_an_error() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    client.batch_execute("DROP TABLE naven_ledger_effects, naven_ledger_events").await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let error = write(&transaction, "e", 1).await.unwrap_err();
    assert_eq!(code_of(&error).as_deref(), Some("42P01"), "{error:?}");
}
