//! Holders' words on many events at once.
//!
//! Lives here: the handlers of the batches of heartbeats, acks and nacks. Not here: those of one event
//! (`settle.rs`), and whether a lease holds, which the engine's rules say.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use naven_api::lease_batch::{LeaseBatchReply, LeaseBatchRequest, LeaseItemData, LeaseItemReply, LeaseWord};
use naven_api::settle::{AckRequest, HeartbeatRequest, NackRequest};
use naven_api::{Envelope, ErrorCode, EventId};
use naven_store::reply::{OpError, Settled};
use naven_store::txn::{OpKind, Txn};
use serde::Serialize;

use super::answer::{Answer, Reply, ok};
use super::body::Sent;
use super::settle;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::Node;

/// `POST /v1/leases/heartbeat`: up to 500 leases end later, each by itself; 207 where any was refused.
pub(super) async fn heartbeat(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    let op = |event, word: &HeartbeatRequest, queues| settle::beat(event, word.clone(), queues);
    each(&node, &caller, sent, op, |settled| settle::beaten(settled, node.clock.wall())).await
}

/// `POST /v1/leases/ack`: up to 500 events are done, each by itself; 207 where any was refused.
pub(super) async fn ack(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    let op = |event, word: &AckRequest, queues| settle::finish(event, word.clone(), queues);
    each(&node, &caller, sent, op, settle::acked).await
}

/// `POST /v1/leases/nack`: up to 500 events failed, failed for good or are given back, each by itself;
/// 207 where any was refused.
pub(super) async fn nack(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    let op = |event, word: &NackRequest, queues| settle::fail(event, word.clone(), queues);
    each(&node, &caller, sent, op, settle::nacked).await
}

/// Takes or refuses each item by itself, in their order and at one point of the engine's.
async fn each<W: LeaseWord, R: Serialize>(
    node: &Node,
    caller: &Caller,
    sent: Sent,
    op: impl Fn(EventId, &W, settle::Queues) -> OpKind,
    shown: impl Fn(&Settled) -> R,
) -> Reply {
    caller.may(Scope::Consume, Thing::Nothing)?;
    let request = sent.decode(LeaseBatchRequest::<W>::decode)?;
    // What each item may ask of the engine; none where it names nothing that the caller sees.
    let mut ops: Vec<Option<OpKind>> = Vec::with_capacity(request.items.len());
    for item in &request.items {
        ops.push(match item.event_id.parse() {
            Err(_) => None,
            Ok(event) => match node.settles_in(caller, event).await {
                Ok(queues) => Some(op(event, &item.word, queues)),
                Err(failure) if failure.code == ErrorCode::EventNotFound => None,
                // Whether there is such an event is not known: to say that there is none would end its holder.
                Err(failure) => return Err(failure),
            },
        });
    }
    let known: Vec<bool> = ops.iter().map(Option::is_some).collect();
    let txn = Txn::each(ops.into_iter().flatten());
    let mut answers =
        if txn.ops.is_empty() { Vec::new() } else { node.apply_txn(txn).await?.ops }.into_iter();
    let items: Vec<LeaseItemReply<R>> = (0u32..)
        .zip(request.items.into_iter().zip(known))
        .map(|(index, (item, is_known))| {
            let outcome = if is_known {
                let answer = answers.next().unwrap_or(Err(OpError::Unknown));
                answer.map_err(Failure::from).and_then(settle::word)
            } else {
                Err(Failure::new(ErrorCode::EventNotFound, "no such event"))
            };
            item_reply(index, item.event_id, outcome.map(|settled| shown(&settled)))
        })
        .collect();
    whole(items)
}

fn item_reply<R>(index: u32, event_id: String, outcome: Result<R, Failure>) -> LeaseItemReply<R> {
    let (code, message, data) = match outcome {
        Ok(reply) => (0, "ok".to_owned(), LeaseItemData::Taken(reply)),
        Err(failure) => {
            let data = LeaseItemData::Refused(failure.data(None));
            (failure.code.code(), failure.text, data)
        }
    };
    LeaseItemReply { index, event_id, code, message, data }
}

fn whole<R: Serialize>(items: Vec<LeaseItemReply<R>>) -> Reply {
    let failed = items.iter().filter(|item| item.code != 0).count();
    if failed == 0 {
        return ok(&LeaseBatchReply { reason: None, failed: None, items });
    }
    let code = ErrorCode::PartialFailure;
    let message = format!("{failed} of {} items failed", items.len());
    let data = LeaseBatchReply { reason: Some(code.reason().to_owned()), failed: Some(failed as u32), items };
    Answer::new(StatusCode::MULTI_STATUS, &Envelope { code: code.code(), message, data })
}
