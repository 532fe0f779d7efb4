//! Segments: the files that the log consists of.
//!
//! Lives here: their numbers, names and lengths, and how the last batch of one names the next. Not
//! here: making and reusing files (`pool.rs`), and what is in them (`batch.rs`).

use std::fmt;

use super::batch::{HEADER_BYTES, padded};
use crate::embedded::disk::{Disk, Site};
use crate::embedded::storage_error::StorageError;

/// The folder of all segments.
pub const LOG_FOLDER: &str = "log";
/// Shortest segment that a store is made with, in bytes.
pub const SEGMENT_BYTES_MIN: u64 = 256 << 10;
/// Longest segment that a store is made with, in bytes.
pub const SEGMENT_BYTES_MAX: u64 = 64 << 20;
/// Shortest segment that is taken at all (tests roll often), in bytes.
pub const SEGMENT_BYTES_TESTED: u64 = 64 << 10;
/// A batch longer than a segment has a file of its own, of a multiple of so many bytes.
const OVERSIZE_ALIGN: u64 = 4 << 10;
/// Bytes of a roll's payload.
const ROLL_PAYLOAD_BYTES: usize = 16;
/// Bytes at the end of each segment that are kept for its roll.
pub(super) const ROLL_BYTES: u64 = padded(HEADER_BYTES + ROLL_PAYLOAD_BYTES);

/// A segment's number: one more than the one before it. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentNumber(pub u64);

impl SegmentNumber {
    /// Of a new store.
    pub const FIRST: Self = Self(1);

    /// The one after.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for SegmentNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012}", self.0)
    }
}

/// The segment length of a new store on a disk with so much free space.
pub fn segment_bytes_for(free_bytes: u64) -> u64 {
    let wished = (free_bytes / 16).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
    // Both bounds are powers of two, so rounding down stays inside them.
    1 << wished.ilog2()
}

/// A segment file: which one, under which name, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::embedded) struct Segment {
    pub(in crate::embedded) number: SegmentNumber,
    pub(in crate::embedded) name: String,
    pub(in crate::embedded) len: u64,
}

impl Segment {
    /// An ordinary one.
    pub(in crate::embedded) fn ordinary(number: SegmentNumber, len: u64) -> Self {
        Self { number, name: format!("{LOG_FOLDER}/{number}.seg"), len }
    }

    /// One of its own for a batch of so many padded bytes.
    pub(super) fn oversize(number: SegmentNumber, batch_bytes: u64) -> Self {
        let len = (batch_bytes + ROLL_BYTES).next_multiple_of(OVERSIZE_ALIGN);
        Self { number, name: format!("{LOG_FOLDER}/{number}.big"), len }
    }

    /// The one to which a roll of a log leads whose segments are `ordinary` bytes long.
    pub(super) fn rolled_to(to: RollTo, ordinary: u64) -> Self {
        let kind = if to.len == ordinary { "seg" } else { "big" };
        Self { number: to.number, name: format!("{LOG_FOLDER}/{}.{kind}", to.number), len: to.len }
    }

    /// The one with this number and length; none where no segment has that length.
    pub(in crate::embedded) fn of_length(number: SegmentNumber, len: u64, ordinary: u64) -> Option<Self> {
        let segment = Self::rolled_to(RollTo { number, len }, ordinary);
        segment.has_right_length(ordinary).then_some(segment)
    }

    /// The segment with this file name, of which the length is not known yet.
    pub(super) fn named(file: &str) -> Option<Self> {
        let digits = file.strip_suffix(".seg").or_else(|| file.strip_suffix(".big"))?;
        let number = SegmentNumber(digits.parse().ok().filter(|number| *number > 0)?);
        // Only names as we write them: another spelling would be a second file of that number.
        (number.to_string() == digits).then(|| Self { number, name: format!("{LOG_FOLDER}/{file}"), len: 0 })
    }

    pub(in crate::embedded) fn is_oversize(&self) -> bool {
        self.name.ends_with(".big")
    }

    /// True where a segment of this kind may have its length, segments being `ordinary` bytes long.
    pub(super) fn has_right_length(&self, ordinary: u64) -> bool {
        match self.is_oversize() {
            true => self.len > ordinary && self.len.is_multiple_of(OVERSIZE_ALIGN),
            false => self.len == ordinary,
        }
    }
}

/// Where a roll leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RollTo {
    pub(super) number: SegmentNumber,
    pub(super) len: u64,
}

impl RollTo {
    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = self.number.0.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (number, len) = bytes.split_first_chunk::<8>()?;
        let len = <[u8; 8]>::try_from(len).ok()?;
        Some(Self { number: SegmentNumber(u64::from_le_bytes(*number)), len: u64::from_le_bytes(len) })
    }
}

/// What is in the log's folder.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// By number.
    pub(super) segments: Vec<Segment>,
    /// Names of files that wait to be used, within the folder.
    pub(super) spares: Vec<String>,
    /// Names of files that were being made, within the folder.
    pub(super) unfinished: Vec<String>,
}

/// Lists the log's folder; every segment has the length that it must have.
pub(super) fn list(disk: &dyn Disk, ordinary: u64) -> Result<Listed, StorageError> {
    let mut listed = Listed::default();
    for file in disk.list(Site("log.list"), LOG_FOLDER)? {
        if let Some(mut segment) = Segment::named(&file) {
            segment.len = disk.open(Site("segment.open"), &segment.name)?.len(Site("segment.len"))?;
            if !segment.has_right_length(ordinary) {
                let what = format!("it has {} bytes, and segments have {ordinary}", segment.len);
                return Err(StorageError::damage(&segment.name, segment.len.min(ordinary), what));
            }
            listed.segments.push(segment);
        } else if file.ends_with(".spare") {
            listed.spares.push(file);
        } else if file.ends_with(".new") {
            listed.unfinished.push(file);
        }
    }
    listed.segments.sort_by_key(|segment| segment.number);
    let twice = listed.segments.windows(2).find(|pair| pair[0].number == pair[1].number);
    match twice {
        Some(pair) => {
            let what = format!("'{}' has the same number", pair[0].name);
            Err(StorageError::damage(&pair[1].name, 0, what))
        }
        None => Ok(listed),
    }
}
