//! Calling events off.
//!
//! Lives here: the handler. Not here: what becomes of the event, which the engine's rules say.

use std::sync::Arc;

use axum::extract::State;
use naven_api::ErrorText;
use naven_api::operate::CancelRequest;
use naven_core::View;
use naven_store::queue::QueueRef;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{AdminOp, Op, OpKind};

use super::answer::{Reply, accepted, ok};
use super::body::Sent;
use super::event::queue_needed;
use super::extract::EventInPath;
use super::reach::seen_by;
use super::shown::{self, PayloadShown};
use super::timeline::delivery;
use crate::auth::{Caller, Scope, Thing};
use crate::node::{Node, odd_reply};

/// `POST /v1/events/{id}/cancel`: cancelled at once where nobody holds it (200); a holder is asked to
/// stop (202).
pub(super) async fn cancel(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut sent: Sent,
) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let in_query = sent.parameter("queue");
    let CancelRequest { reason, queue } =
        sent.decode(|body, faults| CancelRequest::decode(body, faults, in_query))?;
    let event = event.id()?;
    let named = queue.as_deref().map(QueueRef::from_text);
    node.allow_event(&caller, event).await?;
    if let Some(queue) = &named {
        node.allow_queue(&caller, Scope::Admin, queue).await?;
    }
    let reason = reason.as_deref().map(ErrorText::new);
    let op = AdminOp::Cancel { event, queue: named, reason };
    let note = caller.note("event.cancel", event.to_string());
    let view = match node.ask(Op::noted(OpKind::Admin(op), note)).await {
        Ok(OpReply::Event(view)) => *view,
        Ok(other) => return Err(odd_reply(&other)),
        Err(OpError::Refused(Refused::QueueNeeded)) => return Err(queue_needed(&node, &caller, event).await),
        Err(error) => return Err(error.into()),
    };
    let is_held = delivery(&view, queue.as_deref())?
        .is_some_and(|delivery| matches!(delivery.state, View::Leased | View::Held));
    let reply = shown::event(seen_by(&caller, view)?, PayloadShown::No)?;
    if is_held { accepted(&reply) } else { ok(&reply) }
}
