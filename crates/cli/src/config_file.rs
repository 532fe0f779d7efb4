//! The config file: TOML, settings named as the flags but in snake_case.
//!
//! Lives here: its form, and what is said of names that are none. Not here: what outranks it
//! (`settings.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Value};

use crate::config::setting;
use crate::exit::Failure;

/// What a config file may hold. An unknown name is refused: a typo must not silently mean a default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub(crate) data: Option<PathBuf>,
    pub(crate) http: Option<String>,
    pub(crate) redis: Option<String>,
    pub(crate) redis_no_auth: Option<bool>,
    pub(crate) allow_flush: Option<bool>,
    pub(crate) engine: Option<String>,
    pub(crate) segment_bytes: Option<u64>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) cors_origins: Option<Vec<String>>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) trusted_proxies: Option<Vec<String>>,
    pub(crate) metrics: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) admin_key: Option<String>,
    /// The names that stand in it.
    #[serde(skip)]
    pub(crate) named: BTreeSet<String>,
}

/// Furthest that a name may be from the one that was meant, in changed characters.
const NEAR: usize = 3;

impl ConfigFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A usage error that names the file, and where in it.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("config file {}: {error}", path.display())))?;
        Self::parse(&text).map_err(|(at, why)| {
            let line = text[..at].matches('\n').count() + 1;
            Failure::usage(format!("config file {}, line {line}: {why}", path.display()))
        })
    }

    /// What `text` says; otherwise where in it what is wrong. The parser's own text shows the line, which
    /// may hold the key: only what and where is said.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let refusal = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            (at, error.message().to_owned())
        };
        let entries: BTreeMap<Spanned<String>, Value> = toml::from_str(text).map_err(refusal)?;
        let mut unknown: Vec<_> = entries.keys().filter(|name| !setting::is_known(name.get_ref())).collect();
        unknown.sort_by_key(|name| name.span().start);
        if let Some(name) = unknown.first() {
            return Err((name.span().start, not_a_setting(name.get_ref())));
        }
        let named = entries.into_keys().map(Spanned::into_inner).collect();
        Ok(Self { named, ..toml::from_str(text).map_err(refusal)? })
    }
}

fn not_a_setting(name: &str) -> String {
    let nearest = setting::names().map(|known| (distance(name, known), known)).min();
    match nearest {
        Some((changes, known)) if changes <= NEAR.min(known.len() / 2) => {
            format!("'{name}' is not a setting: did you mean '{known}'?")
        }
        _ => format!("'{name}' is not a setting: naven config reference lists them"),
    }
}

/// How many characters have to be put in, left out or replaced to make `a` of `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, c) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(c != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (usize, String) {
        ConfigFile::parse(text).unwrap_err()
    }

    #[test]
    fn a_name_that_is_none_is_told_its_place_and_the_nearest_one() {
        for (text, at, says) in [
            ("http = 'h'\nredis-no-auth = true\n", 11, "did you mean 'redis_no_auth'?"),
            ("htpp = 1\nzzz = 2\n", 0, "'htpp' is not a setting: did you mean 'http'?"),
            ("password = 's3cret'\n", 0, "'password' is not a setting: naven config reference"),
            ("[cors]\norigins = []\n", 1, "'cors' is not a setting"),
        ] {
            let (found, why) = refusal(text);
            assert!(found == at && why.contains(says) && !why.contains("s3cret"), "{found} {why}");
        }
    }

    #[test]
    fn a_value_of_another_kind_is_told_its_place_and_not_repeated() {
        let (at, why) = refusal("http = 'h'\nsegment_bytes = 'nvk_x'\n");
        assert_eq!(at, 27);
        assert!(why.contains("expected u64"), "{why}");
        let (at, why) = refusal("admin_key = 'nvk_secret\n");
        assert!(at >= 12 && !why.contains("nvk_secret"), "{at} {why}");
    }

    #[test]
    fn every_name_that_is_known_is_read() {
        for name in setting::names() {
            let (_, why) = refusal(&format!("{name} = 0.5"));
            assert!(why.starts_with("invalid type"), "{name}: {why}");
        }
        let file = ConfigFile::parse("http = 'h'\nlog = 'debug'\n").unwrap();
        assert_eq!(file.named.into_iter().collect::<Vec<_>>(), ["http", "log"]);
    }

    #[test]
    fn distance_counts_changed_characters() {
        for (a, b, changes) in [("", "ab", 2), ("http", "http", 0), ("htpp", "http", 1), ("log", "logs", 1)] {
            assert_eq!(distance(a, b), changes, "{a} {b}");
        }
    }
}
