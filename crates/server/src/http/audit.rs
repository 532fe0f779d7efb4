//! What operators changed.
//!
//! Lives here: the handler of the log. Not here: which calls are noted in it (their own handlers), and the
//! chain of its entries (`naven_store::audit`).

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use naven_api::Scope;
use naven_api::audit::AuditReply;
use naven_store::audit::AuditEntry;
use naven_store::queue::QueueRef;
use naven_store::read::{Page, Read};

use super::answer::Reply;
use super::list::page;
use super::query::Query;
use crate::auth::Caller;
use crate::node::{Node, odd_page};

/// `GET /v1/audit-log`: newest first. It names every queue, so it needs a key that reaches them all.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may_everywhere(Scope::Admin)?;
    let filter = b"audit";
    let (cursor, limit) = (query.cursor(filter), query.limit());
    query.end()?;
    match node.engine.read(Read::Audit { cursor, limit }).await? {
        Page::Audit(entries, next) => page(entries.into_iter().map(shown).collect(), next.as_ref(), filter),
        other => Err(odd_page(&other)),
    }
}

/// How the log names a queue.
pub(super) fn target(queue: &QueueRef) -> String {
    queue.to_text()
}

fn shown(entry: AuditEntry) -> AuditReply {
    AuditReply {
        number: entry.number,
        at: entry.at,
        by: entry.note.by,
        action: entry.note.action,
        target: entry.note.target,
        request_id: entry.note.request_id,
        previous_hash: hexadecimal(&entry.previous),
        hash: hexadecimal(&entry.hash),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
