//! Opening a data folder, or making a new one.
//!
//! Lives here: what may be in a folder, and the order in which a new one comes to be. Not here:
//! what the files hold (`meta.rs`, `log/`, `cold.rs`).
//!
//! A folder is ours from the moment that `meta` is there, and `meta` comes last: a crash before it
//! leaves a folder that is made anew, a crash after it one that opens. Whatever is found without a
//! `meta` and is not such a leftover is left untouched.

use super::backup::is_restore_cut_short;
use super::backup::leftover::unmark_store;
use super::disk::{Disk, DiskError, Site};
use super::lock::{FolderLock, LOCK_FILE};
use super::log::pool;
use super::log::segment::{LOG_FOLDER, Segment, SegmentNumber, segment_bytes_for};
use super::meta::{META_FILE, Meta, SECRET_FILE, Secret, StoreId};
use super::storage_error::StorageError;

/// What a new store is made with. Randomness is handed in.
#[derive(Debug, Clone)]
pub struct NewStore {
    /// Its id: random.
    pub store: StoreId,
    /// Its secret: random.
    pub secret: Secret,
    /// Length of its segments; none: by the disk's free space.
    pub segment_bytes: Option<u64>,
}

/// A data folder that is open, and locked until this is dropped.
#[derive(Debug)]
pub struct Folder {
    /// What it is known by.
    pub meta: Meta,
    /// What its tokens are made with.
    pub secret: Secret,
    /// True where it was made just now.
    pub is_new: bool,
    /// Held while the folder is in use.
    pub lock: FolderLock,
}

impl Folder {
    /// Opens the folder on `disk`; an empty one, or one whose making was cut short, is made with
    /// `new`.
    ///
    /// # Errors
    /// `NotOurs`, `Newer` and `Damage`, all without having touched anything; `InUse`; `NoRoom` for
    /// a new store; `Disk`.
    pub fn open(disk: &dyn Disk, new: impl FnOnce() -> NewStore) -> Result<Self, StorageError> {
        // Looked at before the lock file is made, so that a stranger's folder stays as it was, and
        // once more under the lock, since only that is the truth.
        if Meta::read(disk)?.is_none() {
            refuse_strangers(disk)?;
        }
        let lock = FolderLock::take(disk)?;
        if let Some(meta) = Meta::read(disk)? {
            unmark_store(disk)?;
            return Ok(Self { secret: Secret::read(disk)?, meta, is_new: false, lock });
        }
        refuse_strangers(disk)?;
        let new = new();
        match make(disk, &new) {
            Ok(meta) => Ok(Self { meta, secret: new.secret, is_new: true, lock }),
            Err(error) if error.is_no_room() => Err(StorageError::NoRoom(error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Refuses a folder without `meta` that holds anything but what a cut-short making leaves.
fn refuse_strangers(disk: &dyn Disk) -> Result<(), StorageError> {
    const LIST: Site = Site("folder.list");
    let own = |name: &str| {
        [LOCK_FILE, SECRET_FILE, LOG_FOLDER].contains(&name)
            || name.strip_suffix(".new").is_some_and(|name| [META_FILE, SECRET_FILE].contains(&name))
    };
    let names = disk.list(LIST, "")?;
    if is_restore_cut_short(&names) {
        let why = "a restore or salvage into it was cut short: run it again".to_owned();
        return Err(StorageError::NotOurs { why });
    }
    if let Some(strange) = names.iter().find(|name| !own(name)) {
        let why = format!("there is no '{META_FILE}' in it, but there is '{strange}'");
        return Err(StorageError::NotOurs { why });
    }
    if !names.iter().any(|name| name == LOG_FOLDER) {
        return Ok(());
    }
    for name in disk.list(LIST, LOG_FOLDER)? {
        let is_unused = name.ends_with(".spare") || name.ends_with(".new");
        let path = format!("{LOG_FOLDER}/{name}");
        // A log in use was not being made when `meta` was lost: its events must not be swept away.
        if !is_unused && !is_unwritten(disk, &path)? {
            return Err(StorageError::damage(META_FILE, 0, format!("it is missing, but there is '{path}'")));
        }
    }
    Ok(())
}

/// True where a file begins with zeros, or is too short to hold anything.
fn is_unwritten(disk: &dyn Disk, name: &str) -> Result<bool, StorageError> {
    const LOOK: Site = Site("folder.look");
    const LOOKED_AT: u64 = 4 << 10;
    let file = disk.open(LOOK, name)?;
    let len = usize::try_from(file.len(LOOK)?.min(LOOKED_AT)).expect("4 KiB fit");
    let mut bytes = vec![0; len];
    file.read_at(LOOK, 0, &mut bytes)?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// Makes everything of a new store, `meta` last.
fn make(disk: &dyn Disk, new: &NewStore) -> Result<Meta, DiskError> {
    const MAKE: Site = Site("folder.make");
    disk.make_folder(MAKE, LOG_FOLDER)?;
    for leftover in disk.list(MAKE, LOG_FOLDER)? {
        disk.remove(MAKE, &format!("{LOG_FOLDER}/{leftover}"))?;
    }
    let segment_bytes = match new.segment_bytes {
        Some(bytes) => bytes,
        None => segment_bytes_for(disk.free_bytes(MAKE)?),
    };
    new.secret.write(disk)?;
    let first = Segment::ordinary(SegmentNumber::FIRST, segment_bytes);
    drop(disk.create(Site("segment.create"), &first.name, segment_bytes)?);
    pool::make_first_spares(disk, segment_bytes)?;
    // The folder's own name, and the names in it, before the file that vouches for them.
    disk.sync_dir(MAKE, LOG_FOLDER)?;
    disk.sync_dir(MAKE, "")?;
    let meta = Meta { store: new.store, segment_bytes, key_epoch: 1 };
    meta.write(disk)?;
    Ok(meta)
}
