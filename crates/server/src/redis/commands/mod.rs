//! The commands of the Redis door: one file each, which reads arguments and makes the reply.
//!
//! Lives here: which parser belongs to which row of the command table (`parsers.rs`), and the parsers. Not
//! here: the table (`command`), and who runs what they give (`run.rs`).

mod parsers;

pub(crate) use parsers::parser;
