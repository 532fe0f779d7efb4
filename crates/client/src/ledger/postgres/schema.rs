//! The ledger's tables.
//!
//! Lives here: making them, and deleting what is old. Not here: what is read and written for an effect (`record.rs`).

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Error, GenericClient};

/// The tables, for your migrations. Run again, it changes nothing.
pub const SCHEMA: &str = include_str!("schema.sql");

/// Most events that one [`forget`] deletes.
pub const FORGET_MAX: u32 = 10_000;

/// Makes the tables where they are not there.
///
/// Two at once may get in each other's way, as `CREATE TABLE IF NOT EXISTS` can: run it in one place, as a migration.
///
/// # Errors
/// Those of the database.
pub async fn create<C: GenericClient>(client: &C) -> Result<(), Error> {
    client.batch_execute(SCHEMA).await
}

/// Deletes the records of up to [`FORGET_MAX`] events, whose last effect is longer ago than `older_than` by the database's
/// clock. Answers of how many: call it until that is less than the most.
///
/// **Records must outlive their events**: the longest pause between two deliveries, that of a dead letter which somebody
/// redrives included. An effect whose record is gone is run again.
///
/// # Errors
/// Those of the database.
pub async fn forget<C: GenericClient>(client: &C, older_than: Duration) -> Result<u64, Error> {
    const FORGET: &str = "WITH old AS (
            SELECT queue, event FROM naven_ledger_events
            WHERE touched_at < now() - make_interval(secs => $1)
            ORDER BY touched_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM naven_ledger_events USING old
            WHERE naven_ledger_events.queue = old.queue AND naven_ledger_events.event = old.event
            RETURNING 1
        ) SELECT count(*) FROM gone";
    let (seconds, most) = (older_than.as_secs_f64(), i64::from(FORGET_MAX));
    let row = client.query_typed_one(FORGET, &[(&seconds, Type::FLOAT8), (&most, Type::INT8)]).await?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}
