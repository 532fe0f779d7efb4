//! The effect ledger, over each store by one suite, and with the consumer runtime.
//!
//! Lives here: the list of its parts. Not here: the rules of names (`src/ledger/effect.rs`). `redis-server`, and `postgres` with
//! `initdb`, have to be installed where the features of these stores are on.
#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod cases;
mod consumed;
#[path = "../consumer/server.rs"]
mod door;
mod faulty;
mod memory;
#[cfg(feature = "ledger-postgres")]
mod postgres;
#[cfg(feature = "ledger-redis")]
mod redis;
#[cfg(any(feature = "ledger-postgres", feature = "ledger-redis"))]
mod scripts;
#[cfg(any(feature = "ledger-postgres", feature = "ledger-redis"))]
mod servers;
