//! Queues: making, seeing, changing, pausing and deleting them.
//!
//! Lives here: the handlers. Not here: the requests' fields (`naven_api::queue`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::queue::{
    PauseRequest, QueueCreateRequest, QueueDeletedReply, QueueFields, QueuePatchRequest, decode_nothing,
};
use naven_core::DeadReason;
use naven_store::queue::{QueueChanges, QueueSettings, StreamChanges};
use naven_store::read::{Page, QueueView, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{DeleteOp, GroupOp, OpKind};

use super::answer::{Reply, created, ok};
use super::body::Sent;
use super::extract::QueueInPath;
use super::list::page;
use super::query::Query;
use super::shown;
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{Node, odd_page, odd_reply};

/// `POST /v1/event-queues`: makes a queue on a stream of its own.
pub(super) async fn create(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    caller.may(Scope::Admin)?;
    let request = sent.decode(QueueCreateRequest::decode)?;
    let settings = Box::new(changes(request.fields).made_to(&QueueSettings::default()));
    let op =
        GroupOp::Create { name: request.name.into(), settings, on: None, stream: StreamChanges::default() };
    let view = changed(node.apply(OpKind::Group(op)).await?)?;
    let path = format!("/v1/event-queues/{}", view.id);
    Ok(created(&shown::queue(view))?.located_at(&path))
}

/// `GET /v1/event-queues`: queues, newest first.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Read)?;
    let name_prefix = query.text("namePrefix").unwrap_or_default();
    let filter = name_prefix.clone().into_bytes();
    let (cursor, limit) = (query.cursor(&filter), query.limit());
    query.end()?;
    match node.engine.read(Read::Queues { name_prefix, cursor, limit }).await? {
        Page::Queues(views, next) => {
            page(views.into_iter().map(shown::queue).collect(), next.as_ref(), &filter)
        }
        other => Err(odd_page(&other)),
    }
}

/// `GET /v1/event-queues/{queue}`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    query: Query,
) -> Reply {
    caller.may(Scope::Read)?;
    node.in_queue(&queue, query.end()).await?;
    ok(&shown::queue(node.queue(queue).await?))
}

/// `PATCH /v1/event-queues/{queue}`: absent settings stay, null sets the default.
pub(super) async fn patch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Admin)?;
    let request = node.in_queue(&queue, sent.decode(QueuePatchRequest::decode)).await?;
    let op = GroupOp::Patch {
        queue,
        changes: Box::new(changes(request.fields)),
        stream: StreamChanges::default(),
    };
    ok(&shown::queue(changed(node.apply(OpKind::Group(op)).await?)?))
}

/// `DELETE /v1/event-queues/{queue}`: with `?force=true` whatever it still holds becomes dead letters.
pub(super) async fn delete(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    mut query: Query,
) -> Reply {
    caller.may(Scope::Admin)?;
    let force = query.flag("force", false);
    node.in_queue(&queue, query.end()).await?;
    let view = node.queue(queue.clone()).await?;
    match node
        .apply(OpKind::Delete(DeleteOp::Queue { queue, force, reason: DeadReason::QueueDeleted }))
        .await?
    {
        OpReply::Done | OpReply::Queue(_) => ok(&QueueDeletedReply { id: view.id, deleted: true }),
        other => Err(odd_reply(&other)),
    }
}

/// `POST /v1/event-queues/{queue}/pause`: claims park, publishing goes on.
pub(super) async fn pause(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Admin)?;
    let request = node.in_queue(&queue, sent.decode(PauseRequest::decode)).await?;
    let op = GroupOp::Pause { queue, reason: request.reason };
    ok(&shown::queue(changed(node.apply(OpKind::Group(op)).await?)?))
}

/// `POST /v1/event-queues/{queue}/resume`.
pub(super) async fn resume(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    caller.may(Scope::Admin)?;
    node.in_queue(&queue, sent.decode(decode_nothing)).await?;
    ok(&shown::queue(changed(node.apply(OpKind::Group(GroupOp::Resume { queue })).await?)?))
}

fn changed(reply: OpReply) -> Result<QueueView, Failure> {
    match reply {
        OpReply::Queue(view) => Ok(*view),
        other => Err(odd_reply(&other)),
    }
}

fn changes(fields: QueueFields) -> QueueChanges {
    QueueChanges {
        description: fields.description,
        default_lease: fields.default_lease_seconds,
        max_lease_seconds: fields.max_lease_seconds,
        max_attempts: fields.max_attempts.map(Some),
        backoff: fields.backoff,
        late_ack_grace_seconds: fields.late_ack_grace_seconds,
        ..QueueChanges::default()
    }
}
