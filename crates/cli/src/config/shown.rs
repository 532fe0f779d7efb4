//! What a server would be told here.
//!
//! Lives here: each setting's value and where it comes from. Not here: the rules by which they are resolved
//! (`settings.rs`).

use std::collections::BTreeSet;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Serialize;
use serde_json::{Value, json};

use super::setting::{Setting, built_in, settable};
use crate::environment;
use crate::exit::Failure;
use crate::logs;
use crate::settings::{EMBEDDED, ServerArgs, Settings};

/// A setting as it is here.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    name: &'static str,
    /// Null where it is not set and no default says a value of its own.
    value: Value,
    unit: Option<&'static str>,
    source: Source,
    bounds: String,
    /// What holds where the value is null.
    #[serde(skip)]
    otherwise: String,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Flag,
    Environment,
    File,
    Default,
    /// Nothing can set it.
    BuiltIn,
}

impl Source {
    fn text(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
            Self::BuiltIn => "built in",
        }
    }
}

impl Shown {
    /// The columns of the list.
    pub(crate) const COLUMNS: &[&str] = &["setting", "value", "unit", "source", "bounds"];

    /// One row of the list.
    pub(crate) fn row(&self) -> Vec<String> {
        let value = match &self.value {
            Value::Null => format!("({})", self.otherwise),
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        let unit = self.unit.unwrap_or("-").to_owned();
        vec![self.name.to_owned(), value, unit, self.source.text().to_owned(), self.bounds.clone()]
    }
}

/// Every setting; `matches` are those of `args`, and `log` is the filter that they name.
///
/// # Errors
/// As `serve` would end with.
pub(crate) fn all(args: ServerArgs, log: Option<&str>, matches: &ArgMatches) -> Result<Vec<Shown>, Failure> {
    let mut file = args.file()?;
    let named = std::mem::take(&mut file.named);
    let settings = Settings::of(args, file)?;
    let has_key_variable = environment::admin_key().map_err(Failure::usage)?.is_some();
    let settable = settable().into_iter().map(|setting| {
        let Setting { name, unit, bounds, default, .. } = setting;
        let value = value(name, &settings, log);
        Shown {
            name,
            value,
            unit,
            source: source(name, matches, &named, has_key_variable),
            bounds,
            otherwise: default,
        }
    });
    let built_in = built_in().into_iter().map(|setting| {
        let Setting { name, unit, bounds, default, .. } = setting;
        let value = default.parse::<u64>().map_or(Value::Null, Value::from);
        Shown { name, value, unit, source: Source::BuiltIn, bounds, otherwise: default }
    });
    Ok(settable.chain(built_in).collect())
}

fn source(name: &str, matches: &ArgMatches, named: &BTreeSet<String>, has_key_variable: bool) -> Source {
    let of_arg = matches.try_contains_id(name).ok().and_then(|_| matches.value_source(name));
    match of_arg {
        Some(ValueSource::CommandLine) => Source::Flag,
        Some(ValueSource::EnvVariable) => Source::Environment,
        _ if name == "admin_key" && has_key_variable => Source::Environment,
        _ if named.contains(name) => Source::File,
        _ => Source::Default,
    }
}

/// What `settings` hold under this name. Of a secret no more than that it is set.
fn value(name: &str, settings: &Settings, log: Option<&str>) -> Value {
    let Settings { data, http, redis, redis_no_auth, admin_key, segment_bytes, tls, access, .. } = settings;
    let texts = |texts: Vec<&str>| if texts.is_empty() { Value::Null } else { json!(texts) };
    match name {
        "data" => json!(data.display().to_string()),
        "http" => json!(http.to_string()),
        "redis" => json!(redis.map_or_else(|| "off".to_owned(), |redis| redis.to_string())),
        "redis_no_auth" => json!(redis_no_auth),
        "allow_flush" => json!(settings.allow_flush),
        "engine" => json!(EMBEDDED),
        "segment_bytes" => json!(segment_bytes),
        "tls_cert" => json!(tls.as_ref().map(|tls| tls.certificate.display().to_string())),
        "tls_key" => json!(tls.as_ref().map(|tls| tls.key.display().to_string())),
        "cors_origins" => texts(access.cors_origins.iter().map(|origin| origin.as_str()).collect()),
        "allowed_hosts" => texts(access.allowed_hosts.iter().map(|host| host.as_str()).collect()),
        "trusted_proxies" => {
            let proxies: Vec<_> = access.trusted_proxies.iter().map(ToString::to_string).collect();
            texts(proxies.iter().map(String::as_str).collect())
        }
        "metrics" => json!(settings.metrics.as_str()),
        "log" => json!(log.or(settings.log.as_deref()).unwrap_or(logs::OF_A_SERVER)),
        "admin_key" => json!(admin_key.as_ref().map(|_| "set")),
        _ => Value::Null,
    }
}
