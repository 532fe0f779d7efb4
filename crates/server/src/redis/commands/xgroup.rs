//! `XGROUP`: make, move and remove groups and consumers.
//!
//! Lives here: its subcommands' arguments and replies. Not here: what it means for a queue (the engines).

use bytes::Bytes;
use naven_api::Scope;
use naven_core::DeadReason;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{DeleteOp, GroupOp, GroupStart, OpKind, Place, StreamRef};

use super::ids;
use super::names::{self, GroupName};
use super::number::{shown, whole};
use super::words::{self, Missing};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Need, Plan, Setting, Touched};

/// What is said of `XGROUP HELP`.
const HELP: [&str; 17] = [
    "XGROUP <subcommand> [<argument> ...], where a subcommand is one of:",
    "CREATE <key> <group> <id|$> [MKSTREAM] [ENTRIESREAD <count>]",
    "    A new group that reads what comes behind <id>, or behind the last entry ($).",
    "    MKSTREAM makes a stream that is not there; ENTRIESREAD says how many entries",
    "    count as read. The group is a queue, which the HTTP door serves too.",
    "SETID <key> <group> <id|$> [ENTRIESREAD <count>]",
    "    The group goes on behind another entry.",
    "DESTROY <key> <group>",
    "    The group is removed; what it has not finished becomes dead letters.",
    "CREATECONSUMER <key> <group> <consumer>",
    "    A new consumer of the group.",
    "DELCONSUMER <key> <group> <consumer>",
    "    The consumer is removed; what it holds becomes dead letters.",
    "    The answer says how much that was.",
    "HELP",
    "    This text.",
    "More is in the documentation of Naven Events.",
];

/// `XGROUP HELP`.
pub(super) fn parse_help(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Reply(lines(&HELP)))
}

