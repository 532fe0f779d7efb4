//! The search for batches that lie beyond an invalid one.
//!
//! Lives here: finding every valid batch in the rest of a segment, in time that does not depend on
//! what is in it. Not here: what they prove (`tail.rs`).
//!
//! A payload may be full of bytes that look like headers of long batches. To check each by reading
//! its bytes would take hours, so the checksum of any stretch is computed from the checksums of the
//! two beginnings that end where it does and where it starts: one pass reads each byte once.

use super::batch::{BATCH_ALIGN, Lsn, Parsed, Seed, UNCHECKED_BYTES};
use super::window::Window;
use crate::embedded::disk::DiskResult;

/// A valid batch that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) offset: u64,
    pub(super) end: u64,
    pub(super) lsn: Lsn,
    pub(super) durable_upto: Lsn,
}

/// What looks like a batch.
struct Candidate {
    stray: Stray,
    /// Bytes that its checksum covers.
    covered: (u64, u64),
    crc: u32,
}

/// What lies beyond an invalid batch.
pub(super) struct Beyond {
    /// Every valid batch, by offset.
    pub(super) valid: Vec<Stray>,
    /// Where the last of everything ends that looks like a batch, valid or torn.
    pub(super) end: u64,
}

/// Looks at everything at or after `from` that has an LSN of at least `least`: bytes of a segment's
/// earlier life have lower ones.
pub(super) fn look_beyond(
    window: &mut Window<'_>,
    len: u64,
    seed: Seed,
    from: u64,
    least: Lsn,
) -> DiskResult<Beyond> {
    let candidates = candidates(window, len, from, least)?;
    let mut marks: Vec<u64> =
        candidates.iter().flat_map(|candidate| [candidate.covered.0, candidate.covered.1]).collect();
    marks.sort_unstable();
    marks.dedup();
    let sums = checksums_up_to(window, from, &marks)?;
    let sum_at = |offset| marks.binary_search(&offset).map(|at| sums[at]).unwrap_or_default();
    let is_valid = |candidate: &&Candidate| {
        let (start, end) = candidate.covered;
        let covered = usize::try_from(end - start).expect("a batch is at most 18 MiB");
        // The checksum is linear: seeded(stretch) = shift(seed ^ sum(start)) ^ sum(end).
        crc32c::crc32c_combine(seed.0 ^ sum_at(start), sum_at(end), covered) == candidate.crc
    };
    let end = candidates.iter().map(|candidate| candidate.stray.end).max().unwrap_or(from);
    Ok(Beyond { valid: candidates.iter().filter(is_valid).map(|candidate| candidate.stray).collect(), end })
}

fn candidates(window: &mut Window<'_>, len: u64, from: u64, least: Lsn) -> DiskResult<Vec<Candidate>> {
    let mut found = Vec::new();
    let mut offset = from.next_multiple_of(BATCH_ALIGN);
    while offset < len {
        if let Parsed::Header(header) = window.header(offset)? {
            let end = offset + header.padded_bytes();
            if end <= len && header.lsn >= least {
                let covered = (offset + UNCHECKED_BYTES as u64, offset + header.len as u64);
                let stray = Stray { offset, end, lsn: header.lsn, durable_upto: header.durable_upto };
                found.push(Candidate { stray, covered, crc: header.crc });
            }
        }
        offset += BATCH_ALIGN;
    }
    Ok(found)
}

/// The checksum, without a seed, of the bytes from `from` up to each mark.
fn checksums_up_to(window: &mut Window<'_>, from: u64, marks: &[u64]) -> DiskResult<Vec<u32>> {
    const STEP: u64 = 64 << 10;
    let (mut at, mut sum) = (from, 0);
    let mut sums = Vec::with_capacity(marks.len());
    for mark in marks {
        while at < *mark {
            let piece = usize::try_from((mark - at).min(STEP)).expect("a step fits");
            let bytes = window.bytes(at, piece)?.expect("marks lie inside the segment");
            sum = crc32c::crc32c_append(sum, bytes);
            at += piece as u64;
        }
        sums.push(sum);
    }
    Ok(sums)
}
