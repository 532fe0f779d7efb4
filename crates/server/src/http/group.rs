//! One queue of a stream, named by both.
//!
//! Lives here: the handlers of its reset, its deletion and its consumers. Not here: the queue by itself (`queue.rs`),
//! what is pending in it (`pending.rs`).

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use naven_api::ErrorCode;
use naven_api::queue::QueueDeletedReply;
use naven_api::stream::{ConsumerDeletedReply, ResetRequest};
use naven_core::DeadReason;
use naven_store::queue::QueueRef;
use naven_store::read::QueueView;
use naven_store::reply::OpReply;
use naven_store::txn::{DeleteOp, From, GroupOp, Op, OpKind, Place, StreamRef};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::consumer;
use super::extract::{ConsumerInPath, GroupInPath};
use super::query::Query;
use super::reach::allow_stream;
use super::shown;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_reply};

/// `POST /v1/streams/{name}/groups/{group}/reset`: it goes on at another place. What lies behind that
/// place begins a new round, whatever became of it.
pub(super) async fn reset(
    State(node): State<Arc<Node>>,
    caller: Caller,
    GroupInPath { stream, group }: GroupInPath,
    sent: Sent,
) -> Reply {
    let view = on_stream(&node, (&caller, Scope::Admin), &stream, &group).await?;
    let (queue, note) = (QueueRef::Id(view.id), caller.note("queue.reset", view.name));
    let (request, slot) = sent.decode_once(&caller, ResetRequest::decode)?;
    let from = match request {
        ResetRequest::Id(id) => From::After(Place { ms: id.ms, seq: id.seq }),
        ResetRequest::Time(at) => From::Time(at),
    };
    let op = Op::noted(OpKind::Group(GroupOp::Reset { queue, from }), note);
    let answered = Answered::from(node.ask(Op { idempotency: slot, ..op }).await?);
    match answered.reply {
        OpReply::Queue(view) => Ok(ok(&shown::queue(*view))?.replayed(answered.replayed)),
        other => Err(odd_reply(&other)),
    }
}

/// `DELETE /v1/streams/{name}/groups/{group}`: the same as deleting that queue.
pub(super) async fn delete(
    State(node): State<Arc<Node>>,
    caller: Caller,
    GroupInPath { stream, group }: GroupInPath,
    mut query: Query,
) -> Reply {
    let view = on_stream(&node, (&caller, Scope::Admin), &stream, &group).await?;
    let (id, note) = (view.id, caller.note("queue.delete", view.name));
    let force = query.flag("force", false);
    query.end()?;
    let op =
        DeleteOp::Queue { queue: QueueRef::Id(id), force, reason: DeadReason::QueueDeleted, revision: None };
    match node.apply_noted(OpKind::Delete(op), note).await? {
        OpReply::Done | OpReply::Queue(_) => ok(&QueueDeletedReply { id, deleted: true }),
        other => Err(odd_reply(&other)),
    }
}

/// `GET /v1/streams/{name}/groups/{group}/consumers`: the same as those of that queue.
pub(super) async fn consumers(
    State(node): State<Arc<Node>>,
    caller: Caller,
    GroupInPath { stream, group }: GroupInPath,
    query: Query,
) -> Reply {
    let view = on_stream(&node, (&caller, Scope::Read), &stream, &group).await?;
    query.end()?;
    ok(&consumer::of_queue(&node, view).await?)
}

/// `DELETE /v1/streams/{name}/groups/{group}/consumers/{consumer}`: a Redis consumer is forgotten, and what it
/// holds becomes dead letters. One that is not there, and an HTTP one, holds nothing under a name.
pub(super) async fn delete_consumer(
    State(node): State<Arc<Node>>,
    caller: Caller,
    ConsumerInPath { stream, group, consumer }: ConsumerInPath,
    query: Query,
) -> Reply {
    let view = on_stream(&node, (&caller, Scope::Admin), &stream, &group).await?;
    let note = caller.note("consumer.delete", view.name);
    query.end()?;
    let op = DeleteOp::Consumer { queue: QueueRef::Id(view.id), name: consumer };
    match node.apply_noted(OpKind::Delete(op), note).await? {
        OpReply::Removed(dead_letters) => ok(&ConsumerDeletedReply { dead_letters }),
        other => Err(odd_reply(&other)),
    }
}

/// The queue that `group` names, by id, by the name that the stream's readers use, or by the one that it has
/// among all, where it is on `stream` and `caller` has the scope. A queue stays on its stream for as long as it
/// lives, so its id is enough from here on.
pub(super) async fn on_stream(
    node: &Node,
    (caller, scope): (&Caller, Scope),
    stream: &StreamRef,
    group: &str,
) -> Result<QueueView, Failure> {
    allow_stream(caller, scope, stream)?;
    let missing = || Failure::new(ErrorCode::StreamOrGroupNotFound, "no such queue on this stream");
    let named = QueueRef::from_text(group);
    let by_readers = match &named {
        QueueRef::Id(_) => named.clone(),
        QueueRef::Name(_) | QueueRef::Group { .. } => {
            let group = Bytes::copy_from_slice(group.as_bytes());
            QueueRef::Group { stream: stream.0.clone(), group }
        }
    };
    let found = match node.queue(by_readers).await {
        Err(failure) if failure.code == ErrorCode::QueueNotFound => node.queue(named).await,
        found => found,
    };
    match found {
        Ok(view) if view.stream.as_bytes() == stream.0 && caller.reaches(Thing::Queue(&view.name)) => {
            caller.may(scope, Thing::Queue(&view.name))?;
            Ok(view)
        }
        Ok(_) => Err(missing()),
        Err(failure)
            if matches!(failure.code, ErrorCode::QueueNotFound | ErrorCode::StreamOrGroupNotFound) =>
        {
            Err(missing())
        }
        Err(failure) => Err(failure),
    }
}
