//! The ledger's steps over connections of its own.
//!
//! Lives here: connecting, and one transaction for each step. Not here: the statements (`record.rs`).

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Error, IsolationLevel, Socket, Transaction};

use super::record::{delete, locked, save};
use crate::ledger::effect::Effect;
use crate::ledger::rule::{Abandoned, Begun, Finished, OnDoubt, Record};
use crate::ledger::store::{Store, StoreError};

/// Most connections of a [`Postgres`], unless it is told otherwise.
pub const CONNECTIONS_DEFAULT: usize = 4;

/// Records in a PostgreSQL, over a few connections: each is made when it is needed, kept, and made anew after it broke.
///
/// A step has a connection to itself, and waits for one where all are taken.
pub struct Postgres<T> {
    config: Config,
    tls: T,
    /// As many as may be had at once.
    free: Semaphore,
    /// Those that no step has. A step that is dropped half way takes its connection along.
    idle: Mutex<Vec<Connected>>,
}

/// Dropped, so is the connection.
struct Connected {
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl<T> Postgres<T>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::TlsConnect: Send,
    T::Stream: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    /// Records in the database that `config` names, in the tables of [`SCHEMA`](super::SCHEMA). It connects when the first
    /// effect comes, on the runtime of that call.
    pub fn new(config: Config, tls: T) -> Self {
        Self::with_connections(config, tls, CONNECTIONS_DEFAULT)
    }

    /// The same, over up to `most` connections; none counts as one.
    pub fn with_connections(config: Config, tls: T, most: usize) -> Self {
        let free = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { config, tls, free, idle: Mutex::default() }
    }

    /// One that no step has, and that is not known to be broken.
    fn idle(&self) -> Option<Connected> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connected| !connected.client.is_closed());
        idle.pop()
    }

    async fn connect(&self) -> Result<Connected, Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "the ledger's connection to PostgreSQL broke");
            }
        });
        Ok(Connected { client, driver })
    }

    /// Does `work` in a transaction of its own, and commits it.
    async fn step<A>(
        &self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> Result<A, Error>,
    ) -> Result<A, StoreError> {
        let _turn = self.free.acquire().await.map_err(StoreError::new)?;
        let mut connected = match self.idle() {
            Some(connected) => connected,
            None => self.connect().await.map_err(StoreError::new)?,
        };
        let answer = in_transaction(&mut connected.client, work).await;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connected);
        answer.map_err(StoreError::new)
    }
}

async fn in_transaction<A>(
    client: &mut Client,
    work: impl AsyncFnOnce(&Transaction<'_>) -> Result<A, Error>,
) -> Result<A, Error> {
    // Whatever the database's default is, a step that waited for another one is to see what that did.
    let level = IsolationLevel::ReadCommitted;
    let transaction = client.build_transaction().isolation_level(level).read_only(false).start().await?;
    let answer = work(&transaction).await?;
    transaction.commit().await?;
    Ok(answer)
}

impl<T> Store for Postgres<T>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::TlsConnect: Send,
    T::Stream: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    async fn begin(&self, effect: &Effect, doubt: OnDoubt) -> Result<Begun, StoreError> {
        self.step(async |transaction| {
            let kept = locked(transaction, effect).await?;
            let begun = kept.begin(effect, doubt);
            if begun == Begun::Now {
                save(transaction, effect, &kept.begun_by(effect, doubt)).await?;
            }
            Ok(begun)
        })
        .await
    }

    async fn finish(&self, effect: &Effect, result: &[u8]) -> Result<Finished, StoreError> {
        self.step(async |transaction| {
            let finished = locked(transaction, effect).await?.finish(effect);
            if finished == Finished::Recorded {
                let (fence, bearer, result) = (effect.fence, effect.bearer.clone(), result.to_vec());
                save(transaction, effect, &Record::Done { fence, bearer, result }).await?;
            }
            Ok(finished)
        })
        .await
    }

    async fn abandon(&self, effect: &Effect) -> Result<Abandoned, StoreError> {
        self.step(async |transaction| {
            let abandoned = locked(transaction, effect).await?.abandon(effect);
            if abandoned == Abandoned::Undone {
                delete(transaction, effect).await?;
            }
            Ok(abandoned)
        })
        .await
    }
}

impl<T> fmt::Debug for Postgres<T> {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("config", &self.config).finish_non_exhaustive()
    }
}
