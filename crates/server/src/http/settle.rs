//! A holder's word on its event.
//!
//! Lives here: the handlers of heartbeat, ack, nack and the batch of acks. Not here: whether a lease
//! holds, which the engine's rules say.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use naven_api::settle::{
    AckBatchReply, AckBatchRequest, AckItem, AckItemData, AckReply, AckRequest, HeartbeatReply,
    HeartbeatRequest, LeaseItem, NackMode, NackReply, NackRequest,
};
use naven_api::{Envelope, ErrorCode, EventId, LeaseToken};
use naven_store::reply::{OpError, OpReply, Settled};
use naven_store::txn::{OpKind, Proof, Settle, SettleStep, Txn};

use super::answer::{Answer, Reply, ok};
use super::body::Sent;
use super::extract::EventInPath;
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
    let step = SettleStep::Extend(request.lease_seconds);
    let settled = settle(&node, &caller, event.id()?, request.lease_token, step).await?;
    ok(&HeartbeatReply {
        lease_expires_at: settled.lease_expires_at,
        state: settled.state.as_str().to_owned(),
        cancel_requested: settled.cancel_requested,
    })
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
    ok(&acked(&settle(&node, &caller, event.id()?, request.lease_token, SettleStep::Ack).await?))
}

/// `POST /v1/events/{id}/nack`: the event failed, failed for good, or is given back.
pub(super) async fn nack(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let NackRequest { lease_token, error, retry_delay_seconds, mode } = sent.decode(NackRequest::decode)?;
    let step = match mode {
        NackMode::Fail => SettleStep::Fail { error, delay: retry_delay_seconds },
        NackMode::Fatal => SettleStep::Fatal { error },
        NackMode::Release => SettleStep::Release { error },
    };
    let settled = settle(&node, &caller, event.id()?, lease_token, step).await?;
    ok(&NackReply {
        state: settled.state.as_str().to_owned(),
        next_attempt_at: settled.next_at,
        replayed: settled.replayed,
    })
}

/// `POST /v1/leases/ack`: acks of up to 500 leases, each by itself; 207 where any was refused.
pub(super) async fn ack_batch(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let request = sent.decode(AckBatchRequest::decode)?;
    let mut ids: Vec<Option<EventId>> = request.items.iter().map(|item| item.event_id.parse().ok()).collect();
    for id in &mut ids {
        if let Some(event) = *id
            && node.allow_event(&caller, event).await.is_err()
        {
            *id = None;
        }
    }
    let known = request.items.iter().zip(&ids).filter_map(|(item, id)| Some((item, (*id)?)));
    let txn = Txn::each(known.map(|(item, id)| op(id, item.lease_token.clone(), SettleStep::Ack)));
    let mut answers =
        if txn.ops.is_empty() { Vec::new() } else { node.apply_txn(txn).await?.ops }.into_iter();
    let items: Vec<AckItem> = (0u32..)
        .zip(request.items.into_iter().zip(ids))
        .map(|(index, (item, id))| {
            let outcome = match id {
                None => Err(Failure::new(ErrorCode::EventNotFound, "no such event")),
                Some(_) => {
                    answers.next().unwrap_or(Err(OpError::Unknown)).map_err(Failure::from).and_then(word)
                }
            };
            ack_item(index, item, outcome)
        })
        .collect();
    let failed = items.iter().filter(|item| item.code != 0).count();
    if failed == 0 {
        return ok(&AckBatchReply { reason: None, failed: None, items });
    }
    let code = ErrorCode::PartialFailure;
    let text = format!("{failed} of {} items failed", items.len());
    let data = AckBatchReply { reason: Some(code.reason().to_owned()), failed: Some(failed as u32), items };
    Answer::new(StatusCode::MULTI_STATUS, &Envelope { code: code.code(), message: text, data })
}

fn ack_item(index: u32, item: LeaseItem, outcome: Result<Settled, Failure>) -> AckItem {
    let (code, message, data) = match outcome {
        Ok(settled) => (0, "ok".to_owned(), AckItemData::Acked(acked(&settled))),
        Err(failure) => {
            let data = AckItemData::Refused(failure.data(None));
            (failure.code.code(), failure.text, data)
        }
    };
    AckItem { index, event_id: item.event_id, code, message, data }
}

fn acked(settled: &Settled) -> AckReply {
    AckReply {
        state: settled.state.as_str().to_owned(),
        settled_at: settled.settled_at,
        replayed: settled.replayed,
    }
}

async fn settle(
    node: &Node,
    caller: &Caller,
    event: EventId,
    token: LeaseToken,
    step: SettleStep,
) -> Result<Settled, Failure> {
    node.allow_event(caller, event).await?;
    word(node.apply(op(event, token, step)).await?)
}

fn op(event: EventId, token: LeaseToken, step: SettleStep) -> OpKind {
    OpKind::Settle(Settle { event, proof: Proof::Token(token), step })
}

fn word(reply: OpReply) -> Result<Settled, Failure> {
    match reply {
        OpReply::Settled(settled) => Ok(settled),
        other => Err(odd_reply(&other)),
    }
}
