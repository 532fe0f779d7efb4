//! From where a call comes.
//!
//! Lives here: the one answer to that, and whose word is taken for it. Not here: reading what proxies say
//! (`forwarded.rs`), and what the answer is used for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::HeaderMap;
use http::request::Parts;

use super::forwarded;
use crate::access::TrustedProxy;

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(SocketAddr);

impl Peer {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Its address; that of an IPv4 caller on an IPv6 socket is the IPv4 one.
    pub(super) fn address(self) -> IpAddr {
        self.0.ip().to_canonical()
    }
}

/// The address of whoever made a request, which the request carries along.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallerAddress(pub(super) IpAddr);

/// The proxies whose word on callers is taken.
#[derive(Debug, Clone)]
pub(super) struct TrustedProxies(Arc<[TrustedProxy]>);

impl TrustedProxies {
    pub(super) fn new(proxies: &[TrustedProxy]) -> Self {
        Self(proxies.into())
    }

    /// Who made a request that came from `peer` with these headers.
    ///
    /// Each proxy adds the address that it was called from at the right. So whoever is trusted is believed
    /// the next one, up to the first that is not: what that one says is anybody's word.
    pub(super) fn caller(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut caller = peer;
        let mut further = forwarded::addresses(headers);
        while self.trust(caller) {
            let Some(next) = further.next() else { break };
            caller = next;
        }
        caller
    }

    fn trust(&self, address: IpAddr) -> bool {
        self.0.iter().any(|proxy| proxy.covers(address))
    }
}

/// The address of whoever called, where it is known.
pub(super) fn caller_address(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<CallerAddress>().map(|CallerAddress(address)| *address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trusted proxies, the peer, what `X-Forwarded-For` says, and who called.
    const ROWS: [(&str, &str, &str, &str); 18] = [
        ("", "192.0.2.1", "203.0.113.1", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1", "203.0.113.1", "203.0.113.1"),
        ("192.0.2.1", "192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.2", "203.0.113.1", "192.0.2.2"),
        ("192.0.2.1", "192.0.2.1", "6.6.6.6, 203.0.113.1", "203.0.113.1"),
        ("192.0.2.0/24", "192.0.2.1", "6.6.6.6, 203.0.113.1, 192.0.2.9", "203.0.113.1"),
        ("192.0.2.0/24", "192.0.2.1", "192.0.2.7, 203.0.113.1, 192.0.2.9", "203.0.113.1"),
        ("192.0.2.0/24", "192.0.2.1", "192.0.2.8, 192.0.2.9", "192.0.2.8"),
        ("192.0.2.0/24", "192.0.2.1", "203.0.113.1, garbage, 192.0.2.9", "192.0.2.9"),
        ("192.0.2.0/24", "192.0.2.1", "garbage", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.1", "203.0.113.1, unknown", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.1", "garbage, 203.0.113.1", "203.0.113.1"),
        ("10.0.0.0/8,fd00::/8", "fd00::1", "2001:db8::1, 10.9.9.9", "2001:db8::1"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", "203.0.113.1", "203.0.113.1"),
        ("10.0.0.0/8", "10.0.0.1", "203.0.113.1, ::ffff:10.0.0.2", "203.0.113.1"),
        ("::1", "::1", "::ffff:203.0.113.1", "203.0.113.1"),
        ("::/0", "203.0.113.1", "6.6.6.6", "203.0.113.1"),
        ("0.0.0.0/0", "203.0.113.1", "2001:db8::1, 6.6.6.6", "2001:db8::1"),
    ];

    fn proxies(list: &str) -> TrustedProxies {
        let proxies = list.split(',').filter(|text| !text.is_empty()).map(|text| text.parse().unwrap());
        TrustedProxies::new(&proxies.collect::<Vec<_>>())
    }

    #[test]
    fn whoever_is_trusted_is_believed_the_next_one() {
        for (trusted, peer, says, caller) in ROWS {
            let mut headers = HeaderMap::new();
            if !says.is_empty() {
                headers.insert("x-forwarded-for", says.parse().unwrap());
            }
            let peer = Peer::new(SocketAddr::new(peer.parse().unwrap(), 1)).address();
            let found = proxies(trusted).caller(peer, &headers).to_string();
            assert_eq!(found, caller, "{trusted} {peer} {says}");
        }
    }

    #[test]
    fn further_proxies_than_are_looked_at_are_not_believed() {
        let all = proxies("192.0.2.0/24");
        let caller = |count: usize| {
            let mut headers = HeaderMap::new();
            let says = format!("203.0.113.1{}", ", 192.0.2.9".repeat(count));
            headers.insert("x-forwarded-for", says.parse().unwrap());
            all.caller([192, 0, 2, 1].into(), &headers).to_string()
        };
        assert_eq!(caller(31), "203.0.113.1");
        assert_eq!(caller(32), "192.0.2.9");
    }
}
