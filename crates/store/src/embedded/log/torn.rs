//! Planted bugs at the end of the log.
//!
//! Lives here: what they make of a torn batch. Not here: what is made of one in truth (`recover.rs`,
//! `tail.rs`).

use naven_core::planted::{Bug, has};

use super::batch::{BatchHeader, BatchKind, HEADER_BYTES, Lsn, Parsed, Seed};
use super::window::{Found, Window};
use crate::embedded::disk::DiskResult;

/// The batch of this LSN, whatever its checksum says.
pub(super) fn accepted<'w>(
    window: &'w mut Window<'_>,
    offset: u64,
    lsn: Lsn,
) -> DiskResult<Option<(BatchHeader, &'w [u8])>> {
    if !has(Bug::TornTailAccepted) {
        return Ok(None);
    }
    let header = match window.header(offset)? {
        Parsed::Header(header) if header.lsn == lsn => header,
        Parsed::Header(_) | Parsed::Newer { .. } | Parsed::Not => return Ok(None),
    };
    let bytes = window.bytes(offset, header.len)?;
    Ok(bytes.map(|bytes| (header, &bytes[HEADER_BYTES..])))
}

/// True where a whole batch is cut off together with the torn one behind it.
pub(super) fn cuts_early(window: &mut Window<'_>, offset: u64, seed: Seed) -> DiskResult<bool> {
    if !has(Bug::TailCutEarly) {
        return Ok(false);
    }
    let Found::Batch(header, _) = window.batch(offset, seed)? else { return Ok(false) };
    let behind = offset + header.padded_bytes();
    let is_begun = match window.header(behind)? {
        Parsed::Header(next) => header.kind == BatchKind::Data && next.lsn == header.next_lsn(),
        Parsed::Newer { .. } | Parsed::Not => false,
    };
    Ok(is_begun && matches!(window.batch(behind, seed)?, Found::Nothing))
}
