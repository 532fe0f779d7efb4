//! Reading a segment piece by piece.
//!
//! Lives here: a window that moves along a file, and the batch at an offset. Not here: what follows
//! from a batch that is not there (`recover.rs`, `closed.rs`).

use super::batch::{BatchHeader, HEADER_BYTES, Parsed, Seed, UNCHECKED_BYTES};
use crate::embedded::disk::{DiskFile, DiskResult, Site};

/// Bytes read at a time; a longer batch is read whole.
const WINDOW: usize = 1 << 20;
/// The call site of all reads of the log.
pub(super) const READ: Site = Site("log.read");

/// A part of a file, kept in memory.
pub(super) struct Window<'a> {
    file: &'a dyn DiskFile,
    len: u64,
    start: u64,
    bytes: Vec<u8>,
}

/// What is found where a batch may begin.
pub(super) enum Found<'w> {
    /// No batch.
    Nothing,
    /// A batch that a newer version wrote.
    Newer(u16),
    /// A batch and its payload.
    Batch(BatchHeader, &'w [u8]),
}

impl<'a> Window<'a> {
    /// Of a file of so many bytes.
    pub(super) fn new(file: &'a dyn DiskFile, len: u64) -> Self {
        Self { file, len, start: 0, bytes: Vec::new() }
    }

    /// Bytes from `offset` on; none where the file ends before.
    pub(super) fn bytes(&mut self, offset: u64, len: usize) -> DiskResult<Option<&[u8]>> {
        if offset.checked_add(len as u64).is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset + len as u64 > end {
            let left = usize::try_from(self.len - offset).unwrap_or(usize::MAX);
            // Emptied first: after a failed read the window must not claim what it does not hold.
            self.bytes.clear();
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.resize(len.max(WINDOW).min(left), 0);
            self.file.read_at(READ, offset, &mut bytes)?;
            (self.start, self.bytes) = (offset, bytes);
        }
        let from = usize::try_from(offset - self.start).expect("the offset lies inside the window");
        Ok(Some(&self.bytes[from..from + len]))
    }

    /// The header that may be at `offset`, unchecked.
    pub(super) fn header(&mut self, offset: u64) -> DiskResult<Parsed> {
        let bytes = self.bytes(offset, HEADER_BYTES)?.and_then(<[u8]>::first_chunk);
        Ok(bytes.map_or(Parsed::Not, BatchHeader::parse))
    }

    /// The batch at `offset`, checked.
    pub(super) fn batch(&mut self, offset: u64, seed: Seed) -> DiskResult<Found<'_>> {
        let parsed = self.header(offset)?;
        let (len, crc) = match &parsed {
            Parsed::Not => return Ok(Found::Nothing),
            Parsed::Newer { len, crc, .. } => (*len, *crc),
            Parsed::Header(header) => (header.len, header.crc),
        };
        let padded = usize::try_from(super::batch::padded(len)).expect("a batch is at most 18 MiB");
        let Some(bytes) = self.bytes(offset, padded)? else { return Ok(Found::Nothing) };
        let (bytes, padding) = bytes.split_at(len);
        // Padding is not covered by the checksum, but what should be zero and is not was damaged.
        let is_whole =
            seed.checksum(&bytes[UNCHECKED_BYTES..]) == crc && padding.iter().all(|byte| *byte == 0);
        Ok(match parsed {
            _ if !is_whole => Found::Nothing,
            Parsed::Not => Found::Nothing,
            Parsed::Newer { format, .. } => Found::Newer(format),
            Parsed::Header(header) => Found::Batch(header, &bytes[HEADER_BYTES..]),
        })
    }
}
