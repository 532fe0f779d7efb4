//! Reading a snapshot.
//!
//! Lives here: its rows in the order in which they were written, and finding everything that is not
//! as it was. Not here: the format (`snapshot.rs`).

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::{
    CHUNK_BYTES_MAX, CHUNK_HEAD_BYTES, HEAD_BYTES, Header, MAGIC, ROW_HEAD_BYTES, SNAPSHOT_FORMAT, TRAILER,
    TRAILER_BYTES, chunk_crc, file_of,
};
use crate::embedded::disk::{Disk, DiskFile, Site};
use crate::embedded::log::Lsn;
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::{BoxError, StorageError};

const READ: Site = Site("snapshot.read");

/// Takes a row: its table, key and value.
pub type TakeRow<'a> = dyn FnMut(u8, &[u8], &[u8]) -> Result<(), BoxError> + 'a;

/// A snapshot that is being read.
pub struct SnapshotReader {
    header: Header,
    head_crc: u32,
    file: Box<dyn DiskFile>,
    name: String,
    len: u64,
    at: u64,
}

impl std::fmt::Debug for SnapshotReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotReader").field("header", &self.header).finish_non_exhaustive()
    }
}

impl SnapshotReader {
    /// Opens the snapshot of `lsn`, and checks that it is one of this store.
    ///
    /// # Errors
    /// `Newer`, `Damage`, `Disk`.
    pub fn open(disk: &dyn Disk, store: StoreId, lsn: Lsn) -> Result<Self, StorageError> {
        let name = file_of(lsn);
        let file = disk.open(READ, &name)?;
        let len = file.len(READ)?;
        let damage = |offset, what: &str| Err(StorageError::damage(&name, offset, what));
        let mut head = [0; HEAD_BYTES + 4];
        if len < head.len() as u64 {
            return damage(len, "it ends inside its head");
        }
        file.read_at(READ, 0, &mut head)?;
        if head[..8] != *MAGIC {
            return damage(0, "it does not begin as snapshots do");
        }
        let found = u16::from_le_bytes([head[8], head[9]]);
        if found > SNAPSHOT_FORMAT {
            return Err(StorageError::Newer { file: name, found, known: SNAPSHOT_FORMAT });
        }
        let (said, crc) = head.split_at(HEAD_BYTES);
        let head_crc = crc32c::crc32c(said);
        if head_crc.to_le_bytes() != *crc {
            return damage(0, "its head's checksum is wrong");
        }
        let header = decode_head(said);
        if said[16..32] != store.0 || header.lsn != lsn {
            return damage(16, "it is of another store or lsn");
        }
        Ok(Self { header, head_crc, file, name, len, at: head.len() as u64 })
    }

    /// What it is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Hands every row to `take`, in order. Only when this answers is it sure that the snapshot was
    /// whole.
    ///
    /// # Errors
    /// `Damage`; `Record` where `take` refuses; `Disk`.
    pub fn read(mut self, take: &mut TakeRow<'_>) -> Result<Header, StorageError> {
        let (mut rows, mut chunks) = (0, 0);
        let mut bytes = Vec::new();
        loop {
            let mut head = [0; CHUNK_HEAD_BYTES];
            self.fill(self.at, &mut head)?;
            let (len, crc) = (u32_at(&head, 0), u32_at(&head, 4));
            if len == TRAILER {
                self.check_trailer(crc, rows, chunks)?;
                return Ok(self.header);
            }
            if len as usize > CHUNK_BYTES_MAX {
                return Err(self.damage(self.at, "no chunk is so long"));
            }
            bytes.resize(len as usize, 0);
            self.fill(self.at + CHUNK_HEAD_BYTES as u64, &mut bytes)?;
            if chunk_crc(self.head_crc, self.at, &bytes) != crc {
                return Err(self.damage(self.at, "a chunk's checksum is wrong"));
            }
            rows += self.take_rows(&bytes, take)?;
            chunks += 1;
            self.at += (CHUNK_HEAD_BYTES + bytes.len()) as u64;
        }
    }

    fn take_rows(&self, mut rest: &[u8], take: &mut TakeRow<'_>) -> Result<u64, StorageError> {
        let mut rows = 0;
        while !rest.is_empty() {
            let (row, after) =
                Row::split(rest).ok_or_else(|| self.damage(self.at, "a row is longer than its chunk"))?;
            take(row.table, row.key, row.value).map_err(|source| StorageError::Record {
                file: self.name.clone(),
                offset: self.at,
                source,
            })?;
            rest = after;
            rows += 1;
        }
        Ok(rows)
    }

    fn check_trailer(&self, crc: u32, rows: u64, chunks: u64) -> Result<(), StorageError> {
        let mut counts = [0; TRAILER_BYTES - CHUNK_HEAD_BYTES];
        self.fill(self.at + CHUNK_HEAD_BYTES as u64, &mut counts)?;
        if chunk_crc(self.head_crc, self.at, &counts) != crc {
            return Err(self.damage(self.at, "the trailer's checksum is wrong"));
        }
        if counts[..8] != rows.to_le_bytes() || counts[8..] != chunks.to_le_bytes() {
            return Err(self.damage(self.at, "rows or chunks are missing"));
        }
        let end = self.at + TRAILER_BYTES as u64;
        if end == self.len { Ok(()) } else { Err(self.damage(end, "it goes on after its end")) }
    }

    fn fill(&self, offset: u64, bytes: &mut [u8]) -> Result<(), StorageError> {
        if offset + bytes.len() as u64 > self.len {
            return Err(self.damage(self.len, "it ends before its trailer"));
        }
        Ok(self.file.read_at(READ, offset, bytes)?)
    }

    fn damage(&self, offset: u64, what: &str) -> StorageError {
        StorageError::damage(&self.name, offset, what)
    }
}

/// A row as it lies in a chunk.
struct Row<'a> {
    table: u8,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Row<'a> {
    /// The first row of `bytes`, and what follows it.
    fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(ROW_HEAD_BYTES)?;
        let (key, rest) = rest.split_at_checked(u32_at(head, 1) as usize)?;
        let (value, rest) = rest.split_at_checked(u32_at(head, 5) as usize)?;
        Some((Self { table: head[0], key, value }, rest))
    }
}

fn decode_head(bytes: &[u8]) -> Header {
    let number = |at: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[at..at + 8]);
        number
    };
    Header {
        lsn: u64::from_le_bytes(number(32)),
        wall: Timestamp::from_ms(i64::from_le_bytes(number(40))),
        lease: LeaseTime::from_ms(i64::from_le_bytes(number(48))),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
