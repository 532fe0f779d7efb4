//! CLIENT LIST and CLIENT INFO.
//!
//! Lives here: the line of one connection, and which of them a caller sees. Not here: the list itself
//! (`clients.rs`).

use std::fmt::Write;
use std::sync::Arc;

use naven_api::Scope;

use super::arguments::{integer, is, shown, syntax};
use crate::redis::clients::{Client, Shown};
use crate::redis::frame::{Protocol, Reply, Request};
use crate::redis::plan::{Plan, Setting};
use crate::redis::session::Session;

/// `CLIENT INFO`.
pub(super) fn info(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::session(|session| text(line(session, &session.client))))
}

/// `CLIENT LIST [TYPE type] [ID id ...]`: the connections of one's own key; of all keys for who administers
/// everything.
pub(super) fn list(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let wanted = match call.arguments() {
        [_] => Wanted::All,
        [_, option, kind] if is(option, "type") => Wanted::of_type(kind)?,
        [_, option, ids @ ..] if is(option, "id") && !ids.is_empty() => {
            let ids: Option<Vec<i64>> = ids.iter().map(|id| integer(id).filter(|id| *id > 0)).collect();
            Wanted::Ids(ids.ok_or_else(syntax)?)
        }
        _ => return Err(syntax()),
    };
    Ok(Plan::session(move |session| {
        let all = session.door.clients.list();
        let seen = all.iter().filter(|client| may_see(session, client) && wanted.takes(client));
        text(seen.map(|client| line(session, client)).collect())
    }))
}

/// Which connections are asked for.
pub(super) enum Wanted {
    All,
    None,
    Ids(Vec<i64>),
}

impl Wanted {
    /// Those of a type: all are normal.
    pub(super) fn of_type(kind: &[u8]) -> Result<Self, Reply> {
        if is(kind, "normal") {
            return Ok(Self::All);
        }
        if ["primary", "master", "replica", "slave", "pubsub"].iter().any(|word| is(kind, word)) {
            return Ok(Self::None);
        }
        Err(Reply::error(format!("ERR Unknown client type '{}'", shown(kind))))
    }

    pub(super) fn takes(&self, client: &Client) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Ids(ids) => ids.contains(&(client.id as i64)),
        }
    }
}

/// Whether the caller of `session` may know of `client`, wake it and end it: it has the same key, or the caller
/// administers everything.
pub(super) fn may_see(session: &Session, client: &Arc<Client>) -> bool {
    let Some(caller) = &session.caller else { return client.id == session.client.id };
    let key = client.shown().key;
    client.id == session.client.id || key == Some(caller.id()) || caller.may_everywhere(Scope::Admin).is_ok()
}

fn text(text: String) -> Reply {
    Reply::Verbatim { format: *b"txt", text: text.into() }
}

/// What is told of one connection, as Valkey 9 tells it.
fn line(session: &Session, client: &Client) -> String {
    let shown: Shown = client.shown().clone();
    let address = |address: Option<std::net::SocketAddr>| {
        address.map_or_else(String::new, |address| address.to_string())
    };
    let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut flags = String::new();
    if shown.is_blocked {
        flags.push('b');
    }
    if shown.queued.is_some() {
        flags.push('x');
    }
    if shown.no_evict {
        flags.push('e');
    }
    if shown.no_touch {
        flags.push('T');
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let is_own = client.id == session.client.id;
    let mut line = String::new();
    let written = writeln!(
        line,
        "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={flags} capa= db=0 sub=0 psub=0 ssub=0 \
         multi={} watch={} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 \
         events=r cmd={} user={} redir=-1 resp={} lib-name={} lib-ver={} tot-net-in=0 tot-net-out=0 \
         tot-cmds={}",
        client.id,
        address(client.address),
        address(client.local),
        of(&shown.name),
        client.since.elapsed().as_secs(),
        if is_own { 0 } else { shown.last_at.elapsed().as_secs() },
        shown.queued.map_or(-1, |queued| queued as i64),
        shown.watched,
        if shown.last.is_empty() { "NULL" } else { shown.last },
        if shown.user.is_empty() { "default" } else { &shown.user },
        if shown.protocol == Protocol::Resp3 { 3 } else { 2 },
        of(&shown.lib_name),
        of(&shown.lib_version),
        shown.commands,
    );
    written.expect("a String takes every text");
    line
}
