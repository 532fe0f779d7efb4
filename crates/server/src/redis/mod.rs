//! The Redis door: streams and their groups for clients that speak RESP.

mod asked;
mod block;
mod clients;
mod command;
mod commands;
mod connection;
mod door;
mod frame;
mod large;
mod letting_go;
mod listen;
mod plan;
mod refusal;
mod rights;
mod session;
mod transaction;
mod words;

#[cfg(any(test, fuzzing))]
pub(crate) use commands::check_scan_cursor;
#[cfg(test)]
pub(crate) use commands::fields_of;
pub(crate) use door::RedisDoor;
#[cfg(any(test, fuzzing))]
pub use frame::laws::check as laws;
pub(crate) use listen::serve_redis;
