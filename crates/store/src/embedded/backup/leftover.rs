//! A folder that is being restored or salvaged into, and what is left where that is cut short.
//!
//! Lives here: the mark that tells one, and clearing it. Not here: the restore itself (`restoring.rs`).
//!
//! The mark comes first and goes last. A folder with the mark and without `meta` is nobody's store yet:
//! a start refuses it, and the next restore begins it anew.

use super::error::BackupError;
use crate::embedded::cold::COLD_FILE;
use crate::embedded::disk::{Disk, DiskResult, Site};
use crate::embedded::lock::LOCK_FILE;
use crate::embedded::log::segment::LOG_FOLDER;
use crate::embedded::meta::{META_FILE, SECRET_FILE};
use crate::embedded::storage_error::StorageError;

/// The mark's file name.
const MARK_FILE: &str = "restoring";
const MARK: Site = Site("restore.mark");

/// True where these names of a folder say that a restore or salvage into it was cut short.
pub fn is_restore_cut_short(names: &[String]) -> bool {
    let has = |file: &str| names.iter().any(|name| name == file);
    has(MARK_FILE) && !has(META_FILE)
}

/// Refuses a folder that holds anything but what a cut-short restore leaves.
pub(super) fn refuse_others(disk: &dyn Disk) -> Result<(), BackupError> {
    let names = disk.list(MARK, "")?;
    let is_left = |name: &str| {
        let whole = name.strip_suffix(".new").unwrap_or(name);
        [COLD_FILE, SECRET_FILE, LOG_FOLDER, LOCK_FILE, MARK_FILE].contains(&whole)
            || (whole == META_FILE && whole != name)
    };
    let cut_short = is_restore_cut_short(&names);
    match names.iter().find(|name| *name != LOCK_FILE && !(cut_short && is_left(name))) {
        Some(strange) => Err(StorageError::NotEmpty { found: strange.clone() }.into()),
        None => Ok(()),
    }
}

/// Marks a folder that [`refuse_others`] has let pass; what a cut-short restore left goes first.
pub(super) fn prepare(disk: &dyn Disk) -> Result<(), BackupError> {
    refuse_others(disk)?;
    let names = disk.list(MARK, "")?;
    clear(disk, &names)?;
    if !names.iter().any(|name| name == MARK_FILE) {
        drop(disk.create(MARK, MARK_FILE, 0)?);
    }
    disk.sync_dir(MARK, "")?;
    Ok(())
}

/// The folder is a store.
pub(super) fn unmark(disk: &dyn Disk) -> DiskResult<()> {
    disk.remove(MARK, MARK_FILE)?;
    disk.sync_dir(MARK, "")
}

/// Takes the mark from a folder that is a store: a restore that was whole but for this was cut short, and
/// nobody may take what has been written since for its leftovers.
///
/// # Errors
/// Whatever the file system says.
pub(in crate::embedded) fn unmark_store(disk: &dyn Disk) -> DiskResult<()> {
    if !disk.list(MARK, "")?.iter().any(|name| name == MARK_FILE) {
        return Ok(());
    }
    // What vouches for the folder must not go while its mark stays.
    disk.sync_dir(MARK, "")?;
    unmark(disk)
}

/// Removes everything but the mark, the lock and the folder of the log.
fn clear(disk: &dyn Disk, names: &[String]) -> Result<(), BackupError> {
    for name in names.iter().filter(|name| ![LOCK_FILE, MARK_FILE, LOG_FOLDER].contains(&name.as_str())) {
        disk.remove(MARK, name)?;
    }
    if names.iter().any(|name| name == LOG_FOLDER) {
        for name in disk.list(MARK, LOG_FOLDER)? {
            disk.remove(MARK, &format!("{LOG_FOLDER}/{name}"))?;
        }
    }
    Ok(())
}
