//! The check of a call against the command table.
//!
//! Lives here: which command a request calls, and Redis' words for one that calls none. Not here: rights, and
//! what the arguments mean.

use bytes::{BufMut, Bytes, BytesMut};

use super::row::Command;
use super::table::find;
use crate::redis::frame::{Reply, Request};

/// Bytes of a name, and of all arguments together, that an error repeats.
const ECHO_BYTES_MAX: usize = 128;

/// Why a request calls no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// There is no command of this name. The text says so.
    UnknownCommand(Bytes),
    /// The command has no such subcommand. The text says so.
    UnknownSubcommand(Bytes),
    /// Too few parts, or too many.
    Arity {
        /// The command's full name.
        name: &'static str,
    },
}

impl CallError {
    /// What the client is answered. The connection goes on.
    pub(crate) fn reply(self) -> Reply {
        match self {
            Self::UnknownCommand(text) | Self::UnknownSubcommand(text) => Reply::Error(text),
            Self::Arity { name } => {
                Reply::error(format!("ERR wrong number of arguments for '{name}' command"))
            }
        }
    }
}

/// The command that `request` calls, with as many parts as it takes; of a container, the subcommand.
///
/// # Errors
/// When there is no such command or subcommand, or not with so many parts.
pub(crate) fn resolve(request: &Request) -> Result<&'static Command, CallError> {
    let Some(command) = find(request.name()) else {
        return Err(CallError::UnknownCommand(unknown_command(request)));
    };
    let command = match request.arguments().first() {
        Some(name) if !command.subcommands.is_empty() => match command.subcommand(name) {
            Some(subcommand) => subcommand,
            None => return Err(CallError::UnknownSubcommand(unknown_subcommand(command, name))),
        },
        _ => command,
    };
    if command.arity.takes(request.count()) {
        Ok(command)
    } else {
        Err(CallError::Arity { name: command.name })
    }
}

fn unknown_command(request: &Request) -> Bytes {
    let mut text = BytesMut::from(&b"ERR unknown command '"[..]);
    text.put_slice(shown(request.name(), ECHO_BYTES_MAX));
    text.put_slice(b"', with args beginning with: ");
    let start = text.len();
    for argument in request.arguments() {
        // Quotes and spaces count too, as in Redis: who compares texts sees the same.
        let room = ECHO_BYTES_MAX.saturating_sub(text.len() - start);
        if room == 0 {
            break;
        }
        text.put_u8(b'\'');
        text.put_slice(shown(argument, room));
        text.put_slice(b"' ");
    }
    text.freeze()
}

fn unknown_subcommand(container: &Command, name: &[u8]) -> Bytes {
    let mut text = BytesMut::from(&b"ERR unknown subcommand '"[..]);
    text.put_slice(shown(name, ECHO_BYTES_MAX));
    text.put_slice(b"'. Try ");
    text.put_slice(container.name.to_ascii_uppercase().as_bytes());
    text.put_slice(b" HELP.");
    text.freeze()
}

/// What an error repeats of `text`: up to `bytes_max`, and nothing from a zero byte on.
fn shown(text: &[u8], bytes_max: usize) -> &[u8] {
    let end = text.iter().take(bytes_max).position(|byte| *byte == 0).unwrap_or(text.len().min(bytes_max));
    text.get(..end).unwrap_or_default()
}
