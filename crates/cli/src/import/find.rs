//! Which streams are meant.
//!
//! Lives here: names and patterns, and looking through a server's keys. Not here: what is in a stream.

use std::collections::BTreeSet;

use redis::{Cmd, Value, cmd};

use super::limits::{SCAN_NAMES, STREAMS_MAX};
use super::reply::{bytes, list, shown};
use super::side::Side;
use super::trouble::Trouble;

/// The streams of `source` that `wanted` names, by name; all of them where it is empty. The second is what
/// patterns met nothing.
///
/// # Errors
/// Where a name is not that of a stream, or there are too many.
pub(super) async fn streams(
    source: &Side,
    wanted: &[String],
) -> Result<(BTreeSet<Vec<u8>>, Vec<String>), Trouble> {
    let mut found = BTreeSet::new();
    let mut met_nothing = Vec::new();
    if wanted.is_empty() {
        scan(source, None, &mut found).await?;
    }
    for name in wanted {
        if !is_pattern(name) {
            found.insert(named(source, name).await?);
        } else if scan(source, Some(name), &mut found).await? == 0 {
            met_nothing.push(name.clone());
        }
    }
    Ok((found, met_nothing))
}

/// What a key holds: `stream`, `none` where there is no such key, or another type's name.
///
/// # Errors
/// What the side says.
pub(super) async fn type_of(side: &Side, key: &[u8]) -> Result<String, Trouble> {
    let answer = side.ask(cmd("TYPE").arg(key)).await?;
    bytes(answer)
        .map(|kind| shown(&kind))
        .ok_or_else(|| Trouble::Broken(format!("{}: TYPE: not an answer to it", side.name)))
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '\\'])
}

async fn named(source: &Side, name: &str) -> Result<Vec<u8>, Trouble> {
    match type_of(source, name.as_bytes()).await?.as_str() {
        "stream" => Ok(name.as_bytes().to_vec()),
        "none" => Err(Trouble::refused(format!("{}: there is no stream {name}", source.name))),
        other => Err(Trouble::refused(format!("{}: {name} is a {other}, not a stream", source.name))),
    }
}

/// Adds what matches; how many did.
async fn scan(source: &Side, pattern: Option<&str>, found: &mut BTreeSet<Vec<u8>>) -> Result<usize, Trouble> {
    let broken = || Trouble::Broken(format!("{}: SCAN: not an answer to it", source.name));
    let mut cursor = b"0".to_vec();
    let mut knows_types = true;
    let mut matched = 0;
    loop {
        let command = scan_from(&cursor, pattern, knows_types);
        let answer = match source.try_ask(&command).await? {
            Ok(answer) => answer,
            // A server before 6.0 cannot tell types while it looks: each key is asked for its own.
            Err(refusal) if knows_types && refusal.details().is_some_and(|text| text.contains("syntax")) => {
                knows_types = false;
                continue;
            }
            Err(refusal) => {
                let why = refusal.details().unwrap_or_default();
                return Err(Trouble::Broken(format!("{}: SCAN: {} {why}", source.name, refusal.code())));
            }
        };
        let mut parts = list(answer).ok_or_else(broken)?.into_iter();
        cursor = parts.next().and_then(bytes).ok_or_else(broken)?;
        let names = parts.next().and_then(list).ok_or_else(broken)?;
        let names = names.into_iter().map(bytes).collect::<Option<Vec<_>>>().ok_or_else(broken)?;
        let names = if knows_types { names } else { of_streams(source, names).await? };
        matched += names.len();
        found.extend(names);
        if found.len() > STREAMS_MAX {
            let why = format!("{}: more than {STREAMS_MAX} streams: name some with --stream", source.name);
            return Err(Trouble::Broken(why));
        }
        if cursor == b"0" {
            return Ok(matched);
        }
    }
}

fn scan_from(cursor: &[u8], pattern: Option<&str>, knows_types: bool) -> Cmd {
    let mut command = cmd("SCAN");
    command.arg(cursor).arg("COUNT").arg(SCAN_NAMES);
    if let Some(pattern) = pattern {
        command.arg("MATCH").arg(pattern);
    }
    if knows_types {
        command.arg("TYPE").arg("stream");
    }
    command
}

async fn of_streams(source: &Side, names: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Trouble> {
    let commands: Vec<Cmd> = names.iter().map(|name| cmd("TYPE").arg(name.as_slice()).clone()).collect();
    let kinds = source.ask_all(commands).await?;
    let is_stream = |kind: &Value| matches!(kind, Value::SimpleString(kind) if kind == "stream");
    Ok(names.into_iter().zip(kinds).filter(|(_, kind)| is_stream(kind)).map(|(name, _)| name).collect())
}
