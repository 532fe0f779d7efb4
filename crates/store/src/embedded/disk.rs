//! Our own view of the file system: one data folder and everything that is ever done to it.
//!
//! Lives here: the traits, the names of call sites, and the error. Not here: the disk of a machine
//! (`disk/real.rs`), and the one that tests hand in, which forgets what was not synced
//! (`disk/memory.rs`, `disk/image.rs`).
//!
//! The engine does no I/O but through [`Disk`], so that a power cut at any write and a fault of any
//! call can be played to all of it, the cold store included.

use std::fmt;
use std::io;

#[cfg(feature = "conformance")]
pub mod fault;
#[cfg(feature = "conformance")]
pub mod image;
#[cfg(feature = "conformance")]
pub mod memory;
pub mod overlay;
pub mod real;
#[cfg(feature = "conformance")]
mod record;

#[cfg(feature = "conformance")]
pub use fault::{Fault, Flaw, Lasts};
#[cfg(feature = "conformance")]
pub use image::{Loss, Replay};
#[cfg(feature = "conformance")]
pub use memory::MemDisk;
pub use real::RealDisk;
#[cfg(feature = "conformance")]
pub use record::Recording;

/// The result of a call to the disk.
pub type DiskResult<T> = Result<T, DiskError>;

/// The place in the code that calls the disk, such as `log.sync`: tests make the n-th call of a
/// site fail, and list the sites that were reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(pub &'static str);

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A call to the disk that failed: where in the code, on which file, and why.
#[derive(Debug, thiserror::Error)]
#[error("{site} of '{file}' failed: {source}")]
pub struct DiskError {
    /// Where in the code.
    pub site: Site,
    /// On which file, named from the data folder.
    pub file: String,
    /// Why.
    pub source: io::Error,
}

impl DiskError {
    /// True where there was no room left.
    pub fn is_no_room(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// True where there is no such file or folder.
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// True where another process holds the lock.
    pub fn is_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::WouldBlock
    }
}

/// One data folder. Names are relative to it: `meta`, or `log/00000001.seg`; there are folders in
/// it, but none in those. The empty name is the data folder itself.
///
/// What is written may be lost, or half lost in any mixture, until [`DiskFile::sync`] answers.
/// What is made, renamed or removed may be undone until [`Disk::sync_dir`] of its folder answers.
pub trait Disk: Send + Sync + 'static {
    /// The names in `folder`, sorted, without the folder's own.
    ///
    /// # Errors
    /// `is_missing` where there is no such folder; whatever the file system says.
    fn list(&self, site: Site, folder: &str) -> DiskResult<Vec<String>>;

    /// Makes a folder; one that is there already is left alone.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn make_folder(&self, site: Site, folder: &str) -> DiskResult<()>;

    /// Makes a file of `len` zeros, really written and synced; nothing else may bear its name. Its
    /// name is durable only after [`Disk::sync_dir`]. Where it fails, what was made is removed.
    ///
    /// # Errors
    /// `is_no_room` where it does not fit; whatever else the file system says.
    fn create(&self, site: Site, name: &str, len: u64) -> DiskResult<Box<dyn DiskFile>>;

    /// Opens a file that is there.
    ///
    /// # Errors
    /// `is_missing` where it is not; whatever else the file system says.
    fn open(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskFile>>;

    /// Gives a file another name in the same folder, at once taking the place of what bore it.
    ///
    /// # Errors
    /// `is_missing` where it is not there; whatever else the file system says.
    fn rename(&self, site: Site, from: &str, to: &str) -> DiskResult<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `is_missing` where it is not there; whatever else the file system says.
    fn remove(&self, site: Site, name: &str) -> DiskResult<()>;

    /// Makes all that was made, renamed and removed in `folder` durable.
    ///
    /// # Errors
    /// Whatever the file system says. It must not be tried again: what failed may be lost in silence.
    fn sync_dir(&self, site: Site, folder: &str) -> DiskResult<()>;

    /// Bytes that may still be written.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn free_bytes(&self, site: Site) -> DiskResult<u64>;

    /// Takes the lock that bears this name, held until what is returned is dropped or the process
    /// ends.
    ///
    /// # Errors
    /// `is_in_use` where another holds it; whatever else the file system says.
    fn lock(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskLock>>;
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn len(&self, site: Site) -> DiskResult<u64>;

    /// Fills `bytes` from this offset on.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before; whatever else the file system says.
    fn read_at(&self, site: Site, offset: u64, bytes: &mut [u8]) -> DiskResult<()>;

    /// Writes all of `bytes` from this offset on, growing the file where needed.
    ///
    /// # Errors
    /// Whatever the file system says; any part of `bytes` may then have been written.
    fn write_at(&self, site: Site, offset: u64, bytes: &[u8]) -> DiskResult<()>;

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// Whatever the file system says. It must not be tried again: what failed may be lost in
    /// silence, and a second call would answer that all is well.
    fn sync(&self, site: Site) -> DiskResult<()>;

    /// Cuts the file, or grows it by zeros for which there is room from then on, where the file system can
    /// promise that: one that copies on write cannot.
    ///
    /// # Errors
    /// `is_no_room` where it does not fit: the file is as long as before; whatever else the file system
    /// says.
    fn set_len(&self, site: Site, len: u64) -> DiskResult<()>;
}

impl dyn Disk {
    /// The length of a file; none where it is not there.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn len_of(&self, site: Site, name: &str) -> DiskResult<Option<u64>> {
        match self.open(site, name) {
            Ok(file) => file.len(site).map(Some),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl dyn DiskFile {
    /// The whole file, which must not be longer than `max` bytes.
    ///
    /// # Errors
    /// `FileTooLarge` where it is; whatever else the file system says.
    pub fn read_all(&self, site: Site, name: &str, max: usize) -> DiskResult<Vec<u8>> {
        let len = self.len(site)?;
        let Some(len) = usize::try_from(len).ok().filter(|len| *len <= max) else {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, format!("{len} bytes, at most {max}"));
            return Err(DiskError { site, file: name.to_owned(), source });
        };
        let mut bytes = vec![0; len];
        self.read_at(site, 0, &mut bytes)?;
        Ok(bytes)
    }
}

/// A lock that is held. Dropping it gives it up.
pub trait DiskLock: Send + Sync {}

/// Writes a small file so that a crash at any point leaves the old one or the new one, whole.
///
/// # Errors
/// Whatever the file system says; the old file is then still in place, or the new one is but may
/// not be durable.
pub fn replace_file(disk: &dyn Disk, site: Site, name: &str, bytes: &[u8]) -> DiskResult<()> {
    let fresh = format!("{name}.new");
    match disk.remove(site, &fresh) {
        Ok(()) => {}
        Err(error) if error.is_missing() => {}
        Err(error) => return Err(error),
    }
    let file = disk.create(site, &fresh, 0)?;
    file.write_at(site, 0, bytes)?;
    file.sync(site)?;
    disk.rename(site, &fresh, name)?;
    disk.sync_dir(site, folder_of(name))
}

/// The folder part of a name; empty for the data folder itself.
pub fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
