//! The config file: TOML, settings named as the flags but in snake_case.
//!
//! Lives here: its form. Not here: what outranks it (`settings.rs`).

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::exit::Failure;

/// What a config file may hold. An unknown name is refused: a typo must not silently mean a default.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub(crate) data: Option<PathBuf>,
    pub(crate) http: Option<String>,
    pub(crate) redis: Option<String>,
    pub(crate) redis_no_auth: Option<bool>,
    pub(crate) engine: Option<String>,
    pub(crate) segment_bytes: Option<u64>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) cors_origins: Option<Vec<String>>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) log: Option<String>,
    pub(crate) admin_key: Option<String>,
}

impl ConfigFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A usage error that names the file, and where in it.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("config file {}: {error}", path.display())))?;
        // The parser's own text shows the line, which may hold the key: only what and where is said.
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Failure::usage(format!("config file {}, line {line}: {}", path.display(), error.message()))
        })
    }
}
