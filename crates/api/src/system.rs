//! What the server says of itself and of its caller.
//!
//! Lives here: `/v1/me`, `/v1/system` and the health checks. Not here: metrics.

use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::time::Timestamp;

/// The key that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MeReply {
    /// Its id.
    pub key_id: KeyId,
    /// Its unique name.
    pub name: String,
    /// What it may do: `produce`, `consume`, `read`, `admin`.
    pub scopes: Vec<String>,
    /// Which queues and streams it reaches; `*` at the end stands for any ending.
    pub queues: Vec<String>,
    /// When it ends; null: never.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub expires_at: Option<Timestamp>,
}

/// The server's own figures and limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SystemReply {
    /// The version of the server.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// Its wall clock now.
    pub now: Timestamp,
    /// True once it shuts down.
    pub draining: bool,
    /// Where events are kept.
    pub engine: EngineReply,
    /// Claims that wait now.
    pub waiters: WaitersReply,
    /// Open connections.
    pub connections: u64,
    /// Its limits.
    pub limits: LimitsReply,
}

/// The nodes that serve this store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodesReply {
    /// Each of them; with an engine that one process owns, the one that answers.
    pub items: Vec<NodeReply>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeReply {
    /// True for the one that answers.
    pub answers: bool,
    /// Its version.
    pub version: String,
    /// When its process started.
    pub started_at: Timestamp,
    /// True once it shuts down.
    pub draining: bool,
    /// Claims that wait on it now.
    pub waiters: WaitersReply,
    /// Its open connections.
    pub connections: u64,
}

/// The engine's own figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EngineReply {
    /// `embedded`, `memory`.
    pub name: String,
    /// `synced` where an answered write is on disk, `memory` where it is not.
    pub durability: String,
    /// Queues.
    pub queues: u64,
    /// Bytes that its files take.
    pub disk_bytes: u64,
    /// Bytes of a torn tail that were cut at the last start.
    pub cut_bytes: u64,
}

/// Claims that wait now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WaitersReply {
    /// How many claims.
    pub claims: u64,
    /// On how many queues.
    pub queues: u64,
}

/// The limits of this server; those with a unit carry it in their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitsReply {
    /// Largest payload.
    pub payload_bytes: u64,
    /// Deepest nesting of a payload.
    pub payload_depth: u64,
    /// Largest request body.
    pub request_bytes: u64,
    /// Most items of a batch.
    pub batch_items: u64,
    /// Most events of one claim.
    pub claim_events: u64,
    /// Longest lease.
    pub lease_seconds: u64,
    /// Longest wait of a claim.
    pub wait_seconds: u64,
    /// Longest delay.
    pub delay_seconds: u64,
    /// Most headers of an event.
    pub headers: u64,
    /// Longest name or text of a header.
    pub header_bytes: u64,
    /// Longest error text that is kept.
    pub error_bytes: u64,
    /// Longest name of a stream.
    pub stream_name_bytes: u64,
    /// Longest `dedupeKey`.
    pub dedupe_key_bytes: u64,
    /// Longest time for which one is remembered.
    pub dedupe_window_seconds: u64,
    /// Longest `Idempotency-Key`.
    pub idempotency_key_bytes: u64,
    /// How long one is remembered.
    pub idempotency_seconds: u64,
    /// Most waiting claims of this node.
    pub waiters_per_node: u64,
    /// Most waiting claims of one key.
    pub waiters_per_key: u64,
    /// Most connections of the HTTP door.
    pub connections: u64,
}

/// A health check's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HealthReply {
    /// `up`, `ready`.
    pub status: String,
}
