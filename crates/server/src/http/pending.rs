//! What is pending in a queue of a stream.
//!
//! Lives here: the handler of that list, its filter and how its items look. Not here: finding them (the engine),
//! and who holds how much (`consumer.rs`).

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use naven_api::QueueId;
use naven_api::limits::MIN_IDLE_SECONDS_MAX;
use naven_api::pending::{PendingListReply, PendingReply};
use naven_api::value;
use naven_core::View;
use naven_store::queue::QueueRef;
use naven_store::read::{Page, PendingRead, PendingView, Read};
use naven_store::txn::Place;

use super::answer::{Reply, ok};
use super::extract::GroupInPath;
use super::group::on_stream;
use super::query::{Query, write_cursor};
use super::shown::entry_id;
use super::stream::{cursor_at, place_of};
use super::stream_shown::name;
use crate::auth::{Caller, Scope};
use crate::node::{Node, odd_page};

/// `GET /v1/streams/{name}/groups/{group}/pending`: in the order of the places.
pub(super) async fn of_group(
    State(node): State<Arc<Node>>,
    caller: Caller,
    GroupInPath { stream, group }: GroupInPath,
    mut query: Query,
) -> Reply {
    let view = on_stream(&node, (&caller, Scope::Read), &stream, &group).await?;
    let (read, filter) = asked(&mut query, view.id);
    query.end()?;
    let limit = read.limit;
    match node.engine.read(Read::Pending(read)).await? {
        Page::Pending(views, next) => ok(&PendingListReply {
            // A page that is not full ends before its list where the bound on rows looked at ended it.
            scan_truncated: next.is_some() && (views.len() as u64) < limit,
            items: views.into_iter().map(shown).collect(),
            next_cursor: next.map(|place| write_cursor(&cursor_at(place), &filter)),
        }),
        other => Err(odd_page(&other)),
    }
}

/// Which deliveries are asked for, and the filter that the list's cursors are bound to.
pub(super) fn asked(query: &mut Query, queue: QueueId) -> (PendingRead, Vec<u8>) {
    let start = query.place("start", 0).unwrap_or_default();
    let end = query.place("end", u64::MAX).unwrap_or(Place { ms: u64::MAX, seq: u64::MAX });
    // The empty name is that of nobody, with the engine too.
    let consumer = query.bytes("consumer").map(Bytes::from);
    let idle = query.parsed("minIdleSeconds", &value::integer_rule(0, MIN_IDLE_SECONDS_MAX), |text| {
        value::integer(&text, 0, MIN_IDLE_SECONDS_MAX)
    });
    let min_idle_ms = u64::from(idle.unwrap_or(0)) * 1_000;
    let filter = format!("pending {queue} {start} {end} {min_idle_ms} {consumer:?}").into_bytes();
    let next = query.cursor(&filter).map(|cursor| place_of(&cursor));
    if next == Some(None) {
        query.bad_cursor();
    }
    let start = next.flatten().map_or(start, |place| start.max(place));
    let limit = query.limit().into();
    (PendingRead { queue: QueueRef::Id(queue), start, end, limit, consumer, min_idle_ms }, filter)
}

fn shown(view: PendingView) -> PendingReply {
    let has_holder = matches!(view.state, View::Leased | View::Held);
    PendingReply {
        stream_id: entry_id(view.place),
        event_id: view.event,
        // A Redis consumer may have the empty name, which is nobody's otherwise.
        consumer: has_holder.then(|| name(&view.consumer)),
        state: view.state.as_str().to_owned(),
        idle_seconds: view.idle_ms / 1_000,
        idle_since: view.since,
        delivery_count: view.fence,
        attempt_count: view.attempts,
    }
}
