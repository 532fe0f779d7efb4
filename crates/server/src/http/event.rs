//! Single events.
//!
//! Lives here: the handlers of get and redrive. Not here: settling (`settle.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::event::RedriveRequest;
use naven_store::read::{Page, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{AdminOp, OpKind};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::query::Query;
use super::shown::{self, PayloadShown};
use crate::auth::{Caller, Scope};
use crate::node::{Node, odd_page, odd_reply};

/// `GET /v1/events/{id}`: with its payload unless `?includePayload=false`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut query: Query,
) -> Reply {
    caller.may(Scope::Read)?;
    let payload = query.flag("includePayload", true);
    query.end()?;
    match node.engine.read(Read::Event { event: event.id()?, payload }).await? {
        Page::Event(view) => ok(&shown::event(*view, shown_if(payload))?),
        other => Err(odd_page(&other)),
    }
}

/// `POST /v1/events/{id}/redrive`: a dead letter begins a new round.
pub(super) async fn redrive(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Admin)?;
    let request = sent.decode(RedriveRequest::decode)?;
    let op = AdminOp::Redrive { event: event.id()?, queue: None, reset_attempts: request.reset_attempts };
    match node.apply(OpKind::Admin(op)).await? {
        OpReply::Event(view) => ok(&shown::event(*view, PayloadShown::No)?),
        other => Err(odd_reply(&other)),
    }
}

/// Whether the payload is shown, from the parameter that says so.
pub(super) fn shown_if(payload: bool) -> PayloadShown {
    if payload { PayloadShown::Yes } else { PayloadShown::No }
}
