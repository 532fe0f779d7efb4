//! `XTRIM`: drop a stream's oldest entries.
//!
//! Lives here: its arguments and its reply. Not here: the options on trimming (`trimming.rs`).

use naven_api::Scope;
use naven_store::reply::OpReply;
use naven_store::txn::{OpKind, StreamRef, Trim};

use super::trimming::TrimmingRead;
use super::{names, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Ask, Plan, Setting};

/// `XTRIM key MAXLEN|MINID [=|~] threshold [LIMIT count] [KEEPREF|DELREF|ACKED]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, rest @ ..] = call.arguments() else { return Err(words::arity("xtrim")) };
    let mut trimming = TrimmingRead::default();
    let mut rest = rest;
    while !rest.is_empty() {
        match trimming.take(rest)? {
            0 => return Err(words::syntax()),
            taken => rest = rest.get(taken..).unwrap_or_default(),
        }
    }
    let Some(how) = trimming.done(true)? else { return Err(words::syntax()) };
    let key = names::key(key);
    let kind = OpKind::Trim(Trim { stream: StreamRef(key.clone()), how });
    let told = String::from_utf8_lossy(&key).into_owned();
    let ask = Ask::on_stream(kind, Scope::Admin, key).noted("stream.trim", told);
    Ok(Plan::ask(ask, |answer, _| {
        words::unless_missing(answer, Reply::Integer(0), |answer| match answer {
            Ok(OpReply::Removed(count)) => super::number::shown(count),
            answer => words::unexpected(answer),
        })
    }))
}
