//! The effect ledger: what a handler does to the world, done once, however often its event is delivered.
//!
//! ```
//! use naven_client::consumer::{Delivery, Outcome};
//! use naven_client::ledger::{Ledger, Memory, OnceError};
//!
//! #[derive(serde::Deserialize)]
//! struct Order {
//!     cents: u64,
//! }
//!
//! # struct Bank;
//! # impl Bank { async fn charge(&self, _: u64, _: &str) -> Result<String, std::io::Error> { Ok("ch_1".to_owned()) } }
//! async fn handle(delivery: Delivery<Order>, ledger: &Ledger<Memory>, bank: &Bank) -> Result<Outcome, OnceError> {
//!     let lease = ledger.lease(&delivery);
//!     let charge: String = lease
//!         .once_keyed("charge-card", async |key| Ok(bank.charge(delivery.payload().cents, key.as_str()).await?))
//!         .await?;
//!     tracing::info!(charge, "charged");
//!     Ok(Outcome::Done)
//! }
//! ```
//!
//! # The contract
//! **What an effect is.** It is named by (queue, event id, name). Its record is kept by a [`Store`]: who began it, under
//! which fencing number, and, once it is done, its result as JSON of at most [`RESULT_BYTES_MAX`].
//!
//! **The second attempt gets the stored result.** It does not run the effect. That includes attempts after a redrive: the
//! event's id stays, and its fencing number goes on.
//!
//! **A late handler is refused.** The store keeps the highest fencing number seen of each event, by any of its effects.
//! Nothing is begun, recorded or answered under a lower one ([`OnceError::Stale`]): not even a stored result, as the late
//! handler is to stop, and not that an effect of it happened, which stays in doubt. Where the lease is over by the local
//! clock, the store is not even asked ([`OnceError::LeaseOver`]). A handler that outlives its lease, while nobody else has
//! come yet, is not late to the store: what it did is recorded.
//!
//! **Never two at once by one lease.** While an effect runs, a second call by the same lease is refused
//! ([`OnceError::Running`]); it does not wait. So is one by another process that was handed the same lease.
//!
//! **In doubt.** An effect outside of the store, and its record, cannot be one step. A process that dies between
//! *begun* and *done* leaves an effect of which nobody knows whether it happened; so does one that is frozen there, while
//! another has the event. No ledger can know; it can say so, and the caller chooses by the method:
//!
//! | method | in doubt, it | at most | at least | for |
//! |---|---|---|---|---|
//! | [`Lease::once`] | refuses: [`OnceError::InDoubt`] | once | never | what must not happen twice, where a person can look |
//! | [`Lease::once_keyed`] | runs it again, under the same [`EffectKey`] | once by that key | once | APIs that take an idempotency key; what is harmless when repeated |
//! | [`Lease::once_asked`] | asks you whether it happened | once, if the answer is right | once | APIs that can be asked |
//! | `postgres::once_in` | is never in doubt | once | once | writes in that database, in your own transaction |
//! | `Lease::once_in` of Redis | is in doubt only where one of your commands was refused | once | once | writes in that Redis |
//!
//! *At least once* holds as long as the event is delivered again until the handler succeeds.
//!
//! **What failed.** An effect answers `Err(`[`Failed`]`)`. By `?` that means *unknown*: a timeout may have happened on the way
//! back. It stays begun, and is in doubt for the next attempt. [`Failed::undone`] says that surely nothing happened: the
//! record is taken back, and the next attempt runs it. A panic, and a future that is dropped, are unknown.
//!
//! **Lost answers.** Each step of a store may be repeated by the same lease: a step whose answer was lost is harmless. That an
//! effect is done is said up to [`FINISH_TRIES`] times; where none is answered, the effect ran and the caller is told so
//! ([`OnceError::Unrecorded`]). [`OnceError::may_have_run`] tells this apart from errors before the effect.
//!
//! # Bounds
//! Names: [`NAME_RULE`]. Results: [`RESULT_BYTES_MAX`]; one that is larger is not kept, but that the effect is done is
//! ([`OnceError::ResultNotKept`]). Each step of a store: [`STEP_MAX`]. How long records are kept is the store's: they must
//! outlive the event, its retries and its redrives.
//!
//! # One ledger, one server
//! Fencing numbers are those of one server. A server that was restored from an older backup may hand out lower ones
//! than the ledger has seen: its events are refused until they have caught up, which may use up their
//! attempts; nothing is done twice. Servers that
//! know nothing of each other should not share tables (PostgreSQL) or a prefix (Redis).
//!
//! # Stores
//! [`Memory`] for tests; `postgres::Postgres` (feature `ledger-postgres`); `redis::Redis` (feature `ledger-redis`). Others
//! implement [`Store`]: lock what is known of the event, ask [`Kept`], save.

mod effect;
mod error;
mod holder;
mod lease;
mod memory;
#[cfg(feature = "ledger-postgres")]
pub mod postgres;
#[cfg(feature = "ledger-redis")]
pub mod redis;
mod rule;
mod store;
mod turn;

pub use effect::{
    Bearer, EVENT_BYTES_MAX, Effect, EffectKey, NAME_BYTES_MAX, NAME_RULE, NameError, QUEUE_BYTES_MAX,
};
pub use error::{Doubt, Failed, OnceError};
pub use holder::Holder;
pub use lease::{Lease, Ledger};
pub use memory::Memory;
pub use rule::{Abandoned, Begun, Finished, Kept, OnDoubt, Record};
pub use store::{Store, StoreError};
pub use turn::{FINISH_TRIES, RESULT_BYTES_MAX, STEP_MAX};

pub(crate) use holder::Runs;
