//! The commands of the Redis door: which there are, and how they are called.
//!
//! Lives here: the table of commands with what COMMAND INFO tells of each, and the check of a call against
//! it. Not here: what a command does, and the bytes it comes in (`frame`).

mod call;
mod connection;
mod info;
mod keys;
mod row;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use call::resolve;
pub(crate) use info::info;
pub(crate) use row::{Arity, Command, Flag};
pub(crate) use table::{all, find, find_by_full_name};
