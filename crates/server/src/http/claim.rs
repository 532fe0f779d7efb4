//! Claiming events.
//!
//! Lives here: the handlers of claim and claim-batch. Not here: waiting (`wait.rs`).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use naven_api::claim::{ClaimBatchReply, ClaimBatchRequest, ClaimReply, ClaimRequest};
use naven_api::{Envelope, ErrorCode};
use naven_store::queue::QueueRef;
use naven_store::txn::IdempotencySlot;

use super::answer::{Answer, Reply, ok};
use super::body::Sent;
use super::consumer::Sender;
use super::extract::QueueInPath;
use super::shown;
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{NO_ROOM, Node};
use crate::wait::{Ended, Undelivered, Want};

/// `POST /v1/event-queues/{queue}/claim`: leases one due event, waiting up to `waitSeconds`.
///
/// `data` is null when none came. Hanging up while it waits leases nothing; hanging up before the
/// answer is written gives the lease back. Repeated under its `Idempotency-Key` it gives the same lease
/// while that one lives.
pub(super) async fn claim(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sender: Sender,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Consume, &queue).await?;
    let decoded = sent.decode_once(&caller, ClaimRequest::decode);
    let (request, slot) = node.in_queue(&queue, decoded).await?;
    match wait(&node, (&caller, &sender), queue, &request, 1, slot).await? {
        Ended::Leased(leases) => answer(&node, leases, |mut claims| claims.pop()).await,
        Ended::Nothing => ok(&None::<ClaimReply>),
        Ended::Closing => Ok(ok(&None::<ClaimReply>)?.closing()),
    }
}

/// `POST /v1/event-queues/{queue}/claim-batch`: leases up to `maxEvents`, as soon as one is there.
pub(super) async fn claim_batch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sender: Sender,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Consume, &queue).await?;
    let decoded = sent.decode_once(&caller, ClaimBatchRequest::decode);
    let (request, slot) = node.in_queue(&queue, decoded).await?;
    let empty = ClaimBatchReply { claims: Vec::new() };
    match wait(&node, (&caller, &sender), queue, &request.as_claim(), request.max_events, slot).await? {
        Ended::Leased(leases) => answer(&node, leases, |claims| ClaimBatchReply { claims }).await,
        Ended::Nothing => ok(&empty),
        Ended::Closing => Ok(ok(&empty)?.closing()),
    }
}

async fn wait(
    node: &Node,
    (caller, sender): (&Caller, &Sender),
    queue: QueueRef,
    request: &ClaimRequest,
    max: u32,
    slot: Option<IdempotencySlot>,
) -> Result<Ended, Failure> {
    let consumer = request.consumer_id.clone();
    let from = (sender.address, sender.client.as_deref());
    let claiming = node.claimers.begin(&queue, consumer.as_ref(), from, request.wait() > 0);
    let want = Want { queue, lease: request.lease_seconds, max, consumer, slot };
    let wait = Duration::from_secs(u64::from(request.wait()));
    let ended = node.waits.claim(want, wait, caller.id()).await;
    match &ended {
        Ok(Ended::Leased(_)) => claiming.claimed(),
        Ok(Ended::Nothing | Ended::Closing) => {}
        Err(failure) if failure.code == ErrorCode::QueueNotFound => claiming.refused(),
        Err(_) => {}
    }
    ended
}

/// The leases as an answer that gives them back unless it is taken.
///
/// # Errors
/// Where there is no room for a large one now: to wait for it would take that room already. The leases go back.
async fn answer<T: serde::Serialize>(
    node: &Node,
    mut leases: Undelivered,
    data: impl FnOnce(Vec<ClaimReply>) -> T,
) -> Reply {
    let now = node.clock.wall();
    let claims = leases.take_grants().into_iter().map(|grant| shown::claim(grant, now));
    let claims = claims.collect::<Result<Vec<_>, Failure>>()?;
    let answer = Answer::new(http::StatusCode::OK, &Envelope::ok(data(claims)))?;
    let room = node.answer_room.take(answer.len(), Duration::ZERO).await;
    let room = room.ok_or_else(|| Failure::new(ErrorCode::RateLimited, NO_ROOM))?;
    let replayed = leases.are_replayed();
    Ok(answer.guarding(leases).replayed(replayed).taking(room))
}
