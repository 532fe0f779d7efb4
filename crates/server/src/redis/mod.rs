//! The Redis door: streams and their groups for clients that speak RESP.

mod asked;
mod block;
mod clients;
mod command;
mod commands;
mod connection;
mod door;
mod frame;
mod listen;
mod plan;
mod refusal;
mod rights;
mod session;
mod transaction;
mod words;

#[cfg(test)]
pub(crate) use commands::fields_of;
pub(crate) use door::RedisDoor;
pub(crate) use listen::serve_redis;
