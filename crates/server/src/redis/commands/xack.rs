//! `XACK`, `XACKDEL` and `XNACK`: the end of a hold.
//!
//! Lives here: their arguments and replies. Not here: the list of ids with its count (`xdel.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::txn::{AckEntries, GivingUp, NackEntries, OpKind, Place, ReaderOp, References};

use super::names::{self, GroupName};
use super::number::whole_or;
use super::xdel::{count, counted, fates, listed};
use super::{ids, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Need, Plan, Setting, Touched};

/// `XACK key group id [id ...]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, given @ ..] = call.arguments() else { return Err(words::arity("xack")) };
    let of = GroupName::of(key, group);
    let places = match ids::places(given) {
        Ok(places) => places,
        Err(error) => {
            let none = |answer: &Answer| words::missing(answer).map(|_| Reply::Integer(0));
            return Ok(names::once_found(of.look(Scope::Consume), error, none));
        }
    };
    let ask = of.ask(ack(&of, places, None), Scope::Consume);
    Ok(Plan::ask(ask, |answer, _| count(answer)))
}

/// `XACKDEL key group [KEEPREF|DELREF|ACKED] IDS count id [id ...]`.
pub(super) fn parse_del(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, rest @ ..] = call.arguments() else { return Err(words::arity("xackdel")) };
    let (references, places) = listed(rest)?;
    let of = GroupName::of(key, group);
    let wanted = places.len();
    let mut ask = of.ask(ack(&of, places, Some(references)), Scope::Consume);
    // What it drops is dropped for everybody, as by XDEL.
    ask.needs.push(Need { scope: Scope::Admin, on: Touched::Stream(of.stream.clone()) });
    Ok(Plan::ask(ask, move |answer, _| fates(answer, wanted)))
}

fn ack(of: &GroupName, places: Vec<Place>, delete: Option<References>) -> OpKind {
    OpKind::Reader(ReaderOp::Ack(AckEntries { queue: of.queue(), places, delete }))
}

/// `XNACK key group SILENT|FAIL|FATAL IDS count id [id ...] [RETRYCOUNT count] [DELAY ms]`. DELAY is Naven's own.
pub(super) fn parse_nack(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, group, how, rest @ ..] = call.arguments() else { return Err(words::arity("xnack")) };
    let how = giving_up(how).ok_or_else(words::syntax)?;
    let [word, rest @ ..] = rest else { return Err(words::syntax()) };
    if !word.eq_ignore_ascii_case(b"IDS") {
        return Err(words::syntax());
    }
    let (places, mut rest) = counted(rest)?;
    let (mut redis_count, mut delay_ms) = (None, None);
    while let [option, value, behind @ ..] = rest {
        if option.eq_ignore_ascii_case(b"RETRYCOUNT") {
            redis_count = Some(unsigned(value, "ERR Invalid RETRYCOUNT option argument for XNACK")?);
        } else if option.eq_ignore_ascii_case(b"DELAY") {
            delay_ms = Some(unsigned(value, "ERR Invalid DELAY option argument for XNACK")?);
        } else {
            return Err(words::syntax());
        }
        rest = behind;
    }
    // What is left over is an option without its value, or FORCE, which only Redis' own log has use for.
    if !rest.is_empty() {
        return Err(words::syntax());
    }
    let of = GroupName::of(key, group);
    let op = NackEntries { queue: of.queue(), places, how, delay_ms, error: None, redis_count };
    let ask = of.ask(OpKind::Reader(ReaderOp::Nack(op)), Scope::Consume);
    Ok(Plan::ask(ask, move |answer, _| words::unless_missing(answer, words::no_key_or_group(&of), count)))
}

fn giving_up(word: &Bytes) -> Option<GivingUp> {
    [("SILENT", GivingUp::Release), ("FAIL", GivingUp::Fail), ("FATAL", GivingUp::Fatal)]
        .into_iter()
        .find_map(|(known, how)| word.eq_ignore_ascii_case(known.as_bytes()).then_some(how))
}

fn unsigned(text: &[u8], words: &'static str) -> Result<u64, Reply> {
    u64::try_from(whole_or(text, words)?).map_err(|_| Reply::error(words))
}
