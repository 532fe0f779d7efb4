//! What a data folder is known by: the `meta` file, and the secret beside it.
//!
//! Lives here: both files' bytes, and replacing them whole. Not here: when they are made
//! (`folder.rs`).
//!
//! `meta`, little endian: `"NAVENMTA" | format u16 | zero u16 | store id, 16 bytes | segment_bytes
//! u64 | key_epoch u32 | crc32c of all before it`. Magic and format keep their places in every
//! format to come, so that an old version can always tell a newer folder. `secret`: 32 bytes and
//! their crc32c.

use std::fmt;

use super::disk::{Disk, DiskResult, Site, replace_file};
use super::log::segment::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_TESTED};
use super::storage_error::StorageError;

/// The newest format of a data folder.
pub const FOLDER_FORMAT: u16 = 2;
/// The file's name.
pub const META_FILE: &str = "meta";
/// The secret's file name.
pub const SECRET_FILE: &str = "secret";
const MAGIC: &[u8; 8] = b"NAVENMTA";
const META_BYTES: usize = 44;
const SECRET_BYTES: usize = 36;
/// No `meta` of any format is longer.
const META_BYTES_MAX: usize = 64 << 10;
const READ: Site = Site("meta.read");

/// A store's own id: it seeds checksums, so that no file of another store passes for one of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

/// The secret that lease tokens are made with. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What a data folder is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// The store's id.
    pub store: StoreId,
    /// Length of a segment, in bytes, fixed when the store was made: a power of two.
    pub segment_bytes: u64,
    /// Which key tokens are made with.
    pub key_epoch: u32,
}

impl Meta {
    /// Reads the file; none where there is none.
    ///
    /// # Errors
    /// `NotOurs` where it is another program's; `Newer`; `Older`; `Damage`; `Disk`.
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>, StorageError> {
        let file = match disk.open(READ, META_FILE) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Self::parse(&file.read_all(READ, META_FILE, META_BYTES_MAX)?).map(Some)
    }

    /// Replaces the file. A crash leaves the old one or the new one.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn write(&self, disk: &dyn Disk) -> DiskResult<()> {
        replace_file(disk, Site("meta.write"), META_FILE, &self.encode())
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FOLDER_FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.store.0);
        bytes.extend_from_slice(&self.segment_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.key_epoch.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Self, StorageError> {
        let damage = |offset, what: &str| StorageError::damage(META_FILE, offset, what);
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(StorageError::NotOurs { why: format!("'{META_FILE}' does not begin as ours do") });
        };
        let (format, _) = rest.split_first_chunk().ok_or_else(|| damage(8, "it ends before its format"))?;
        let format = u16::from_le_bytes(*format);
        if format > FOLDER_FORMAT {
            let file = META_FILE.to_owned();
            return Err(StorageError::Newer { file, found: format, known: FOLDER_FORMAT });
        }
        if format < FOLDER_FORMAT {
            let file = META_FILE.to_owned();
            return Err(StorageError::Older { file, found: format, known: FOLDER_FORMAT });
        }
        let whole: &[u8; META_BYTES] =
            bytes.try_into().map_err(|_| damage(bytes.len() as u64, "its length is wrong"))?;
        let (said, crc) = whole.split_at(META_BYTES - 4);
        if crc32c::crc32c(said).to_le_bytes() != *crc {
            return Err(damage(0, "its checksum is wrong"));
        }
        let mut store = [0; 16];
        store.copy_from_slice(&said[12..28]);
        let mut segment_bytes = [0; 8];
        segment_bytes.copy_from_slice(&said[28..36]);
        let segment_bytes = u64::from_le_bytes(segment_bytes);
        let is_possible = (SEGMENT_BYTES_TESTED..=SEGMENT_BYTES_MAX).contains(&segment_bytes);
        if !is_possible || !segment_bytes.is_power_of_two() {
            return Err(damage(28, "no segment has that length"));
        }
        let mut key_epoch = [0; 4];
        key_epoch.copy_from_slice(&said[36..40]);
        Ok(Self { store: StoreId(store), segment_bytes, key_epoch: u32::from_le_bytes(key_epoch) })
    }
}

impl Secret {
    /// Reads the file of a store that has a `meta`.
    ///
    /// # Errors
    /// `Damage` where it is missing or not as it was written; `Disk`.
    pub fn read(disk: &dyn Disk) -> Result<Self, StorageError> {
        let damage = |what: &str| StorageError::damage(SECRET_FILE, 0, what);
        let file = match disk.open(READ, SECRET_FILE) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Err(damage("it is missing")),
            Err(error) => return Err(error.into()),
        };
        let bytes = file.read_all(READ, SECRET_FILE, META_BYTES_MAX)?;
        let whole: &[u8; SECRET_BYTES] =
            bytes.as_slice().try_into().map_err(|_| damage("its length is wrong"))?;
        let (secret, crc) = whole.split_at(32);
        if crc32c::crc32c(secret).to_le_bytes() != *crc {
            return Err(damage("its checksum is wrong"));
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(secret);
        Ok(Self(bytes))
    }

    /// Replaces the file. A crash leaves the old one or the new one.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn write(&self, disk: &dyn Disk) -> DiskResult<()> {
        let mut bytes = self.0.to_vec();
        bytes.extend_from_slice(&crc32c::crc32c(&self.0).to_le_bytes());
        replace_file(disk, Site("secret.write"), SECRET_FILE, &bytes)
    }
}
