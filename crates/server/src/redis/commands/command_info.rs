//! COMMAND and its subcommands.
//!
//! Lives here: what is told of the command table. Not here: the table (`command`).

use bytes::Bytes;

use super::arguments::{is, shown, syntax};
use super::glob::matches;
use crate::redis::command::{Command, all, find_by_full_name, info};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// `COMMAND`.
pub(super) fn all_commands(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Reply(Reply::Array(all().map(info).collect())))
}

/// `COMMAND INFO [name ...]`.
pub(super) fn some_commands(call: &Request, setting: Setting<'_>) -> Result<Plan, Reply> {
    let names = call.arguments().get(1..).unwrap_or_default();
    if names.is_empty() {
        return all_commands(call, setting);
    }
    let of = |name: &Bytes| find_by_full_name(name).map_or(Reply::Null, info);
    Ok(Plan::Reply(Reply::Array(names.iter().map(of).collect())))
}

/// `COMMAND COUNT`.
pub(super) fn count(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Reply(Reply::Integer(all().count() as i64)))
}

/// `COMMAND DOCS [name ...]`: of each command its name and group; what it does stands in the documentation.
pub(super) fn docs(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let names = call.arguments().get(1..).unwrap_or_default();
    let of = |command: &'static Command| {
        let summary = (Reply::bulk("summary"), Reply::bulk(format!("{} of the Redis door.", command.name)));
        (Reply::bulk(command.name), Reply::Map(vec![summary]))
    };
    let told = if names.is_empty() {
        all().map(of).collect()
    } else {
        names.iter().filter_map(|name| find_by_full_name(name)).map(of).collect()
    };
    Ok(Plan::Reply(Reply::Map(told)))
}

/// `COMMAND LIST [FILTERBY PATTERN|MODULE|ACLCAT what]`.
pub(super) fn list(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let every = || all().flat_map(|command| std::iter::once(command).chain(command.subcommands));
    let names: Vec<&'static str> = match call.arguments() {
        [_] => all().map(|command| command.name).collect(),
        [_, filter, kind, what] if is(filter, "filterby") => {
            if is(kind, "pattern") {
                every().map(|command| command.name).filter(|name| matches(what, name.as_bytes())).collect()
            } else if is(kind, "module") {
                Vec::new()
            } else if is(kind, "aclcat") {
                every().filter(|command| is_in(command, what)).map(|command| command.name).collect()
            } else {
                return Err(syntax());
            }
        }
        _ => return Err(syntax()),
    };
    Ok(Plan::Reply(Reply::Array(names.into_iter().map(Reply::bulk).collect())))
}

/// True where `command` is in this category of access.
fn is_in(command: &Command, category: &[u8]) -> bool {
    let Reply::Array(values) = info(command) else { return false };
    let wanted = format!("@{}", shown(category).to_ascii_lowercase());
    match values.get(6) {
        Some(Reply::Set(categories)) => categories.contains(&Reply::Simple(wanted.into())),
        _ => false,
    }
}
