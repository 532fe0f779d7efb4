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
    let longest = candidates.iter().map(|candidate| candidate.covered.1 - candidate.covered.0).max();
    let shifts = Shifts::new(longest.unwrap_or(0));
    let sum_at = |offset| marks.binary_search(&offset).map(|at| sums[at]).unwrap_or_default();
    let is_valid = |candidate: &&Candidate| {
        let (start, end) = candidate.covered;
        // The checksum is linear: seeded(stretch) = shift(seed ^ sum(start)) ^ sum(end).
        shifts.shift(seed.0 ^ sum_at(start), end - start) ^ sum_at(end) == candidate.crc
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

/// What so many zero bytes make of a checksum, for every power of two: linear over its bits.
struct Shifts(Vec<[u32; 32]>);

impl Shifts {
    /// For stretches of up to `longest` bytes.
    fn new(longest: u64) -> Self {
        let power = |log: u32| std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, 1 << log));
        Self((0..u64::BITS - longest.leading_zeros()).map(power).collect())
    }

    fn shift(&self, sum: u32, bytes: u64) -> u32 {
        let powers = self.0.iter().enumerate().filter(|(log, _)| bytes >> log & 1 == 1);
        powers.fold(sum, |sum, (_, power)| {
            let bits = power.iter().enumerate().filter(|(bit, _)| sum >> bit & 1 == 1);
            bits.fold(0, |shifted, (_, of_bit)| shifted ^ of_bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use naven_api::Timestamp;
    use naven_core::LeaseTime;

    use super::*;
    use crate::embedded::disk::{Disk, MemDisk, Site};
    use crate::embedded::log::batch::{Batch, BatchKind, Proof};
    use crate::embedded::log::segment::SegmentNumber;
    use crate::embedded::log::window::Found;
    use crate::embedded::meta::StoreId;

    const STORE: StoreId = StoreId([3; 16]);

    fn put(bytes: &mut [u8], offset: usize, lsn: Lsn, payload: Vec<u8>, seed: Seed) -> usize {
        let (wall, lease) = (Timestamp::from_ms(0), LeaseTime::from_ms(0));
        let batch = Batch { kind: BatchKind::Data, lsn, count: 1, wall, lease, payload };
        let mut encoded = Vec::new();
        batch.encode(seed, Proof { durable_upto: lsn - 1, key_epoch: 1 }, &mut encoded);
        bytes[offset..offset + encoded.len()].copy_from_slice(&encoded);
        offset + encoded.len()
    }

    fn scan(bytes: &[u8], from: u64, least: Lsn) -> (Beyond, Vec<u64>) {
        let disk = MemDisk::new();
        let file = disk.create(Site("test"), "file", 0).unwrap();
        file.write_at(Site("test"), 0, bytes).unwrap();
        let len = bytes.len() as u64;
        let seed = Seed::of(STORE, SegmentNumber(5));
        let beyond = look_beyond(&mut Window::new(&*file, len), len, seed, from, least).unwrap();
        let mut window = Window::new(&*file, len);
        let one_by_one = (from..len).step_by(64).filter(|offset| {
            matches!(window.batch(*offset, seed).unwrap(), Found::Batch(header, _) if header.lsn >= least)
        });
        let one_by_one = one_by_one.collect();
        (beyond, one_by_one)
    }

    #[test]
    fn the_search_of_a_log_finds_the_batches_that_reading_each_would_find() {
        let seed = Seed::of(STORE, SegmentNumber(5));
        let other = Seed::of(STORE, SegmentNumber(4));
        let mut bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        let mut at = 64;
        for lsn in 10..60 {
            let payload = vec![lsn as u8; (lsn as usize * 7_919) % 40_000];
            at = put(&mut bytes, at, lsn, payload, if lsn % 5 == 0 { other } else { seed });
            if lsn % 7 == 0 {
                bytes[at - 70] ^= 1;
            }
        }
        for (from, least) in [(0, 1), (64, 10), (128, 30), (at as u64 / 128 * 64, 1)] {
            let (beyond, one_by_one) = scan(&bytes, from, least);
            let found: Vec<u64> = beyond.valid.iter().map(|stray| stray.offset).collect();
            assert_eq!(found, one_by_one);
            assert!(found.len() > 5);
        }
    }

    #[test]
    fn the_search_of_a_log_reads_a_payload_full_of_false_headers_once() {
        let seed = Seed::of(STORE, SegmentNumber(5));
        let mut bytes = vec![0; 4 << 20];
        let mut header = vec![0; 64];
        put(&mut header, 0, 99, Vec::new(), seed);
        for (at, place) in bytes.chunks_mut(64).enumerate() {
            place.copy_from_slice(&header);
            // Each claims all that follows: a checksum for each would read 128 GiB.
            let len = (4 << 20) - at * 64;
            place[..4].copy_from_slice(&(len as u32).to_le_bytes());
        }
        let end = bytes.len() - 64;
        put(&mut bytes, end, 100, Vec::new(), seed);
        let disk = MemDisk::new();
        let file = disk.create(Site("test"), "file", 0).unwrap();
        file.write_at(Site("test"), 0, &bytes).unwrap();
        let len = bytes.len() as u64;
        let beyond = look_beyond(&mut Window::new(&*file, len), len, seed, 0, 1).unwrap();
        assert_eq!(beyond.valid.iter().map(|stray| stray.offset).collect::<Vec<_>>(), [end as u64]);
        assert!(disk.sites()[&super::super::window::READ] < 20, "it was read more than twice");
    }
}
