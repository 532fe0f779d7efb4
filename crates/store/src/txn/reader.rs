//! What the readers of a stream do with its entries by their places, as the Redis door asks for it.
//!
//! Lives here: these ops. Not here: claims of what is due (`txn.rs`), entries of the stream itself
//! (`txn/entries.rs`).

use bytes::Bytes;
use naven_api::{ErrorText, Timestamp};
pub use naven_core::GivingUp;

use super::{Place, References};
use crate::queue::QueueRef;

/// What a reader asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderOp {
    /// Entries that the queue has not handed out, or what the consumer holds (`XREADGROUP`).
    Read(ReadGroup),
    /// Finished, without proof of a hold (`XACK`, `XACKDEL`).
    Ack(AckEntries),
    /// Given up, without proof of a hold (`XNACK`).
    Nack(NackEntries),
    /// Named entries go over to a consumer (`XCLAIM`).
    Transfer(Transfer),
    /// Idle entries go over to a consumer, in order (`XAUTOCLAIM`).
    ScanTransfer(ScanTransfer),
}

/// Reads for one consumer from one or more queues. Where one of them is not there, nothing is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadGroup {
    /// For whom. It is made in each queue where it is not there.
    pub consumer: Bytes,
    /// Most entries from each queue; none: no bound but `max_bytes`.
    pub count: Option<u64>,
    /// Most bytes of content from each queue; the first entry is read whatever its size.
    pub max_bytes: u64,
    /// True where what is handed out counts as done at once.
    pub no_ack: bool,
    /// Before anything new: pending entries that were idle for so long, in ms, whoever held them.
    pub idle_ms: Option<u64>,
    /// From where.
    pub from: Vec<GroupFrom>,
}

/// One queue that is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFrom {
    /// Which.
    pub queue: QueueRef,
    /// Behind this place among what the consumer holds; none: what the queue has not handed out.
    pub after: Option<Place>,
}

/// Finish what a Redis consumer holds, or nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckEntries {
    /// In which queue.
    pub queue: QueueRef,
    /// Which. A place may come twice: the second one is missing by then.
    pub places: Vec<Place>,
    /// Where the entries are to leave their stream as well, and what becomes of other queues' dealing.
    pub delete: Option<References>,
}

/// Give up what a Redis consumer holds, or nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NackEntries {
    /// In which queue.
    pub queue: QueueRef,
    /// Which.
    pub places: Vec<Place>,
    /// How.
    pub how: GivingUp,
    /// How long until they are due again; none: by the queue's backoff where it failed, at once else.
    pub delay_ms: Option<u64>,
    /// What went wrong.
    pub error: Option<ErrorText>,
    /// Redis' delivery counter is set to this.
    pub redis_count: Option<u64>,
}

/// Take over named entries from another consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// In which queue.
    pub queue: QueueRef,
    /// To whom. It is made where it is not there.
    pub consumer: Bytes,
    /// Only entries idle for so long, in ms.
    pub min_idle_ms: u64,
    /// Which.
    pub places: Vec<Place>,
    /// True where only the owner changes (`JUSTID`): no attempt and no delivery is counted, and no content
    /// is answered.
    pub just_id: bool,
    /// True where entries that nobody holds are made pending (`FORCE`).
    pub force: bool,
    /// Since when they count as held; none: now.
    pub since: Option<Since>,
    /// Redis' delivery counter is set to this.
    pub redis_count: Option<u64>,
    /// The queue counts as having handed out everything up to here, if that is further than it is (`LASTID`).
    pub last: Option<Place>,
}

/// Since when something counts as held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// For so long already, in ms.
    Idle(u64),
    /// Since this instant; one ahead is now.
    At(Timestamp),
}

/// Take over idle entries in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanTransfer {
    /// In which queue.
    pub queue: QueueRef,
    /// To whom. It is made where it is not there.
    pub consumer: Bytes,
    /// Only entries idle for so long, in ms.
    pub min_idle_ms: u64,
    /// From this place on.
    pub start: Place,
    /// Most entries taken over or found deleted.
    pub count: u64,
    /// Most bytes of content; the first entry is taken whatever its size.
    pub max_bytes: u64,
    /// True where only the owner changes (`JUSTID`).
    pub just_id: bool,
}
