//! Which parser reads which command.
//!
//! Lives here: one line for each command and subcommand. Not here: the parsers.

use crate::redis::frame::{Reply, Request};
use crate::redis::here::Here;
use crate::redis::plan::{Parse, Plan, Setting};

/// The parser of the command of this full name, in lower case; none where the command is not built yet.
pub(crate) fn parser(name: &str) -> Option<Parse> {
    Some(match name {
        "ping" => ping,
        "quit" => quit,
        _ => return None,
    })
}

fn ping(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    match call.arguments() {
        [] => Ok(Plan::Reply(Reply::Simple("PONG".into()))),
        [text] => Ok(Plan::Reply(Reply::Bulk(text.clone()))),
        _ => Err(Reply::error("ERR wrong number of arguments for 'ping' command")),
    }
}

fn quit(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Here(Here::Quit))
}
