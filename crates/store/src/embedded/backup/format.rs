//! What a backup looks like.
//!
//! Lives here: the stream's beginning, its pieces, and what the fixed ones hold. Not here: rows and log
//! bytes, which pass through as the store has them.
//!
//! Little endian. First `"NAVENBAK" | format u16 | zero u16`, then pieces, each
//! `len u32 | kind u8 | content, len bytes | crc u32`. The checksum (crc32c) goes on from that of the
//! piece before, the first from that of the stream's first 12 bytes: so no piece can be lost, doubled or
//! moved unnoticed. In this order:
//!
//! - one `head`: `folder format u16 | row format u16 | batch format u16 | zero u16 | store id, 16 bytes |
//!   segment_bytes u64 | key_epoch u32 | lsn u64 | wall_ms i64 | lease_ms i64 | about how many bytes will
//!   come u64`; the LSN and clocks are those of the checkpoint that the rows are of;
//! - any number of `rows`, cut anywhere: each row is `table u8 | key length u16 | value length u32 | key |
//!   value`, the value beginning with its own checksum, as in the cold store;
//! - for each stretch of a segment one `segment`: `number u64 | its file's length u64 | where the stretch
//!   begins u64 | where it ends u64`, then its bytes as pieces of `log`; the last segment, which is still
//!   being written, may come in several stretches;
//! - one `end`: `lsn u64, up to which everything is here | rows u64 | stretches u64 | bytes of the stream
//!   before this piece u64`.
//!
//! No secret is in it.

use bytes::{BufMut, Bytes, BytesMut};
use naven_api::Timestamp;
use naven_api::limits::BACKUP_PIECE_BYTES;
use naven_core::LeaseTime;

use super::fixed::Fixed;
use crate::embedded::cold::Applied;
use crate::embedded::meta::{Meta, StoreId};

/// How a backup begins.
pub(super) const MAGIC: &[u8; 8] = b"NAVENBAK";
/// The newest format of the stream.
pub(super) const STREAM_FORMAT: u16 = 1;
/// Bytes before the first piece.
pub(super) const START_BYTES: usize = 12;
/// Bytes of a piece before its content.
pub(super) const BEFORE_BYTES: usize = 5;
/// Bytes of a piece after it.
pub(super) const AFTER_BYTES: usize = 4;
/// Longest content of a piece: the first, with the stream's beginning, fits too.
pub(super) const CONTENT_BYTES_MAX: usize = BACKUP_PIECE_BYTES - START_BYTES - BEFORE_BYTES - AFTER_BYTES;
/// Bytes of a row before its key.
pub(super) const ROW_HEAD_BYTES: usize = 7;
const HEAD_BYTES: usize = 68;
const SEGMENT_BYTES: usize = 32;
const END_BYTES: usize = 32;

/// What a piece holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Head = 1,
    Rows = 2,
    Segment = 3,
    Log = 4,
    End = 5,
}

impl Kind {
    pub(super) const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Head),
            2 => Some(Self::Rows),
            3 => Some(Self::Segment),
            4 => Some(Self::Log),
            5 => Some(Self::End),
            _ => None,
        }
    }
}

/// What a backup is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) folder_format: u16,
    pub(super) row_format: u16,
    pub(super) batch_format: u16,
    pub(super) meta: Meta,
    pub(super) applied: Applied,
    /// About how many bytes will come: for people who wait.
    pub(super) estimate: u64,
}

/// Which segment the next bytes of the log belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHead {
    pub(super) number: u64,
    pub(super) len: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// What there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) upto: u64,
    pub(super) rows: u64,
    pub(super) stretches: u64,
    pub(super) bytes: u64,
}

/// Puts pieces together, each checksum going on from the last.
pub(super) struct Writer {
    sum: u32,
    /// Bytes of the stream so far.
    pub(super) bytes: u64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { sum: 0, bytes: 0 }
    }

    /// The next piece; the stream's beginning goes with the first.
    pub(super) fn piece(&mut self, kind: Kind, content: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(START_BYTES + BEFORE_BYTES + content.len() + AFTER_BYTES);
        if self.bytes == 0 {
            out.put_slice(MAGIC);
            out.put_u16_le(STREAM_FORMAT);
            out.put_u16_le(0);
        }
        out.put_u32_le(u32::try_from(content.len()).expect("a piece is at most 256 KiB"));
        out.put_u8(kind as u8);
        out.put_slice(content);
        self.sum = crc32c::crc32c_append(self.sum, &out);
        out.put_u32_le(self.sum);
        self.bytes += out.len() as u64;
        out.freeze()
    }
}

impl Head {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES);
        for format in [self.folder_format, self.row_format, self.batch_format, 0] {
            out.put_u16_le(format);
        }
        out.put_slice(&self.meta.store.0);
        out.put_u64_le(self.meta.segment_bytes);
        out.put_u32_le(self.meta.key_epoch);
        out.put_u64_le(self.applied.lsn);
        out.put_i64_le(self.applied.wall.as_ms());
        out.put_i64_le(self.applied.lease.as_ms());
        out.put_u64_le(self.estimate);
        out
    }

    pub(super) fn decode(content: &[u8]) -> Option<Self> {
        let fixed = Fixed::<HEAD_BYTES>::of(content)?;
        let applied = Applied {
            lsn: fixed.u64(36),
            wall: Timestamp::from_ms(fixed.u64(44) as i64),
            lease: LeaseTime::from_ms(fixed.u64(52) as i64),
        };
        let store = StoreId(content[8..24].try_into().ok()?);
        let meta = Meta { store, segment_bytes: fixed.u64(24), key_epoch: fixed.u32(32) };
        let (folder_format, row_format, batch_format) = (fixed.u16(0), fixed.u16(2), fixed.u16(4));
        Some(Self { folder_format, row_format, batch_format, meta, applied, estimate: fixed.u64(60) })
    }
}

impl SegmentHead {
    pub(super) fn encode(self) -> Vec<u8> {
        let numbers = [self.number, self.len, self.from, self.to];
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    pub(super) fn decode(content: &[u8]) -> Option<Self> {
        let fixed = Fixed::<SEGMENT_BYTES>::of(content)?;
        let (number, len) = (fixed.u64(0), fixed.u64(8));
        Some(Self { number, len, from: fixed.u64(16), to: fixed.u64(24) })
    }
}

impl End {
    pub(super) fn encode(self) -> Vec<u8> {
        let numbers = [self.upto, self.rows, self.stretches, self.bytes];
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    pub(super) fn decode(content: &[u8]) -> Option<Self> {
        let fixed = Fixed::<END_BYTES>::of(content)?;
        let (upto, rows) = (fixed.u64(0), fixed.u64(8));
        Some(Self { upto, rows, stretches: fixed.u64(16), bytes: fixed.u64(24) })
    }
}
