//! AUTH and HELLO.
//!
//! Lives here: showing a key, and agreeing on a protocol. Not here: what keys are worth (`auth/ring.rs`).

use bytes::Bytes;

use super::arguments::{integer, is, shown, syntax};
use super::client::checked_name;
use crate::redis::frame::{Protocol, Reply, Request};
use crate::redis::plan::{Plan, Setting};
use crate::redis::session::Session;

const WRONGPASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const HELLO_NOAUTH: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
                            HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
                            select the RESP protocol version at the same time";
/// The version of Redis' words that is spoken here.
pub(super) const REDIS_VERSION: &str = "7.2.4";

/// `AUTH [user] key`: the key is a bearer key, and says by itself who calls. What stands before it is not looked at:
/// clients send `default`, or what their settings call the user.
pub(super) fn auth(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let ([key] | [_, key]) = call.arguments() else { return Err(syntax()) };
    let key = key.clone();
    Ok(Plan::session(move |session| show_key(session, &key).map_or_else(|refused| refused, |()| Reply::OK)))
}

fn show_key(session: &mut Session, key: &[u8]) -> Result<(), Reply> {
    let caller = session.find_caller(key).map_err(|_| Reply::error(WRONGPASS))?;
    session.set_caller(Some(caller));
    Ok(())
}

#[derive(Default)]
struct Hello {
    protocol: Option<Protocol>,
    key: Option<Bytes>,
    name: Option<Bytes>,
}

/// `HELLO [version [AUTH user key] [SETNAME name]]`.
pub(super) fn hello(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let mut hello = Hello::default();
    let mut rest = call.arguments();
    if let Some((version, behind)) = rest.split_first() {
        hello.protocol = Some(match integer(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Reply::error("NOPROTO unsupported protocol version")),
            None => return Err(Reply::error("ERR Protocol version is not an integer or out of range")),
        });
        rest = behind;
    }
    while let Some((option, behind)) = rest.split_first() {
        rest = match behind {
            [_, key, behind @ ..] if is(option, "auth") => {
                hello.key = Some(key.clone());
                behind
            }
            [name, behind @ ..] if is(option, "setname") => {
                hello.name = Some(checked_name(name, "Client names")?);
                behind
            }
            _ => {
                let text = format!("ERR Syntax error in HELLO option '{}'", shown(option));
                return Err(Reply::error(text));
            }
        };
    }
    Ok(Plan::session(move |session| greet(session, hello)))
}

fn greet(session: &mut Session, hello: Hello) -> Reply {
    if let Some(key) = &hello.key
        && let Err(refused) = show_key(session, key)
    {
        return refused;
    }
    if session.caller.is_none() {
        return Reply::error(HELLO_NOAUTH);
    }
    if let Some(name) = hello.name {
        session.client.shown().name = name;
    }
    if let Some(protocol) = hello.protocol {
        session.speak(protocol);
    }
    let version = match session.protocol {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    };
    let text = |text: &'static str| Reply::bulk(text);
    Reply::Map(vec![
        (text("server"), text("naven")),
        (text("version"), text(REDIS_VERSION)),
        (text("proto"), Reply::Integer(version)),
        (text("id"), Reply::Integer(session.client.id as i64)),
        (text("mode"), text("standalone")),
        (text("role"), text("master")),
        (text("modules"), Reply::Array(Vec::new())),
    ])
}
