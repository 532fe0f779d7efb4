//! The ledger's own connections.
//!
//! Lives here: the suite over it, breaking it, and deleting what is old. Not here: effects in the user's transaction
//! (`transaction.rs`).

use std::sync::Arc;
use std::time::Duration;

use naven_client::ledger::postgres::{Postgres, forget};
use naven_client::ledger::{Ledger, OnceError};
use tokio_postgres::NoTls;

use super::bench::{Bench, holder, write_and_commit};
use crate::servers::postgres_server::config;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_in_postgresql() {
    let bench = Bench::start().await;
    let store = Arc::new(Postgres::new(config(bench.server.port), NoTls));
    crate::cases::all(&store).await;
    crate::scripts::play(&*store, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_effects_at_once_share_few_connections() {
    let bench = Bench::start().await;
    let mut settings = config(bench.server.port);
    settings.application_name("ledger");
    for (most, connections) in [(0, 1), (3, 3)] {
        let ledger = Ledger::new(Postgres::with_connections(settings.clone(), NoTls, most));
        let effect = |number: u64| {
            let lease = ledger.lease(holder(&format!("{most}-{number}"), 1));
            tokio::spawn(async move { lease.once("x", async || Ok(number)).await })
        };
        let effects: Vec<_> = (0..60).map(effect).collect();
        for (number, effect) in (0..).zip(effects) {
            assert_eq!(effect.await.unwrap().unwrap(), number);
        }
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ledger'";
        let found: i64 = bench.client.query_one(count, &[]).await.unwrap().get(0);
        assert!((1..=connections).contains(&found), "{found}");
        drop(ledger);
        while bench.client.query_one(count, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_connection_that_broke_is_made_anew() {
    let bench = Bench::start().await;
    let mut settings = config(bench.server.port);
    settings.application_name("ledger");
    let ledger = Ledger::new(Postgres::new(settings, NoTls));
    let end_it = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ledger'";
    let lease = ledger.lease(holder("e", 1));
    assert_eq!(lease.once("x", async || Ok(1)).await.unwrap(), 1);
    // In the middle of an effect: that it is done is said again.
    let broken = lease.once("y", async || {
        assert_eq!(bench.client.query(end_it, &[]).await?.len(), 1);
        Ok(2)
    });
    assert_eq!(broken.await.unwrap(), 2);
    assert_eq!(ledger.lease(holder("e", 2)).once("y", async || Ok(3)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_an_error_before_the_effect() {
    let ledger = Ledger::new(Postgres::new(config(1), NoTls));
    let error = ledger.lease(holder("e", 1)).once("x", async || Ok(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Store(_)) && !error.may_have_run(), "{error:?}");
}

#[tokio::test]
async fn what_is_old_is_forgotten_and_nothing_else() {
    let bench = Bench::start().await;
    let mut client = bench.connect().await;
    for event in ["old", "older", "new"] {
        write_and_commit(&mut client, event, 1).await.unwrap();
    }
    let age = "UPDATE naven_ledger_events SET touched_at = now() - interval '2 days' WHERE event LIKE 'old%'";
    client.execute(age, &[]).await.unwrap();
    // A sign of life, by a later attempt that was told the result.
    write_and_commit(&mut client, "older", 2).await.unwrap();
    assert_eq!(forget(&client, Duration::from_secs(86_400)).await.unwrap(), 1);
    assert_eq!(forget(&client, Duration::from_secs(86_400)).await.unwrap(), 0);
    let left =
        "SELECT (SELECT count(*) FROM naven_ledger_events), (SELECT count(*) FROM naven_ledger_effects)";
    let left = client.query_one(left, &[]).await.unwrap();
    assert_eq!((left.get::<_, i64>(0), left.get::<_, i64>(1)), (2, 2));
    assert_eq!(write_and_commit(&mut client, "new", 2).await.unwrap(), 1);
    assert_eq!(write_and_commit(&mut client, "old", 2).await.unwrap(), 2, "it is run again");
}

/// As `docs/consumers.md` says.
#[tokio::test]
async fn a_doubt_is_resolved_by_hand() {
    let bench = Bench::start().await;
    let ledger = Ledger::new(Postgres::new(config(bench.server.port), NoTls));
    let page = include_str!("../../../../../docs/consumers.md");
    let begins = |statement: &str| {
        let at = page.find(statement).expect("it is on the page");
        let end = at + page[at..].find(';').expect("it ends");
        page[at..end].replace("orders", "q").replace("evt_…", "e").replace("'charge'", "$1")
    };
    for (fence, name, statement, result) in [
        (1, "x", "UPDATE naven_ledger_effects", "ch_123"),
        (3, "y", "DELETE FROM naven_ledger_effects", "again"),
    ] {
        let unknown = async || Err(std::io::Error::other("timed out"))?;
        ledger.lease(holder("e", fence)).once::<String>(name, unknown).await.unwrap_err();
        let lease = ledger.lease(holder("e", fence + 1));
        let doubt = lease.once(name, async || Ok(String::new())).await;
        assert!(matches!(doubt, Err(OnceError::InDoubt(_))), "{doubt:?}");
        assert_eq!(bench.client.execute(&begins(statement), &[&name]).await.unwrap(), 1);
        assert_eq!(lease.once(name, async || Ok("again".to_owned())).await.unwrap(), result);
    }
}
