//! Single events.
//!
//! Lives here: the handlers of get and redrive. Not here: settling (`settle.rs`), and an event's
//! deliveries one by one (`timeline.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::EventId;
use naven_api::event::RedriveRequest;
use naven_store::queue::QueueRef;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{AdminOp, Op, OpKind};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::query::Query;
use super::reach::seen_by;
use super::shown::{self, PayloadShown};
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_reply};

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
    let view = seen_by(&caller, node.event(event.id()?, payload).await?)?;
    ok(&shown::event(view, shown_if(payload))?)
}

/// `POST /v1/events/{id}/redrive`: a dead letter begins a new round.
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
    let event = event.id()?;
    let queue = request.queue.as_deref().map(QueueRef::from_text);
    node.allow_event(&caller, event).await?;
    if let Some(queue) = &queue {
        node.allow_queue(&caller, Scope::Admin, queue).await?;
    }
    let op = AdminOp::Redrive { event, queue, reset_attempts: request.reset_attempts };
    let note = caller.note("event.redrive", event.to_string());
    let answer = node.ask(Op { idempotency: slot, ..Op::noted(OpKind::Admin(op), note) }).await;
    let answered = match answer {
        Ok(reply) => Answered::from(reply),
        Err(OpError::Refused(Refused::QueueNeeded)) => return Err(queue_needed(&node, &caller, event).await),
        Err(error) => return Err(error.into()),
    };
    match answered.reply {
        OpReply::Event(view) => {
            let view = seen_by(&caller, *view)?;
            Ok(ok(&shown::event(view, PayloadShown::No)?)?.replayed(answered.replayed))
        }
        other => Err(odd_reply(&other)),
    }
}

/// Names the queues of an event that is in several, so that the caller can choose.
pub(super) async fn queue_needed(node: &Node, caller: &Caller, event: EventId) -> Failure {
    match node.event(event, false).await.and_then(|view| seen_by(caller, view)) {
        Ok(view) => {
            let names: Vec<&str> = view.deliveries.iter().map(|delivery| delivery.queue.as_str()).collect();
            Failure::queue_needed(&names)
        }
        Err(failure) => failure,
    }
}

/// Whether the payload is shown, from the parameter that says so.
pub(super) fn shown_if(payload: bool) -> PayloadShown {
    if payload { PayloadShown::Yes } else { PayloadShown::No }
}
