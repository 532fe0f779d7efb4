//! Writing a snapshot.
//!
//! Lives here: the rows' way into the file, and its end. Not here: the format (`snapshot.rs`).

use super::{
    CHUNK_BYTES, CHUNK_BYTES_MAX, CHUNK_HEAD_BYTES, HEAD_BYTES, Header, MAGIC, SNAPSHOT_FOLDER,
    SNAPSHOT_FORMAT, TRAILER, chunk_crc, file_of,
};
use crate::embedded::disk::{Disk, DiskFile, DiskResult, Site};
use crate::embedded::meta::StoreId;

const WRITE: Site = Site("snapshot.write");

/// A snapshot that is being written. It counts only once [`SnapshotWriter::finish`] answers;
/// dropped before, it leaves a file that the next one removes.
pub struct SnapshotWriter<'a> {
    disk: &'a dyn Disk,
    file: Box<dyn DiskFile>,
    name: String,
    head_crc: u32,
    at: u64,
    /// The chunk that is being filled, its head included.
    chunk: Vec<u8>,
    rows: u64,
    chunks: u64,
}

impl std::fmt::Debug for SnapshotWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotWriter").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> SnapshotWriter<'a> {
    /// Begins a snapshot.
    ///
    /// # Errors
    /// Whatever the file system says; `is_no_room` where there is none.
    pub fn begin(disk: &'a dyn Disk, store: StoreId, header: &Header) -> DiskResult<Self> {
        disk.make_folder(WRITE, SNAPSHOT_FOLDER)?;
        disk.sync_dir(Site("dir.sync"), "")?;
        let name = file_of(header.lsn);
        let passing = format!("{name}.new");
        match disk.remove(Site("snapshot.remove"), &passing) {
            Ok(()) => {}
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
        let file = disk.create(Site("snapshot.create"), &passing, 0)?;
        let (bytes, head_crc) = encode_head(store, header);
        file.write_at(WRITE, 0, &bytes)?;
        let (at, chunk) = (bytes.len() as u64, vec![0; CHUNK_HEAD_BYTES]);
        Ok(Self { disk, file, name, head_crc, at, chunk, rows: 0, chunks: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Whatever the file system says; `is_no_room` where there is none. The snapshot is then given
    /// up.
    pub fn row(&mut self, table: u8, key: &[u8], value: &[u8]) -> DiskResult<()> {
        let length =
            |bytes: &[u8]| u32::try_from(bytes.len()).expect("a row is at most 16 MiB").to_le_bytes();
        self.chunk.push(table);
        self.chunk.extend_from_slice(&length(key));
        self.chunk.extend_from_slice(&length(value));
        self.chunk.extend_from_slice(key);
        self.chunk.extend_from_slice(value);
        assert!(self.chunk.len() <= CHUNK_BYTES_MAX, "a row of {} bytes", key.len() + value.len());
        self.rows += 1;
        if self.chunk.len() >= CHUNK_BYTES { self.write_chunk() } else { Ok(()) }
    }

    /// Makes the snapshot count: synced, under its own name, and that durable too.
    ///
    /// # Errors
    /// Whatever the file system says. After a failed sync nothing may be built on this snapshot.
    pub fn finish(&mut self) -> DiskResult<()> {
        if self.chunk.len() > CHUNK_HEAD_BYTES {
            self.write_chunk()?;
        }
        let counts = [self.rows.to_le_bytes(), self.chunks.to_le_bytes()].concat();
        let mut trailer = TRAILER.to_le_bytes().to_vec();
        trailer.extend_from_slice(&chunk_crc(self.head_crc, self.at, &counts).to_le_bytes());
        trailer.extend_from_slice(&counts);
        self.file.write_at(WRITE, self.at, &trailer)?;
        self.file.sync(Site("snapshot.sync"))?;
        self.disk.rename(Site("snapshot.rename"), &format!("{}.new", self.name), &self.name)?;
        self.disk.sync_dir(Site("dir.sync"), SNAPSHOT_FOLDER)
    }

    /// Gives the snapshot up and removes what was written of it.
    pub fn abandon(self) {
        // It is a file that nothing points to: the next snapshot removes it if this does not.
        let _ = self.disk.remove(Site("snapshot.remove"), &format!("{}.new", self.name));
    }

    fn write_chunk(&mut self) -> DiskResult<()> {
        let rows = &self.chunk[CHUNK_HEAD_BYTES..];
        let len = u32::try_from(rows.len()).expect("a chunk is at most 32 MiB");
        let crc = chunk_crc(self.head_crc, self.at, rows);
        self.chunk[..4].copy_from_slice(&len.to_le_bytes());
        self.chunk[4..CHUNK_HEAD_BYTES].copy_from_slice(&crc.to_le_bytes());
        self.file.write_at(WRITE, self.at, &self.chunk)?;
        self.at += self.chunk.len() as u64;
        self.chunks += 1;
        self.chunk.truncate(CHUNK_HEAD_BYTES);
        Ok(())
    }
}

fn encode_head(store: StoreId, header: &Header) -> (Vec<u8>, u32) {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&SNAPSHOT_FORMAT.to_le_bytes());
    bytes.extend_from_slice(&[0; 6]);
    bytes.extend_from_slice(&store.0);
    bytes.extend_from_slice(&header.lsn.to_le_bytes());
    bytes.extend_from_slice(&header.wall.as_ms().to_le_bytes());
    bytes.extend_from_slice(&header.lease.as_ms().to_le_bytes());
    debug_assert_eq!(bytes.len(), HEAD_BYTES, "the head is as long as readers expect");
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    (bytes, crc)
}
