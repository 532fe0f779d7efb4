//! Whether a caller may do what a call asks.
//!
//! Lives here: the rights of asks, with Redis' words for a missing one. Not here: the decision on one name
//! (`auth.rs`).

use naven_api::{ErrorCode, Scope};
use naven_store::queue::{QueueRef, group_queue_name};
use naven_store::read::{GroupView, Page, Read};
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::OpKind;

use super::frame::Reply;
use super::plan::{Answer, Ask, Need, Touched};
use crate::auth::{Caller, Thing};
use crate::node::Node;

/// What becomes of an ask.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Right {
    /// It is asked.
    Given,
    /// It is not: this is the answer.
    Unseen(OpError),
    /// The whole call is refused.
    Refused(Reply),
}

/// True where the rights of `asks` are known without asking the engine.
pub(crate) fn are_plain(caller: &Caller, asks: &[Ask]) -> bool {
    let is_plain = |need: &Need| !matches!(need.on, Touched::Group { .. });
    caller.reaches_all() || asks.iter().flat_map(|ask| &ask.needs).all(is_plain)
}

/// What `caller`, who calls the command `name`, may do of `ask`.
pub(crate) async fn right(node: &Node, caller: &Caller, ask: &Ask, name: &str) -> Right {
    for need in &ask.needs {
        match one(node, caller, need, name).await {
            Right::Given => {}
            other => return other,
        }
    }
    Right::Given
}

async fn one(node: &Node, caller: &Caller, need: &Need, name: &str) -> Right {
    let Need { scope, on } = need;
    match on {
        Touched::Stream(stream) => judged(caller, *scope, Thing::Stream(stream), name),
        Touched::Group { .. } if caller.reaches_all() => judged(caller, *scope, Thing::Nothing, name),
        Touched::Group { stream, group } => {
            // A queue that was made over HTTP is called otherwise than one that was made here.
            let queue = QueueRef::Group { stream: stream.clone(), group: group.clone() };
            let queue_name = match node.engine.read(Read::Queue(queue)).await {
                Ok(Page::Queue(view)) => view.name,
                Ok(_) => return Right::Unseen(OpError::Unknown),
                Err(OpError::Refused(_)) => group_queue_name(stream, group),
                Err(error) => return Right::Unseen(error),
            };
            judged(caller, *scope, Thing::Queue(&queue_name), name)
        }
    }
}

/// True where what is read lists things that a key may reach in part.
pub(crate) fn is_list(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Read(Read::Groups(_) | Read::StreamDetail { full: Some(_), .. }))
}

/// `answer` without the groups that `caller` does not reach, as the HTTP door lists them.
pub(crate) fn seen(caller: &Caller, answer: Answer) -> Answer {
    let is_seen = |view: &GroupView| caller.reaches(Thing::Queue(&view.queue.name));
    match answer {
        Ok(OpReply::Page(mut page)) => {
            match &mut *page {
                Page::Groups(groups) => groups.retain(is_seen),
                Page::StreamDetail(detail) => {
                    if let Some(full) = &mut detail.full {
                        full.groups.retain(|group| is_seen(&group.view));
                    }
                }
                _ => {}
            }
            Ok(OpReply::Page(page))
        }
        other => other,
    }
}

fn judged(caller: &Caller, scope: Scope, thing: Thing<'_>, name: &str) -> Right {
    match caller.may(scope, thing) {
        Ok(()) => Right::Given,
        Err(failure) if failure.code == ErrorCode::ScopeMissing => {
            Right::Refused(no_permission(caller, name))
        }
        Err(_) if matches!(thing, Thing::Queue(_)) => Right::Unseen(Refused::QueueNotFound.into()),
        Err(_) => Right::Unseen(Refused::StreamNotFound.into()),
    }
}

/// What is said where the key lacks a scope.
pub(crate) fn no_permission(caller: &Caller, name: &str) -> Reply {
    let user = &caller.key().name;
    Reply::error(format!("NOPERM User {user} has no permissions to run the '{name}' command"))
}
