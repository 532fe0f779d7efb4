//! PING, ECHO, SELECT, TIME, QUIT and RESET.
//!
//! Lives here: these commands. Not here: AUTH and HELLO (`hello.rs`), CLIENT (`client.rs`).

use super::arguments::integer_or_reply;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// `PING [text]`.
pub(super) fn ping(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    match call.arguments() {
        [] => Ok(Plan::Reply(Reply::Simple("PONG".into()))),
        [text] => Ok(Plan::Reply(Reply::Bulk(text.clone()))),
        _ => Err(Reply::error("ERR wrong number of arguments for 'ping' command")),
    }
}

/// `ECHO text`.
pub(super) fn echo(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Reply(call.arguments().first().map_or(Reply::Null, |text| Reply::Bulk(text.clone()))))
}

/// `SELECT index`: there is one database.
pub(super) fn select(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let index = call.arguments().first().map_or(Ok(0), |index| integer_or_reply(index))?;
    if index == 0 { Ok(Plan::Reply(Reply::OK)) } else { Err(Reply::error("ERR DB index is out of range")) }
}

/// `TIME`: seconds and microseconds of the server's clock.
pub(super) fn time(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| {
        let ms = session.door.node.clock.wall().as_ms();
        let part = |number: i64| Reply::bulk(number.to_string());
        Reply::Array(vec![part(ms.div_euclid(1_000)), part(ms.rem_euclid(1_000) * 1_000)])
    }))
}

/// `QUIT`.
pub(super) fn quit(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| {
        session.is_closing = true;
        Reply::OK
    }))
}

/// `RESET`: as on a new connection.
pub(super) fn reset(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| {
        session.reset();
        Reply::Simple("RESET".into())
    }))
}
