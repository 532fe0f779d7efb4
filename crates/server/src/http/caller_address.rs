//! From where a call comes.
//!
//! Lives here: the one answer to that. Not here: what it is used for.

use std::net::{IpAddr, SocketAddr};

use http::request::Parts;

/// The other end of the connection that a request came on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The address of whoever called, where it is known.
pub(super) fn caller_address(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<Peer>().map(|Peer(address)| address.ip().to_canonical())
}
