//! What the server says of itself and of its caller.
//!
//! Lives here: the handlers of me, system and its nodes. Not here: health checks (`health.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use naven_api::limits;
use naven_api::system::{EngineReply, LimitsReply, MeReply, NodeReply, NodesReply, SystemReply};
use naven_store::Durability;
use naven_store::read::{Page, Read};

use super::answer::{Reply, ok};
use super::query::Query;
use crate::auth::{Caller, Scope, Thing};
use crate::node::{Node, odd_page};

/// `GET /v1/me`: the key that asks.
pub(super) async fn me(caller: Caller, query: Query) -> Reply {
    query.end()?;
    let key = caller.key();
    ok(&MeReply {
        key_id: key.id,
        name: key.name.clone(),
        scopes: key.scopes.clone(),
        queues: key.queues.clone(),
        expires_at: key.expires_at,
    })
}

/// `GET /v1/system`: figures and limits.
pub(super) async fn system(State(node): State<Arc<Node>>, caller: Caller, query: Query) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    query.end()?;
    let figures = match node.engine.read(Read::System).await? {
        Page::System(figures) => figures,
        other => {
            return Err(odd_page(&other));
        }
    };
    let caps = node.engine.caps();
    let durability = match caps.durability {
        Durability::Synced => "synced",
        Durability::Memory => "memory",
    };
    ok(&SystemReply {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: node.started_at,
        now: node.clock.wall(),
        draining: node.is_draining(),
        engine: EngineReply {
            name: caps.name.to_owned(),
            durability: durability.to_owned(),
            queues: figures.queues,
            disk_bytes: figures.disk_bytes,
            cut_bytes: figures.cut_bytes,
        },
        waiters: node.waits.counts(),
        connections: node.connections.load(Ordering::Relaxed) as u64,
        limits: shown_limits(&node),
    })
}

/// `GET /v1/system/nodes`: the nodes of this store.
pub(super) async fn nodes(State(node): State<Arc<Node>>, caller: Caller, query: Query) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    query.end()?;
    let own = NodeReply {
        answers: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: node.started_at,
        draining: node.is_draining(),
        waiters: node.waits.counts(),
        connections: node.connections.load(Ordering::Relaxed) as u64,
    };
    ok(&NodesReply { items: vec![own] })
}

fn shown_limits(node: &Node) -> LimitsReply {
    let own = node.limits;
    LimitsReply {
        payload_bytes: own.payload_bytes as u64,
        payload_depth: limits::PAYLOAD_DEPTH_MAX as u64,
        request_bytes: own.request_bytes as u64,
        batch_items: limits::BATCH_ITEMS_MAX as u64,
        claim_events: u64::from(limits::CLAIM_EVENTS_MAX),
        lease_seconds: u64::from(limits::LEASE_SECONDS_MAX),
        wait_seconds: u64::from(limits::WAIT_SECONDS_MAX),
        delay_seconds: u64::from(limits::DELAY_SECONDS_MAX),
        headers: limits::HEADERS_MAX as u64,
        header_bytes: limits::HEADER_BYTES_MAX as u64,
        error_bytes: limits::ERROR_BYTES_MAX as u64,
        stream_name_bytes: limits::STREAM_NAME_BYTES_MAX as u64,
        dedupe_key_bytes: limits::DEDUPE_KEY_BYTES_MAX as u64,
        dedupe_window_seconds: u64::from(limits::DEDUPE_WINDOW_SECONDS_MAX),
        idempotency_key_bytes: limits::IDEMPOTENCY_KEY_BYTES_MAX as u64,
        idempotency_seconds: u64::from(limits::IDEMPOTENCY_SECONDS),
        waiters_per_node: own.waiters_per_node as u64,
        waiters_per_key: own.waiters_per_key as u64,
        connections: own.connections as u64,
    }
}
