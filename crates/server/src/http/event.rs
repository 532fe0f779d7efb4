//! Single events.
//!
//! Lives here: the handlers of get and redrive. Not here: settling (`settle.rs`), and an event's
//! deliveries one by one (`timeline.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::event::RedriveRequest;
use naven_store::queue::QueueRef;
use naven_store::txn::AdminOp;

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::operate::OnEvent;
use super::query::Query;
use super::reach::seen_by;
use super::shown::{self, PayloadShown};
use crate::auth::{Caller, Scope, Thing};
use crate::node::Node;

/// `GET /v1/events/{id}`: with its payload unless `?includePayload=false`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut query: Query,
) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let payload = query.flag("includePayload", true);
    query.end()?;
    let room = node.room_for_payloads(u32::from(payload)).await?;
    let view = seen_by(&caller, node.event(event.id()?, payload).await?)?;
    Ok(ok(&shown::event(view, shown_if(payload))?)?.taking(room))
}

/// `POST /v1/events/{id}/redrive`: a dead letter begins a new round, or its content goes to another queue.
pub(super) async fn redrive(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut sent: Sent,
) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let in_query = sent.parameter("queue");
    let (request, slot) =
        sent.decode_once(&caller, |body, faults| RedriveRequest::decode(body, faults, in_query))?;
    let on = OnEvent::allowed(&node, &caller, &event, request.queue).await?;
    let (event, queue) = (on.event, on.queue());
    let op = match request.target_queue.as_deref().map(QueueRef::from_text) {
        Some(target) => {
            node.allow_queue(&caller, Scope::Admin, &target).await?;
            AdminOp::MoveDead { event, queue, target }
        }
        None => AdminOp::Redrive { event, queue, reset_attempts: request.reset_attempts },
    };
    let (view, replayed) = on.ask(op, Some("event.redrive"), slot).await?;
    Ok(ok(&shown::event(seen_by(&caller, view)?, PayloadShown::No)?)?.replayed(replayed))
}

/// Whether the payload is shown, from the parameter that says so.
pub(super) fn shown_if(payload: bool) -> PayloadShown {
    if payload { PayloadShown::Yes } else { PayloadShown::No }
}
