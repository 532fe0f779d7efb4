//! What black-box tests of the real process share: a server of their own and a small HTTP client.
//!
//! [`Naven`] starts `naven serve` on free ports in a temporary folder, kills it and starts it again;
//! [`Http`] speaks JSON to it over bare sockets, so that a test sees what is on the wire. A test file
//! says `mod support;` and uses what it needs.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code, unused_imports)]

mod ended;
mod http;
mod redis;
mod resp;
mod rows;
mod secrets;
mod server;
mod tracer;

pub(crate) use ended::{Ended, naven, run, run_with_input};
pub(crate) use http::{Answer, Http};
pub(crate) use redis::{Pass, Redis, Reply, between, exchange};
pub(crate) use resp::Resp;
pub(crate) use rows::wait_for_rows;
pub(crate) use secrets::{assert_no_secret, forms};
pub(crate) use server::{Naven, Start, key};
pub(crate) use tracer::{Fault, Tracer, files_in};
