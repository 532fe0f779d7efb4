//! Publishing, to a queue or to a stream with all its queues.
//!
//! Lives here: the handlers of publish and its batch. Not here: the requests' fields
//! (`naven_api::publish`).

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use http::StatusCode;
use naven_api::Envelope;
use naven_api::envelope::Items;
use naven_api::event::EventReply;
use naven_api::publish::{PublishBatchRequest, PublishRequest, PublishRules};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{
    Append, Body, DedupeKey, DedupeSpace, Due, Form, IdempotencySlot, Op, OpKind, Target, Txn,
};

use super::answer::{Answer, Reply, created};
use super::body::Sent;
use super::extract::{QueueInPath, StreamInPath};
use super::reach::allow_stream;
use super::repetition::part;
use super::shown::{self, PayloadShown};
use super::trace::Trace;
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_reply};

/// `POST /v1/event-queues/{queue}/events`: publishes one event to one queue.
pub(super) async fn publish(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    trace: Trace,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Produce, &queue).await?;
    let decoded = one(&node, &caller, sent);
    let (request, slot) = node.in_queue(&queue, decoded).await?;
    append(&node, op(Target::Queue(queue), trace, request), slot).await
}

/// `POST /v1/event-queues/{queue}/events/batch`: publishes up to 500 events, all or none.
pub(super) async fn publish_batch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    trace: Trace,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Produce, &queue).await?;
    let decoded = many(&node, &caller, sent);
    let (request, slot) = node.in_queue(&queue, decoded).await?;
    append_all(&node, &Target::Queue(queue), &trace, request, slot).await
}

/// `POST /v1/streams/{name}/events`: publishes one event to every queue of a stream.
pub(super) async fn publish_to_stream(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    trace: Trace,
    sent: Sent,
) -> Reply {
    allow_stream(&caller, Scope::Produce, &stream)?;
    let decoded = one(&node, &caller, sent);
    let (request, slot) = node.in_stream(&stream, decoded).await?;
    append(&node, op(Target::Stream(stream), trace, request), slot).await
}

/// `POST /v1/streams/{name}/events/batch`: publishes up to 500 events to every queue, all or none.
pub(super) async fn publish_batch_to_stream(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    trace: Trace,
    sent: Sent,
) -> Reply {
    allow_stream(&caller, Scope::Produce, &stream)?;
    let decoded = many(&node, &caller, sent);
    let (request, slot) = node.in_stream(&stream, decoded).await?;
    append_all(&node, &Target::Stream(stream), &trace, request, slot).await
}

type Once<T> = Result<(T, Option<IdempotencySlot>), Failure>;

fn one(node: &Node, caller: &Caller, sent: Sent) -> Once<PublishRequest> {
    let rules = rules(node);
    sent.decode_once(caller, |body, faults| PublishRequest::decode(body, faults, rules))
}

fn many(node: &Node, caller: &Caller, sent: Sent) -> Once<PublishBatchRequest> {
    let rules = rules(node);
    sent.decode_once(caller, |body, faults| PublishBatchRequest::decode(body, faults, rules))
}

fn rules(node: &Node) -> PublishRules {
    PublishRules { now: node.clock.wall(), payload_bytes_max: node.limits.payload_bytes }
}

/// 201 with the event; 200 where an event of the same dedupe key was there already.
async fn append(node: &Node, op: OpKind, slot: Option<IdempotencySlot>) -> Reply {
    let answered = node.apply_once(op, slot).await?;
    let event = published(answered.reply)?;
    let status = if event.deduped.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    Ok(Answer::new(status, &Envelope::ok(event))?.replayed(answered.replayed))
}

async fn append_all(
    node: &Node,
    to: &Target,
    trace: &Trace,
    request: PublishBatchRequest,
    slot: Option<IdempotencySlot>,
) -> Reply {
    let ops = (0u32..).zip(request.events).map(|(index, event)| Op {
        idempotency: slot.as_ref().map(|slot| part(slot, index)),
        ..Op::plain(op(to.clone(), trace.clone(), event))
    });
    let txn = Txn { ops: ops.collect(), ..Txn::all([]) };
    let reply = node.apply_txn(txn).await?;
    // One refusal undoes them all; those that were only undone do not say why.
    let why = reply.ops.iter().find_map(|op| op.as_ref().err().filter(|error| **error != OpError::Undone));
    if let Some(error) = why {
        return Err(error.clone().into());
    }
    let answers = reply.ops.into_iter().map(|op| op.map(Answered::from)).collect::<Result<Vec<_>, _>>()?;
    // They were made together, so they are repeated together.
    let replayed = answers.iter().any(|answered| answered.replayed);
    let events = answers.into_iter().map(|answered| published(answered.reply));
    let items = events.collect::<Result<Vec<_>, Failure>>()?;
    Ok(created(&Items { items })?.replayed(replayed))
}

fn op(to: Target, Trace(trace): Trace, request: PublishRequest) -> OpKind {
    let due = match (request.delay_seconds, request.scheduled_at) {
        (_, Some(at)) => Due::At(at),
        (Some(delay), None) => Due::In(delay),
        (None, None) => Due::Now,
    };
    let dedupe = |key| DedupeKey { space: DedupeSpace::Http, key: String::from(key).into() };
    OpKind::Append(Append {
        to,
        // Copied: a slice would keep the whole request in memory as long as the event lives.
        body: Body { form: Form::Json, bytes: Bytes::copy_from_slice(request.payload.get().as_bytes()) },
        due,
        headers: request.headers.into_list(),
        max_attempts: request.max_attempts,
        dedupe: request.dedupe_key.map(dedupe),
        expires_at: request.expires_at,
        trace,
        entry: None,
    })
}

fn published(reply: OpReply) -> Result<EventReply, Failure> {
    match reply {
        OpReply::Event(view) => shown::event(*view, PayloadShown::No),
        OpReply::Deduped(view) => {
            Ok(EventReply { deduped: Some(true), ..shown::event(*view, PayloadShown::No)? })
        }
        other => Err(odd_reply(&other)),
    }
}
