//! Making the cold store's file smaller while it is in use.
//!
//! Lives here: copying rows piece by piece into a new file, and putting that in the old one's place.
//! Not here: when there is time for a piece (`checkpointer.rs`).
//!
//! The new file has a passing name until it is whole, so a crash leaves the old one. Rows are copied
//! in the order of tables and keys; what a checkpoint changes behind the copy's place is written to
//! both files, what lies ahead is met when the copy comes there.

use redb::Database;

use super::damage::guarded;
use super::write::Raw;
use super::{COLD_FILE, Cold, ColdReader, build, remove, write};
use crate::embedded::disk::Site;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::{Order, Table};
use crate::embedded::window::Window;

/// Bytes of rows that are copied in one piece.
const PIECE_BYTES: usize = 1 << 20;
/// A file up to this length is left as it is.
const SMALL_BYTES: u64 = 64 << 20;
/// A file is made smaller where its rows take less than one part in so many.
const PARTS: u64 = 4;

/// Room that a new file needs beside its rows, and the disk beside the file.
const SPARE_BYTES: u64 = 4 << 20;

const COMPACT: Site = Site("cold.compact");

/// A smaller file in the making.
pub(super) struct Compaction {
    database: Database,
    live_bytes: u64,
    /// Rows of these tables are copied.
    done: usize,
    /// Rows of the table after them are copied up to this key, itself included.
    upto: Option<Vec<u8>>,
    piece_bytes: usize,
}

impl Compaction {
    /// True where the copy has passed this row.
    fn has_passed(&self, table: Table, key: &[u8]) -> bool {
        let index = table as usize;
        index < self.done || (index == self.done && self.upto.as_deref().is_some_and(|upto| key <= upto))
    }

    /// Copies one piece. True where there may be more.
    fn copy(&mut self, from: &ColdReader) -> Result<bool, StorageError> {
        let Some(&table) = Table::ALL.get(self.done) else { return Ok(false) };
        let mut start = self.upto.clone().unwrap_or_default();
        if self.upto.is_some() {
            start.push(0);
        }
        let piece = piece(from, table, &start, self.piece_bytes)?;
        self.live_bytes += write::raw(&self.database, table, &piece)?;
        match piece.into_iter().next_back() {
            Some((key, _)) => self.upto = Some(key),
            None => (self.done, self.upto) = (self.done + 1, None),
        }
        Ok(self.done < Table::ALL.len())
    }
}

/// Rows from `start` on, up to a piece's size, as they lie there; none at the table's end.
fn piece(
    from: &ColdReader,
    table: Table,
    start: &[u8],
    piece_bytes: usize,
) -> Result<Vec<Raw>, StorageError> {
    let (mut piece, mut bytes) = (Vec::new(), 0);
    let end = [0xff; 64];
    let mut rows = from.range(table, start, &end, Order::Rising)?;
    while bytes < piece_bytes
        && let Some(row) = rows.next()?
    {
        bytes += row.key().len() + row.stored().len();
        piece.push((row.key().to_vec(), row.stored().to_vec()));
    }
    Ok(piece)
}

impl Cold {
    /// True while a smaller file is being made.
    pub(crate) fn is_compacting(&self) -> bool {
        self.compaction.is_some()
    }

    /// Begins a smaller file, where most of the present one is of no use and the new one has room
    /// beside it.
    ///
    /// # Errors
    /// `Damage`; `Disk`.
    pub(crate) fn begin_compaction(&mut self) -> Result<(), StorageError> {
        self.begin_compaction_of(SMALL_BYTES, PIECE_BYTES)
    }

    /// The same for any file longer than `small`, in pieces of about so many bytes.
    pub(in crate::embedded) fn begin_compaction_of(
        &mut self,
        small: u64,
        piece_bytes: usize,
    ) -> Result<(), StorageError> {
        if self.database.is_none() || self.compaction.is_some() {
            return Ok(());
        }
        let len = self.disk.len_of(COMPACT, COLD_FILE)?.unwrap_or(0);
        if len <= small || self.live_bytes > len / PARTS {
            return Ok(());
        }
        if self.disk.free_bytes(COMPACT)? < 2 * self.live_bytes + SPARE_BYTES {
            return Ok(());
        }
        let passing = passing();
        remove(&*self.disk, COMPACT, &passing)?;
        let file = match self.disk.create(COMPACT, &passing, 0) {
            Err(error) if error.is_no_room() => return Ok(()),
            other => other?,
        };
        let database = guarded(|| build(file))?;
        tracing::info!(bytes = len, live_bytes = self.live_bytes, "the cold store is made smaller");
        self.compaction = Some(Compaction { database, live_bytes: 0, done: 0, upto: None, piece_bytes });
        Ok(())
    }

    /// Copies one piece; after the last one the new file takes the old one's place, and readers from
    /// before must be replaced: then it answers true. Without room it is given up.
    ///
    /// # Errors
    /// `Damage`; `Disk`.
    pub(crate) fn compact_piece(&mut self) -> Result<bool, StorageError> {
        let reader = self.reader()?;
        let (Some(compaction), Some(reader)) = (&mut self.compaction, reader) else { return Ok(false) };
        match guarded(|| compaction.copy(&reader)) {
            Ok(true) => Ok(false),
            Ok(false) => self.replace().map(|()| true),
            Err(StorageError::Disk(error)) if error.is_no_room() => self.give_up_compaction().map(|()| false),
            Err(error) => Err(error),
        }
    }

    /// What a checkpoint changed is changed in the smaller file too, as far as that has come.
    pub(super) fn follow(&mut self, window: &Window) -> Result<(), StorageError> {
        let Some(compaction) = &mut self.compaction else { return Ok(()) };
        let followed = guarded(|| {
            for table in Table::ALL {
                let passed: Vec<_> = window
                    .rows_of(table)
                    .filter(|(key, _)| compaction.has_passed(table, key))
                    .map(|(key, row)| (key, row.map(|row| &**row)))
                    .collect();
                if !passed.is_empty() {
                    let (database, live) = (&compaction.database, compaction.live_bytes);
                    compaction.live_bytes = write::some(database, table, passed.into_iter(), live)?;
                }
            }
            Ok(())
        });
        match followed {
            Err(StorageError::Disk(error)) if error.is_no_room() => self.give_up_compaction(),
            other => other,
        }
    }

    /// The new file is whole: it becomes the cold store.
    fn replace(&mut self) -> Result<(), StorageError> {
        let Some(compaction) = &self.compaction else { return Ok(()) };
        let about = (self.store, self.applied, compaction.live_bytes);
        match guarded(|| write::about(&compaction.database, about)) {
            Err(StorageError::Disk(error)) if error.is_no_room() => return self.give_up_compaction(),
            other => other?,
        }
        self.compaction = None;
        self.close();
        self.disk.rename(Site("cold.rename"), &passing(), COLD_FILE)?;
        self.disk.sync_dir(Site("dir.sync"), "")?;
        self.reopen()
    }

    /// The old file stays, where a new one was being made.
    pub(super) fn give_up_compaction(&mut self) -> Result<(), StorageError> {
        if self.compaction.take().is_none() {
            return Ok(());
        }
        Ok(remove(&*self.disk, COMPACT, &passing())?)
    }
}

fn passing() -> String {
    format!("{COLD_FILE}.new")
}
