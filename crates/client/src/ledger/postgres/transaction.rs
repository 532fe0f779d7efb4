//! Effects that are writes in the ledger's own database.
//!
//! Lives here: effect and record in the user's transaction. Not here: the statements (`record.rs`).

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::{Error, Transaction};

use super::record::{locked, save};
use crate::ledger::effect::Effect;
use crate::ledger::error::{Doubt, Failed, OnceError};
use crate::ledger::holder::Holder;
use crate::ledger::rule::{Begun, OnDoubt, Record};
use crate::ledger::store::StoreError;
use crate::ledger::turn::{decoded, encoded};

/// Runs `effect` unless an earlier attempt did, in `transaction`: **once**, as soon as you commit it.
///
/// What `effect` writes by the same transaction is undone where it fails, by a savepoint: whatever it failed by, and even if
/// you commit the rest. In doubt it can be only where somebody else made it so: another method under the same name, or a call
/// that was dropped half way in a transaction that was committed all the same. Then it is refused.
///
/// Cancel safety: roll the transaction back. It waits for other attempts as long as
/// [`PATIENCE`](super::PATIENCE) or your `lock_timeout` says; how long `effect` takes is up to it.
///
/// # Errors
/// See [`OnceError`]. After [`OnceError::Store`] the transaction can only be rolled back.
pub async fn once_in<R: Serialize + DeserializeOwned>(
    transaction: &Transaction<'_>,
    holder: impl Into<Holder>,
    name: &str,
    effect: impl AsyncFnOnce() -> Result<R, Failed>,
) -> Result<R, OnceError> {
    let holder = holder.into();
    let named = holder.effect(name)?;
    if holder.is_over() {
        return Err(OnceError::LeaseOver);
    }
    // Savepoints of two effects would undo each other: no name of an effect has a blank.
    let _alone = holder.enter("in a transaction").ok_or(OnceError::Running)?;
    let running = holder.enter(name).ok_or(OnceError::Running)?;
    let kept = locked(transaction, &named).await.map_err(failed)?;
    let fence = named.fence();
    match kept.begin(&named, OnDoubt::Leave) {
        Begun::Now => {}
        Begun::Done(result) => return decoded(&result),
        Begun::Running => return Err(OnceError::Running),
        Begun::Stale { seen } => return Err(OnceError::Stale { fence, seen, ran: false }),
        Begun::InDoubt { fence: earlier_fence, .. } => {
            return Err(OnceError::InDoubt(Doubt { key: named.key(), earlier_fence, fence }));
        }
    }
    transaction.batch_execute("SAVEPOINT naven_once").await.map_err(failed)?;
    running.start();
    // Seen by others only if this call is dropped, and the transaction committed.
    save(transaction, &named, &kept.begun_by(&named, OnDoubt::Leave)).await.map_err(failed)?;
    match run(transaction, &named, effect()).await? {
        Ok(result) => {
            transaction.batch_execute("RELEASE naven_once").await.map_err(failed)?;
            Ok(result)
        }
        Err(error) => {
            let undo = "ROLLBACK TO naven_once; RELEASE naven_once";
            transaction.batch_execute(undo).await.map_err(failed)?;
            running.undo();
            Err(error)
        }
    }
}

/// Runs the effect and records it. An inner error is to be undone; after an outer one nothing can be.
async fn run<R: Serialize>(
    transaction: &Transaction<'_>,
    effect: &Effect,
    run: impl Future<Output = Result<R, Failed>>,
) -> Result<Result<R, OnceError>, OnceError> {
    let answer = match run.await {
        Ok(answer) => answer,
        Err(Failed { source, .. }) => return Ok(Err(OnceError::Failed { source, in_doubt: false })),
    };
    let result = match encoded(&answer) {
        Ok(result) => result,
        Err(why) => return Ok(Err(OnceError::ResultUnfit { why })),
    };
    let done = Record::Done { fence: effect.fence(), bearer: effect.bearer().clone(), result };
    match save(transaction, effect, &done).await {
        Ok(()) => Ok(Ok(answer)),
        // An effect that swallowed an error of the database leaves a transaction that takes no more statements.
        Err(error) => Ok(Err(failed(error))),
    }
}

fn failed(error: Error) -> OnceError {
    OnceError::Store(StoreError::new(error))
}
