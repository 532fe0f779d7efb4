//! Dead letters.
//!
//! Lives here: their two lists, and their groups by error. Not here: redriving one (`event.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::dead::{DeadLettersReply, ErrorGroupReply, ErrorGroupsReply};
use naven_api::field::Rule;
use naven_api::{ErrorCode, QueueId};
use naven_store::queue::QueueRef;
use naven_store::read::{DeadGroup, DeadRead, Page, Read};

use super::answer::{Reply, ok};
use super::dead_filter;
use super::event::shown_if;
use super::extract::QueueInPath;
use super::list::page;
use super::query::{Query, write_cursor};
use super::reach::seen_by;
use super::shown;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Node, odd_page};

/// `GET /v1/event-queues/{queue}/dead-letters`: of a queue that is there, newest death first, or by their
/// errors.
pub(super) async fn of_queue(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    mut query: Query,
) -> Reply {
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    let filter = dead_filter::of_query(&mut query);
    let rule = Rule::new("error");
    let is_grouped = query.text("groupBy").is_some_and(|by| {
        if by != "error" {
            query.refuse("groupBy", &rule);
        }
        true
    });
    if is_grouped {
        let limit = query.limit();
        node.in_queue(&queue, query.end()).await?;
        return groups(&node, DeadRead::Groups { queue, filter, limit }).await;
    }
    if filter.takes_all() {
        let asked = Asked::read(&mut query, &queue, &node);
        node.in_queue(&queue, query.end()).await?;
        return list(&node, &caller, asked).await;
    }
    // A cursor is bound to the whole filter.
    let bound = format!("dead {queue:?} {filter:?}").into_bytes();
    let (cursor, limit) = (query.cursor(&bound), query.limit());
    let payload = query.flag("includePayload", false);
    node.in_queue(&queue, query.end()).await?;
    let limit = node.page_items(limit, payload);
    let room = node.room_for_payloads(if payload { limit } else { 0 }).await?;
    match node.engine.read(Read::Dead(DeadRead::List { queue, filter, cursor, limit, payload })).await? {
        Page::DeadLetters(views, next) => {
            let truncated = next.is_some() && views.len() < limit as usize;
            let shown = views.into_iter().map(|view| shown::dead_letter(view, shown_if(payload)));
            let answer = ok(&DeadLettersReply {
                items: shown.collect::<Result<_, Failure>>()?,
                next_cursor: next.map(|next| write_cursor(&next, &bound)),
                scan_truncated: Some(truncated),
            });
            Ok(answer?.taking(room))
        }
        other => Err(odd_page(&other)),
    }
}

async fn groups(node: &Node, read: DeadRead) -> Reply {
    match node.engine.read(Read::Dead(read)).await? {
        Page::DeadGroups(found) => ok(&ErrorGroupsReply {
            items: found.groups.into_iter().map(group).collect(),
            groups_left_out: found.left_out,
            scan_truncated: found.truncated,
        }),
        other => Err(odd_page(&other)),
    }
}

fn group(group: DeadGroup) -> ErrorGroupReply {
    ErrorGroupReply {
        fingerprint: group.fingerprint.to_string(),
        reason: group.reason.as_str().to_owned(),
        example: group.example,
        count: group.count,
        first_dead_at: group.first_died,
        last_dead_at: group.last_died,
        example_event_id: group.event,
    }
}

/// `GET /v1/dead-letters?queueId=`: also of a queue that was deleted.
pub(super) async fn of_any(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let rule = Rule::new("a queue's id: evq_ and 26 base32 characters");
    let queue = match query.text("queueId") {
        None => {
            query.require("queueId", &rule);
            None
        }
        Some(text) => match text.parse::<QueueId>() {
            Ok(id) => Some(QueueRef::Id(id)),
            // A parameter that names nothing is the same as one that names what is not there.
            Err(_) => Some(QueueRef::Name(String::new())),
        },
    };
    let queue = queue.unwrap_or(QueueRef::Name(String::new()));
    let asked = Asked::read(&mut query, &queue, &node);
    query.end()?;
    if !caller.reaches_all() {
        reach(&node, &caller, &queue).await?;
    }
    list(&node, &caller, asked).await
}

/// Whether `caller` may know of `queue`. Of one that was deleted only its letters know the name.
async fn reach(node: &Node, caller: &Caller, queue: &QueueRef) -> Result<(), Failure> {
    match node.queue(queue.clone()).await {
        Ok(view) => caller.may(Scope::Read, Thing::Queue(&view.name)),
        Err(failure) if failure.code == ErrorCode::QueueNotFound => {
            let first = Read::DeadLetters { queue: queue.clone(), cursor: None, limit: 1, payload: false };
            let Page::DeadLetters(letters, _) = node.engine.read(first).await? else { return Err(failure) };
            let is_seen = letters.into_iter().any(|letter| seen_by(caller, letter).is_ok());
            if is_seen { Ok(()) } else { Err(failure) }
        }
        Err(failure) => Err(failure),
    }
}

/// Which page of a list is asked for.
struct Asked {
    read: Read,
    /// With how many payloads at most.
    payloads: u32,
    payload: bool,
    filter: Vec<u8>,
}

impl Asked {
    fn read(query: &mut Query, queue: &QueueRef, node: &Node) -> Self {
        let filter = format!("dead {queue:?}").into_bytes();
        let (cursor, limit) = (query.cursor(&filter), query.limit());
        let payload = query.flag("includePayload", false);
        let limit = node.page_items(limit, payload);
        let read = Read::DeadLetters { queue: queue.clone(), cursor, limit, payload };
        Self { read, payloads: if payload { limit } else { 0 }, payload, filter }
    }
}

async fn list(node: &Node, caller: &Caller, asked: Asked) -> Reply {
    let room = node.room_for_payloads(asked.payloads).await?;
    match node.engine.read(asked.read).await? {
        Page::DeadLetters(views, next) => {
            // Of a queue that was deleted, only its letters know the name.
            let seen = views.into_iter().filter_map(|view| seen_by(caller, view).ok());
            let shown = seen.map(|view| shown::dead_letter(view, shown_if(asked.payload)));
            Ok(page(shown.collect::<Result<Vec<_>, Failure>>()?, next.as_ref(), &asked.filter)?.taking(room))
        }
        other => Err(odd_page(&other)),
    }
}
