//! `XCLAIM`: named entries go over to a consumer.
//!
//! Lives here: its arguments and its reply. Not here: `XAUTOCLAIM` (`xautoclaim.rs`).

use bytes::Bytes;
use naven_api::{Scope, Timestamp};
use naven_store::reply::OpReply;
use naven_store::txn::{OpKind, Place, ReaderOp, Since, Transfer};

use super::names::{self, GroupName};
use super::number::whole_or;
use super::{entries, ids, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Plan, Setting};

/// `XCLAIM key group consumer min-idle-ms id [id ...] [IDLE ms] [TIME ms] [RETRYCOUNT count] [FORCE] [JUSTID]
/// [LASTID id]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, consumer, rest @ ..] = call.arguments() else { return Err(words::arity("xclaim")) };
    let of = GroupName::of(key, group);
    let absent = words::no_key_or_group(&of);
    let transfer = match transfer(&of, consumer, rest) {
        Ok(transfer) => transfer,
        Err(error) => {
            let missing = move |answer: &Answer| words::missing(answer).map(|_| absent.clone());
            return Ok(names::once_found(of.look(Scope::Consume), error, missing));
        }
    };
    let just_id = transfer.just_id;
    let ask = of.ask(OpKind::Reader(ReaderOp::Transfer(transfer)), Scope::Consume);
    Ok(Plan::ask(ask, move |answer, _| {
        words::unless_missing(answer, absent, |answer| match answer {
            Ok(OpReply::Transferred(taken)) => Reply::Array(taken_over(&taken.entries, just_id)),
            answer => words::unexpected(answer),
        })
    }))
}

/// Entries that were taken over, or their ids alone.
pub(super) fn taken_over(taken: &[naven_store::reply::HeldEntry], just_id: bool) -> Vec<Reply> {
    if just_id { taken.iter().map(|held| ids::shown(held.place)).collect() } else { entries::held(taken) }
}

/// How long entries have to be idle: less than none is none.
pub(super) fn min_idle(text: &[u8], words: &'static str) -> Result<u64, Reply> {
    Ok(u64::try_from(whole_or(text, words)?).unwrap_or(0))
}

fn transfer(of: &GroupName, consumer: &Bytes, arguments: &[Bytes]) -> Result<Transfer, Reply> {
    let [idle, rest @ ..] = arguments else { return Err(words::arity("xclaim")) };
    let min_idle_ms = min_idle(idle, "ERR Invalid min-idle-time argument for XCLAIM")?;
    // The ids end where something is none: what follows are options, or mistakes.
    let places: Vec<Place> = rest.iter().map_while(|text| ids::place(text).ok()).collect();
    let options = rest.get(places.len()..).unwrap_or_default();
    let mut transfer = Transfer {
        queue: of.queue(),
        consumer: Bytes::new(),
        min_idle_ms,
        places,
        just_id: false,
        force: false,
        since: None,
        redis_count: None,
        last: None,
    };
    let mut options = options;
    while !options.is_empty() {
        let taken = take(&mut transfer, options)?;
        options = options.get(taken..).unwrap_or_default();
    }
    transfer.consumer = names::consumer(consumer)?;
    Ok(transfer)
}

/// Reads the option that `options` begin with, and says how many arguments it took.
fn take(transfer: &mut Transfer, options: &[Bytes]) -> Result<usize, Reply> {
    let [option, rest @ ..] = options else { return Ok(0) };
    let is = |word: &str| option.eq_ignore_ascii_case(word.as_bytes());
    if is("FORCE") {
        transfer.force = true;
        return Ok(1);
    }
    if is("JUSTID") {
        transfer.just_id = true;
        return Ok(1);
    }
    match rest.first() {
        Some(value) if is("IDLE") => {
            let ms = whole_or(value, "ERR Invalid IDLE option argument for XCLAIM")?;
            // One that would end ahead of now is now.
            transfer.since = u64::try_from(ms).ok().map(Since::Idle);
        }
        Some(value) if is("TIME") => {
            let ms = whole_or(value, "ERR Invalid TIME option argument for XCLAIM")?;
            transfer.since = (ms >= 0).then(|| Since::At(Timestamp::from_ms(ms)));
        }
        Some(value) if is("RETRYCOUNT") => {
            let count = whole_or(value, "ERR Invalid RETRYCOUNT option argument for XCLAIM")?;
            transfer.redis_count = u64::try_from(count).ok();
        }
        Some(value) if is("LASTID") => transfer.last = Some(ids::place(value)?),
        _ => return Err(words::texts(&[b"ERR Unrecognized XCLAIM option '", option, b"'"])),
    }
    Ok(2)
}
