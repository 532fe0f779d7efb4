//! Segments at rest, read for what is in them and nothing else.
//!
//! Lives here: every batch of one segment, up to the first that is none, and those beyond. Not here: what a
//! start makes of that (`recover.rs`, `tail.rs`).

use super::batch::{BATCH_FORMAT, BatchHeader, BatchKind, Lsn, Seed};
use super::scan::look_beyond;
use super::segment::{self, LOG_FOLDER, RollTo, Segment};
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskResult, Site};
use crate::embedded::meta::{Meta, StoreId};
use crate::embedded::storage_error::StorageError;

/// The call site of opening segments.
const OPEN: Site = Site("check.open");

/// What one segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::embedded) struct Walked {
    /// The LSN that its first batch begins with; none where it has no batch.
    pub(in crate::embedded) first: Option<Lsn>,
    /// The LSN that comes after its last.
    pub(in crate::embedded) next: Option<Lsn>,
    /// Where its batches end.
    pub(in crate::embedded) end: u64,
    /// True where its last batch leads to another segment.
    pub(in crate::embedded) has_roll: bool,
}

/// Takes a batch: header, payload, offset.
pub(in crate::embedded) type Each<'a> = dyn FnMut(&BatchHeader, &[u8], u64) + 'a;

/// The segments of a log, by number.
///
/// # Errors
/// `Damage` where one has a length that none has; `Disk`.
pub(in crate::embedded) fn segments(disk: &dyn Disk, meta: &Meta) -> Result<Vec<Segment>, StorageError> {
    Ok(segment::list(disk, meta.segment_bytes)?.segments)
}

/// Hands out every batch of a segment up to the first place where there is none, or one that does not
/// follow the one before.
///
/// # Errors
/// `Newer`; `Disk`.
pub(in crate::embedded) fn walk(
    disk: &dyn Disk,
    store: StoreId,
    segment: &Segment,
    each: &mut Each<'_>,
) -> Result<Walked, StorageError> {
    let file = disk.open(OPEN, &segment.name)?;
    let mut window = Window::new(&*file, segment.len);
    let seed = Seed::of(store, segment.number);
    let mut walked = Walked { first: None, next: None, end: 0, has_roll: false };
    loop {
        let (header, payload) = match window.batch(walked.end, seed)? {
            Found::Batch(header, payload) => (header, payload),
            Found::Nothing => return Ok(walked),
            Found::Newer(found) => {
                let (file, known) = (segment.name.clone(), BATCH_FORMAT);
                return Err(StorageError::Newer { file, found, known });
            }
        };
        if walked.next.is_some_and(|next| next != header.lsn) {
            return Ok(walked);
        }
        each(&header, payload, walked.end);
        walked.first = walked.first.or(Some(header.lsn));
        walked.next = Some(header.next_lsn());
        walked.end += header.padded_bytes();
        if header.kind == BatchKind::Roll {
            walked.has_roll = RollTo::decode(payload).is_some();
            return Ok(walked);
        }
    }
}

/// The segments of a damaged log, by number, and what is wrong with their lengths. Where `ordinary` is 0
/// every length is taken.
///
/// # Errors
/// What the file system says.
pub(in crate::embedded) fn segments_left(
    disk: &dyn Disk,
    ordinary: u64,
) -> DiskResult<(Vec<Segment>, Vec<StorageError>)> {
    let (mut segments, mut wrong) = (Vec::new(), Vec::new());
    let names = match disk.list(OPEN, LOG_FOLDER) {
        Err(error) if error.is_missing() => Vec::new(),
        other => other?,
    };
    for file in names {
        let Some(mut segment) = Segment::named(&file) else { continue };
        segment.len = disk.open(OPEN, &segment.name)?.len(OPEN)?;
        if ordinary > 0 && !segment.has_right_length(ordinary) {
            let what = format!("it has {} bytes, and segments have {ordinary}", segment.len);
            wrong.push(StorageError::damage(&segment.name, segment.len.min(ordinary), what));
        }
        segments.push(segment);
    }
    segments.sort_by_key(|segment| segment.number);
    Ok((segments, wrong))
}

/// Hands out every batch of a segment from `offset` on that holds anything at or after `least`, by LSN.
/// Answers the highest LSN of which any of them speaks.
///
/// # Errors
/// `Newer`; `Disk`.
pub(in crate::embedded) fn walk_beyond(
    disk: &dyn Disk,
    store: StoreId,
    segment: &Segment,
    (offset, least): (u64, Lsn),
    each: &mut Each<'_>,
) -> Result<Option<Lsn>, StorageError> {
    let file = disk.open(OPEN, &segment.name)?;
    let mut window = Window::new(&*file, segment.len);
    let seed = Seed::of(store, segment.number);
    let beyond = look_beyond(&mut window, segment.len, seed, offset, least)?;
    let latest = beyond.valid.iter().map(|stray| stray.lsn.max(stray.durable_upto)).max();
    for stray in beyond.valid {
        if let Found::Batch(header, payload) = window.batch(stray.offset, seed)? {
            each(&header, payload, stray.offset);
        }
    }
    Ok(latest)
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::embedded::disk::{Fault, Flaw, Lasts, MemDisk};
    use crate::embedded::log::segment::SegmentNumber;

    #[test]
    fn a_segment_that_cannot_be_opened_is_told_by_its_name() {
        let segment = Segment::ordinary(SegmentNumber::FIRST, 64 << 10);
        for (flaw, lasts) in [Flaw::Io, Flaw::NoRoom]
            .into_iter()
            .flat_map(|flaw| [(flaw, Lasts::Once), (flaw, Lasts::ForGood)])
        {
            let disk = MemDisk::new();
            disk.make_folder(Site("test"), "log").expect("the disk is well");
            drop(disk.create(Site("test"), &segment.name, segment.len).expect("the disk is well"));
            disk.fail(Fault { site: OPEN, nth: 1, lasts, flaw });
            let told = walk(&disk, StoreId([7; 16]), &segment, &mut |_, _, _| {}).map(drop);
            let told = told.expect_err("it cannot be opened").to_string();
            assert!(told.starts_with(&format!("check.open of '{}' failed", segment.name)), "{told}");
            let again = walk(&disk, StoreId([7; 16]), &segment, &mut |_, _, _| {});
            assert_eq!(again.is_ok(), lasts == Lasts::Once);
        }
    }
}
