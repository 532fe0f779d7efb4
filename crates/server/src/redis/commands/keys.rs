//! Commands about single keys: every key is a stream.
//!
//! Lives here: DEL, UNLINK, EXISTS, TYPE, OBJECT ENCODING, TTL, PTTL and RENAME. Not here: all keys together
//! (`scan.rs`, `flush.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::read::Read;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{DeleteOp, OpKind, Rename, StreamRef};

use super::arguments::shown;
use super::names;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Need, Plan, Setting, Touched};
use crate::redis::refusal::refusal;

/// `key`, held by itself: what was read from the socket with it is let go.
fn stream(key: &Bytes) -> StreamRef {
    StreamRef(names::key(key))
}

/// The question whether `key` is there.
fn look(key: &Bytes) -> Ask {
    let stream = stream(key);
    Ask::on_stream(OpKind::Read(Read::Stream(stream.clone())), Scope::Read, stream.0)
}

/// Whether the answer says that the key is there.
fn is_there(answer: Answer) -> Result<bool, Reply> {
    match answer {
        Ok(_) => Ok(true),
        Err(OpError::Refused(Refused::StreamNotFound)) => Ok(false),
        Err(error) => Err(refusal(&error)),
    }
}

/// What is answered of a key that is there, and of one that is not.
fn of_key(call: &Request, at: usize, there: Reply, missing: Reply) -> Result<Plan, Reply> {
    let Some(key) = call.arguments().get(at) else { return Ok(Plan::Reply(missing)) };
    Ok(Plan::ask(look(key), move |answer, _| match is_there(answer) {
        Ok(true) => there,
        Ok(false) => missing,
        Err(reply) => reply,
    }))
}

/// How many of `answers` say that it was done, or there.
fn count(answers: Vec<Answer>) -> Reply {
    let mut count = 0;
    for answer in answers {
        match is_there(answer) {
            Ok(there) => count += i64::from(there),
            Err(reply) => return reply,
        }
    }
    Reply::Integer(count)
}

/// `DEL key [key ...]`, `UNLINK`: what the stream's queues still hold becomes dead letters.
pub(super) fn delete(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let asks = call.arguments().iter().map(|key| {
        let stream = stream(key);
        let delete = DeleteOp::Stream { stream: stream.clone(), force: true };
        let on = shown(&stream.0).into_owned();
        Ask::on_stream(OpKind::Delete(delete), Scope::Admin, stream.0).noted("stream.delete", on)
    });
    Ok(Plan::asks(asks.collect(), |answers, _| count(answers)))
}

/// `EXISTS key [key ...]`.
pub(super) fn exists(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::asks(call.arguments().iter().map(look).collect(), |answers, _| count(answers)))
}

/// `TYPE key`.
pub(super) fn kind(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    of_key(call, 0, Reply::Simple("stream".into()), Reply::Simple("none".into()))
}

/// `OBJECT ENCODING key`.
pub(super) fn encoding(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    of_key(call, 1, Reply::bulk("stream"), Reply::Null)
}

/// `TTL key`, `PTTL key`: no key ever expires.
pub(super) fn time_to_live(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    of_key(call, 0, Reply::Integer(-1), Reply::Integer(-2))
}

/// `RENAME key new`.
pub(super) fn rename(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [from, to] = call.arguments() else { return Err(Reply::error("ERR syntax error")) };
    let (from, to) = (stream(from), StreamRef(names::new_key(to)?));
    let need = |stream: &StreamRef| Need { scope: Scope::Admin, on: Touched::Stream(stream.0.clone()) };
    let needs = vec![need(&from), need(&to)];
    let note = ("stream.rename", format!("{} to {}", shown(&from.0), shown(&to.0)));
    let kind = OpKind::Rename(Rename { stream: from, to });
    Ok(Plan::ask(Ask { kind, needs, note: Some(note) }, |answer, _| match answer {
        Ok(OpReply::Done) => Reply::OK,
        Ok(_) => refusal(&OpError::Unknown),
        Err(error) => refusal(&error),
    }))
}
