//! A batch: what is written in one piece, under one checksum, with one reading of the clocks.
//!
//! Lives here: the header, its bytes, and the numbering. Not here: what the payload means (the
//! engine), and where batches go (`segment.rs`, `append.rs`).
//!
//! Little endian: `len u32 | crc u32 | format u16 | kind u16 | count u32 | lsn u64 |
//! durable_upto u64 | wall_ms i64 | lease_ms i64 | key_epoch u32 | payload`, then zeros up to a
//! multiple of 64. `len` counts header and payload. The checksum (crc32c) covers all that follows
//! it up to `len`, and is seeded with the store's id and the segment's number, so that bytes of
//! another store, or of this segment file's earlier life, never pass for a batch.

use naven_api::{Timestamp, limits};
use naven_core::LeaseTime;

use super::segment::SegmentNumber;
use crate::embedded::meta::StoreId;

/// The newest format of a batch.
pub const BATCH_FORMAT: u16 = 1;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 52;
/// Batches begin at multiples of this: a search for later batches has few places to look at.
pub const BATCH_ALIGN: u64 = 64;
/// Longest batch with its header, in bytes: the largest transaction, and what was in the batch
/// before it came.
pub const BATCH_BYTES_MAX: usize = limits::TXN_BYTES_MAX + (2 << 20);
/// Bytes before what the checksum covers.
pub(super) const UNCHECKED_BYTES: usize = 8;

/// A place in the order of everything that was ever logged. The first is 1; 0 is before it.
pub type Lsn = u64;
/// The first place.
pub const FIRST_LSN: Lsn = 1;

/// What a batch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    /// It carries transactions.
    Data,
    /// It carries only its clocks, so that the lease clock resumes near where it stood.
    Tick,
    /// The last of its segment; it names the next.
    Roll,
    /// The log was closed on purpose: nothing before this can be an unfinished tail.
    Seal,
}

impl BatchKind {
    const fn code(self) -> u16 {
        match self {
            Self::Data => 1,
            Self::Tick => 2,
            Self::Roll => 3,
            Self::Seal => 4,
        }
    }

    const fn of_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Data),
            2 => Some(Self::Tick),
            3 => Some(Self::Roll),
            4 => Some(Self::Seal),
            _ => None,
        }
    }
}

/// What the log adds to a batch when it writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) durable_upto: Lsn,
    pub(super) key_epoch: u32,
}

/// What the log is asked to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// What it is for: callers write data and ticks.
    pub kind: BatchKind,
    /// The LSN of its first transaction. A batch without any takes a place of its own all the same,
    /// so that a lost tick can be told from one that was never written; only a roll takes none. The
    /// next batch begins at [`Batch::next_lsn`].
    pub lsn: Lsn,
    /// Its transactions: at least one in a data batch, none in others.
    pub count: u32,
    /// The wall clock when it was begun.
    pub wall: Timestamp,
    /// The lease clock when it was begun.
    pub lease: LeaseTime,
    /// Its transactions as bytes: at most `BATCH_BYTES_MAX` with the header.
    pub payload: Vec<u8>,
}

impl Batch {
    /// The LSN of whatever comes next.
    pub fn next_lsn(&self) -> Lsn {
        self.lsn + self.kind.places(self.count)
    }

    /// Bytes that it takes in a segment.
    pub(super) fn padded_bytes(&self) -> u64 {
        padded(HEADER_BYTES + self.payload.len())
    }

    /// Appends its bytes to `out`.
    pub(super) fn encode(&self, seed: Seed, proof: Proof, out: &mut Vec<u8>) {
        let start = out.len();
        let len = u32::try_from(HEADER_BYTES + self.payload.len()).expect("a batch is at most 18 MiB");
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&BATCH_FORMAT.to_le_bytes());
        out.extend_from_slice(&self.kind.code().to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.lsn.to_le_bytes());
        out.extend_from_slice(&proof.durable_upto.to_le_bytes());
        out.extend_from_slice(&self.wall.as_ms().to_le_bytes());
        out.extend_from_slice(&self.lease.as_ms().to_le_bytes());
        out.extend_from_slice(&proof.key_epoch.to_le_bytes());
        out.extend_from_slice(&self.payload);
        let crc = seed.checksum(&out[start + UNCHECKED_BYTES..]);
        out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        let padded = usize::try_from(self.padded_bytes()).expect("a batch is at most 18 MiB");
        out.resize(start + padded, 0);
    }
}

impl BatchKind {
    /// Numbers that it takes; a roll, written between batches that have theirs already, takes none.
    fn places(self, count: u32) -> u64 {
        match self {
            Self::Data | Self::Tick | Self::Seal => u64::from(count.max(1)),
            Self::Roll => 0,
        }
    }
}

/// `len` rounded up to where the next batch may begin.
pub(super) const fn padded(len: usize) -> u64 {
    (len as u64).next_multiple_of(BATCH_ALIGN)
}

