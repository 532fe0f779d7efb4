//! The command table as a whole.
//!
//! Lives here: the look-up by name. Not here: the rows, and what is said of a name that has none (`call.rs`).

use super::row::Command;
use super::{connection, keys, stream};

const TABLES: [&[Command]; 3] = [connection::COMMANDS, keys::COMMANDS, stream::COMMANDS];

/// Every command, without the subcommands.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    TABLES.into_iter().flatten()
}

/// The command of this name, in any case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    let lower = |byte: &u8| byte.to_ascii_lowercase();
    TABLES.into_iter().find_map(|table| {
        let found = table.binary_search_by(|row| row.name.bytes().cmp(name.iter().map(lower)));
        found.ok().and_then(|at| table.get(at))
    })
}

/// The command or subcommand of this name, in any case: `xadd`, `xgroup|create`.
pub(crate) fn find_by_full_name(name: &[u8]) -> Option<&'static Command> {
    match name.iter().position(|byte| *byte == b'|') {
        None => find(name),
        Some(bar) => find(name.get(..bar)?)?.subcommand(name.get(bar + 1..)?),
    }
}
