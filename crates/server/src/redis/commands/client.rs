//! CLIENT on one's own connection, and CLIENT UNBLOCK.
//!
//! Lives here: names, marks, ids. Not here: showing (`client_list.rs`) and ending (`client_kill.rs`) connections.

use bytes::Bytes;

use super::arguments::{integer_or_reply, is, shown, syntax};
use super::client_list::may_see;
use crate::redis::clients::Unblock;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};

/// Longest name that a connection may give itself, in bytes: each is kept while the connection lives.
const NAME_BYTES_MAX: usize = 256;

/// `CLIENT ID`.
pub(super) fn id(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| Reply::Integer(session.client.id as i64)))
}

/// `CLIENT GETNAME`.
pub(super) fn get_name(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| {
        let name = session.client.shown().name.clone();
        if name.is_empty() { Reply::Null } else { Reply::Bulk(name) }
    }))
}

/// `CLIENT SETNAME name`; an empty one takes it away.
pub(super) fn set_name(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let name = checked_name(argument(call, 1), "Client names")?;
    Ok(Plan::session(move |session| {
        session.client.shown().name = name;
        Reply::OK
    }))
}

/// `CLIENT SETINFO lib-name|lib-ver text`.
pub(super) fn set_info(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let option = argument(call, 1);
    let is_name = is(option, "lib-name");
    if !is_name && !is(option, "lib-ver") {
        return Err(Reply::error(format!("ERR Unrecognized option '{}'", shown(option))));
    }
    let text = checked_name(argument(call, 2), if is_name { "lib-name" } else { "lib-ver" })?;
    Ok(Plan::session(move |session| {
        let mut client = session.client.shown();
        *(if is_name { &mut client.lib_name } else { &mut client.lib_version }) = text;
        Reply::OK
    }))
}

/// `CLIENT NO-EVICT on|off`: nothing is ever evicted.
pub(super) fn no_evict(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let on = on_or_off(argument(call, 1))?;
    Ok(Plan::session(move |session| {
        session.client.shown().no_evict = on;
        Reply::OK
    }))
}

/// `CLIENT NO-TOUCH on|off`: nothing is ever touched.
pub(super) fn no_touch(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let on = on_or_off(argument(call, 1))?;
    Ok(Plan::session(move |session| {
        session.client.shown().no_touch = on;
        Reply::OK
    }))
}

/// `CLIENT UNBLOCK id [TIMEOUT|ERROR]`.
pub(super) fn unblock(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let how = match call.arguments() {
        [_, _] => Unblock::Timeout,
        [_, _, how] if is(how, "timeout") => Unblock::Timeout,
        [_, _, how] if is(how, "error") => Unblock::Error,
        [_, _, _] => return Err(Reply::error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(syntax()),
    };
    let id = integer_or_reply(argument(call, 1))?;
    Ok(Plan::session(move |session| {
        let client = u64::try_from(id).ok().and_then(|id| session.door.clients.find(id));
        let client = client.filter(|client| may_see(session, client));
        Reply::Integer(client.is_some_and(|client| client.unblock(how)).into())
    }))
}

fn on_or_off(word: &[u8]) -> Result<bool, Reply> {
    if is(word, "on") {
        return Ok(true);
    }
    if is(word, "off") { Ok(false) } else { Err(syntax()) }
}

/// `name`, of bytes that lists can show.
///
/// # Errors
/// Redis' words, where there are others in it; ours, where it is too long.
pub(super) fn checked_name(name: &[u8], what: &str) -> Result<Bytes, Reply> {
    if !name.iter().all(|byte| matches!(byte, b'!'..=b'~')) {
        let text = format!("ERR {what} cannot contain spaces, newlines or special characters.");
        return Err(Reply::error(text));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Reply::error(format!("ERR {what} have at most {NAME_BYTES_MAX} bytes")));
    }
    Ok(Bytes::copy_from_slice(name))
}

/// The argument at this place; the table has seen to it that it is there.
pub(super) fn argument(call: &Request, at: usize) -> &[u8] {
    call.arguments().get(at).map_or(&[], |argument| argument)
}
