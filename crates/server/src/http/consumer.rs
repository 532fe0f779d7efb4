//! Who holds a queue's events, and who waits for them.
//!
//! Lives here: the handler of consumers, and who a claim's sender is. Not here: finding holds (the
//! engine) and remembering claimers (`claimers.rs`).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use http::header::USER_AGENT;
use http::request::Parts;
use naven_api::limits::CONSUMERS_SHOWN_MAX;
use naven_api::watch::{ConsumerReply, ConsumersReply};
use naven_store::queue::QueueRef;
use naven_store::read::{Holder, HolderKind, Page, QueueView, Read};

use super::answer::{Reply, ok};
use super::caller_address::caller_address;
use super::extract::QueueInPath;
use super::query::Query;
use crate::auth::{Caller, Scope};
use crate::claimers::{Claimer, Who};
use crate::failure::Failure;
use crate::node::{Node, odd_page};

/// Who sent a request: its address, and the program that it says it is.
pub(super) struct Sender {
    pub(super) address: Option<IpAddr>,
    pub(super) client: Option<String>,
}

impl FromRequestParts<Arc<Node>> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Node>) -> Result<Self, Infallible> {
        let client = parts.headers.get(USER_AGENT);
        let client = client.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
        Ok(Self { address: caller_address(parts), client })
    }
}

/// `GET /v1/event-queues/{queue}/consumers`: who holds its events, and who has asked this node for some in
/// the last 15 minutes.
pub(super) async fn consumers(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    query: Query,
) -> Reply {
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    let view = node.queue(queue).await?;
    query.end()?;
    ok(&of_queue(&node, view).await?)
}

/// The consumers of a queue.
pub(super) async fn of_queue(node: &Node, view: QueueView) -> Result<ConsumersReply, Failure> {
    let holders = match node.engine.read(Read::Holders(QueueRef::Id(view.id))).await? {
        Page::Holders(holders) => holders,
        other => return Err(odd_page(&other)),
    };
    let claimers = node.claimers.of(&[QueueRef::Id(view.id), QueueRef::Name(view.name)]);
    let mut items = merged(holders.items, claimers);
    items.sort_by_key(|item| {
        (std::cmp::Reverse((item.in_flight, item.waiting)), item.consumer_id.clone(), item.address.clone())
    });
    let truncated = holders.truncated || items.len() > CONSUMERS_SHOWN_MAX;
    items.truncate(CONSUMERS_SHOWN_MAX);
    Ok(ConsumersReply { items, truncated })
}

/// Holders and claimers, those of one name as one.
fn merged(holders: Vec<Holder>, claimers: Vec<(Who, Claimer)>) -> Vec<ConsumerReply> {
    let mut items = BTreeMap::new();
    for holder in holders {
        let key = (holder.kind, holder.name.clone(), None);
        items.insert(key, held_by(holder));
    }
    for (who, claimer) in claimers {
        let (name, at) = match who {
            Who::Named(name) => (Some(name.to_string()), None),
            Who::At(address) => (None, address),
        };
        let key = (HolderKind::Http, name.clone(), at);
        let item = items
            .entry(key)
            .or_insert_with(|| held_by(Holder { kind: HolderKind::Http, name, held: 0, oldest: None }));
        item.address = claimer.address.map(|address| address.to_string());
        item.client = claimer.client.as_deref().map(str::to_owned);
        // A queue may be called by its name and by its id.
        item.waiting += claimer.waiting;
        item.last_seen_at = item.last_seen_at.max(Some(claimer.last_seen));
        item.last_claim_at = item.last_claim_at.max(claimer.last_claim);
    }
    items.into_values().collect()
}

fn held_by(holder: Holder) -> ConsumerReply {
    ConsumerReply {
        consumer_id: holder.name,
        kind: holder.kind.as_str().to_owned(),
        address: None,
        client: None,
        waiting: 0,
        in_flight: holder.held,
        oldest_lease_at: holder.oldest,
        last_seen_at: None,
        last_claim_at: None,
    }
}
