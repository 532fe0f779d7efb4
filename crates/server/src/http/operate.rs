//! What operators do to one event, in one queue or in its only one.
//!
//! Lives here: what those calls have in common, and the handlers of another due time and of running now. Not here:
//! cancelling (`cancel.rs`) and redriving (`event.rs`), and what becomes of the event (the engine's rules).

use std::sync::Arc;

use axum::extract::State;
use naven_api::operate::{RescheduleRequest, RunNowRequest};
use naven_api::{ErrorCode, EventId};
use naven_core::View;
use naven_store::queue::QueueRef;
use naven_store::read::EventView;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{AdminOp, Due, IdempotencySlot, Op, OpKind};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::reach::seen_by;
use super::shown::{self, PayloadShown};
use super::timeline::delivery;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_reply};

/// `PATCH /v1/events/{id}`: another due time, or another bound on attempts, for what nobody has.
pub(super) async fn reschedule(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut sent: Sent,
) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let (in_query, now) = (sent.parameter("queue"), node.clock.wall());
    let RescheduleRequest { scheduled_at, max_attempts, queue } =
        sent.decode(|body, faults| RescheduleRequest::decode(body, faults, in_query, now))?;
    let on = OnEvent::allowed(&node, &caller, &event, queue).await?;
    let due = scheduled_at.map(|at| at.map_or(Due::Now, Due::At));
    let is_nothing = due.is_none() && max_attempts.is_none();
    let op = AdminOp::Reschedule { event: on.event, queue: on.queue(), due, max_attempts };
    on.moved(op, (!is_nothing).then_some("event.patch")).await
}

/// `POST /v1/events/{id}/run-now`: what waits for its time is due now.
pub(super) async fn run_now(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut sent: Sent,
) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let in_query = sent.parameter("queue");
    let RunNowRequest { queue } =
        sent.decode(|body, faults| RunNowRequest::decode(body, faults, in_query))?;
    let on = OnEvent::allowed(&node, &caller, &event, queue).await?;
    let op = AdminOp::RunNow { event: on.event, queue: on.queue() };
    on.moved(op, Some("event.run-now")).await
}

/// An event and the queue in which something is to be done to it, where one is named.
pub(super) struct OnEvent<'a> {
    node: &'a Node,
    caller: &'a Caller,
    pub(super) event: EventId,
    named: Option<String>,
}

impl<'a> OnEvent<'a> {
    /// What the caller, whose scope was asked for before, may do something to.
    ///
    /// # Errors
    /// 40402, and 40401 and 40101 for the queue.
    pub(super) async fn allowed(
        node: &'a Node,
        caller: &'a Caller,
        event: &EventInPath,
        named: Option<String>,
    ) -> Result<Self, Failure> {
        let on = Self { node, caller, event: event.id()?, named };
        node.allow_event(caller, on.event).await?;
        if let Some(queue) = on.queue() {
            node.allow_queue(caller, Scope::Admin, &queue).await?;
        }
        Ok(on)
    }

    /// The queue that is named.
    pub(super) fn queue(&self) -> Option<QueueRef> {
        self.named.as_deref().map(QueueRef::from_text)
    }

    /// Does it, under the name by which the audit log tells of it, and shows the event that it left. True where
    /// that was done before.
    pub(super) async fn ask(
        &self,
        op: AdminOp,
        action: Option<&str>,
        slot: Option<IdempotencySlot>,
    ) -> Result<(EventView, bool), Failure> {
        let kind = OpKind::Admin(op);
        let audit = action.map(|action| self.caller.note(action, self.event.to_string()));
        match self.node.ask(Op { audit, idempotency: slot, ..Op::plain(kind) }).await.map(Answered::from) {
            Ok(Answered { reply: OpReply::Event(view), replayed }) => Ok((*view, replayed)),
            Ok(Answered { reply, .. }) => Err(odd_reply(&reply)),
            Err(OpError::Refused(Refused::QueueNeeded)) => {
                Err(queue_needed(self.node, self.caller, self.event).await)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The delivery that is meant, as it stands in a view.
    pub(super) fn stands(&self, view: &EventView) -> Result<Option<View>, Failure> {
        Ok(delivery(view, self.named.as_deref())?.map(|delivery| delivery.state))
    }

    async fn moved(&self, op: AdminOp, action: Option<&str>) -> Reply {
        match self.ask(op, action, None).await {
            Ok((view, _)) => ok(&shown::event(seen_by(self.caller, view)?, PayloadShown::No)?),
            Err(failure) if failure.code == ErrorCode::WrongState => Err(self.why_not(failure).await),
            Err(failure) => Err(failure),
        }
    }

    /// Says what would help, where the event cannot be moved as it stands.
    async fn why_not(&self, failure: Failure) -> Failure {
        let Ok(view) = self.node.event(self.event, false).await else { return failure };
        let text = match self.stands(&view) {
            Ok(Some(View::Dead)) => "the event is dead: redrive it",
            Ok(Some(View::Leased | View::Held)) => {
                "somebody has the event: it can be moved once it is given back"
            }
            Ok(Some(View::Done | View::Cancelled)) => "the event is over: publish it again",
            Ok(Some(View::Scheduled | View::Ready | View::Retrying) | None) | Err(_) => return failure,
        };
        Failure { text: text.to_owned(), ..failure }
    }
}

/// Names the queues of an event that is in several, so that the caller can choose.
async fn queue_needed(node: &Node, caller: &Caller, event: EventId) -> Failure {
    match node.event(event, false).await.and_then(|view| seen_by(caller, view)) {
        Ok(view) => {
            let names: Vec<&str> = view.deliveries.iter().map(|delivery| delivery.queue.as_str()).collect();
            Failure::queue_needed(&names)
        }
        Err(failure) => failure,
    }
}
