//! The ledger in a real Redis.
//!
//! Lives here: the suite over it, and what is its own: commands as effects, and how long records live. Not here: the cases of the
//! suite (`cases`).

use std::sync::Arc;
use std::time::Duration;

use naven_client::ledger::redis::{
    COMMANDS_BYTES_MAX, COMMANDS_MAX, KEEP_MAX, NotCommands, Redis, WORDS_MAX,
};
use naven_client::ledger::{Holder, Lease, Ledger, OnceError, RESULT_BYTES_MAX};
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, cmd, pipe};

use crate::servers::Server;
use crate::servers::redis_server::{connect, start};

struct Bench {
    server: Server,
    connection: MultiplexedConnection,
    ledger: Ledger<Redis<MultiplexedConnection>>,
}

impl Bench {
    async fn start(settings: &[&str]) -> Self {
        Self::over(start(settings).await).await
    }

    async fn over(server: Server) -> Self {
        let connection = connect(&server).await.expect("it answers");
        let ledger = Ledger::new(Redis::new(connection.clone(), "l"));
        Self { server, connection, ledger }
    }

    fn lease(&self, event: &str, fence: u64) -> Lease<Redis<MultiplexedConnection>> {
        self.ledger.lease(Holder::new("q", event, fence))
    }

    async fn get(&self, key: &str) -> Option<i64> {
        cmd("GET").arg(key).query_async(&mut self.connection.clone()).await.expect("an answer")
    }

    async fn seconds_to_live(&self, event: &str) -> i64 {
        let key = self.ledger.store().key("q", event);
        cmd("TTL").arg(key).query_async(&mut self.connection.clone()).await.expect("an answer")
    }
}

