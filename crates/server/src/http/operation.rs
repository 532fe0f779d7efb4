//! Operations: work on many events that goes on in the background.
//!
//! Lives here: looking at them, ending them, and what all that begin one have in common. Not here: what each of them
//! is to do (`dead_bulk.rs`, `purge.rs`), and their steps
//! (the engine).

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use naven_api::bulk::OperationReply;
use naven_api::field::{BadRequest, Faults};
use naven_api::{Envelope, ErrorCode, OperationId};
use naven_store::audit::AuditNote;
use naven_store::queue::QueueRef;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpReply, Refused};
use naven_store::txn::{Bulk, IdempotencySlot, Op, OpKind, OperationOp, OperationView};

use super::answer::{Answer, Reply, ok};
use super::body::Sent;
use super::extract::OperationInPath;
use super::list::page;
use super::query::Query;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_page, odd_reply};

/// `GET /v1/operations`: those of queues that the caller reaches, newest first.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let filter = b"operations";
    let (cursor, limit) = (query.cursor(filter), query.limit());
    query.end()?;
    match node.engine.read(Read::Operations { cursor, limit }).await? {
        Page::Operations(views, next) => {
            let seen = views.into_iter().filter(|view| caller.reaches(Thing::Queue(&view.queue_name)));
            page(seen.map(shown).collect(), next.as_ref(), filter)
        }
        other => Err(odd_page(&other)),
    }
}

/// `GET /v1/operations/{id}`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    OperationInPath(id): OperationInPath,
    query: Query,
) -> Reply {
    let view = seen(&node, &caller, Scope::Read, id).await?;
    query.end()?;
    ok(&shown(view))
}

/// `POST /v1/operations/{id}/cancel`: it ends where it stands, and what it did stays.
pub(super) async fn cancel(
    State(node): State<Arc<Node>>,
    caller: Caller,
    OperationInPath(id): OperationInPath,
    sent: Sent,
) -> Reply {
    seen(&node, &caller, Scope::Admin, id).await?;
    sent.decode(naven_api::queue::decode_nothing)?;
    let note = caller.note("operation.cancel", id.to_string());
    match node.apply_noted(OpKind::Operation(OperationOp::Cancel { operation: id }), note).await {
        Ok(OpReply::Operation(view)) => ok(&shown(*view)),
        Ok(other) => Err(odd_reply(&other)),
        Err(failure) if failure.code == ErrorCode::WrongState => {
            Err(Failure { text: "the operation is over".to_owned(), ..failure })
        }
        Err(failure) => Err(failure),
    }
}

/// What a call on many events of a queue asks for, whose body `decode` reads, by a caller who may ask that.
pub(super) async fn heard<T>(
    node: &Node,
    caller: &Caller,
    queue: &QueueRef,
    sent: Sent,
    decode: impl FnOnce(&[u8], Faults) -> Result<T, BadRequest>,
) -> Result<(T, Option<IdempotencySlot>), Failure> {
    node.allow_queue(caller, Scope::Admin, queue).await?;
    let decoded = sent.decode_once(caller, decode);
    node.in_queue(queue, decoded).await
}

/// Begins an operation: 202, with where it is seen.
pub(super) async fn begin(
    node: &Node,
    queue: QueueRef,
    bulk: Bulk,
    slot: Option<IdempotencySlot>,
    note: AuditNote,
) -> Reply {
    let start = OpKind::Operation(OperationOp::Start { queue, bulk });
    let answered = Answered::from(node.ask(Op { idempotency: slot, ..Op::noted(start, note) }).await?);
    match answered.reply {
        OpReply::Operation(view) => {
            let path = format!("/v1/operations/{}", view.id);
            let answer = Answer::new(StatusCode::ACCEPTED, &Envelope::ok(shown(*view)))?;
            Ok(answer.located_at(&path).replayed(answered.replayed))
        }
        other => Err(odd_reply(&other)),
    }
}

async fn seen(node: &Node, caller: &Caller, scope: Scope, id: OperationId) -> Result<OperationView, Failure> {
    caller.may(scope, Thing::Nothing)?;
    match node.engine.read(Read::Operation(id)).await? {
        Page::Operation(view) if caller.reaches(Thing::Queue(&view.queue_name)) => Ok(*view),
        Page::Operation(_) => Err(Refused::OperationNotFound.into()),
        other => Err(odd_page(&other)),
    }
}

/// How an operation looks in JSON.
pub(super) fn shown(view: OperationView) -> OperationReply {
    OperationReply {
        id: view.id,
        kind: view.kind.as_str().to_owned(),
        queue: view.queue_name,
        queue_id: view.queue,
        state: view.state.as_str().to_owned(),
        matched: view.matched,
        done: view.done,
        failed: view.failed,
        error: view.error,
        created_at: view.created_at,
        updated_at: view.updated_at,
    }
}
