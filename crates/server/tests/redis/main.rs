//! The Redis door as bytes, over real sockets, against a server started in this process.
//!
//! Lives here: which cases run. Not here: the cases, and black-box tests of the binary.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are all tests")]

mod auth;
mod client;
mod limits;
mod order;
mod server;
mod stopping;
mod transactions;
