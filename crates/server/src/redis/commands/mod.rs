//! The commands of the Redis door: one file for each or for a few that belong together, which read arguments and
//! make replies. Which parser belongs to which row of the command table stands in `parsers.rs`; the table itself
//! in `command`.

mod arguments;
mod client;
mod client_kill;
mod client_list;
mod command_info;
mod config;
mod connection;
mod flush;
mod glob;
mod hello;
mod help;
mod info;
mod keys;
mod parsers;
mod scan;
mod transaction;

pub(crate) use parsers::parser;
