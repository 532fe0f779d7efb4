//! Publishing to a queue.
//!
//! Lives here: the handlers of publish and its batch. Not here: the requests' fields
//! (`naven_api::publish`).

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use naven_api::envelope::Items;
use naven_api::event::EventReply;
use naven_api::publish::{PublishBatchRequest, PublishRequest, PublishRules};
use naven_store::queue::QueueRef;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{Append, Body, DedupeKey, DedupeSpace, Due, Form, OpKind, Target, Txn};

use super::answer::{Reply, created};
use super::body::Sent;
use super::extract::QueueInPath;
use super::shown::{self, PayloadShown};
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{Node, odd_reply};

/// `POST /v1/event-queues/{queue}/events`: publishes one event.
pub(super) async fn publish(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Produce)?;
    let rules = rules(&node);
    let decoded = sent.decode(|body, faults| PublishRequest::decode(body, faults, rules));
    let request = node.in_queue(&queue, decoded).await?;
    created(&published(node.apply(append(&queue, request)).await?)?)
}

/// `POST /v1/event-queues/{queue}/events/batch`: publishes up to 500 events, all or none.
pub(super) async fn publish_batch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Produce)?;
    let rules = rules(&node);
    let decoded = sent.decode(|body, faults| PublishBatchRequest::decode(body, faults, rules));
    let request = node.in_queue(&queue, decoded).await?;
    let appends = request.events.into_iter().map(|event| append(&queue, event));
    let reply = node.apply_txn(Txn::all(appends)).await?;
    // One refusal undoes them all; those that were only undone do not say why.
    let why = reply.ops.iter().find_map(|op| op.as_ref().err().filter(|error| **error != OpError::Undone));
    if let Some(error) = why {
        return Err(error.clone().into());
    }
    let events = reply.ops.into_iter().map(|op| published(op?));
    created(&Items { items: events.collect::<Result<Vec<_>, Failure>>()? })
}

fn rules(node: &Node) -> PublishRules {
    PublishRules { now: node.clock.wall(), payload_bytes_max: node.limits.payload_bytes }
}

fn append(queue: &QueueRef, request: PublishRequest) -> OpKind {
    let due = match (request.delay_seconds, request.scheduled_at) {
        (_, Some(at)) => Due::At(at),
        (Some(delay), None) => Due::In(delay),
        (None, None) => Due::Now,
    };
    OpKind::Append(Append {
        to: Target::Queue(queue.clone()),
        // Copied: a slice would keep the whole request in memory as long as the event lives.
        body: Body { form: Form::Json, bytes: Bytes::copy_from_slice(request.payload.get().as_bytes()) },
        due,
        headers: request.headers.into_list(),
        max_attempts: request.max_attempts,
        dedupe: request
            .dedupe_key
            .map(|key| DedupeKey { space: DedupeSpace::Http, key: String::from(key).into() }),
        expires_at: request.expires_at,
    })
}

fn published(reply: OpReply) -> Result<EventReply, Failure> {
    match reply {
        OpReply::Event(view) => shown::event(*view, PayloadShown::No),
        other => Err(odd_reply(&other)),
    }
}
