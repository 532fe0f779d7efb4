//! A snapshot's file: the tables as they were after one batch, in one piece.
//!
//! Lives here: the file's head, which snapshots there are, and which may go. Not here: writing and
//! reading rows (`snapshot/write.rs`, `snapshot/read.rs`), what they mean, and when a snapshot is
//! made (the engine).
//!
//! Little endian. Head: `"NAVENSNP" | format u16 | zero u16 | zero u32 | store id, 16 bytes | lsn u64
//! | wall_ms i64 | lease_ms i64 | crc32c of all before it`. Then chunks: `len u32 | crc u32 | rows`,
//! a row being `table u8 | key_len u32 | value_len u32 | key | value`. Then the trailer, a chunk of
//! length `0xffff_ffff`: `crc u32 | rows u64 | chunks u64`, at which the file ends. Each chunk's
//! checksum is seeded with the head's and with its own offset, so that none passes for another. A
//! snapshot has its name only once it is whole and synced.

mod read;
mod write;

pub use read::{SnapshotReader, TakeRow};
pub use write::SnapshotWriter;

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::disk::{Disk, DiskResult, Site};
use super::log::Lsn;
use super::meta::StoreId;
use super::storage_error::StorageError;

/// The folder of all snapshots.
pub const SNAPSHOT_FOLDER: &str = "snapshots";
/// The newest format of a snapshot.
pub const SNAPSHOT_FORMAT: u16 = 1;

const MAGIC: &[u8; 8] = b"NAVENSNP";
/// Bytes of a head before its checksum.
const HEAD_BYTES: usize = 56;
/// Bytes of a chunk before its rows.
const CHUNK_HEAD_BYTES: usize = 8;
/// Bytes of a row before its key.
const ROW_HEAD_BYTES: usize = 9;
/// Bytes of the trailer.
const TRAILER_BYTES: usize = 24;
/// Says that a chunk is the trailer.
const TRAILER: u32 = u32::MAX;
/// A chunk is written once it has so many bytes of rows.
const CHUNK_BYTES: usize = 256 << 10;
/// No chunk is longer: one row of the largest transaction over what was in the chunk before.
const CHUNK_BYTES_MAX: usize = 32 << 20;

/// What a snapshot is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// It holds everything up to this LSN, itself included, and nothing after it.
    pub lsn: Lsn,
    /// The wall clock of the last batch in it.
    pub wall: Timestamp,
    /// The lease clock of the last batch in it.
    pub lease: LeaseTime,
}

/// Makes a snapshot of these rows: their table, key and value. Once it is durable, older ones are
/// removed. Where it fails, the older ones still stand.
///
/// # Errors
/// Whatever the file system says; `is_no_room` where there is none.
pub fn write<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    disk: &dyn Disk,
    store: StoreId,
    header: &Header,
    rows: impl IntoIterator<Item = (u8, K, V)>,
) -> DiskResult<()> {
    let mut writer = SnapshotWriter::begin(disk, store, header)?;
    let mut rows = rows.into_iter();
    let written = rows.try_for_each(|(table, key, value)| writer.row(table, key.as_ref(), value.as_ref()));
    if let Err(error) = written.and_then(|()| writer.finish()) {
        writer.abandon();
        return Err(error);
    }
    remove_below(disk, header.lsn)
}

/// Hands every row of the newest snapshot to `take`; none where there is no snapshot. A damaged one
/// is not passed over for an older one: the log no longer holds what lies between them.
///
/// # Errors
/// `Damage`, `Newer`; `Record` where `take` refuses; `Disk`.
pub fn read_newest(
    disk: &dyn Disk,
    store: StoreId,
    take: &mut TakeRow<'_>,
) -> Result<Option<Header>, StorageError> {
    match list(disk)?.last() {
        Some(lsn) => SnapshotReader::open(disk, store, *lsn)?.read(take).map(Some),
        None => Ok(None),
    }
}

/// The snapshots that are there, by LSN. Unfinished ones are not.
///
/// # Errors
/// Whatever the file system says.
pub fn list(disk: &dyn Disk) -> DiskResult<Vec<Lsn>> {
    let names = match disk.list(Site("snapshot.list"), SNAPSHOT_FOLDER) {
        Ok(names) => names,
        Err(error) if error.is_missing() => Vec::new(),
        Err(error) => return Err(error),
    };
    let lsn_of = |name: &String| name.strip_suffix(".snap")?.parse().ok();
    let mut lsns: Vec<Lsn> = names.iter().filter_map(lsn_of).collect();
    lsns.sort_unstable();
    Ok(lsns)
}

/// Removes every snapshot older than the one of `lsn`, and what unfinished ones left. The newer one
/// must be durable.
///
/// # Errors
/// Whatever the file system says.
pub fn remove_below(disk: &dyn Disk, lsn: Lsn) -> DiskResult<()> {
    const REMOVE: Site = Site("snapshot.remove");
    let names = match disk.list(Site("snapshot.list"), SNAPSHOT_FOLDER) {
        Ok(names) => names,
        Err(error) if error.is_missing() => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_old = |name: &str| {
        let of = name.strip_suffix(".snap").and_then(|digits| digits.parse::<Lsn>().ok());
        name.ends_with(".new") || of.is_some_and(|of| of < lsn)
    };
    for name in names.iter().filter(|name| is_old(name)) {
        disk.remove(REMOVE, &format!("{SNAPSHOT_FOLDER}/{name}"))?;
    }
    Ok(())
}

/// The file of the snapshot of `lsn`.
pub fn file_of(lsn: Lsn) -> String {
    format!("{SNAPSHOT_FOLDER}/{lsn:020}.snap")
}

/// The checksum of a chunk at this offset of the file with this head.
fn chunk_crc(head_crc: u32, offset: u64, bytes: &[u8]) -> u32 {
    let seed = crc32c::crc32c_append(head_crc, &offset.to_le_bytes());
    crc32c::crc32c_append(seed, bytes)
}
