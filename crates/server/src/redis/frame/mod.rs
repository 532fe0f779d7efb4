//! RESP2 and RESP3: commands out of bytes, and bytes out of replies.
//!
//! Lives here: the decoder of one connection's commands, the replies with their encoding, and the account of
//! what a connection has not read yet. Not here: what a command means (`command`), sockets and keys.

mod bounds;
mod decode;
mod inline;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod number;
mod output;
mod protocol_error;
mod reply;
mod request;
#[cfg(test)]
mod tests;

pub(crate) use bounds::Bounds;
#[cfg(any(test, fuzzing))]
pub(crate) use bounds::Stage;
pub(crate) use decode::Decoder;
pub(crate) use number::number;
pub(crate) use output::Output;
#[cfg(any(test, fuzzing))]
pub(crate) use protocol_error::ProtocolError;
pub(crate) use reply::{Protocol, Reply};
pub(crate) use request::Request;
