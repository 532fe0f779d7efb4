//! The Redis door as bytes, over real sockets, against a server started in this process.
//!
//! Lives here: which cases run. Not here: the cases, and black-box tests of the binary.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are all tests")]

mod auth;
mod beyond;
mod blocking;
mod both_doors;
mod client;
mod counting;
mod hold_ends;
mod http_call;
mod limits;
mod names;
mod order;
mod rights;
mod server;
mod stopping;
mod tls;
mod transactions;
