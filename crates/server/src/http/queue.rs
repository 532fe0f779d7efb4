//! Queues: making, seeing, changing, pausing and deleting them.
//!
//! Lives here: the handlers. Not here: the requests' fields (`naven_api::queue`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::queue::{
    self as asked, PauseRequest, QueueCreateRequest, QueueDeletedReply, QueueFields, QueuePatchRequest,
    decode_nothing,
};
use naven_api::{EntryId, StartFrom};
use naven_core::DeadReason;
use naven_store::queue::{QueueChanges, QueueRef, QueueSettings, Retention, StreamChanges};
use naven_store::read::{Page, QueueView, Read};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{self, DeleteOp, GroupOp, Op, OpKind, Place, Reading, StreamRef, Txn};

use super::answer::{Reply, created, ok};
use super::audit::target;
use super::body::Sent;
use super::condition::IfMatch;
use super::extract::QueueInPath;
use super::list::page;
use super::query::Query;
use super::reach::allow_stream;
use super::shown;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_page, odd_reply};

/// `POST /v1/event-queues`: makes a queue, on a stream of its own or on the one that is named.
pub(super) async fn create(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let (request, slot) = sent.decode_once(&caller, QueueCreateRequest::decode)?;
    caller.may(Scope::Admin, Thing::Queue(request.name.as_str()))?;
    let stream = request.stream.map(|name| StreamRef(String::from(name).into()));
    if let Some(stream) = &stream {
        allow_stream(&caller, Scope::Admin, stream)?;
    }
    let first_of = stream.clone().filter(|_| request.from == Some(StartFrom::Start));
    let from = from(request.from.unwrap_or(StartFrom::New));
    let (changes, stream_changes) = changes(request.fields);
    let note = caller.note("queue.create", request.name.as_str());
    let op = GroupOp::Create {
        name: request.name.into(),
        settings: Box::new(changes.made_to(&QueueSettings::default())),
        on: stream.map(|stream| Reading { stream, from }),
        stream: stream_changes,
    };
    // What is there to begin with is read at the same point of the order.
    let look = first_of.clone().map(|stream| Op::plain(OpKind::Read(Read::Stream(stream))));
    let make = Op { idempotency: slot, ..Op::noted(OpKind::Group(op), note) };
    let txn = Txn { ops: [make].into_iter().chain(look).collect(), ..Txn::each([]) };
    let mut replies = node.apply_txn(txn).await?.ops;
    let seen = first_of.and_then(|_| replies.pop());
    let made = Answered::from(replies.pop().unwrap_or(Err(OpError::Unknown))?);
    let view = changed(made.reply)?;
    let revision = view.revision;
    let mut reply = shown::queue(view);
    if let Some(seen) = seen {
        reply.first_available = Some(first_of_stream(seen?)?);
    }
    let path = format!("/v1/event-queues/{}", reply.id);
    Ok(created(&reply)?.located_at(&path).tagged(revision).replayed(made.replayed))
}

fn first_of_stream(reply: OpReply) -> Result<Option<EntryId>, Failure> {
    match reply {
        OpReply::Page(page) => match *page {
            Page::Stream(view) => Ok(view.first.map(shown::entry_id)),
            other => Err(odd_page(&other)),
        },
        other => Err(odd_reply(&other)),
    }
}

fn from(start: StartFrom) -> txn::From {
    match start {
        StartFrom::New => txn::From::New,
        StartFrom::Start => txn::From::Start,
        StartFrom::Time(at) => txn::From::Time(at),
        StartFrom::After(id) => txn::From::After(Place { ms: id.ms, seq: id.seq }),
    }
}

