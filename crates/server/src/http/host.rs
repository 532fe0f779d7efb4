//! Which host a request may name.
//!
//! Lives here: reading it from a request, and the rule. A page of any site can point a name of its own at
//! this machine and so make a browser call a server that listens on loopback alone; such a call names the
//! page's host, not ours. Not here: where the rule's names come from (`access.rs`).

use std::net::{IpAddr, SocketAddr};

use http::header::HOST;
use http::uri::Authority;
use http::{Request, Version};
use naven_api::field::Rule;
use naven_api::{BadRequest, ErrorCode};

use crate::access::HostName;
use crate::failure::Failure;

/// Which hosts are answered.
#[derive(Debug, Clone)]
pub(super) struct HostRule {
    /// None: any.
    only: Option<Vec<HostName>>,
}

impl HostRule {
    /// The rule of a door that listens at `address`: where that is a loopback address, or `allowed` names
    /// any, loopback names and those of `allowed` are answered; else all are.
    pub(super) fn new(address: SocketAddr, allowed: &[HostName]) -> Self {
        let is_bound = address.ip().is_loopback() || !allowed.is_empty();
        Self { only: is_bound.then(|| allowed.to_vec()) }
    }

    /// # Errors
    /// 40001 where the request names no host or several, as HTTP requires one; 42100 where it names
    /// another than ours.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<(), Failure> {
        let named = host_of(request)?;
        let Some(only) = &self.only else { return Ok(()) };
        match named {
            // HTTP/1.0 did not have it yet, and no browser speaks that.
            None if request.version() == Version::HTTP_10 => Ok(()),
            Some(host) if is_local(&host) || only.iter().any(|allowed| allowed.as_str() == host) => Ok(()),
            _ => Err(Failure::new(
                ErrorCode::HostNotAllowed,
                "this server does not answer to that host name: allow it with --allowed-hosts",
            )),
        }
    }
}

/// The host that a request names, in lower case, without its port.
fn host_of<B>(request: &Request<B>) -> Result<Option<String>, Failure> {
    let mut sent = request.headers().get_all(HOST).iter();
    let (first, second) = (sent.next(), sent.next());
    let asks_for_one = request.version() == Version::HTTP_11;
    if second.is_some() || (asks_for_one && first.is_none()) {
        return Err(faulty("exactly one, as HTTP/1.1 requires"));
    }
    let authority = match (request.uri().authority(), first) {
        (Some(authority), _) => Some(authority.clone()),
        (None, Some(value)) => {
            let parsed = value.to_str().ok().and_then(|text| text.parse::<Authority>().ok());
            Some(parsed.ok_or_else(|| faulty("a host name or address, with a port where it has one"))?)
        }
        (None, None) => None,
    };
    Ok(authority.map(|authority| authority.host().to_ascii_lowercase()))
}

fn faulty(rule: &'static str) -> Failure {
    BadRequest::Invalid(vec![Rule::new(rule).broken_at("Host".to_owned())]).into()
}

/// Whether a name can mean no other machine than the caller's own.
fn is_local(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(rule: &HostRule, version: Version, uri: &str, hosts: &[&str]) -> Option<u32> {
        let mut request = Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let request = request.body(()).expect("a request");
        rule.check(&request).err().map(|failure| failure.code.code())
    }

    #[test]
    fn on_loopback_only_loopback_names_and_allowed_ones_are_answered() {
        let rule = HostRule::new(([127, 0, 0, 1], 1).into(), &["naven.test".parse().expect("a name")]);
        for (host, expected) in [
            ("localhost", None),
            ("LOCALHOST:7480", None),
            ("a.localhost:1", None),
            ("127.0.0.1:7480", None),
            ("127.9.9.9", None),
            ("[::1]:7480", None),
            ("naven.test:80", None),
            ("Naven.Test", None),
            ("evil.example", Some(42_100)),
            ("localhost.evil.example", Some(42_100)),
            ("127.0.0.1.evil.example", Some(42_100)),
            ("10.0.0.1", Some(42_100)),
            ("[::2]", Some(42_100)),
            ("", Some(40_001)),
            ("a b", Some(40_001)),
        ] {
            assert_eq!(code(&rule, Version::HTTP_11, "/", &[host]), expected, "{host}");
        }
    }

    #[test]
    fn a_host_is_named_once() {
        let rule = HostRule::new(([10, 0, 0, 1], 1).into(), &[]);
        assert_eq!(code(&rule, Version::HTTP_11, "/", &["a"]), None);
        assert_eq!(code(&rule, Version::HTTP_11, "/", &[]), Some(40_001));
        assert_eq!(code(&rule, Version::HTTP_11, "/", &["a", "a"]), Some(40_001));
        assert_eq!(code(&rule, Version::HTTP_10, "/", &[]), None);
        assert_eq!(code(&rule, Version::HTTP_2, "http://a/", &[]), None);
    }

    #[test]
    fn the_requests_own_line_outranks_the_header() {
        let rule = HostRule::new(([127, 0, 0, 1], 1).into(), &[]);
        assert_eq!(code(&rule, Version::HTTP_11, "http://evil.example/", &["localhost"]), Some(42_100));
        assert_eq!(code(&rule, Version::HTTP_2, "http://evil.example/", &[]), Some(42_100));
        assert_eq!(code(&rule, Version::HTTP_2, "http://127.0.0.1/", &[]), None);
        assert_eq!(code(&rule, Version::HTTP_2, "/", &[]), Some(42_100), "no name at all");
        let named = HostRule::new(([0, 0, 0, 0], 1).into(), &["a.example".parse().expect("a name")]);
        assert_eq!(code(&named, Version::HTTP_11, "/", &["b.example"]), Some(42_100));
        assert_eq!(code(&named, Version::HTTP_11, "/", &["a.example"]), None);
    }
}
