//! Many dead letters at once.
//!
//! Lives here: redriving and discarding those that are named, or beginning the operation that does it to
//! those that are not. Not here: their lists (`dead_letter.rs`), and operations (`operation.rs`).

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use naven_api::bulk::{BulkItem, BulkReply, DeadDiscardRequest, DeadRedriveRequest, MatchedReply, Which};
use naven_api::{Envelope, ErrorCode, EventId};
use naven_store::queue::QueueRef;
use naven_store::read::{DeadFilter, DeadRead, Page, Read};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{AdminOp, Bulk, IdempotencySlot, Op, OpKind, Txn};

use super::answer::{Answer, Reply, ok};
use super::audit::target;
use super::body::Sent;
use super::extract::QueueInPath;
use super::repetition::part;
use super::{dead_filter, operation};
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{Answered, Node, odd_page};

/// `POST /v1/event-queues/{queue}/dead-letters/redrive`: they begin a new round.
pub(super) async fn redrive(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    let (request, slot) = operation::heard(&node, &caller, &queue, sent, DeadRedriveRequest::decode).await?;
    let reset_attempts = request.reset_attempts;
    let target = request.target_queue.as_deref().map(QueueRef::from_text);
    if let Some(target) = &target {
        node.allow_queue(&caller, Scope::Admin, target).await?;
        // Also where nothing is done, or nothing could be done to any.
        node.queue(target.clone()).await?;
    }
    let asked = Asked { caller: &caller, verb: "redrive", queue, slot, dry_run: request.dry_run };
    let in_queue = asked.queue.clone();
    let one = |event| match target.clone() {
        Some(target) => AdminOp::MoveDead { event, queue: Some(in_queue.clone()), target },
        None => AdminOp::Redrive { event, queue: Some(in_queue.clone()), reset_attempts },
    };
    let many = |filter| match target.clone() {
        Some(target) => Bulk::Move { filter, target },
        None => Bulk::Redrive { filter, reset_attempts },
    };
    asked.of(&node, request.which, one, many).await
}

/// `POST /v1/event-queues/{queue}/dead-letters/discard`: they are forgotten.
pub(super) async fn discard(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    let (request, slot) = operation::heard(&node, &caller, &queue, sent, DeadDiscardRequest::decode).await?;
    let asked = Asked { caller: &caller, verb: "discard", queue, slot, dry_run: request.dry_run };
    let in_queue = asked.queue.clone();
    let one = |event| AdminOp::Discard { event, queue: in_queue.clone() };
    asked.of(&node, request.which, one, |filter| Bulk::Discard { filter }).await
}

/// What both calls have in common.
struct Asked<'a> {
    caller: &'a Caller,
    /// What the audit log calls it.
    verb: &'static str,
    queue: QueueRef,
    slot: Option<IdempotencySlot>,
    dry_run: bool,
}

impl Asked<'_> {
    async fn of(
        self,
        node: &Node,
        which: Which,
        one: impl Fn(EventId) -> AdminOp,
        many: impl FnOnce(DeadFilter) -> Bulk,
    ) -> Reply {
        let filter = match which {
            Which::Ids(ids) if self.dry_run => {
                let events = ids.iter().filter_map(|id| id.parse().ok()).collect();
                return matched(node, DeadRead::Among { queue: self.queue, events }).await;
            }
            Which::Ids(ids) => return self.named(node, ids, one).await,
            Which::Filter(filter) => dead_filter::of_body(filter),
            Which::All(_) => DeadFilter::default(),
        };
        if self.dry_run {
            return matched(node, DeadRead::Count { queue: self.queue, filter }).await;
        }
        let note = self.caller.note(&format!("dead-letters.{}", self.verb), target(&self.queue));
        operation::begin(node, self.queue, many(filter), self.slot, note).await
    }

    /// Those that are named, in one transaction, each by itself.
    async fn named(self, node: &Node, ids: Vec<String>, one: impl Fn(EventId) -> AdminOp) -> Reply {
        let events: Vec<Option<EventId>> = ids.iter().map(|id| id.parse().ok()).collect();
        let ops = (0u32..).zip(&events).filter_map(|(index, event)| {
            let idempotency = self.slot.as_ref().map(|slot| part(slot, index));
            let event = (*event)?;
            let note = self.caller.note(&format!("event.{}", self.verb), event.to_string());
            Some(Op { idempotency, ..Op::noted(OpKind::Admin(one(event)), note) })
        });
        // Asked within the transaction, so that a queue that goes meanwhile is missing as a whole.
        let there = Op::plain(OpKind::Read(Read::Queue(self.queue.clone())));
        let txn = Txn { ops: std::iter::once(there).chain(ops).collect(), ..Txn::each([]) };
        let mut answers = node.apply_txn(txn).await?.ops.into_iter();
        answers.next().unwrap_or(Err(OpError::Unknown))?;
        let mut replayed = false;
        let mut items = Vec::with_capacity(ids.len());
        for (index, (id, event)) in (0u32..).zip(ids.into_iter().zip(events)) {
            let outcome = match event {
                None => Err(Failure::new(ErrorCode::EventNotFound, "no such event")),
                Some(_) => answers.next().unwrap_or(Err(OpError::Unknown)).map_err(Failure::from),
            };
            replayed |= matches!(&outcome, Ok(OpReply::Replayed(_)));
            items.push(item(index, id, outcome.map(Answered::from)));
        }
        Ok(reply(items)?.replayed(replayed))
    }
}

fn item(index: u32, event_id: String, outcome: Result<Answered, Failure>) -> BulkItem {
    match outcome {
        Ok(_) => BulkItem { index, event_id, code: 0, message: "ok".to_owned(), data: None },
        Err(failure) => {
            let data = Some(failure.data(None));
            BulkItem { index, event_id, code: failure.code.code(), message: failure.text, data }
        }
    }
}

/// 200 where it was done to all, else 207.
fn reply(items: Vec<BulkItem>) -> Reply {
    let failed = items.iter().filter(|item| item.code != 0).count();
    if failed == 0 {
        return ok(&BulkReply { reason: None, failed: None, items });
    }
    let code = ErrorCode::PartialFailure;
    let message = format!("{failed} of {} items failed", items.len());
    let data = BulkReply { reason: Some(code.reason().to_owned()), failed: Some(failed as u32), items };
    Answer::new(StatusCode::MULTI_STATUS, &Envelope { code: code.code(), message, data })
}

async fn matched(node: &Node, read: DeadRead) -> Reply {
    match node.engine.read(Read::Dead(read)).await? {
        Page::Matched(found) => ok(&MatchedReply { matched: found.count, scan_truncated: found.truncated }),
        other => Err(odd_page(&other)),
    }
}
