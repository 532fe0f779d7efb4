//! CONFIG GET and CONFIG SET.
//!
//! Lives here: the few settings that clients ask for, all of them fixed. Not here: the server's own settings,
//! which its operator gives it at start.

use super::arguments::{integer, shown, syntax};
use super::glob::matches;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// What may be set to whom it pleases; nothing follows from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Integer,
    Word,
}

const SETTINGS: [(&str, &str, Takes); 18] = [
    ("appendfsync", "always", Takes::Word),
    ("appendonly", "yes", Takes::Word),
    ("bind", "", Takes::Nothing),
    ("databases", "1", Takes::Nothing),
    ("io-threads", "1", Takes::Nothing),
    ("lua-time-limit", "0", Takes::Integer),
    ("maxclients", "", Takes::Nothing),
    ("maxmemory", "0", Takes::Integer),
    ("maxmemory-policy", "noeviction", Takes::Word),
    ("notify-keyspace-events", "", Takes::Word),
    ("port", "", Takes::Nothing),
    ("proto-max-bulk-len", "", Takes::Nothing),
    ("save", "", Takes::Word),
    ("slowlog-log-slower-than", "-1", Takes::Integer),
    ("stream-node-max-bytes", "4096", Takes::Integer),
    ("stream-node-max-entries", "100", Takes::Integer),
    ("tcp-keepalive", "0", Takes::Integer),
    ("timeout", "0", Takes::Integer),
];

/// `CONFIG GET pattern [pattern ...]`.
pub(super) fn get(call: &Request, setting: Setting<'_>) -> Result<Plan, Reply> {
    let patterns = call.arguments().get(1..).unwrap_or_default().to_vec();
    let limits = *setting.limits;
    Ok(Plan::session(move |session| {
        let asked =
            |name: &str| patterns.iter().any(|one| matches(&one.to_ascii_lowercase(), name.as_bytes()));
        let value = |name: &str, fixed: &str| match name {
            "maxclients" => limits.connections.to_string(),
            "port" => session.door.port.to_string(),
            "proto-max-bulk-len" => naven_api::limits::REDIS_ARGUMENT_BYTES_MAX.to_string(),
            _ => fixed.to_owned(),
        };
        let found = SETTINGS.iter().filter(|(name, ..)| asked(name));
        Reply::Map(
            found.map(|(name, fixed, _)| (Reply::bulk(*name), Reply::bulk(value(name, fixed)))).collect(),
        )
    }))
}

/// `CONFIG SET name value [name value ...]`: of the settings that have no effect here, +OK.
pub(super) fn set(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let pairs = call.arguments().get(1..).unwrap_or_default();
    if pairs.len() % 2 != 0 {
        return Err(syntax());
    }
    let mut seen = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let [name, value] = pair else { return Err(syntax()) };
        let lower = name.to_ascii_lowercase();
        let found = SETTINGS.iter().find(|(known, ..)| known.as_bytes() == lower.as_slice());
        let Some((known, _, takes)) = found else {
            let text =
                format!("ERR Unknown option or number of arguments for CONFIG SET - '{}'", shown(name));
            return Err(Reply::error(text));
        };
        let failed = |why: &str| {
            Err(Reply::error(format!(
                "ERR CONFIG SET failed (possibly related to argument '{known}') - {why}"
            )))
        };
        if seen.contains(known) {
            return failed("duplicate parameter");
        }
        seen.push(known);
        match takes {
            Takes::Nothing => return failed("can't set immutable config"),
            Takes::Integer if integer(value).is_none() => {
                return failed("argument couldn't be parsed into an integer");
            }
            Takes::Integer | Takes::Word => {}
        }
    }
    Ok(Plan::Reply(Reply::OK))
}
