//! How large the answers to a call may be.
//!
//! Lives here: the most bytes of content that ops may be answered with, and the room for them. Not here: the room
//! itself (`room.rs` of the crate).

use naven_api::limits::REDIS_REPLY_BYTES_MAX;
use naven_store::read::Read;
use naven_store::txn::{Op, OpKind, ReaderOp};

use super::frame::Reply;
use crate::node::Node;
use crate::room::Taken;

/// Room for the answers to `ops`.
///
/// # Errors
/// The reply, where others have not read theirs for too long.
pub(super) async fn room_for<'a>(node: &Node, ops: impl IntoIterator<Item = &'a Op>) -> Result<Taken, Reply> {
    let most = ops.into_iter().map(|op| most_bytes(&op.kind, node.limits.payload_bytes as u64));
    let most = most.fold(0, u64::saturating_add).min(REDIS_REPLY_BYTES_MAX);
    let taken =
        node.answer_room.take(usize::try_from(most).unwrap_or(usize::MAX), node.patience.body_idle).await;
    taken.ok_or_else(|| {
        Reply::error("TRYAGAIN large replies that nobody has read yet take all the room; nothing was done")
    })
}

/// The most bytes of content in the answer to `kind`, where an entry has `entry_bytes` at most.
fn most_bytes(kind: &OpKind, entry_bytes: u64) -> u64 {
    let of = |entries: u64| entries.saturating_mul(entry_bytes);
    match kind {
        OpKind::Read(Read::Entries { limit, max_bytes, payload: true, .. }) => {
            of(u64::from(*limit)).min(*max_bytes)
        }
        OpKind::Read(Read::StreamDetail { full, .. }) => {
            of(full.map_or(2, |full| if full == 0 { 20_000 } else { full }))
        }
        OpKind::Reader(ReaderOp::Read(read)) => {
            let each = read.count.map_or(u64::MAX, of).min(read.max_bytes);
            each.saturating_mul(read.from.len() as u64)
        }
        OpKind::Reader(ReaderOp::Transfer(transfer)) if !transfer.just_id => of(transfer.places.len() as u64),
        OpKind::Reader(ReaderOp::ScanTransfer(scan)) if !scan.just_id => of(scan.count).min(scan.max_bytes),
        _ => 0,
    }
}
