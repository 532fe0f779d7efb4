//! A database with the ledger's tables, and one to write to.
//!
//! Lives here: what the tests beside it are written with. Not here: starting the server (`servers.rs`).

use naven_client::ledger::postgres::{create, once_in};
use naven_client::ledger::{Holder, OnceError};
use tokio_postgres::{Client, Transaction};

use crate::servers::Server;
use crate::servers::postgres_server::{connect, start};

pub(super) struct Bench {
    pub(super) server: Server,
    pub(super) client: Client,
}

impl Bench {
    pub(super) async fn start() -> Self {
        let server = start().await;
        let client = connect(server.port).await.expect("it answers");
        create(&client).await.expect("made");
        create(&client).await.expect("made again, which changes nothing");
        client.batch_execute("CREATE TABLE writes (what text NOT NULL)").await.expect("made");
        Self { server, client }
    }

    /// Another connection.
    pub(super) async fn connect(&self) -> Client {
        connect(self.server.port).await.expect("it answers")
    }

    /// How many rows with `what` are there, for all to see.
    pub(super) async fn writes(&self, what: &str) -> i64 {
        let count = "SELECT count(*) FROM writes WHERE what = $1";
        self.client.query_one(count, &[&what]).await.expect("an answer").get(0)
    }

    /// Waits until `waiting` sessions wait for a lock.
    pub(super) async fn until_waiting(&self, waiting: i64) {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while self.client.query_one(count, &[]).await.expect("an answer").get::<_, i64>(0) < waiting {
            tokio::task::yield_now().await;
        }
    }
}

pub(super) fn holder(event: &str, fence: u64) -> Holder {
    Holder::new("q", event, fence)
}

/// Writes a row, once, and answers the fence of who did.
pub(super) async fn write(transaction: &Transaction<'_>, event: &str, fence: u64) -> Result<u64, OnceError> {
    once_in(transaction, holder(event, fence), "x", async || {
        transaction.execute("INSERT INTO writes VALUES ($1)", &[&event]).await?;
        Ok(fence)
    })
    .await
}

/// The same, in a transaction that is committed.
pub(super) async fn write_and_commit(client: &mut Client, event: &str, fence: u64) -> Result<u64, OnceError> {
    let transaction = client.transaction().await.expect("begun");
    let answer = write(&transaction, event, fence).await;
    transaction.commit().await.expect("committed");
    answer
}

/// The code of the database's error behind this one.
pub(super) fn code_of(error: &OnceError) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            return error.code().map(|code| code.code().to_owned());
        }
        cause = error.source();
    }
    None
}
