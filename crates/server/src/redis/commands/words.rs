//! Redis' words for what is not there, and for calls that are not well formed.
//!
//! Lives here: texts that several commands share. Not here: those of one command, and of any refusal
//! (`refusal.rs`).

use bytes::{BufMut, BytesMut};
use naven_store::reply::{OpError, Refused};

use super::names::GroupName;
use crate::redis::frame::Reply;
use crate::redis::plan::Answer;
use crate::redis::refusal::refusal;

/// Something in a place where the command takes nothing of the kind.
pub(super) fn syntax() -> Reply {
    Reply::error("ERR syntax error")
}

/// A key that is not there.
pub(super) fn no_key() -> Reply {
    Reply::error("ERR no such key")
}

/// Too few or too many arguments.
pub(super) fn arity(command: &str) -> Reply {
    Reply::error(format!("ERR wrong number of arguments for '{command}' command"))
}

/// A subcommand, as it was typed, with arguments that it does not take.
pub(super) fn subcommand(container: &str, typed: &[u8]) -> Reply {
    let typed = typed.get(..128).unwrap_or(typed);
    let help = format!("'. Try {container} HELP.");
    texts(&[b"ERR unknown subcommand or wrong number of arguments for '", typed, help.as_bytes()])
}

/// A key or a group that is not there, where either may be.
pub(super) fn no_key_or_group(of: &GroupName) -> Reply {
    texts(&[b"NOGROUP No such key '", &of.stream, b"' or consumer group '", &of.group, b"'"])
}

/// The same, of a read.
pub(super) fn no_key_or_group_to_read(of: &GroupName) -> Reply {
    texts(&[
        b"NOGROUP No such key '",
        &of.stream,
        b"' or consumer group '",
        &of.group,
        b"' in XREADGROUP with GROUP option",
    ])
}

/// A group that is not there, of a key that is.
pub(super) fn no_group(of: &GroupName) -> Reply {
    texts(&[b"NOGROUP No such consumer group '", &of.group, b"' for key name '", &of.stream, b"'"])
}

/// An error of these pieces, which may be of any bytes.
pub(super) fn texts(pieces: &[&[u8]]) -> Reply {
    let mut text = BytesMut::new();
    for piece in pieces {
        // Redis' own texts end at a zero byte of a name, too.
        text.put_slice(piece.split(|byte| *byte == 0).next().unwrap_or(piece));
    }
    Reply::Error(text.freeze())
}

/// The reply to an answer of a kind that the command did not ask for.
pub(super) fn unexpected(answer: Answer) -> Reply {
    match answer {
        Ok(_) => Reply::error("ERR the storage answered something else; the call may have been applied"),
        Err(error) => refusal(&error),
    }
}

/// What is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Stream,
    Group,
}

/// What an answer says is not there.
pub(super) fn missing(answer: &Answer) -> Option<Missing> {
    match answer {
        Err(OpError::Refused(Refused::StreamNotFound)) => Some(Missing::Stream),
        Err(OpError::Refused(Refused::QueueNotFound)) => Some(Missing::Group),
        _ => None,
    }
}

/// Makes the reply of an answer; where the stream or the group is not there, it is `absent`.
pub(super) fn unless_missing(answer: Answer, absent: Reply, reply: impl FnOnce(Answer) -> Reply) -> Reply {
    match missing(&answer) {
        Some(_) => absent,
        None => reply(answer),
    }
}
