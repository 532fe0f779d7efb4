//! `XRANGE`, `XREVRANGE` and `XLEN`: look at a stream.
//!
//! Lives here: their arguments and replies. Not here: reads that go on behind a place (`xread.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_api::limits::{REDIS_REPLY_BYTES_MAX, REDIS_REPLY_ENTRIES_MAX};
use naven_store::read::{Page, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{OpKind, Place, StreamRef};

use super::number::{shown, whole};
use super::{entries, ids, names, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Plan, Setting};

/// `XLEN key`.
pub(super) fn parse_length(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key] = call.arguments() else { return Err(words::arity("xlen")) };
    let look = names::look_at_stream(&names::key(key), Scope::Read);
    Ok(Plan::ask(look, |answer, _| {
        words::unless_missing(answer, Reply::Integer(0), |answer| match answer {
            Ok(OpReply::Page(page)) => match *page {
                Page::Stream(view) => shown(view.length),
                page => words::unexpected(Ok(OpReply::Page(Box::new(page)))),
            },
            answer => words::unexpected(answer),
        })
    }))
}

/// `XRANGE key start end [COUNT count]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, start, end, rest @ ..] = call.arguments() else { return Err(words::arity("xrange")) };
    let range = Range { start: ids::range_start(start)?, end: ids::range_end(end)?, reverse: false };
    plan(key, range, count(rest)?)
}

/// `XREVRANGE key end start [COUNT count]`.
pub(super) fn parse_reverse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, end, start, rest @ ..] = call.arguments() else { return Err(words::arity("xrevrange")) };
    let range = Range { start: ids::range_start(start)?, end: ids::range_end(end)?, reverse: true };
    plan(key, range, count(rest)?)
}

/// From where to where, both included.
struct Range {
    start: Place,
    end: Place,
    reverse: bool,
}

/// The last COUNT that is given; none: no bound.
fn count(arguments: &[Bytes]) -> Result<Option<u64>, Reply> {
    let mut count = None;
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        let Some((value, behind)) = behind.split_first() else { return Err(words::syntax()) };
        if !option.eq_ignore_ascii_case(b"COUNT") {
            return Err(words::syntax());
        }
        count = Some(u64::try_from(whole(value)?).unwrap_or(0));
        rest = behind;
    }
    Ok(count)
}

fn plan(key: &Bytes, range: Range, count: Option<u64>) -> Result<Plan, Reply> {
    let key = names::key(key);
    let none = || Reply::Array(Vec::new());
    if count == Some(0) || range.start > range.end {
        let found = if count == Some(0) { Reply::NullArray } else { none() };
        let missing = move |answer: &Answer| words::missing(answer).map(|_| none());
        return Ok(names::once_found(names::look_at_stream(&key, Scope::Read), found, missing));
    }
    let wanted = count.unwrap_or(u64::MAX);
    let limit = u32::try_from(wanted).unwrap_or(u32::MAX).min(REDIS_REPLY_ENTRIES_MAX);
    let read = Read::Entries {
        stream: StreamRef(key.clone()),
        start: range.start,
        end: range.end,
        reverse: range.reverse,
        limit,
        max_bytes: REDIS_REPLY_BYTES_MAX,
        payload: true,
    };
    let ask = Ask::on_stream(OpKind::Read(read), Scope::Read, key);
    Ok(Plan::ask(ask, move |answer, _| {
        words::unless_missing(answer, none(), |answer| match answer {
            Ok(OpReply::Page(page)) => match *page {
                Page::Entries(list, true) if (list.len() as u64) < wanted => too_large(),
                Page::Entries(list, _) => entries::listed(&list),
                page => words::unexpected(Ok(OpReply::Page(Box::new(page)))),
            },
            answer => words::unexpected(answer),
        })
    }))
}

fn too_large() -> Reply {
    Reply::error(format!(
        "ERR the range is larger than {REDIS_REPLY_BYTES_MAX} bytes or {REDIS_REPLY_ENTRIES_MAX} entries: \
         ask for a part of it with COUNT"
    ))
}
