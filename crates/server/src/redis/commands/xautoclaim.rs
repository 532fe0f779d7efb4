//! `XAUTOCLAIM`: idle entries go over to a consumer, in order.
//!
//! Lives here: its arguments and its reply. Not here: `XCLAIM` (`xclaim.rs`).

use naven_api::Scope;
use naven_api::limits::{REDIS_READ_BYTES_MAX, REDIS_READ_ENTRIES_MAX};
use naven_store::reply::{OpReply, Transferred};
use naven_store::txn::{OpKind, ReaderOp, ScanTransfer};

use super::names::{self, GroupName};
use super::number::whole_or;
use super::xclaim::{min_idle, taken_over};
use super::{ids, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// Entries that are taken over where no COUNT is given.
const COUNT_DEFAULT: u64 = 100;
/// Highest COUNT, as in Redis: so many ids fit into the memory that may be addressed.
const COUNT_MAX: i64 = i64::MAX / 16;

/// `XAUTOCLAIM key group consumer min-idle-ms start [COUNT count] [JUSTID]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, consumer, idle, start, rest @ ..] = call.arguments() else {
        return Err(words::arity("xautoclaim"));
    };
    let min_idle_ms = min_idle(idle, "ERR Invalid min-idle-time argument for XAUTOCLAIM")?;
    let start = ids::range_start(start)?;
    let (mut count, mut just_id) = (COUNT_DEFAULT, false);
    let mut rest = rest;
    while let [option, behind @ ..] = rest {
        rest = match behind {
            [value, behind @ ..] if option.eq_ignore_ascii_case(b"COUNT") => {
                let words = "ERR COUNT must be > 0";
                let given = Some(whole_or(value, words)?).filter(|given| *given <= COUNT_MAX);
                let given = given.and_then(|given| u64::try_from(given).ok()).filter(|given| *given > 0);
                count = given.ok_or_else(|| Reply::error(words))?;
                behind
            }
            _ if option.eq_ignore_ascii_case(b"JUSTID") => {
                just_id = true;
                behind
            }
            _ => return Err(words::syntax()),
        };
    }
    let of = GroupName::of(key, group);
    let scan = ScanTransfer {
        queue: of.queue(),
        consumer: names::consumer(consumer)?,
        min_idle_ms,
        start,
        // Who asks for more goes on from where the answer says.
        count: count.min(REDIS_READ_ENTRIES_MAX),
        max_bytes: REDIS_READ_BYTES_MAX,
        just_id,
    };
    let ask = of.ask(OpKind::Reader(ReaderOp::ScanTransfer(scan)), Scope::Consume);
    Ok(Plan::ask(ask, move |answer, _| {
        words::unless_missing(answer, words::no_key_or_group(&of), |answer| match answer {
            Ok(OpReply::Transferred(taken)) => reply(&taken, just_id),
            answer => words::unexpected(answer),
        })
    }))
}

fn reply(taken: &Transferred, just_id: bool) -> Reply {
    Reply::Array(vec![
        ids::shown(taken.next),
        Reply::Array(taken_over(&taken.entries, just_id)),
        Reply::Array(taken.deleted.iter().map(|place| ids::shown(*place)).collect()),
    ])
}
