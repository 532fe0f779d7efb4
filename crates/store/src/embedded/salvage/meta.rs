//! What a damaged folder is known by.
//!
//! Lives here: finding that out where `meta` itself is damaged. Not here: the file (`embedded/meta.rs`).
//!
//! The id of the store is in `meta` and in the cold store, and it seeds the checksums of the log: it is
//! believed where another file bears it out. The length of segments is that of their files, and the key
//! epoch is in every batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::report::Salvaged;
use crate::embedded::cold::Remains;
use crate::embedded::disk::{Disk, Site};
use crate::embedded::finding::Finding;
use crate::embedded::log::check::{segments_left, walk};
use crate::embedded::log::segment::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENT_BYTES_TESTED};
use crate::embedded::meta::{META_FILE, Meta, StoreId};
use crate::embedded::storage_error::StorageError;

/// `meta`, or what the other files say that it was.
///
/// # Errors
/// `NotOurs`, `Newer`, `Older`; `Damage` where it cannot be told; `Disk`.
pub(super) fn find(disk: &Arc<dyn Disk>, report: &mut Salvaged) -> Result<Meta, StorageError> {
    let error = match Meta::read(&**disk) {
        Ok(Some(meta)) => return Ok(meta),
        Ok(None) => StorageError::NotOurs { why: format!("there is no '{META_FILE}' in it") },
        Err(error @ StorageError::Disk(_)) => return Err(error),
        Err(error) => error,
    };
    // Only what was written can say that another version wrote it.
    if matches!(error, StorageError::Newer { .. } | StorageError::Older { .. }) && is_as_written(&**disk) {
        return Err(error);
    }
    let Some(meta) = told_by_others(disk)? else { return Err(error) };
    let finding = Finding::of(&error, META_FILE);
    let what = format!("{}: the other files say what was in it", finding.what);
    report.add(Finding { what, ..finding });
    Ok(meta)
}

fn is_as_written(disk: &dyn Disk) -> bool {
    let bytes = bytes(disk);
    let Some((said, crc)) = bytes.split_last_chunk::<4>() else { return true };
    crc32c::crc32c(said).to_le_bytes() == *crc
}

fn bytes(disk: &dyn Disk) -> Vec<u8> {
    const READ: Site = Site("salvage.meta");
    disk.open(READ, META_FILE).and_then(|file| file.read_all(READ, META_FILE, 64 << 10)).unwrap_or_default()
}

/// What the log and the cold store say, where they agree on the store's id.
fn told_by_others(disk: &Arc<dyn Disk>) -> Result<Option<Meta>, StorageError> {
    let in_meta = bytes(&**disk).get(12..28).and_then(|id| id.try_into().ok()).map(StoreId);
    let in_cold = Remains::open(disk).ok().flatten().and_then(|remains| remains.store);
    // No length is right for all, so that all are taken as they are.
    let (segments, _) = segments_left(&**disk, 0)?;
    let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
    for segment in segments.iter().filter(|segment| !segment.is_oversize()) {
        *lengths.entry(segment.len).or_default() += 1;
    }
    let is_possible =
        |len: &u64| len.is_power_of_two() && (SEGMENT_BYTES_TESTED..=SEGMENT_BYTES_MAX).contains(len);
    let segment_bytes =
        lengths.into_iter().filter(|(len, _)| is_possible(len)).max_by_key(|(_, count)| *count);
    let segment_bytes = segment_bytes.map_or(SEGMENT_BYTES_MIN, |(len, _)| len);
    for store in [in_cold, in_meta].into_iter().flatten() {
        let mut key_epoch = None;
        for segment in &segments {
            let mut each = |header: &crate::embedded::log::BatchHeader, _: &[u8], _| {
                key_epoch = key_epoch.max(Some(header.key_epoch));
            };
            // A segment that cannot be read says nothing.
            drop(walk(&**disk, store, segment, &mut each));
        }
        if key_epoch.is_some() || in_cold == Some(store) {
            return Ok(Some(Meta { store, segment_bytes, key_epoch: key_epoch.unwrap_or(1) }));
        }
    }
    Ok(None)
}
