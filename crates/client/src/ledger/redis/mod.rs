//! The effect ledger in Redis or Valkey (feature `ledger-redis`).
//!
//! ```no_run
//! use std::time::Duration;
//! use naven_client::ledger::Ledger;
//! use naven_client::ledger::redis::Redis;
//!
//! # struct Order { label: String }
//! # async fn run(delivery: naven_client::consumer::Delivery<Order>) -> Result<(), Box<dyn std::error::Error>> {
//! let client = ::redis::Client::open("redis://127.0.0.1:6379/")?;
//! let store = Redis::new(client.get_multiplexed_async_connection().await?, "shop:effects");
//! let ledger = Ledger::new(store.keep_for(Duration::from_secs(30 * 86_400))?);
//!
//! // Commands of that same Redis, and the record of the effect, as one step.
//! let mut writes = ::redis::pipe();
//! writes.cmd("INCR").arg("orders").cmd("RPUSH").arg("labels").arg(&delivery.payload().label);
//! ledger.lease(&delivery).once_in("label", &writes, &()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is kept
//! One hash for each event, `<prefix>:{<queue>/<event id>}`: a field for the highest fencing number seen, and one for each
//! effect. Each step is one Lua script on that one key, so that nothing lies within it, on a cluster too. Any connection
//! will do, also one that is shared: the scripts need neither `WATCH` nor `MULTI`. Nothing in them is newer than Redis 5;
//! they are tried on Redis 7.0 and Valkey 9.
//! The Redis door of Naven Events runs no scripts: keep the ledger in a real Redis.
//!
//! # How long it is kept
//! An event's hash lives for [`KEEP_DEFAULT`] from the last effect on, or as [`Redis::keep_for`] says. **It must outlive the
//! event**: the longest pause between two of its deliveries, that of a dead letter which somebody redrives included. An
//! effect whose record is gone is run again. With a `maxmemory-policy` other than `noeviction` Redis may drop a record
//! earlier.
//!
//! # What a crash of Redis takes along
//! Redis answers before its disk does, unless `appendfsync always` is set. A record of the last second (`everysec`), or
//! since the last snapshot (no append-only file), may be gone after a crash; and after a failover so is what the replica had
//! not got yet. Then:
//! - the effect of [`once`](super::Lease::once) and its sisters may be run again, or be in doubt;
//! - the commands of [`once_in`](super::Lease::once_in) are gone or there **together with** their record, as a script is
//!   written and replicated as a whole. So they happen once, seen from that Redis.
//!
//! Where that is too little: `appendfsync always` without failover, or PostgreSQL.

mod commands;
mod connected;

pub use commands::{COMMANDS_BYTES_MAX, COMMANDS_MAX, NotCommands, WORDS_MAX};
pub use connected::{BadKeep, KEEP_DEFAULT, KEEP_MAX, Redis};
