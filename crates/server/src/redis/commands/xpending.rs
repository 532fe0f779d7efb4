//! `XPENDING`: what a group has handed out and nobody has finished.
//!
//! Lives here: its arguments and its replies. Not here: XINFO (`xinfo.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::read::{Page, PendingRead, PendingSummary, PendingView, Read};
use naven_store::reply::OpReply;
use naven_store::txn::OpKind;

use super::names::{self, GroupName};
use super::number::{shown, whole};
use super::{ids, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Plan, Setting};

/// `XPENDING key group [[IDLE min-idle-ms] start end count [consumer]]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, rest @ ..] = call.arguments() else { return Err(words::arity("xpending")) };
    let read = match rest {
        [] => {
            let of = GroupName::of(key, group);
            let read = Read::PendingSummary(of.queue());
            return Ok(plan(of, read));
        }
        [_, _, _, ..] if rest.len() <= 6 => list(rest)?,
        _ => return Err(words::syntax()),
    };
    let of = GroupName::of(key, group);
    if read.limit == 0 || read.start > read.end {
        let absent = words::no_key_or_group(&of);
        let missing = move |answer: &Answer| words::missing(answer).map(|_| absent.clone());
        let none = Reply::Array(Vec::new());
        return Ok(names::once_found(of.look(Scope::Read), none, missing));
    }
    let read = Read::Pending(PendingRead { queue: of.queue(), ..read });
    Ok(plan(of, read))
}

/// What the longer form asks for, its queue aside.
fn list(arguments: &[Bytes]) -> Result<PendingRead, Reply> {
    let (idle, rest) = match arguments {
        [word, idle, rest @ ..] if word.eq_ignore_ascii_case(b"IDLE") => (whole(idle)?, rest),
        rest => (0, rest),
    };
    let [start, end, count, consumer @ ..] = rest else { return Err(words::syntax()) };
    let count = whole(count)?;
    Ok(PendingRead {
        queue: naven_store::queue::QueueRef::Name(String::new()),
        start: ids::range_start(start)?,
        end: ids::range_end(end)?,
        limit: u64::try_from(count).unwrap_or(0),
        consumer: consumer.first().map(|name| Bytes::copy_from_slice(name)),
        min_idle_ms: u64::try_from(idle).unwrap_or(0),
    })
}

fn plan(of: GroupName, read: Read) -> Plan {
    let ask = of.ask(OpKind::Read(read), Scope::Read);
    Plan::ask(ask, move |answer, _| {
        words::unless_missing(answer, words::no_key_or_group(&of), |answer| match answer {
            Ok(OpReply::Page(page)) => match *page {
                Page::PendingSummary(summary) => summed_up(&summary),
                Page::Pending(list, _) => Reply::Array(list.iter().map(pending).collect()),
                page => words::unexpected(Ok(OpReply::Page(Box::new(page)))),
            },
            answer => words::unexpected(answer),
        })
    })
}

fn summed_up(summary: &PendingSummary) -> Reply {
    let (first, last) = summary
        .range
        .map_or((Reply::Null, Reply::Null), |(first, last)| (ids::shown(first), ids::shown(last)));
    let consumers = summary
        .consumers
        .iter()
        .map(|(name, count)| Reply::Array(vec![Reply::Bulk(name.clone()), Reply::bulk(count.to_string())]));
    let consumers = match summary.count {
        0 => Reply::NullArray,
        _ => Reply::Array(consumers.collect()),
    };
    Reply::Array(vec![shown(summary.count), first, last, consumers])
}

fn pending(view: &PendingView) -> Reply {
    Reply::Array(vec![
        ids::shown(view.place),
        Reply::Bulk(view.consumer.clone()),
        shown(view.idle_ms),
        shown(view.redis_count),
    ])
}
