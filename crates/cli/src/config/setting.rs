//! Every setting of a server.
//!
//! Lives here: their units and bounds, and what the command line says of them. Not here: reading them
//! (`settings.rs`, `config_file.rs`), and what one server makes of them (`shown.rs`).

use std::time::Duration;

use clap::{Arg, CommandFactory};
use naven_server::{Patience, ServerLimits};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::environment;

/// What the command line does not say of a setting.
struct Rule {
    name: &'static str,
    unit: Option<&'static str>,
    bounds: &'static str,
    default: &'static str,
}

const fn rule(name: &'static str, bounds: &'static str, default: &'static str) -> Rule {
    Rule { name, unit: None, bounds, default }
}

/// The key's name: no flag sets it.
const ADMIN_KEY: &str = "admin_key";

const RULES: [Rule; 15] = [
    rule("data", "a folder of its own", "./naven-data"),
    rule("http", "an IP address and a port", "127.0.0.1:7480"),
    rule("redis", "an IP address and a port, or off", "127.0.0.1:7379"),
    rule("redis_no_auth", "true or false; true where redis is a loopback address", "false"),
    rule("allow_flush", "true or false", "false"),
    rule("engine", "embedded", "embedded"),
    Rule {
        name: "segment_bytes",
        unit: Some("bytes"),
        bounds: "a power of two, 262144 to 67108864",
        default: "by the free space",
    },
    rule("tls_cert", "a PEM file; needs tls_key", "none, they speak plainly"),
    rule("tls_key", "a PEM file; needs tls_cert", "none"),
    rule("cors_origins", "a list of origins: http or https, a host, no path, no *", "none"),
    rule("allowed_hosts", "a list of host names without ports", "on a loopback address none, else all"),
    rule("trusted_proxies", "a list of IP addresses and networks, at most 1000", "none"),
    rule("metrics", "key, open or off", "key"),
    rule("log", "off, error, warn, info, debug, trace, or a filter for modules", "info"),
    rule(ADMIN_KEY, "a key that naven key generate made", "none"),
];

/// A setting.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Setting {
    /// As it stands in the config file.
    pub(crate) name: &'static str,
    pub(crate) flag: Option<String>,
    pub(crate) variable: Option<String>,
    pub(crate) unit: Option<&'static str>,
    pub(crate) bounds: String,
    pub(crate) default: String,
    pub(crate) what: String,
}

/// The names of the settings that can be set, all of which a config file may hold.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// True where `name` is that of a setting that can be set.
pub(crate) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// The settings that can be set.
pub(crate) fn settable() -> Vec<Setting> {
    let root = Arguments::command();
    let serve = root.find_subcommand("serve");
    let args: Vec<&Arg> =
        serve.into_iter().chain([&root]).flat_map(|command| command.get_arguments()).collect();
    RULES
        .iter()
        .map(|rule| {
            let arg = args.iter().find(|arg| arg.get_id() == rule.name);
            let help = arg.and_then(|arg| arg.get_help()).map(ToString::to_string);
            let variable = arg.and_then(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()));
            let of_the_key = (rule.name == ADMIN_KEY).then(|| environment::ADMIN_KEY.to_owned());
            Setting {
                name: rule.name,
                flag: arg.and_then(|arg| Some(format!("--{}", arg.get_long()?))),
                variable: variable.or(of_the_key),
                unit: rule.unit,
                bounds: rule.bounds.to_owned(),
                default: rule.default.to_owned(),
                what: sentence(help.as_deref().map_or(KEY_HELP, |help| parted(help).0)),
            }
        })
        .collect()
}

const KEY_HELP: &str = "The key that is installed as `admin`, in place of the one of before. No flag sets it: \
                        arguments show in process lists.";

/// The command line leaves the last full stop off.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

/// A flag's help without its default, and the default.
fn parted(help: &str) -> (&str, Option<&str>) {
    match help.split_once(" [default: ") {
        Some((what, default)) => (what, Some(default.trim_end_matches(']'))),
        None => (help, None),
    }
}

/// The bounds that this version has built in.
pub(crate) fn built_in() -> Vec<Setting> {
    let ServerLimits {
        payload_bytes,
        request_bytes,
        bodies_bytes,
        answers_bytes,
        uri_bytes,
        header_bytes,
        connections,
        waiters_per_node,
        waiters_per_key,
    } = ServerLimits::default();
    let Patience { head, body_idle, body_total, keep_alive, write, drain } = Patience::default();
    let bytes = |name, value: usize, what| fixed(name, Some("bytes"), value.to_string(), what);
    let count = |name, value: usize, what| fixed(name, None, value.to_string(), what);
    let time = |name, value: Duration, what| fixed(name, Some("seconds"), value.as_secs().to_string(), what);
    vec![
        bytes("payload_bytes", payload_bytes, "The largest payload."),
        bytes("request_bytes", request_bytes, "The largest body of a request."),
        bytes(
            "bodies_bytes",
            bodies_bytes,
            "Large requests under way at once, less where memory is short; a further one waits for room.",
        ),
        bytes(
            "answers_bytes",
            answers_bytes,
            "Large answers that are not read yet, less where memory is short; a further one waits.",
        ),
        bytes("uri_bytes", uri_bytes, "The longest path and query."),
        bytes("header_bytes", header_bytes, "The longest headers of a request together."),
        count(
            "connections",
            connections,
            "Connections at once; fewer where the limit of open files is lower.",
        ),
        count("waiters_per_node", waiters_per_node, "Claims that wait at once."),
        count("waiters_per_key", waiters_per_key, "Claims of one key that wait at once."),
        time("head_seconds", head, "For a request's line and headers, and a connection's first byte."),
        time("body_idle_seconds", body_idle, "For the next piece of a body."),
        time("body_total_seconds", body_total, "For a whole body."),
        time("keep_alive_seconds", keep_alive, "For the next request of a connection."),
        time("write_seconds", write, "For a client to take bytes of an answer."),
        time("drain_seconds", drain, "At the end, for requests under way."),
    ]
}

fn fixed(name: &'static str, unit: Option<&'static str>, value: String, what: &str) -> Setting {
    let bounds = "fixed in this version".to_owned();
    Setting { name, flag: None, variable: None, unit, bounds, default: value, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_of_serve_is_a_setting_and_the_defaults_are_the_same() {
        let root = Arguments::command();
        let serve = root.find_subcommand("serve").unwrap();
        for arg in serve.get_arguments().filter(|arg| !["config", "help"].contains(&arg.get_id().as_str())) {
            let rule = RULES.iter().find(|rule| rule.name == arg.get_id());
            let rule = rule.unwrap_or_else(|| panic!("{} is no setting", arg.get_id()));
            let help = arg.get_help().unwrap().to_string();
            let default = parted(&help).1;
            assert!(default.is_none_or(|default| default == rule.default), "{}: {default:?}", rule.name);
            let variable = format!("NAVEN_{}", rule.name.to_uppercase());
            assert_eq!(arg.get_env().unwrap().to_str(), Some(variable.as_str()));
        }
        assert!(settable().iter().all(|setting| setting.flag.is_some() || setting.name == ADMIN_KEY));
    }
}
