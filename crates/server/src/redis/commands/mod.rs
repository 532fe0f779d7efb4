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
mod entries;
mod flush;
mod glob;
mod hello;
mod help;
mod ids;
mod info;
mod keys;
mod names;
mod number;
mod parsers;
mod read_options;
mod scan;
#[cfg(test)]
mod tests;
mod transaction;
mod trimming;
mod words;
mod xack;
mod xadd;
mod xautoclaim;
mod xclaim;
mod xdel;
mod xgroup;
mod xinfo;
mod xinfo_shown;
mod xpending;
mod xrange;
mod xread;
mod xreadgroup;
mod xsetid;
mod xtrim;

#[cfg(test)]
pub(crate) use entries::fields as fields_of;
pub(crate) use parsers::parser;
#[cfg(any(test, fuzzing))]
pub(crate) use scan::check_scan_cursor;
