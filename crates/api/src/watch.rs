//! Watching a queue: figures over time, who holds and waits, and changes as they happen.
//!
//! Lives here: the answers. Not here: the queue's own picture (`queue.rs`).

use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::time::Timestamp;

/// What happened in a queue over time, as this node has recorded it since its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatsReply {
    /// When the first point begins: `from`, rounded down to a step.
    pub from: Timestamp,
    /// When the last point ends.
    pub to: Timestamp,
    /// The length of a point, in seconds.
    pub step_seconds: u32,
    /// Since when this node has recorded this queue: its own start, or later where it let go of figures.
    pub recorded_since: Timestamp,
    /// False where the points begin before that, or where the node could not keep up with all changes.
    pub complete: bool,
    /// One for each step, the earliest first.
    pub points: Vec<StatsPoint>,
}

/// What happened within one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatsPoint {
    /// When it begins.
    pub at: Timestamp,
    /// Events published.
    pub enqueued: u64,
    /// Deliveries to a holder.
    pub delivered: u64,
    /// Finished.
    pub acked: u64,
    /// Failed or given back by their holders, `released` among them.
    pub nacked: u64,
    /// Given back by their holders without using up an attempt.
    pub released: u64,
    /// Holds that ran out of time.
    pub expired: u64,
    /// Dead, whatever of.
    pub dead: u64,
    /// Called off.
    pub cancelled: u64,
    /// Dead ones brought back.
    pub redriven: u64,
    /// How long events were due before they were delivered; null where none was.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub wait_ms: Option<PercentilesReply>,
    /// How long holds lasted that ended; null where none did.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub run_ms: Option<PercentilesReply>,
    /// Deliveries at the end that are ready, scheduled, retrying or held; null where that is not known.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub depth: Option<u64>,
    /// For how long the oldest ready event was due at the end, in seconds; null where none was.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub oldest_ready_age_seconds: Option<u64>,
}

/// Times below which one half, 95 % and 99 % of all lie, in ms, to within 10 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PercentilesReply {
    /// One half.
    pub p50: u64,
    /// 95 %.
    pub p95: u64,
    /// 99 %.
    pub p99: u64,
}

/// Who holds events of a queue or waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsumersReply {
    /// The consumers, those that hold most first: at most 1,000.
    pub items: Vec<ConsumerReply>,
    /// True where there are more consumers, or more than 20,000 holds, which is how many are looked at.
    pub truncated: bool,
}

/// One consumer, or all that did not name themselves and came from one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsumerReply {
    /// As it named itself; null where it did not.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// `http` or `redis`.
    pub kind: String,
    /// From where it last claimed on this node; null where it did not in the last 15 minutes.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub address: Option<String>,
    /// The program that it said it was (`User-Agent`), cut at 256 bytes.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub client: Option<String>,
    /// Its claims that wait on this node now.
    pub waiting: u64,
    /// Deliveries that it has now.
    pub in_flight: u64,
    /// When the oldest of these began.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub oldest_lease_at: Option<Timestamp>,
    /// When it last asked this node for events; now, where it waits.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_seen_at: Option<Timestamp>,
    /// When it was last given some by this node.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_claim_at: Option<Timestamp>,
}

/// One change of a delivery: the data of an event of a tail. Never a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeReply {
    /// Of which event.
    pub event_id: EventId,
    /// What happened: `published`, `due`, `claimed`, `acked`, `failed`, `released`, `givenBack`, `expired`,
    /// `revived`, `dead`, `cancelRequested`, `cancelled`, `redriven` or `discarded`.
    pub kind: String,
    /// The state before; null for one that was just published.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub from: Option<String>,
    /// The state now.
    pub to: String,
    /// When.
    pub at: Timestamp,
    /// Attempts so far.
    pub attempt_count: u32,
    /// Who took it or had it, as it named itself.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub consumer_id: Option<String>,
    /// Of a claim: how long the event was due before.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub wait_ms: Option<u64>,
    /// Of the end of a hold: how long that lasted.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub run_ms: Option<u64>,
}
