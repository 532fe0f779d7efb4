//! Bytes that are no command: what the caller is told before the connection is closed.
//!
//! Lives here: the breaches of the protocol, with Redis' own words for them (Valkey 9). Not here: commands
//! that are well formed and wrong (`command`).

use std::fmt;

use super::reply::Reply;

/// A breach of the protocol. Where the next command begins is unknown after it, so the connection is closed
/// once it has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    /// After `*` stands no number, or one that no command has.
    ArgumentCount,
    /// More arguments than a connection without a key may send.
    ArgumentCountBeforeAuth,
    /// After `$` stands no number, or more bytes than an argument may have.
    ArgumentLength,
    /// A longer argument than a connection without a key may send.
    ArgumentLengthBeforeAuth,
    /// Arguments that are each short enough, and too much together. (Redis closes without a word.)
    CommandTooBig,
    /// Another byte where a length or a command begins.
    Expected { wanted: u8, got: u8 },
    /// A carriage return without its line feed, or an argument of another length than announced.
    LineEnd,
    /// A typed line that does not end.
    InlineTooBig,
    /// A typed line with a quote that is never closed.
    UnbalancedQuotes,
    /// A typed line with a zero byte in it. (Redis waits for more, whatever comes.)
    ZeroByte,
    /// A web browser, or somebody who sends through one.
    HttpRequest,
}

impl ProtocolError {
    /// The last reply of the connection.
    pub(crate) fn reply(self) -> Reply {
        Reply::error(format!("ERR Protocol error: {self}"))
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::ArgumentCount => "invalid multibulk length",
            Self::ArgumentCountBeforeAuth => "unauthenticated multibulk length",
            Self::ArgumentLength => "invalid bulk length",
            Self::ArgumentLengthBeforeAuth => "unauthenticated bulk length",
            Self::CommandTooBig => "too big request",
            Self::Expected { wanted, got } => {
                return write!(out, "expected '{}', got '{}'", shown(*wanted), shown(*got));
            }
            Self::LineEnd => "invalid CRLF in request",
            Self::InlineTooBig => "too big inline request",
            Self::UnbalancedQuotes => "unbalanced quotes in request",
            Self::ZeroByte => "zero byte in inline request",
            Self::HttpRequest => "HTTP request where a Redis command was expected",
        })
    }
}

impl std::error::Error for ProtocolError {}

/// The byte as a character that every client can decode.
fn shown(byte: u8) -> char {
    match byte {
        b'!'..=b'~' => char::from(byte),
        b'\t' | b'\n' | b'\r' | b' ' => ' ',
        _ => '?',
    }
}
