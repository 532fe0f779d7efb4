//! One queue of a stream, named by both.
//!
//! Lives here: the handlers of its reset and its deletion. Not here: the queue by itself (`queue.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::ErrorCode;
use naven_api::queue::QueueDeletedReply;
use naven_api::stream::ResetRequest;
use naven_core::DeadReason;
use naven_store::queue::QueueRef;
use naven_store::read::QueueView;
use naven_store::reply::OpReply;
use naven_store::txn::{DeleteOp, From, GroupOp, Op, OpKind, Place, StreamRef};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::extract::GroupInPath;
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
    let view = on_stream(&node, &caller, &stream, &group).await?;
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
    let view = on_stream(&node, &caller, &stream, &group).await?;
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

/// The queue that `group` names, by id or name, where it is on `stream` and `caller` may change it. A queue
/// stays on its stream for as long as it lives, so its id is enough from here on.
async fn on_stream(
    node: &Node,
    caller: &Caller,
    stream: &StreamRef,
    group: &str,
) -> Result<QueueView, Failure> {
    allow_stream(caller, Scope::Admin, stream)?;
    let missing = || Failure::new(ErrorCode::StreamOrGroupNotFound, "no such queue on this stream");
    match node.queue(QueueRef::from_text(group)).await {
        Ok(view) if view.stream.as_bytes() == stream.0 && caller.reaches(Thing::Queue(&view.name)) => {
            caller.may(Scope::Admin, Thing::Queue(&view.name))?;
            Ok(view)
        }
        Ok(_) => Err(missing()),
        Err(failure) if failure.code == ErrorCode::QueueNotFound => Err(missing()),
        Err(failure) => Err(failure),
    }
}
