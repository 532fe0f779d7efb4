//! From where a server may be called.
//!
//! Lives here: the settings and what their texts have to look like. Not here: what is done with them
//! (`http/host.rs`, `http/cors.rs`).

use std::str::FromStr;

use http::uri::Authority;

/// From where the HTTP door may be called.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Web pages of these origins may call it from browsers.
    pub cors_origins: Vec<Origin>,
    /// Host names that it answers to, besides loopback ones. Where none is named, a door on a loopback
    /// address answers to loopback names alone, and any other door to every name.
    pub allowed_hosts: Vec<HostName>,
}

/// The origin of web pages: scheme, host, and the port where it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// A host name or address, in lower case, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

/// Why a text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an origin such as https://app.example.com: http or https, a host, no path, no *")]
pub struct ParseOriginError;

/// Why a text is not a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host name or address such as naven.example.com, without a port")]
pub struct ParseHostNameError;

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
}
