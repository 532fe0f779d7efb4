//! Taking entries over from other consumers, as the Redis door asks for it.
//!
//! Lives here: the two ways. Not here: claims of what is due (`txn.rs`).

use bytes::Bytes;

use super::Place;
use crate::queue::QueueRef;

/// Take over named entries from another consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// In which queue.
    pub queue: QueueRef,
    /// To whom.
    pub consumer: Bytes,
    /// Only entries idle for so long, in ms.
    pub min_idle_ms: u64,
    /// Which.
    pub places: Vec<Place>,
    /// True where only the owner changes (`JUSTID`).
    pub just_id: bool,
    /// True where entries that nobody holds are made pending (`FORCE`).
    pub force: bool,
    /// Redis' delivery counter is set to this.
    pub redis_count: Option<u64>,
}

/// Take over idle entries in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanTransfer {
    /// In which queue.
    pub queue: QueueRef,
    /// To whom.
    pub consumer: Bytes,
    /// Only entries idle for so long, in ms.
    pub min_idle_ms: u64,
    /// From this place on.
    pub start: Place,
    /// Most entries looked at.
    pub count: u32,
    /// True where only the owner changes (`JUSTID`).
    pub just_id: bool,
}
