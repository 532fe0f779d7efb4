//! Throwing away what waits in a queue, or is dead there.
//!
//! Lives here: the handler. Not here: operations as such (`operation.rs`), and what is thrown away (the engine).

use std::sync::Arc;

use axum::extract::State;
use naven_api::bulk::MatchedReply;
use naven_api::purge::PurgeRequest;
use naven_core::View;
use naven_store::read::{Page, Read};
use naven_store::txn::{Bulk, PurgeFilter};

use super::answer::{Reply, ok};
use super::audit::target;
use super::body::Sent;
use super::extract::QueueInPath;
use super::operation;
use crate::auth::Caller;
use crate::node::{Node, odd_page};

/// `POST /v1/event-queues/{queue}/purge`: 202 with the operation that does it; with `dryRun` 200, and how many
/// are meant.
pub(super) async fn purge(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    sent: Sent,
) -> Reply {
    let (request, slot) = operation::heard(&node, &caller, &queue, sent, PurgeRequest::decode).await?;
    let is_named = |view: &View| request.states.iter().any(|state| state == view.as_str());
    let states = View::ALL.into_iter().filter(is_named).collect();
    let filter = PurgeFilter { states, older_than: request.older_than };
    if request.dry_run {
        return match node.engine.read(Read::Purgeable { queue, filter }).await? {
            Page::Matched(found) => {
                ok(&MatchedReply { matched: found.count, scan_truncated: found.truncated })
            }
            other => Err(odd_page(&other)),
        };
    }
    let note = caller.note("queue.purge", target(&queue));
    operation::begin(&node, queue, Bulk::Purge(filter), slot, note).await
}
