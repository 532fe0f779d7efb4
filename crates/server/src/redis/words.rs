//! Words that several parts of the door say.
//!
//! Lives here: these texts. Not here: those of single commands (`commands`).

use super::command::Command;
use super::frame::Reply;

/// What is said to who has shown no key.
pub(crate) const NOAUTH: &str = "NOAUTH Authentication required.";

/// What is said of a command that is in the table and is not built.
pub(crate) fn unbuilt(command: &Command) -> Reply {
    Reply::error(format!("ERR the command '{}' is not built yet in this version", command.name))
}
