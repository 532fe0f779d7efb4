//! The log as it is copied while it goes on being written.
//!
//! Lives here: which segments hold what comes after an LSN, and how many of their bytes. Not here: what
//! becomes of the bytes (`backup/`), and keeping the segments meanwhile (`closed.rs`).
//!
//! It reads beside the writer: everything up to an LSN that is durable does not change any more, and
//! every batch of it is checked. What lies beyond may be half written, and is not looked at.

use std::sync::Arc;

use super::batch::{BATCH_FORMAT, BatchKind, Lsn, Seed};
use super::closed::ClosedSegments;
use super::segment::{RollTo, Segment};
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskFile, Site};
use crate::embedded::meta::Meta;
use crate::embedded::storage_error::StorageError;

/// The call site of opening segments.
const OPEN: Site = Site("copy.open");

/// A walk over the segments that hold everything after an LSN.
pub(in crate::embedded) struct LogCopy {
    disk: Arc<dyn Disk>,
    meta: Meta,
    /// The LSN after which everything is wanted.
    after: Lsn,
    /// Up to which LSN, itself included.
    upto: Lsn,
    segment: Segment,
    /// How far its bytes were handed out; none: not at all.
    at: Option<u64>,
    /// Everything up to `upto` was handed out.
    is_done: bool,
    /// The LSN that the next batch begins with, once one was seen.
    next: Option<Lsn>,
}

/// A stretch of one segment. A segment that is still being written may come in several.
pub(in crate::embedded) struct Part {
    pub(in crate::embedded) segment: Segment,
    pub(in crate::embedded) file: Box<dyn DiskFile>,
    /// Where it begins.
    pub(in crate::embedded) from: u64,
    /// Where it ends.
    pub(in crate::embedded) to: u64,
}

impl LogCopy {
    /// Everything after `after` up to `upto`, which must be durable; what is in `closed` must be kept
    /// meanwhile.
    pub(in crate::embedded) fn new(
        disk: Arc<dyn Disk>,
        meta: Meta,
        closed: &ClosedSegments,
        (after, upto): (Lsn, Lsn),
    ) -> Self {
        let (segment, at, is_done) = (closed.first_after(after), None, false);
        Self { disk, meta, after, upto, segment, at, is_done, next: None }
    }

    /// More has become durable: it is wanted too.
    pub(in crate::embedded) fn extend(&mut self, upto: Lsn) {
        self.upto = upto;
        self.is_done = false;
    }

    /// True where nothing follows what was handed out last, unless more is wanted.
    pub(in crate::embedded) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next stretch; none at the end.
    ///
    /// # Errors
    /// `Damage`, `Newer`; `Disk`.
    pub(in crate::embedded) fn next_part(&mut self) -> Result<Option<Part>, StorageError> {
        if self.is_done {
            return Ok(None);
        }
        let segment = self.segment.clone();
        let file = self.disk.open(OPEN, &segment.name)?;
        let from = self.at.unwrap_or(0);
        let (to, roll) = self.walk(&segment, &*file, from)?;
        match roll {
            Some(roll) => (self.segment, self.at) = (Segment::rolled_to(roll, self.meta.segment_bytes), None),
            None => (self.at, self.is_done) = (Some(to), true),
        }
        Ok(Some(Part { segment, file, from, to }))
    }

    /// Where the wanted batches of a segment end, and where its roll leads if that belongs to them.
    fn walk(
        &mut self,
        segment: &Segment,
        file: &dyn DiskFile,
        from: u64,
    ) -> Result<(u64, Option<RollTo>), StorageError> {
        let damage = |at, what: String| Err(StorageError::damage(&segment.name, at, what));
        let mut window = Window::new(file, segment.len);
        let seed = Seed::of(self.meta.store, segment.number);
        let mut offset = from;
        loop {
            let (header, payload) = match window.batch(offset, seed)? {
                Found::Batch(header, _) if header.lsn > self.upto => return Ok((offset, None)),
                Found::Batch(header, payload) => (header, payload),
                Found::Newer(found) => {
                    let (file, known) = (segment.name.clone(), BATCH_FORMAT);
                    return Err(StorageError::Newer { file, found, known });
                }
                Found::Nothing if self.next.unwrap_or(self.after + 1) > self.upto => {
                    return Ok((offset, None));
                }
                Found::Nothing => return damage(offset, format!("lsn {} was durable", self.upto)),
            };
            match self.next {
                Some(next) if next != header.lsn => {
                    return damage(offset, format!("a batch begins at lsn {}, expected {next}", header.lsn));
                }
                None if header.lsn > self.after + 1 => {
                    return damage(offset, format!("the log begins at lsn {} only", header.lsn));
                }
                Some(_) | None => self.next = Some(header.next_lsn()),
            }
            if header.kind == BatchKind::Roll {
                let Some(to) = RollTo::decode(payload) else {
                    return damage(offset, "a roll that names no segment".to_owned());
                };
                return Ok((offset + header.padded_bytes(), Some(to)));
            }
            offset += header.padded_bytes();
        }
    }
}
