//! Where a side is, and as whom it is spoken to.
//!
//! Lives here: reading `redis://` and `rediss://`. Not here: connecting (`side.rs`).

use std::path::Path;

use redis::{Client, ConnectionAddr, IntoConnectionInfo, TlsCertificates};

use crate::exit::Failure;

/// One side's address, with the means to reach it.
#[derive(Debug)]
pub(super) struct Address {
    /// HOST:PORT, which may be shown: it holds no secret.
    pub(super) shown: String,
    pub(super) database: i64,
    pub(super) client: Client,
}

impl Address {
    /// The address in `url`, of which errors say no more than `what` it is for: it may hold a secret. `key` is
    /// the password where `url` has none. `roots` are trusted over TLS, and no others, where there are any.
    ///
    /// # Errors
    /// A usage error.
    pub(super) fn read(
        what: &str,
        url: &str,
        key: Option<&str>,
        roots: Option<&[u8]>,
    ) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::usage(format!("{what}: {why}"));
        if !["redis://", "rediss://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(wrong("not an address such as redis://:PASSWORD@HOST:6379 or rediss://HOST:6379"));
        }
        if url.contains(['?', '#']) {
            return Err(wrong("a ? or # has no meaning in it; within a password it is %3F or %23"));
        }
        let mut info = url.into_connection_info().map_err(|error| wrong(&error.to_string()))?;
        let mut settings = info.redis_settings().clone();
        if let Some(key) = key.filter(|_| settings.password().is_none()) {
            settings = settings.set_password(key);
        }
        // Names of libraries say nothing here, and servers before 7.2 count the refusal as an error.
        settings = settings.set_skip_set_lib_name();
        let database = settings.db();
        info = info.set_redis_settings(settings);
        let shown = info.addr().to_string();
        let is_over_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let client = match roots.filter(|_| is_over_tls) {
            Some(roots) => {
                let root_cert = Some(roots.to_vec());
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
            None => Client::open(info),
        };
        let client = client.map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { shown, database, client })
    }

    /// Whether both are one place.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.shown == other.shown && self.database == other.database
    }
}

/// The certificates in this file.
///
/// # Errors
/// A usage error.
pub(super) fn roots(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |why: &str| Failure::usage(format!("ca-file {}: {why}", path.display()));
    let roots = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let has_some = String::from_utf8_lossy(&roots).contains("BEGIN CERTIFICATE");
    if has_some { Ok(roots) } else { Err(wrong("there is no certificate in it")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secret() {
        let address = Address::read("from", "redis://me:s%23cret@example:7000/2", Some("key"), None).unwrap();
        assert_eq!((address.shown.as_str(), address.database), ("example:7000", 2));
        let settings = address.client.get_connection_info().redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("me"), Some("s#cret")));
    }

    #[test]
    fn a_key_stands_in_for_a_missing_password() {
        let address = Address::read("--to", "redis://example", Some("key"), None).unwrap();
        assert_eq!(address.shown, "example:6379");
        assert_eq!(address.client.get_connection_info().redis_settings().password(), Some("key"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for url in [
            "http://s3cret",
            "s3cret",
            "redis://:s3cret@",
            "rediss://h:s3cret",
            "redis://h/s3cret",
            "redis+unix:///s3cret",
            "redis://h#s3cret",
        ] {
            let failure = Address::read("from", url, None, None).unwrap_err().to_string();
            assert!(failure.starts_with("from: ") && !failure.contains("s3cret"), "{url}: {failure}");
        }
    }
}
