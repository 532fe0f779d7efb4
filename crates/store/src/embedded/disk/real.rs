//! The machine's own file system.
//!
//! Lives here: one data folder on it, and who may reach it. Not here: what is kept in the folder.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::{Disk, DiskError, DiskFile, DiskLock, DiskResult, Site};
use crate::embedded::storage_error::StorageError;

/// Rights of a data folder that is made: its owner's alone.
const FOLDER_MODE: u32 = 0o700;
/// Rights of every file in it.
const FILE_MODE: u32 = 0o600;
/// The bits by which group and others may write.
const OTHERS_WRITE: u32 = 0o022;
/// Zeros that are written at a time.
const ZEROS: usize = 1 << 20;

/// A data folder of this machine.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    /// Files are opened for reading only.
    is_read_only: bool,
}

impl RealDisk {
    /// The folder at `root`, to look at and not to change: nothing is made, and no file can be written.
    ///
    /// # Errors
    /// `NotOurs` where it is not a folder; `OpenToOthers`; `Disk`.
    pub fn read_only(root: &Path) -> Result<Self, StorageError> {
        Self::checked(root, true)
    }

    /// The folder at `root`, made where there is none. Nothing is written into it.
    ///
    /// # Errors
    /// `OpenToOthers` where group or others may write to it; `NotAFolder`; `Disk`.
    pub fn open(root: &Path) -> Result<Self, StorageError> {
        let site = Site("folder.open");
        let failed = |source| DiskError { site, file: root.display().to_string(), source };
        match DirBuilder::new().mode(FOLDER_MODE).create(root) {
            Ok(()) => Self::make_durable(root).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(root).map_err(failed)?;
                Self::make_durable(root).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error).into()),
        }
        Self::checked(root, false)
    }

    fn checked(root: &Path, is_read_only: bool) -> Result<Self, StorageError> {
        let failed =
            |source| DiskError { site: Site("folder.open"), file: root.display().to_string(), source };
        let about = fs::metadata(root).map_err(failed)?;
        if !about.is_dir() {
            return Err(StorageError::NotOurs { why: format!("{} is not a folder", root.display()) });
        }
        let mode = about.permissions().mode() & 0o7777;
        if mode & OTHERS_WRITE != 0 {
            return Err(StorageError::OpenToOthers { folder: root.display().to_string(), mode });
        }
        Ok(Self { root: root.to_owned(), is_read_only })
    }

    /// The folder's own name has to outlive a power cut too.
    fn make_durable(root: &Path) -> io::Result<()> {
        let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn fill_with_zeros(file: &RealFile, site: Site, len: u64) -> DiskResult<()> {
        let zeros = vec![0; usize::try_from(len).unwrap_or(ZEROS).min(ZEROS)];
        let mut at = 0;
        while at < len {
            let piece = usize::try_from(len - at).unwrap_or(ZEROS).min(ZEROS);
            file.write_at(site, at, &zeros[..piece])?;
            at += piece as u64;
        }
        file.sync(site)
    }
}

impl Disk for RealDisk {
    fn list(&self, site: Site, folder: &str) -> DiskResult<Vec<String>> {
        let failed = |source| DiskError { site, file: folder.to_owned(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(folder)).map_err(failed)? {
            // A name that is no text is none of ours, and is shown as well as it can be.
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn make_folder(&self, site: Site, folder: &str) -> DiskResult<()> {
        match DirBuilder::new().mode(FOLDER_MODE).create(self.path(folder)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|source| DiskError { site, file: folder.to_owned(), source }),
        }
    }

    fn create(&self, site: Site, name: &str, len: u64) -> DiskResult<Box<dyn DiskFile>> {
        let made =
            OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(self.path(name));
        let file = made.map_err(|source| DiskError { site, file: name.to_owned(), source })?;
        let file = RealFile { file, name: name.to_owned() };
        if let Err(error) = Self::fill_with_zeros(&file, site, len) {
            // Half a file holds on to room that others need; that it cannot be removed changes nothing.
            let _ = fs::remove_file(self.path(name));
            return Err(error);
        }
        Ok(Box::new(file))
    }

    fn open(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskFile>> {
        let opened = OpenOptions::new().read(true).write(!self.is_read_only).open(self.path(name));
        let file = opened.map_err(|source| DiskError { site, file: name.to_owned(), source })?;
        Ok(Box::new(RealFile { file, name: name.to_owned() }))
    }

    fn rename(&self, site: Site, from: &str, to: &str) -> DiskResult<()> {
        fs::rename(self.path(from), self.path(to)).map_err(|source| DiskError {
            site,
            file: from.to_owned(),
            source,
        })
    }

    fn remove(&self, site: Site, name: &str) -> DiskResult<()> {
        fs::remove_file(self.path(name)).map_err(|source| DiskError { site, file: name.to_owned(), source })
    }

    fn sync_dir(&self, site: Site, folder: &str) -> DiskResult<()> {
        let synced = File::open(self.path(folder)).and_then(|folder| folder.sync_all());
        synced.map_err(|source| DiskError { site, file: format!("{folder}/"), source })
    }

    fn free_bytes(&self, site: Site) -> DiskResult<u64> {
        let about = rustix::fs::statvfs(&self.root).map_err(|error| DiskError {
            site,
            file: String::new(),
            source: error.into(),
        })?;
        Ok(about.f_bavail.saturating_mul(about.f_frsize))
    }

    fn lock(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskLock>> {
        let failed = |source| DiskError { site, file: name.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).truncate(false).mode(FILE_MODE);
        options.write(!self.is_read_only).create(!self.is_read_only);
        let file = match options.open(self.path(name)) {
            Ok(file) => file,
            // A process that had the folder open would have made it.
            Err(error) if self.is_read_only && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Box::new(RealLock { _file: None }));
            }
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) => Ok(Box::new(RealLock { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Err(failed(io::ErrorKind::WouldBlock.into())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// The lock ends with the file, and so with the process however that ends.
struct RealLock {
    _file: Option<File>,
}

impl DiskLock for RealLock {}

struct RealFile {
    file: File,
    name: String,
}

impl RealFile {
    fn failed(&self, site: Site) -> impl FnOnce(io::Error) -> DiskError {
        move |source| DiskError { site, file: self.name.clone(), source }
    }
}

impl DiskFile for RealFile {
    fn len(&self, site: Site) -> DiskResult<u64> {
        Ok(self.file.metadata().map_err(self.failed(site))?.len())
    }

    fn read_at(&self, site: Site, offset: u64, bytes: &mut [u8]) -> DiskResult<()> {
        self.file.read_exact_at(bytes, offset).map_err(self.failed(site))
    }

    fn write_at(&self, site: Site, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        self.file.write_all_at(bytes, offset).map_err(self.failed(site))
    }

    fn sync(&self, site: Site) -> DiskResult<()> {
        // fdatasync: it also writes the length where that changed, which is all that a reader needs.
        self.file.sync_data().map_err(self.failed(site))
    }

    fn set_len(&self, site: Site, len: u64) -> DiskResult<()> {
        let old = self.len(site)?;
        if len <= old {
            return self.file.set_len(len).map_err(self.failed(site));
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), old, len - old) {
            Ok(()) => Ok(()),
            // What cannot be promised is found out when it is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.file.set_len(len).map_err(self.failed(site)),
            Err(error) => {
                // Part of it may have been taken; that it cannot be given back changes nothing.
                let _ = self.file.set_len(old);
                Err(self.failed(site)(error.into()))
            }
        }
    }
}
