//! The effect ledger in PostgreSQL (feature `ledger-postgres`), inside your own transaction.
//!
//! ```no_run
//! use naven_client::consumer::{Delivery, Outcome};
//! use naven_client::ledger::postgres::once_in;
//!
//! #[derive(serde::Deserialize)]
//! struct Order {
//!     cents: i64,
//! }
//!
//! async fn handle(
//!     delivery: Delivery<Order>,
//!     db: &mut tokio_postgres::Client,
//! ) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
//!     let transaction = db.transaction().await?;
//!     let balance: i64 = once_in(&transaction, &delivery, "book", async || {
//!         let add = "UPDATE accounts SET balance = balance + $1 WHERE id = 1 RETURNING balance";
//!         Ok(transaction.query_one(add, &[&delivery.payload().cents]).await?.get(0))
//!     })
//!     .await?;
//!     transaction.commit().await?;
//!     tracing::info!(balance, "booked");
//!     Ok(Outcome::Done)
//! }
//! ```
//!
//! # Exactly once
//! The record and your own writes are committed, or rolled back, together. So an effect that is nothing but writes in that
//! database happens **once**, and is never in doubt:
//! - The process dies before the commit: both are gone, and the next attempt runs it.
//! - **The answer to `COMMIT` is lost**: you do not know, and need not. Let the attempt fail (`?` does): the next one, in a new
//!   transaction, finds the record or does not.
//! - Two attempts at once: the second waits for the first one's transaction on the row of the event, then gets its result, or
//!   runs the effect where it was rolled back. It waits [`PATIENCE`], or your `lock_timeout` where you set one, and fails then.
//! - A late handler: refused by the row of the event. One that has passed it, and has not committed, holds up the next attempt
//!   until it has: set `idle_in_transaction_session_timeout`, so that one that is frozen there lets go.
//! - `REPEATABLE READ` and `SERIALIZABLE`: where `READ COMMITTED` would wait and see, PostgreSQL answers 40001. Let the attempt
//!   fail.
//!
//! Call [`once_in`] first in the transaction: who locks rows of their own before it can meet another attempt in a deadlock,
//! which PostgreSQL ends by failing one of the two. One call at a time for a lease; and while the transaction is open, no
//! other form of the ledger for that event: it would wait for you.
//!
//! **Commit before you answer `Outcome::Done`**, and hand on each error of a statement: once one failed, PostgreSQL rolls
//! back what it is told to commit, and `Transaction::commit` answers `Ok` all the same. The effect itself is guarded against
//! that; your statements after it are not. With `synchronous_commit = off`, or a failover to a replica that is behind, PostgreSQL
//! may lose what it has committed: effect and record together, but the event is done.
//!
//! # Effects outside of the database
//! [`Postgres`] is a [`Store`](super::Store) over connections of its own, for [`Lease::once`](super::Lease::once) and its sisters.
//!
//! # Tables
//! [`SCHEMA`] is for your migrations, and [`create`] runs it. They are found by the `search_path`: put them into whichever schema
//! you like. [`forget`] deletes what is old.
//!
//! PostgreSQL 12 or newer (tried on 15). No statement is prepared, so that poolers of transactions (pgbouncer) do no harm.

mod connected;
mod record;
mod schema;
mod transaction;

pub use connected::{CONNECTIONS_DEFAULT, Postgres};
pub use record::PATIENCE;
pub use schema::{FORGET_MAX, SCHEMA, create, forget};
pub use transaction::once_in;