/// `GET /v1/event-queues`: queues, newest first.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let name_prefix = query.text("namePrefix").unwrap_or_default();
    let filter = name_prefix.clone().into_bytes();
    let (cursor, limit) = (query.cursor(&filter), query.limit());
    query.end()?;
    match node.engine.read(Read::Queues { name_prefix, cursor, limit }).await? {
        Page::Queues(views, next) => {
            let seen = views.into_iter().filter(|view| caller.reaches(Thing::Queue(&view.name)));
            page(seen.map(shown::queue).collect(), next.as_ref(), &filter)
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
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    node.in_queue(&queue, query.end()).await?;
    tagged(node.queue(queue).await?)
}

/// `PATCH /v1/event-queues/{queue}`: absent settings stay, null sets the default.
pub(super) async fn patch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    condition: IfMatch,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Admin, &queue).await?;
    let request = node.in_queue(&queue, sent.decode(QueuePatchRequest::decode)).await?;
    let revision = expected(&node, &queue, &condition).await?;
    let (changes, stream) = changes(request.fields);
    let note = caller.note("queue.patch", target(&queue));
    let op = GroupOp::Patch { queue, changes: Box::new(changes), stream, revision };
    tagged(changed(node.apply_noted(OpKind::Group(op), note).await?)?)
}

/// `DELETE /v1/event-queues/{queue}`: with `?force=true` whatever it still holds becomes dead letters.
pub(super) async fn delete(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    condition: IfMatch,
    mut query: Query,
) -> Reply {
    node.allow_queue(&caller, Scope::Admin, &queue).await?;
    let force = query.flag("force", false);
    node.in_queue(&queue, query.end()).await?;
    let view = node.queue(queue.clone()).await?;
    let revision = expected(&node, &queue, &condition).await?;
    let note = caller.note("queue.delete", target(&queue));
    let op = DeleteOp::Queue { queue, force, reason: DeadReason::QueueDeleted, revision };
    match node.apply_noted(OpKind::Delete(op), note).await? {
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
    node.allow_queue(&caller, Scope::Admin, &queue).await?;
    let request = node.in_queue(&queue, sent.decode(PauseRequest::decode)).await?;
    let note = caller.note("queue.pause", target(&queue));
    let op = GroupOp::Pause { queue, reason: request.reason };
    tagged(changed(node.apply_noted(OpKind::Group(op), note).await?)?)
}

/// `POST /v1/event-queues/{queue}/resume`.
pub(super) async fn resume(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    node.allow_queue(&caller, Scope::Admin, &queue).await?;
    node.in_queue(&queue, sent.decode(decode_nothing)).await?;
    let note = caller.note("queue.resume", target(&queue));
    tagged(changed(node.apply_noted(OpKind::Group(GroupOp::Resume { queue }), note).await?)?)
}

/// The queue, with the tag of its settings.
fn tagged(view: QueueView) -> Reply {
    let revision = view.revision;
    Ok(ok(&shown::queue(view))?.tagged(revision))
}

/// The revision at which a change is to meet `queue`, where `condition` names any.
async fn expected(node: &Node, queue: &QueueRef, condition: &IfMatch) -> Result<Option<u64>, Failure> {
    if !condition.is_named() {
        return Ok(None);
    }
    let revision = node.queue(queue.clone()).await?.revision;
    condition.check(revision)?;
    Ok(Some(revision))
}

fn changed(reply: OpReply) -> Result<QueueView, Failure> {
    match reply {
        OpReply::Queue(view) => Ok(*view),
        other => Err(odd_reply(&other)),
    }
}

/// What changes of a queue, and what of its stream.
fn changes(fields: QueueFields) -> (QueueChanges, StreamChanges) {
    let retention = fields.retention_seconds.unwrap_or_default();
    let queue = QueueChanges {
        description: fields.description,
        default_lease: fields.default_lease_seconds,
        max_lease_seconds: fields.max_lease_seconds,
        max_attempts: fields.max_attempts.map(Some),
        backoff: fields.backoff,
        late_ack_grace_seconds: fields.late_ack_grace_seconds,
        redis_lease: fields.redis_lease_seconds,
        keep_done_payload: fields.keep_done_payload,
        protect_unread: fields.protect_unread,
        done_retention_seconds: retention.done,
        dead_retention_seconds: retention.dead,
    };
    let kept = fields.retention.map(|retention| match retention {
        asked::Retention::Consumed => Retention::Consumed,
        asked::Retention::Trim => Retention::Trim,
    });
    let stream = StreamChanges { retention: kept, dedupe_window_seconds: fields.dedupe_window_seconds };
    (queue, stream)
}
