//! RESP2 and RESP3: bytes out of replies.
//!
//! Lives here: the replies with their encoding, and the account of what a connection has not read yet. Not
//! here: sockets and keys.

mod output;
mod reply;
#[cfg(test)]
mod tests;

pub(crate) use output::Output;
pub(crate) use reply::{Protocol, Reply};
