//! The pictures that XINFO gives.
//!
//! Lives here: their names and the order in which Valkey 9 has them. Not here: arguments (`xinfo.rs`).

use naven_api::Timestamp;
use naven_store::read::{
    ConsumerView, EntryView, FullConsumer, FullGroup, GroupView, PendingView, StreamDetail, StreamView,
};

use super::number::shown;
use super::trimming::NODE_ENTRIES;
use super::{entries, ids};
use crate::redis::frame::Reply;

type Pairs = Vec<(Reply, Reply)>;

/// A stream, in short or in full.
pub(super) fn stream(detail: &StreamDetail) -> Reply {
    let mut pairs = facts(&detail.view, detail.first.as_ref());
    match &detail.full {
        None => pairs.extend([
            pair("groups", shown(detail.view.queues)),
            pair("first-entry", edge(detail.first.as_ref())),
            pair("last-entry", edge(detail.last.as_ref())),
        ]),
        Some(full) => pairs.extend([
            pair("entries", entries::listed(&full.entries)),
            pair("groups", Reply::Array(full.groups.iter().map(full_group).collect())),
        ]),
    }
    Reply::Map(pairs)
}

fn facts(view: &StreamView, first: Option<&EntryView>) -> Pairs {
    let nodes = view.length.div_ceil(NODE_ENTRIES);
    let first = first.map(|entry| entry.place).or(view.first).unwrap_or_default();
    vec![
        pair("length", shown(view.length)),
        pair("radix-tree-keys", shown(nodes)),
        pair("radix-tree-nodes", shown(nodes + 1)),
        pair("last-generated-id", ids::shown(view.last)),
        pair("max-deleted-entry-id", ids::shown(view.max_deleted)),
        pair("entries-added", shown(view.added_told)),
        pair("recorded-first-entry-id", ids::shown(first)),
    ]
}

fn edge(entry: Option<&EntryView>) -> Reply {
    entry.map_or(Reply::Null, |view| entries::entry(view.place, view.body.as_ref()))
}

/// The groups of a stream, by name.
pub(super) fn groups(mut groups: Vec<GroupView>) -> Reply {
    groups.sort_by(|one, other| one.name.cmp(&other.name));
    Reply::Array(groups.iter().map(group).collect())
}

fn group(view: &GroupView) -> Reply {
    Reply::Map(vec![
        pair("name", Reply::Bulk(view.name.clone())),
        pair("consumers", shown(view.consumers)),
        pair("pending", shown(view.pending)),
        pair("last-delivered-id", ids::shown(view.last_delivered)),
        pair("entries-read", known(view.entries_read)),
        pair("lag", view.entries_lag.map_or(Reply::Null, Reply::Integer)),
    ])
}

fn full_group(full: &FullGroup) -> Reply {
    let view = &full.view;
    let pending = |held: &PendingView| {
        Reply::Array(vec![
            ids::shown(held.place),
            Reply::Bulk(held.consumer.clone()),
            instant(held.since),
            shown(held.redis_count),
        ])
    };
    Reply::Map(vec![
        pair("name", Reply::Bulk(view.name.clone())),
        pair("last-delivered-id", ids::shown(view.last_delivered)),
        pair("entries-read", known(view.entries_read)),
        pair("lag", view.entries_lag.map_or(Reply::Null, Reply::Integer)),
        pair("pel-count", shown(view.pending)),
        pair("pending", Reply::Array(full.pending.iter().map(pending).collect())),
        pair("consumers", Reply::Array(full.consumers.iter().map(full_consumer).collect())),
    ])
}

fn full_consumer(full: &FullConsumer) -> Reply {
    let view = &full.view;
    let pending = |held: &PendingView| {
        Reply::Array(vec![ids::shown(held.place), instant(held.since), shown(held.redis_count)])
    };
    Reply::Map(vec![
        pair("name", Reply::Bulk(view.name.clone())),
        pair("seen-time", instant(view.seen_at)),
        pair("active-time", view.active_at.map_or(Reply::Integer(-1), instant)),
        pair("pel-count", shown(view.pending)),
        pair("pending", Reply::Array(full.pending.iter().map(pending).collect())),
    ])
}

/// The consumers of a group.
pub(super) fn consumers(consumers: &[ConsumerView]) -> Reply {
    Reply::Array(consumers.iter().map(consumer).collect())
}

fn consumer(view: &ConsumerView) -> Reply {
    let ago = |at: Timestamp| (view.now.as_ms() - at.as_ms()).max(0);
    Reply::Map(vec![
        pair("name", Reply::Bulk(view.name.clone())),
        pair("pending", shown(view.pending)),
        pair("idle", Reply::Integer(ago(view.seen_at))),
        pair("inactive", Reply::Integer(view.active_at.map_or(-1, ago))),
    ])
}

fn pair(name: &'static str, value: Reply) -> (Reply, Reply) {
    (Reply::bulk(name), value)
}

fn known(count: Option<u64>) -> Reply {
    count.map_or(Reply::Null, shown)
}

fn instant(at: Timestamp) -> Reply {
    Reply::Integer(at.as_ms())
}
