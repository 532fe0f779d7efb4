//! Calling events off.
//!
//! Lives here: the handler. Not here: what becomes of the event, which the engine's rules say.

use std::sync::Arc;

use axum::extract::State;
use naven_api::ErrorText;
use naven_api::operate::CancelRequest;
use naven_core::View;
use naven_store::txn::AdminOp;

use super::answer::{Reply, accepted, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::operate::OnEvent;
use super::reach::seen_by;
use super::shown::{self, PayloadShown};
use crate::auth::{Caller, Scope, Thing};
use crate::node::Node;

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
    let on = OnEvent::allowed(&node, &caller, &event, queue).await?;
    let reason = reason.as_deref().map(ErrorText::new);
    let op = AdminOp::Cancel { event: on.event, queue: on.queue(), reason };
    let (view, _) = on.ask(op, Some("event.cancel"), None).await?;
    let is_held = matches!(on.stands(&view)?, Some(View::Leased | View::Held));
    let reply = shown::event(seen_by(&caller, view)?, PayloadShown::No)?;
    if is_held { accepted(&reply) } else { ok(&reply) }
}