/// What a batch says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// What it is for.
    pub kind: BatchKind,
    /// Its transactions.
    pub count: u32,
    /// The LSN of its first transaction, or its own where it has none.
    pub lsn: Lsn,
    /// When it was written, everything up to and including this LSN was durable.
    pub durable_upto: Lsn,
    /// The wall clock when it was begun.
    pub wall: Timestamp,
    /// The lease clock when it was begun.
    pub lease: LeaseTime,
    /// Which key its tokens were made with.
    pub key_epoch: u32,
    /// Header and payload, in bytes.
    pub(super) len: usize,
    pub(super) crc: u32,
}

impl BatchHeader {
    /// The LSN of whatever comes next.
    pub fn next_lsn(&self) -> Lsn {
        self.lsn.saturating_add(self.kind.places(self.count))
    }

    /// Bytes that it takes in its segment.
    pub(super) fn padded_bytes(&self) -> u64 {
        padded(self.len)
    }

    /// Reads a header, checking only what can be checked without the payload.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Parsed {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(four(bytes, at));
        let u64_at = |at: usize| u64::from_le_bytes(eight(bytes, at));
        let i64_at = |at: usize| i64::from_le_bytes(eight(bytes, at));
        let len = u32_at(0) as usize;
        let (format, count) = (u16_at(8), u32_at(12));
        if !(HEADER_BYTES..=BATCH_BYTES_MAX).contains(&len) || format == 0 {
            return Parsed::Not;
        }
        if format > BATCH_FORMAT {
            return Parsed::Newer { format, len, crc: u32_at(4) };
        }
        let Some(kind) = BatchKind::of_code(u16_at(10)) else { return Parsed::Not };
        let (lsn, durable_upto) = (u64_at(16), u64_at(24));
        if lsn < FIRST_LSN || durable_upto >= lsn || (kind == BatchKind::Data) != (count > 0) {
            return Parsed::Not;
        }
        let (wall, lease) = (Timestamp::from_ms(i64_at(32)), LeaseTime::from_ms(i64_at(40)));
        let (key_epoch, crc) = (u32_at(48), u32_at(4));
        Parsed::Header(Self { kind, count, lsn, durable_upto, wall, lease, key_epoch, len, crc })
    }
}

/// What 52 bytes may be.
pub(super) enum Parsed {
    /// No header of ours.
    Not,
    /// It may be one that a newer version wrote.
    Newer { format: u16, len: usize, crc: u32 },
    /// It may be one.
    Header(BatchHeader),
}

fn four(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

fn eight(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; 8] {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    out
}

/// What the checksums of one segment begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seed(pub(super) u32);

impl Seed {
    pub(super) fn of(store: StoreId, segment: SegmentNumber) -> Self {
        Self(crc32c::crc32c_append(crc32c::crc32c(&store.0), &segment.0.to_le_bytes()))
    }

    pub(super) fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(batch: &Batch) -> Vec<u8> {
        let mut bytes = Vec::new();
        let seed = Seed::of(StoreId([1; 16]), SegmentNumber(2));
        batch.encode(seed, Proof { durable_upto: 6, key_epoch: 9 }, &mut bytes);
        bytes
    }

    fn batch(kind: BatchKind, count: u32) -> Batch {
        let (wall, lease) = (Timestamp::from_ms(-1), LeaseTime::from_ms(i64::MAX));
        Batch { kind, lsn: 7, count, wall, lease, payload: vec![5; 100] }
    }

    #[test]
    fn a_log_header_is_read_as_it_was_written() {
        let bytes = encoded(&batch(BatchKind::Data, 3));
        assert_eq!(bytes.len(), 192);
        let Parsed::Header(header) = BatchHeader::parse(bytes.first_chunk().unwrap()) else {
            panic!("it is a header")
        };
        assert_eq!((header.kind, header.count, header.lsn, header.durable_upto), (BatchKind::Data, 3, 7, 6));
        assert_eq!((header.wall.as_ms(), header.lease.as_ms(), header.key_epoch), (-1, i64::MAX, 9));
        assert_eq!((header.next_lsn(), header.len, header.padded_bytes()), (10, 152, 192));
    }

    #[test]
    fn a_batch_of_the_log_without_transactions_takes_a_place_but_a_roll_takes_none() {
        let next = |kind| batch(kind, 0).next_lsn();
        assert_eq!([BatchKind::Tick, BatchKind::Seal, BatchKind::Roll].map(next), [8, 8, 7]);
    }

    #[test]
    fn a_log_header_that_contradicts_itself_is_none() {
        let whole = encoded(&batch(BatchKind::Data, 3));
        let parse_with = |at: usize, value: &[u8]| {
            let mut bytes = whole.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            matches!(BatchHeader::parse(bytes.first_chunk().unwrap()), Parsed::Not)
        };
        let longest = BATCH_BYTES_MAX as u32;
        assert!(!parse_with(0, &longest.to_le_bytes()), "the longest");
        assert!(parse_with(0, &(longest + 1).to_le_bytes()), "longer than the longest");
        assert!(!parse_with(0, &52_u32.to_le_bytes()) && parse_with(0, &51_u32.to_le_bytes()));
        assert!(parse_with(8, &[0, 0]), "no format");
        assert!(parse_with(10, &[0, 0]) && parse_with(10, &[5, 0]), "no such kind");
        assert!(parse_with(12, &[0; 4]), "data without transactions");
        assert!(parse_with(24, &7_u64.to_le_bytes()), "durable before it was written");
    }
}
