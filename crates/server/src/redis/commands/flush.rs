//! FLUSHDB and FLUSHALL, and flushes of what is not here.
//!
//! Lives here: deleting every stream, for who may and where the operator allows it. Not here: deleting single
//! ones (`keys.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::BoxFuture;
use naven_store::reply::{OpError, Refused};
use naven_store::txn::{DeleteOp, Op, OpKind, StreamRef, Txn};

use super::arguments::{is, shown, syntax};
use super::scan::page;
use crate::auth::Caller;
use crate::redis::door::RedisDoor;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{AtDoor, Plan, Setting};
use crate::redis::refusal::refusal;
use crate::redis::rights::no_permission;

/// Streams that one transaction deletes.
const STEP_STREAMS: u32 = 100;

struct Flush;

/// `FLUSHDB [ASYNC|SYNC]`, `FLUSHALL`: it answers once all is done.
pub(super) fn streams(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    match call.arguments() {
        [] => {}
        [how] if is(how, "async") || is(how, "sync") => {}
        _ => return Err(syntax()),
    }
    Ok(Plan::Door(Box::new(Flush)))
}

impl AtDoor for Flush {
    fn run<'a>(
        self: Box<Self>,
        door: &'a RedisDoor,
        caller: &'a Caller,
        name: &'a str,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            if caller.may_everywhere(Scope::Admin).is_err() {
                return no_permission(caller, name);
            }
            if !door.settings.allow_flush {
                return Reply::error(format!(
                    "ERR {name} deletes every stream and is off: start the server with --allow-flush"
                ));
            }
            all(door, caller).await.map_or_else(|error| refusal(&error), |()| Reply::OK)
        })
    }
}

async fn all(door: &RedisDoor, caller: &Caller) -> Result<(), OpError> {
    let mut cursor = None;
    loop {
        let (streams, next) = page(door, Bytes::new(), cursor, STEP_STREAMS).await?;
        let ops = streams.into_iter().map(|view| {
            let note = caller.note("stream.delete", shown(&view.name).into_owned());
            let delete = DeleteOp::Stream { stream: StreamRef(view.name), force: true };
            Op::noted(OpKind::Delete(delete), note)
        });
        let txn = Txn { ops: ops.collect(), ..Txn::each([]) };
        if !txn.ops.is_empty() {
            for answer in door.node.engine.submit(vec![txn]).await.into_iter().flat_map(|reply| reply.ops) {
                match answer {
                    // Somebody else deleted it first.
                    Ok(_) | Err(OpError::Refused(Refused::StreamNotFound)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}

/// `FUNCTION FLUSH [ASYNC|SYNC]`: there are none.
pub(super) fn functions(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    nothing(call, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
}

/// `SCRIPT FLUSH [ASYNC|SYNC]`: there are none.
pub(super) fn scripts(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    nothing(call, "ERR SCRIPT FLUSH only support SYNC|ASYNC option")
}

fn nothing(call: &Request, wrong: &'static str) -> Result<Plan, Reply> {
    match call.arguments() {
        [_] => Ok(Plan::Reply(Reply::OK)),
        [_, how] if is(how, "async") || is(how, "sync") => Ok(Plan::Reply(Reply::OK)),
        _ => Err(Reply::error(wrong)),
    }
}
