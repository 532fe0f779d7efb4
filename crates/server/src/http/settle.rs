//! A holder's word on its event.
//!
//! Lives here: the handlers of heartbeat, ack and nack. Not here: those of many events at once
//! (`lease_batch.rs`), and whether a lease holds, which the engine's rules say.

use std::sync::Arc;

use axum::extract::State;
use naven_api::settle::{
    AckReply, AckRequest, HeartbeatReply, HeartbeatRequest, NackMode, NackReply, NackRequest,
};
use naven_api::{EventId, LeaseToken, QueueId, Timestamp};
use naven_store::reply::{OpReply, Settled};
use naven_store::txn::{OpKind, Proof, Settle, SettleStep};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
use super::shown;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Node, odd_reply};

/// `POST /v1/events/{id}/heartbeat`: the lease ends later. The token stays the same.
pub(super) async fn heartbeat(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let request = sent.decode(HeartbeatRequest::decode)?;
    let event = event.id()?;
    let settled = settle(&node, &caller, event, |queues| beat(event, request, queues)).await?;
    ok(&beaten(&settled, node.clock.wall()))
}

/// `POST /v1/events/{id}/ack`: the event is done.
pub(super) async fn ack(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let request = sent.decode(AckRequest::decode)?;
    let event = event.id()?;
    ok(&acked(&settle(&node, &caller, event, |queues| finish(event, request, queues)).await?))
}

/// `POST /v1/events/{id}/nack`: the event failed, failed for good, or is given back.
pub(super) async fn nack(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let request = sent.decode(NackRequest::decode)?;
    let event = event.id()?;
    ok(&nacked(&settle(&node, &caller, event, |queues| fail(event, request, queues)).await?))
}

/// The queues in which a caller may settle: `None` is in any.
pub(super) type Queues = Option<Vec<QueueId>>;

async fn settle(
    node: &Node,
    caller: &Caller,
    event: EventId,
    op: impl FnOnce(Queues) -> OpKind,
) -> Result<Settled, Failure> {
    let queues = node.settles_in(caller, event).await?;
    word(node.apply(op(queues)).await?)
}

/// A heartbeat, for the engine.
pub(super) fn beat(event: EventId, request: HeartbeatRequest, queues: Queues) -> OpKind {
    let HeartbeatRequest { lease_token, lease_seconds, progress } = request;
    let step = match progress {
        None => SettleStep::Extend(lease_seconds),
        Some(progress) => SettleStep::Report(lease_seconds, Box::new(progress)),
    };
    op(event, lease_token, queues, step)
}

/// An ack, for the engine.
pub(super) fn finish(event: EventId, request: AckRequest, queues: Queues) -> OpKind {
    let step = request.result.map_or(SettleStep::Ack, SettleStep::AckWith);
    op(event, request.lease_token, queues, step)
}

/// A nack, for the engine.
pub(super) fn fail(event: EventId, request: NackRequest, queues: Queues) -> OpKind {
    let NackRequest { lease_token, error, retry_delay_seconds, mode } = request;
    let step = match mode {
        NackMode::Fail => SettleStep::Fail { error, delay: retry_delay_seconds },
        NackMode::Fatal => SettleStep::Fatal { error },
        NackMode::Release => SettleStep::Release { error },
    };
    op(event, lease_token, queues, step)
}

fn op(event: EventId, token: LeaseToken, queues: Queues, step: SettleStep) -> OpKind {
    let proof = match queues {
        None => Proof::Token(token),
        Some(queues) => Proof::TokenAmong { token, queues },
    };
    OpKind::Settle(Settle { event, proof, step })
}

/// What the engine says of a holder's word.
pub(super) fn word(reply: OpReply) -> Result<Settled, Failure> {
    match reply {
        OpReply::Settled(settled) => Ok(settled),
        other => Err(odd_reply(&other)),
    }
}

/// A heartbeat's answer at an instant.
pub(super) fn beaten(settled: &Settled, now: Timestamp) -> HeartbeatReply {
    HeartbeatReply {
        lease_expires_at: settled.lease_expires_at,
        lease_ms: settled.lease_expires_at.map(|end| shown::lease_ms(end, now)),
        state: settled.state.as_str().to_owned(),
        cancel_requested: settled.cancel_requested,
    }
}

/// An ack's answer.
pub(super) fn acked(settled: &Settled) -> AckReply {
    AckReply {
        state: settled.state.as_str().to_owned(),
        settled_at: settled.settled_at,
        replayed: settled.replayed,
    }
}

/// A nack's answer.
pub(super) fn nacked(settled: &Settled) -> NackReply {
    NackReply {
        state: settled.state.as_str().to_owned(),
        next_attempt_at: settled.next_at,
        replayed: settled.replayed,
    }
}
