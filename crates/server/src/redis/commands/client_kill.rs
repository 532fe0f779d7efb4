//! CLIENT KILL.
//!
//! Lives here: which connections it means, and ending them. Not here: who may (`client_list.rs`).

use std::sync::Arc;

use super::arguments::{integer, is, syntax};
use super::client_list::{Wanted, may_see};
use crate::redis::clients::Client;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting};
use crate::redis::session::Session;

/// What is asked of a connection that is to be ended: all of it.
enum Filter {
    Which(Wanted),
    Address(Vec<u8>),
    Local(Vec<u8>),
    User(Vec<u8>),
    OlderThan(u64),
}

/// `CLIENT KILL address`, and `CLIENT KILL filter value ... [SKIPME yes|no]`: of one's own key's connections.
pub(super) fn kill(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let arguments = call.arguments().get(1..).unwrap_or_default();
    if let [address] = arguments {
        let filters = vec![Filter::Address(address.to_vec())];
        return Ok(Plan::session(move |session| match end(session, &filters, false) {
            0 => Reply::error("ERR No such client"),
            _ => Reply::OK,
        }));
    }
    let (mut filters, mut skip_me) = (Vec::new(), true);
    let mut rest = arguments;
    while let Some((option, behind)) = rest.split_first() {
        let (value, behind) = behind.split_first().ok_or_else(syntax)?;
        if is(option, "skipme") {
            skip_me = match () {
                () if is(value, "yes") => true,
                () if is(value, "no") => false,
                () => return Err(syntax()),
            };
        } else {
            filters.push(filter(option, value)?);
        }
        rest = behind;
    }
    Ok(Plan::session(move |session| Reply::Integer(end(session, &filters, skip_me) as i64)))
}

fn filter(option: &[u8], value: &[u8]) -> Result<Filter, Reply> {
    Ok(match () {
        () if is(option, "id") => match integer(value) {
            Some(id) if id > 0 => Filter::Which(Wanted::Ids(vec![id])),
            Some(_) => return Err(Reply::error("ERR client-id should be greater than 0")),
            None => return Err(syntax()),
        },
        () if is(option, "type") => Filter::Which(Wanted::of_type(value)?),
        () if is(option, "addr") => Filter::Address(value.to_vec()),
        () if is(option, "laddr") => Filter::Local(value.to_vec()),
        () if is(option, "user") => Filter::User(value.to_vec()),
        () if is(option, "maxage") => {
            let seconds = integer(value).and_then(|seconds| u64::try_from(seconds).ok());
            Filter::OlderThan(seconds.ok_or_else(syntax)?)
        }
        () => return Err(syntax()),
    })
}

impl Filter {
    fn takes(&self, client: &Client) -> bool {
        let is_at = |address: Option<std::net::SocketAddr>, text: &[u8]| {
            address.is_some_and(|address| address.to_string().as_bytes() == text)
        };
        match self {
            Self::Which(wanted) => wanted.takes(client),
            Self::Address(text) => is_at(client.address, text),
            Self::Local(text) => is_at(client.local, text),
            Self::User(name) => client.shown().user.as_bytes() == name,
            Self::OlderThan(seconds) => client.since.elapsed().as_secs() >= *seconds,
        }
    }
}

/// Ends the connections that all of `filters` take; how many.
fn end(session: &mut Session, filters: &[Filter], skip_me: bool) -> usize {
    let own = session.client.id;
    let meant = |client: &Arc<Client>| {
        (!skip_me || client.id != own)
            && may_see(session, client)
            && filters.iter().all(|one| one.takes(client))
    };
    let all: Vec<Arc<Client>> = session.door.clients.list().into_iter().filter(|one| meant(one)).collect();
    for client in &all {
        if client.id == own {
            // It is still told that it did.
            session.is_closing = true;
        } else {
            client.killed.cancel();
        }
    }
    all.len()
}
