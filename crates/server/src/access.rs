//! From where a server may be called.
//!
//! Lives here: the settings and what their texts have to look like. Not here: what is done with them
//! (`http/host.rs`, `http/cors.rs`, `http/caller_address.rs`).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::uri::Authority;
use ipnet::IpNet;

/// From where the HTTP door may be called.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Web pages of these origins may call it from browsers.
    pub cors_origins: Vec<Origin>,
    /// Host names that it answers to, besides loopback ones. Where none is named, a door on a loopback
    /// address answers to loopback names alone, and any other door to every name.
    pub allowed_hosts: Vec<HostName>,
    /// Proxies that are believed from whom a request came to them: at most [`TRUSTED_PROXIES_MAX`].
    pub trusted_proxies: Vec<TrustedProxy>,
}

/// Most trusted proxies: each is compared with the peer of each request.
pub const TRUSTED_PROXIES_MAX: usize = 1_000;

/// The origin of web pages: scheme, host, and the port where it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// A host name or address, in lower case, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

/// The address of a proxy, or the network that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

/// Why a text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an origin such as https://app.example.com: http or https, a host, no path, no *")]
pub struct ParseOriginError;

/// Why a text is not a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host name or address such as naven.example.com, without a port")]
pub struct ParseHostNameError;

/// Why a text is not that of proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an IP address or a network such as 10.0.0.0/8 or fd00::/8, whose address has no bits behind \
     its prefix"
)]
pub struct ParseTrustedProxyError;

impl Origin {
    /// The text as browsers send it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HostName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TrustedProxy {
    /// True where `address` is the proxy's. An IPv4 address is one of IPv4 networks alone.
    pub(crate) fn covers(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

/// An address alone where the network has no other.
impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() { self.0.addr().fmt(f) } else { self.0.fmt(f) }
    }
}

impl FromStr for Origin {
    type Err = ParseOriginError;

    fn from_str(text: &str) -> Result<Self, ParseOriginError> {
        let (scheme, authority) = text.split_once("://").ok_or(ParseOriginError)?;
        let authority = authority.parse::<Authority>().map_err(|_| ParseOriginError)?;
        let is_plain = !authority.as_str().contains(['@', '*']) && !authority.host().is_empty();
        if !matches!(scheme, "http" | "https") || !is_plain {
            return Err(ParseOriginError);
        }
        Ok(Self(format!("{scheme}://{}", authority.as_str().to_ascii_lowercase())))
    }
}

impl FromStr for HostName {
    type Err = ParseHostNameError;

    fn from_str(text: &str) -> Result<Self, ParseHostNameError> {
        let authority = text.parse::<Authority>().map_err(|_| ParseHostNameError)?;
        if authority.as_str() != authority.host() || text.is_empty() || text.contains('*') {
            return Err(ParseHostNameError);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl FromStr for TrustedProxy {
    type Err = ParseTrustedProxyError;

    fn from_str(text: &str) -> Result<Self, ParseTrustedProxyError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ParseTrustedProxyError)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().map_err(|_| ParseTrustedProxyError)?
            }
            Some(_) => return Err(ParseTrustedProxyError),
            None => most,
        };
        // Addresses are compared in their plain form, so a network of IPv4 addresses in IPv6 form is theirs.
        let (address, bits) = match address.to_canonical() {
            plain if plain == address => (address, bits),
            plain => (plain, u8::checked_sub(bits, 96).ok_or(ParseTrustedProxyError)?),
        };
        let network = IpNet::new(address, bits).map_err(|_| ParseTrustedProxyError)?;
        if network.trunc() == network { Ok(Self(network)) } else { Err(ParseTrustedProxyError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_of_web_pages() {
        for (text, origin) in [
            ("https://app.example.com", Some("https://app.example.com")),
            ("HTTP://x", None),
            ("http://Localhost:3000", Some("http://localhost:3000")),
            ("https://app.example.com/", None),
            ("https://*.example.com", None),
            ("https://me@example.com", None),
            ("ftp://example.com", None),
            ("example.com", None),
            ("https://", None),
            ("*", None),
            ("null", None),
        ] {
            let parsed = text.parse::<Origin>().ok();
            assert_eq!(parsed.as_ref().map(Origin::as_str), origin, "{text}");
        }
    }

    #[test]
    fn host_names_have_no_port() {
        for (text, name) in [
            ("Naven.Example.com", Some("naven.example.com")),
            ("10.0.0.1", Some("10.0.0.1")),
            ("[::1]", Some("[::1]")),
            ("naven.example.com:80", None),
            ("http://naven.example.com", None),
            ("*.example.com", None),
            ("", None),
        ] {
            let parsed = text.parse::<HostName>().ok();
            assert_eq!(parsed.as_ref().map(HostName::as_str), name, "{text}");
        }
    }
    #[test]
    fn proxies_are_addresses_and_networks() {
        for (text, proxy) in [
            ("10.0.0.1", Some("10.0.0.1")),
            ("10.0.0.1/32", Some("10.0.0.1")),
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("::1", Some("::1")),
            ("FD00:0::/8", Some("fd00::/8")),
            ("::ffff:10.0.0.1", Some("10.0.0.1")),
            ("::ffff:10.0.0.0/104", Some("10.0.0.0/8")),
            ("::ffff:0.0.0.0/95", None),
            ("::/0", Some("::/0")),
            ("10.0.0.1/8", None),
            ("10.0.0.0/33", None),
            ("fd00::/129", None),
            ("10.0.0.0/256", None),
            ("10.0.0.0/+8", None),
            ("10.0.0.0/", None),
            ("10.0.0.0/255.0.0.0", None),
            ("10.0.0", None),
            ("010.0.0.1", None),
            ("10.0.0.1:80", None),
            ("[::1]", None),
            ("fe80::1%eth0", None),
            ("proxy.example.com", None),
            ("*", None),
            ("", None),
        ] {
            let parsed = text.parse::<TrustedProxy>().ok();
            assert_eq!(parsed.map(|proxy| proxy.to_string()).as_deref(), proxy, "{text}");
        }
    }

    #[test]
    fn a_network_covers_its_addresses_and_no_others() {
        for (proxy, address, is_covered) in [
            ("10.0.0.0/9", "10.127.255.255", true),
            ("10.0.0.0/9", "10.128.0.0", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "10.0.0.1", false),
            ("0.0.0.0/0", "::1", false),
        ] {
            let proxy: TrustedProxy = proxy.parse().unwrap();
            assert_eq!(proxy.covers(address.parse().unwrap()), is_covered, "{proxy} {address}");
        }
    }
}