fn incr(key: &str) -> Pipeline {
    let mut writes = pipe();
    writes.cmd("INCR").arg(key);
    writes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_in_redis() {
    let bench = Bench::start(&[]).await;
    let store = Arc::new(Redis::new(bench.connection.clone(), "suite"));
    crate::cases::all(&store).await;
    crate::scripts::play(&*store, 300).await;
}

#[tokio::test]
async fn commands_and_their_record_are_one_step() {
    let bench = Bench::start(&[]).await;
    let mut writes = incr("a");
    writes.cmd("SET").arg("b").arg(b"\xff\r\n{}\0").cmd("INCR").arg("a");
    assert_eq!(bench.lease("e", 1).once_in("x", &writes, &7).await.unwrap(), 7);
    assert_eq!(bench.lease("e", 2).once_in("x", &writes, &8).await.unwrap(), 7);
    assert_eq!(bench.get("a").await, Some(2));
    let b: Vec<u8> = cmd("GET").arg("b").query_async(&mut bench.connection.clone()).await.unwrap();
    assert_eq!(b, b"\xff\r\n{}\0");
    // The other forms see the record, and a late handler is refused.
    assert_eq!(bench.lease("e", 2).once("x", async || Ok(9)).await.unwrap(), 7);
    let late = bench.lease("e", 1).once_in("y", &writes, &1).await;
    assert!(matches!(late, Err(OnceError::Stale { fence: 1, seen: 2, ran: false })), "{late:?}");
    let over = bench.ledger.lease(Holder::new("q", "e", 3).watched(|| true));
    assert!(matches!(over.once_in("y", &writes, &1).await, Err(OnceError::LeaseOver)));
    assert_eq!(bench.get("a").await, Some(2));
}

#[tokio::test]
async fn what_another_form_left_in_doubt_is_not_done_by_commands() {
    let bench = Bench::start(&[]).await;
    let lease = bench.lease("e", 1);
    lease.once::<()>("x", async || Err(std::io::Error::other("timed out"))?).await.unwrap_err();
    let doubt = bench.lease("e", 2).once_in("x", &incr("a"), &1).await;
    assert!(matches!(&doubt, Err(OnceError::InDoubt(doubt)) if doubt.earlier_fence == 1), "{doubt:?}");
    assert_eq!(bench.get("a").await, None);
}

#[tokio::test]
async fn a_refused_command_is_told_and_undone_where_it_can_be() {
    let bench = Bench::start(&[]).await;
    let mut connection = bench.connection.clone();
    cmd("RPUSH").arg("list").arg(1).exec_async(&mut connection).await.unwrap();
    for commands in [incr("list"), pipe().cmd("NOSUCH").arg("a").clone()] {
        let refused = bench.lease("e", 1).once_in("x", &commands, &1).await.unwrap_err();
        assert!(matches!(refused, OnceError::Failed { in_doubt: false, .. }), "{refused:?}");
    }
    assert_eq!(bench.lease("e", 1).once_in("x", &incr("a"), &1).await.unwrap(), 1);

    let mut writes = incr("a");
    writes.cmd("INCR").arg("list").cmd("INCR").arg("a");
    let refused = bench.lease("e", 2).once_in("y", &writes, &1).await.unwrap_err();
    let OnceError::Failed { source, in_doubt: true } = refused else { panic!("{refused:?}") };
    let why = source.downcast_ref::<NotCommands>().expect("it is one");
    assert!(matches!(why, NotCommands::Refused { at: 1, why } if why.contains("WRONGTYPE")), "{why:?}");
    let doubt = bench.lease("e", 3).once_in("y", &incr("a"), &1).await;
    assert!(matches!(doubt, Err(OnceError::InDoubt(_))), "{doubt:?}");
    assert_eq!(bench.get("a").await, Some(2), "the first is done, the third is not");
}

#[tokio::test]
async fn commands_have_bounds() {
    let bench = Bench::start(&[]).await;
    let lease = bench.lease("e", 1);
    let many = |count: usize| (0..count).fold(pipe(), |mut writes, _| writes.cmd("INCR").arg("n").clone());
    let wide = |words: usize| {
        let mut writes = pipe();
        writes.cmd("RPUSH").arg("wide").arg(vec!["x"; words - 2]);
        writes
    };
    let heavy = |bytes: usize| {
        let mut writes = pipe();
        writes.cmd("SET").arg("h").arg("x".repeat(bytes - 4));
        writes
    };
    lease.once_in("many", &many(COMMANDS_MAX), &()).await.unwrap();
    lease.once_in("wide", &wide(WORDS_MAX), &()).await.unwrap();
    lease.once_in("heavy", &heavy(COMMANDS_BYTES_MAX), &()).await.unwrap();
    let mut scan = cmd("SCAN");
    scan.cursor_arg(0);
    let cursor = pipe().add_command(scan).clone();
    for commands in
        [pipe(), many(COMMANDS_MAX + 1), wide(WORDS_MAX + 1), heavy(COMMANDS_BYTES_MAX + 1), cursor]
    {
        let refused = lease.once_in("x", &commands, &1).await.unwrap_err();
        assert!(matches!(refused, OnceError::Failed { in_doubt: false, .. }), "{refused:?}");
    }
    let unfit = lease.once_in("x", &incr("a"), &"x".repeat(RESULT_BYTES_MAX - 1)).await;
    assert!(matches!(unfit, Err(OnceError::ResultUnfit { .. })), "{unfit:?}");
    assert_eq!(bench.get("a").await, None);
    assert_eq!(bench.get("n").await, Some(1_000));
}

/// All over one connection, as each step is one script.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_at_once_do_their_commands_once() {
    let bench = Bench::start(&[]).await;
    let attempt = |number: u64| {
        let lease = bench.lease(&format!("e{}", number % 20), number / 20 + 1);
        tokio::spawn(async move { lease.once_in("x", &incr(&format!("n{}", number % 20)), &number).await })
    };
    let attempts: Vec<_> = (0..200).map(attempt).collect();
    for attempt in attempts {
        let answer = attempt.await.unwrap();
        assert!(matches!(answer, Ok(_) | Err(OnceError::Stale { ran: false, .. })), "{answer:?}");
    }
    for number in 0..20 {
        assert_eq!(bench.get(&format!("n{number}")).await, Some(1));
    }
}

