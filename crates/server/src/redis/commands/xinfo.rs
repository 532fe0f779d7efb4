//! `XINFO`: a stream, its groups, and their consumers.
//!
//! Lives here: its subcommands' arguments, and what is asked. Not here: the pictures (`xinfo_shown.rs`).

use naven_api::Scope;
use naven_store::read::{Page, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{OpKind, StreamRef};

use super::names::{self, GroupName};
use super::number::whole;
use super::words::{self, Missing};
use super::{xgroup, xinfo_shown};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Plan, Setting};

/// Items of each list in FULL where no COUNT is given.
const COUNT_DEFAULT: u64 = 10;

/// What is said of `XINFO HELP`.
const HELP: [&str; 11] = [
    "XINFO <subcommand> [<argument> ...], where a subcommand is one of:",
    "STREAM <key> [FULL [COUNT <count>]]",
    "    A stream with its first and last entry; with FULL, its entries, groups, consumers",
    "    and what they hold, at most <count> of each (10; 0: all).",
    "GROUPS <key>",
    "    The groups of a stream.",
    "CONSUMERS <key> <group>",
    "    The consumers of a group. @http stands for the leases of the HTTP door.",
    "HELP",
    "    This text.",
    "More is in the documentation of Naven Events.",
];

/// `XINFO HELP`.
pub(super) fn parse_help(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Reply(xgroup::lines(&HELP)))
}

/// `XINFO STREAM key [FULL [COUNT count]]`.
pub(super) fn parse_stream(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [typed, key, rest @ ..] = call.arguments() else { return Err(words::arity("xinfo|stream")) };
    let key = names::key(key);
    let full = match rest {
        [] => Ok(None),
        [full] if full.eq_ignore_ascii_case(b"FULL") => Ok(Some(COUNT_DEFAULT)),
        [full, word, count] if full.eq_ignore_ascii_case(b"FULL") && word.eq_ignore_ascii_case(b"COUNT") => {
            whole(count).map(|count| Some(u64::try_from(count).unwrap_or(COUNT_DEFAULT)))
        }
        _ => Err(words::subcommand("XINFO", typed)),
    };
    match full {
        Ok(full) => {
            let read = Read::StreamDetail { stream: StreamRef(key.clone()), full };
            let ask = Ask::on_stream(OpKind::Read(read), Scope::Read, key);
            Ok(Plan::ask(ask, |answer, _| words::unless_missing(answer, words::no_key(), picture)))
        }
        Err(error) => {
            let missing = |answer: &Answer| words::missing(answer).map(|_| words::no_key());
            Ok(names::once_found(names::look_at_stream(&key, Scope::Read), error, missing))
        }
    }
}

/// `XINFO GROUPS key`.
pub(super) fn parse_groups(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [_, key] = call.arguments() else { return Err(words::arity("xinfo|groups")) };
    let key = names::key(key);
    let read = Read::Groups(StreamRef(key.clone()));
    let ask = Ask::on_stream(OpKind::Read(read), Scope::Read, key);
    Ok(Plan::ask(ask, |answer, _| words::unless_missing(answer, words::no_key(), picture)))
}

/// `XINFO CONSUMERS key group`.
pub(super) fn parse_consumers(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [_, key, group] = call.arguments() else { return Err(words::arity("xinfo|consumers")) };
    let of = GroupName::of(key, group);
    let ask = of.ask(OpKind::Read(Read::Consumers(of.queue())), Scope::Read);
    Ok(Plan::ask(ask, move |answer, _| match words::missing(&answer) {
        Some(Missing::Stream) => words::no_key(),
        Some(Missing::Group) => words::no_group(&of),
        None => picture(answer),
    }))
}

fn picture(answer: Answer) -> Reply {
    match answer {
        Ok(OpReply::Page(page)) => match *page {
            Page::StreamDetail(detail) => xinfo_shown::stream(&detail),
            Page::Groups(groups) => xinfo_shown::groups(groups),
            Page::Consumers(consumers) => xinfo_shown::consumers(&consumers),
            page => words::unexpected(Ok(OpReply::Page(Box::new(page)))),
        },
        answer => words::unexpected(answer),
    }
}