/// Lines for people.
pub(super) fn lines(lines: &[&'static str]) -> Reply {
    let line = |line: &&'static str| Reply::Simple(Bytes::from_static(line.as_bytes()));
    Reply::Array(lines.iter().map(line).collect())
}

/// What CREATE and SETID say besides names and place.
#[derive(Default)]
struct Options {
    make_stream: bool,
    entries_read: Option<u64>,
    /// Options are given more than once.
    is_too_long: bool,
}

/// `XGROUP CREATE key group id|$ [MKSTREAM] [ENTRIESREAD count]`.
pub(super) fn parse_create(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [typed, key, group, start, rest @ ..] = call.arguments() else {
        return Err(words::arity("xgroup|create"));
    };
    let mut options = options(typed, rest, true)?;
    options.is_too_long = rest.len() > 3;
    let of = GroupName::to_make(key, group)?;
    let start = match judged(typed, start, ids::place, &options) {
        Ok(start) => start,
        Err(error) if options.make_stream => return Err(error),
        Err(error) => {
            let look = names::look_at_stream(&of.stream, Scope::Consume);
            let missing = |answer: &Answer| words::missing(answer).map(|_| key_needed());
            return Ok(names::once_found(look, error, missing));
        }
    };
    let op = GroupOp::CreateGroup {
        stream: StreamRef(of.stream.clone()),
        group: of.group.clone(),
        make_stream: options.make_stream,
        start,
        entries_read: options.entries_read,
    };
    let mut ask = of.ask(OpKind::Group(op), Scope::Consume);
    // As over HTTP, the stream has to be reached as well: the group reads it.
    ask.needs.push(Need { scope: Scope::Consume, on: Touched::Stream(of.stream.clone()) });
    Ok(Plan::ask(ask, |answer, _| match answer {
        Err(OpError::Refused(Refused::NameTaken)) => {
            Reply::error("BUSYGROUP Consumer Group name already exists")
        }
        answer => words::unless_missing(answer, key_needed(), done),
    }))
}

/// `XGROUP SETID key group id|$ [ENTRIESREAD count]`.
pub(super) fn parse_set_id(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [typed, key, group, start, rest @ ..] = call.arguments() else {
        return Err(words::arity("xgroup|setid"));
    };
    let mut options = options(typed, rest, false)?;
    options.is_too_long = rest.len() > 2;
    let of = GroupName::of(key, group);
    let start = match judged(typed, start, ids::place_or_end, &options) {
        Ok(start) => start,
        Err(error) => return Ok(once_group_found(of, error)),
    };
    let op = GroupOp::SetPlace { queue: of.queue(), start, entries_read: options.entries_read };
    let ask = of.ask(OpKind::Group(op), Scope::Admin).noted("group.set-id", of.told());
    Ok(Plan::ask(ask, move |answer, _| unless_absent(answer, &of, done)))
}

/// `XGROUP DESTROY key group`.
pub(super) fn parse_destroy(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [_, key, group] = call.arguments() else { return Err(words::arity("xgroup|destroy")) };
    let of = GroupName::of(key, group);
    let reason = DeadReason::GroupDestroyed;
    let op = DeleteOp::Queue { queue: of.queue(), force: true, reason, revision: None };
    let ask = of.ask(OpKind::Delete(op), Scope::Admin).noted("queue.delete", of.told());
    // The key is looked for by itself: a group may be missing for want of it.
    let look = names::look_at_stream(&of.stream, Scope::Admin);
    Ok(Plan::asks(vec![look, ask], |answers, _| {
        let mut answers = answers.into_iter();
        let (look, destroyed) = (answers.next(), answers.next());
        match look.as_ref().and_then(words::missing) {
            Some(_) => key_needed(),
            None => {
                let destroyed = destroyed.unwrap_or(Err(OpError::Unknown));
                words::unless_missing(destroyed, Reply::Integer(0), |answer| match answer {
                    Ok(_) => Reply::Integer(1),
                    answer => words::unexpected(answer),
                })
            }
        }
    }))
}

/// `XGROUP CREATECONSUMER key group consumer`.
pub(super) fn parse_create_consumer(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [_, key, group, consumer] = call.arguments() else {
        return Err(words::arity("xgroup|createconsumer"));
    };
    let of = GroupName::of(key, group);
    let op = GroupOp::MakeConsumer { queue: of.queue(), name: names::consumer(consumer)? };
    let ask = of.ask(OpKind::Group(op), Scope::Consume);
    Ok(Plan::ask(ask, move |answer, _| {
        unless_absent(answer, &of, |answer| match answer {
            Ok(OpReply::Made(is_new)) => Reply::Integer(i64::from(is_new)),
            answer => words::unexpected(answer),
        })
    }))
}

/// `XGROUP DELCONSUMER key group consumer`. The HTTP door's consumers are none that could be removed.
pub(super) fn parse_delete_consumer(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [_, key, group, consumer] = call.arguments() else {
        return Err(words::arity("xgroup|delconsumer"));
    };
    let of = GroupName::of(key, group);
    if consumer.is_empty() || names::is_of_http(consumer) {
        return Ok(once_group_found(of, Reply::Integer(0)));
    }
    let op = DeleteOp::Consumer { queue: of.queue(), name: names::consumer(consumer)? };
    let ask = of.ask(OpKind::Delete(op), Scope::Admin).noted("consumer.delete", of.told());
    Ok(Plan::ask(ask, move |answer, _| {
        unless_absent(answer, &of, |answer| match answer {
            Ok(OpReply::Removed(held)) => shown(held),
            answer => words::unexpected(answer),
        })
    }))
}

fn options(typed: &[u8], arguments: &[Bytes], may_make: bool) -> Result<Options, Reply> {
    let mut options = Options::default();
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        rest = match behind {
            _ if may_make && option.eq_ignore_ascii_case(b"MKSTREAM") => {
                options.make_stream = true;
                behind
            }
            [count, behind @ ..] if option.eq_ignore_ascii_case(b"ENTRIESREAD") => {
                let count = whole(count)?;
                if count < -1 {
                    return Err(Reply::error("ERR value for ENTRIESREAD must be positive or -1"));
                }
                options.entries_read = u64::try_from(count).ok();
                behind
            }
            _ => return Err(words::subcommand("XGROUP", typed)),
        };
    }
    Ok(options)
}

/// What Redis judges once it has found key and group.
fn judged(
    typed: &[u8],
    start: &[u8],
    place: fn(&[u8]) -> Result<Place, Reply>,
    options: &Options,
) -> Result<GroupStart, Reply> {
    if options.is_too_long {
        return Err(words::subcommand("XGROUP", typed));
    }
    match start {
        b"$" => Ok(GroupStart::Last),
        start => place(start).map(GroupStart::At),
    }
}

fn once_group_found(of: GroupName, reply: Reply) -> Plan {
    let look = of.look(Scope::Admin);
    names::once_found(look, reply, move |answer| absent(answer, &of))
}

fn unless_absent(answer: Answer, of: &GroupName, reply: impl FnOnce(Answer) -> Reply) -> Reply {
    match absent(&answer, of) {
        Some(absent) => absent,
        None => reply(answer),
    }
}

fn absent(answer: &Answer, of: &GroupName) -> Option<Reply> {
    words::missing(answer).map(|missing| match missing {
        Missing::Stream => key_needed(),
        Missing::Group => words::no_group(of),
    })
}

fn done(answer: Answer) -> Reply {
    if answer.is_ok() { Reply::OK } else { words::unexpected(answer) }
}

fn key_needed() -> Reply {
    Reply::error(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the \
         MKSTREAM option to create an empty stream automatically.",
    )
}