#[tokio::test]
async fn records_live_as_long_as_they_are_asked_to() {
    let bench = Bench::start(&[]).await;
    let by_default = 45 * 86_400;
    bench.lease("e", 1).once("x", async || Ok(())).await.unwrap();
    assert!((by_default - 60..=by_default).contains(&bench.seconds_to_live("e").await));
    let keep = |store: Redis<_>| Ledger::new(store).lease(Holder::new("q", "e", 2));
    let store = || Redis::new(bench.connection.clone(), "l");
    // Being told a stored result is a sign of life too.
    keep(store().keep_for(Duration::from_millis(999_001)).unwrap()).once("x", async || Ok(())).await.unwrap();
    assert!((940..=1_000).contains(&bench.seconds_to_live("e").await));
    keep(store().keep_for_ever()).once_in("y", &incr("a"), &()).await.unwrap();
    assert_eq!(bench.seconds_to_live("e").await, -1);
    assert!(store().keep_for(KEEP_MAX).is_ok());
    assert!(store().keep_for(KEEP_MAX + Duration::from_nanos(1)).is_err());
    assert!(store().keep_for(Duration::ZERO).is_err());
}

/// What was lost with the memory of Redis is recorded all the same once it is done.
#[tokio::test]
async fn an_effect_that_runs_while_redis_forgets_is_recorded() {
    let bench = Bench::start(&[]).await;
    let lease = bench.lease("e", 1);
    let forgotten = lease.once("x", async || {
        cmd("FLUSHALL").exec_async(&mut bench.connection.clone()).await?;
        Ok(1)
    });
    assert_eq!(forgotten.await.unwrap(), 1);
    assert_eq!(bench.lease("e", 2).once("x", async || Ok(2)).await.unwrap(), 1);
}

#[tokio::test]
async fn records_outlive_a_crash_of_redis_that_syncs_always() {
    const ALWAYS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];
    let bench = Bench::start(&ALWAYS).await;
    bench.lease("e", 1).once("x", async || Ok(1)).await.unwrap();
    bench.lease("e", 1).once_in("y", &incr("a"), &2).await.unwrap();
    let bench = Bench::over(bench.server.start_again(&ALWAYS).await).await;
    assert_eq!(bench.lease("e", 2).once("x", async || Ok(3)).await.unwrap(), 1);
    assert_eq!(bench.lease("e", 2).once_in("y", &incr("a"), &3).await.unwrap(), 2);
    assert_eq!(bench.get("a").await, Some(1));
}

/// One node that has all slots: what it refuses is keys of one step that lie in different ones.
#[tokio::test]
async fn all_that_is_known_of_an_event_lies_in_one_slot_of_a_cluster() {
    let bench = Bench::start(&["--cluster-enabled", "yes"]).await;
    let mut connection = bench.connection.clone();
    cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).exec_async(&mut connection).await.unwrap();
    let info = async |mut connection: MultiplexedConnection| -> String {
        cmd("CLUSTER").arg("INFO").query_async(&mut connection).await.unwrap()
    };
    while !info(connection.clone()).await.contains("cluster_state:ok") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let store = Redis::new(connection.clone(), "suite");
    // Our key and one with the tag that the page names: a command on both is refused unless they are in one slot.
    let (key, tagged) = (store.key("q", "e"), "orders:{q/e}");
    let both = cmd("TOUCH").arg(&key).arg(tagged).query_async::<i64>(&mut connection).await;
    assert_eq!(both.unwrap(), 0);
    assert!(cmd("TOUCH").arg(&key).arg("orders").query_async::<i64>(&mut connection).await.is_err());
    assert_eq!(bench.lease("e", 1).once_in("x", &incr(tagged), &1).await.unwrap(), 1);
    assert_eq!(bench.get(tagged).await, Some(1));
    crate::cases::all(&Arc::new(store)).await;
}

#[tokio::test]
async fn a_redis_that_is_gone_is_an_error_before_the_effect() {
    let mut bench = Bench::start(&[]).await;
    bench.server.kill();
    let error = bench.lease("e", 1).once("x", async || Ok(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Store(_)) && !error.may_have_run(), "{error:?}");
    let error = bench.lease("e", 1).once_in("x", &incr("a"), &1).await.unwrap_err();
    assert!(matches!(error, OnceError::Store(_)), "{error:?}");
}
