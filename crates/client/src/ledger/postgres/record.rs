//! What is read and written for an effect, within a transaction.
//!
//! Lives here: the statements. Not here: who may do what (`rule.rs`), and whose transaction it is.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, Transaction};

use crate::ledger::effect::{Bearer, Effect};
use crate::ledger::rule::{Kept, Record};

/// How long an attempt waits for another one's transaction, unless `lock_timeout` is set, in the words of PostgreSQL.
pub const PATIENCE: &str = "5s";

const RAISE: &str = include_str!("raise.sql");
const SEEN: &str = "SELECT fence FROM naven_ledger_events WHERE queue = $1 AND event = $2";
const READ: &str = "SELECT fence, bearer, is_done, is_doubtful, result FROM naven_ledger_effects
    WHERE queue = $1 AND event = $2 AND name = $3";
const SAVE: &str = "INSERT INTO naven_ledger_effects AS known
        (queue, event, name, fence, bearer, is_done, is_doubtful, result)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (queue, event, name) DO UPDATE SET fence = EXCLUDED.fence, bearer = EXCLUDED.bearer,
        is_done = EXCLUDED.is_done, is_doubtful = EXCLUDED.is_doubtful, result = EXCLUDED.result, at = now()";
const DELETE: &str = "DELETE FROM naven_ledger_effects WHERE queue = $1 AND event = $2 AND name = $3";

type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// What is kept of an effect, with the row of its event locked. The asker's fence is seen by that, unless a higher one was.
pub(super) async fn locked(transaction: &Transaction<'_>, effect: &Effect) -> Result<Kept, Error> {
    let fence = signed(effect.fence);
    let (queue, event, name) = (&&*effect.queue, &&*effect.event, &&*effect.name);
    let of_event: [Param<'_>; 2] = [(queue, Type::TEXT), (event, Type::TEXT)];
    let [queue, event] = of_event.clone();
    let params = [queue, event, (&fence, Type::INT8), (&PATIENCE, Type::TEXT)];
    let raised: Option<i64> = transaction.query_typed_one(RAISE, &params).await?.get(0);
    if raised.is_none() {
        // The statement above has locked the row, though it did not change it.
        let seen: i64 = transaction.query_typed_one(SEEN, &of_event).await?.get(0);
        return Ok(Kept { seen: Some(seen.unsigned_abs()), record: None });
    }
    let [queue, event] = of_event;
    let row = transaction.query_typed_opt(READ, &[queue, event, (name, Type::TEXT)]).await?;
    Ok(Kept { seen: Some(effect.fence), record: row.as_ref().map(record) })
}

/// Saves the record of an effect.
pub(super) async fn save(
    transaction: &Transaction<'_>,
    effect: &Effect,
    record: &Record,
) -> Result<(), Error> {
    let (fence, bearer, is_done, is_doubtful, result) = match record {
        Record::Begun { fence, bearer, is_doubtful } => (*fence, bearer, false, *is_doubtful, &[][..]),
        Record::Done { fence, bearer, result } => (*fence, bearer, true, false, &result[..]),
    };
    let (fence, bearer) = (signed(fence), bearer.as_str());
    let params: [Param<'_>; 8] = [
        (&&*effect.queue, Type::TEXT),
        (&&*effect.event, Type::TEXT),
        (&&*effect.name, Type::TEXT),
        (&fence, Type::INT8),
        (&bearer, Type::TEXT),
        (&is_done, Type::BOOL),
        (&is_doubtful, Type::BOOL),
        (&result, Type::BYTEA),
    ];
    transaction.query_typed(SAVE, &params).await.map(drop)
}

/// Deletes the record of an effect.
pub(super) async fn delete(transaction: &Transaction<'_>, effect: &Effect) -> Result<(), Error> {
    let params: [Param<'_>; 3] =
        [(&&*effect.queue, Type::TEXT), (&&*effect.event, Type::TEXT), (&&*effect.name, Type::TEXT)];
    transaction.query_typed(DELETE, &params).await.map(drop)
}

fn record(row: &Row) -> Record {
    let fence = row.get::<_, i64>("fence").unsigned_abs();
    let bearer = Bearer::kept(row.get("bearer"));
    if row.get("is_done") {
        return Record::Done { fence, bearer, result: row.get("result") };
    }
    Record::Begun { fence, bearer, is_doubtful: row.get("is_doubtful") }
}

/// Effects are checked: none has a fence above that.
fn signed(fence: u64) -> i64 {
    i64::try_from(fence).unwrap_or(i64::MAX)
}
