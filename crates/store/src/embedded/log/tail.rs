//! The end of the log after a crash: tail, or damage.
//!
//! Lives here: that decision, the cut, and making durable again what a start has read. Not here:
//! the walk that led to the end (`recover.rs`).
//!
//! Where a batch with LSN L should be there is none. It was never synced, and so never answered,
//! unless something says that L was durable: a later valid batch, or a batch of a later segment, or
//! the cold store. A group's later batches may have reached the disk while an earlier one did not:
//! these say nothing about L, and are wiped out with it, so that they can never follow what will be
//! written in its place.

use super::batch::{Lsn, Parsed, Seed};
use super::recover::Opened;
use super::scan::{Stray, look_beyond};
use super::segment::Segment;
use super::window::{READ, Window};
use crate::embedded::disk::{Disk, DiskResult, Site};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;

/// The first place without a valid batch.
pub(super) struct Tail<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) store: StoreId,
    pub(super) active: &'a Opened,
    /// The offset of the place.
    pub(super) at: u64,
    /// The LSN that a batch there would have.
    pub(super) expected: Lsn,
    /// Segments beyond.
    pub(super) rest: &'a [Segment],
}

/// A segment before the active one whose last batches nothing has proved: from where, and to where.
pub(super) type UnprovedBefore = (Opened, u64, u64);

impl Tail<'_> {
    /// Refuses damage, or cuts the tail and rewrites what lies before it back to where later
    /// batches prove it durable. Answers how many bytes were cut.
    pub(super) fn decide_and_mend(
        &self,
        proved: Lsn,
        first_unproved: Option<u64>,
        before: Option<&UnprovedBefore>,
    ) -> Result<u64, StorageError> {
        if proved >= self.expected {
            return Err(self.damage(format!("lsn {proved} was durable")));
        }
        self.refuse_later_segments()?;
        let wiped_to = self.refuse_proof_or_find_end()?;
        // Read from the page cache, this may never have reached the disk: a sync that failed before
        // the last stop does not say so twice. Only what is written and synced now is built on.
        if let Some((opened, from, to)) = before {
            rewrite(opened, *from, *to, *to)?;
        }
        rewrite(self.active, first_unproved.unwrap_or(self.at), self.at, wiped_to)?;
        Ok(wiped_to - self.at)
    }

    fn damage(&self, proof: String) -> StorageError {
        let what = format!("no valid batch for lsn {}, though {proof}", self.expected);
        StorageError::damage(&self.active.segment.name, self.at, what)
    }

    /// A segment is named by the last batch of the one before, after that is durable as a whole. So
    /// anything in a later segment that was written since proves that this one went on. What a crash
    /// leaves is one next segment, made ready and not named yet.
    fn refuse_later_segments(&self) -> Result<(), StorageError> {
        let [segment] = self.rest else {
            return match self.rest.last() {
                Some(last) => Err(self.damage(format!("'{}' is there", last.name))),
                None => Ok(()),
            };
        };
        let file = self.disk.open(Site("segment.open"), &segment.name)?;
        let mut window = Window::new(&*file, segment.len);
        let seed = Seed::of(self.store, segment.number);
        let first = match window.header(0)? {
            // Bytes of a segment's earlier life have lower numbers.
            Parsed::Header(header) if header.lsn >= self.expected => Some(header.lsn),
            Parsed::Header(_) | Parsed::Newer { .. } | Parsed::Not => None,
        };
        let beyond = look_beyond(&mut window, segment.len, seed, 0, self.expected)?;
        match first.or(beyond.valid.first().map(|stray| stray.lsn)) {
            Some(lsn) => Err(self.damage(format!("'{}' has lsn {lsn}", segment.name))),
            None => Ok(()),
        }
    }

    /// Where the remains of the unfinished group end.
    fn refuse_proof_or_find_end(&self) -> Result<u64, StorageError> {
        let len = self.active.segment.len;
        let mut window = Window::new(&*self.active.file, len);
        let seed = Seed::of(self.store, self.active.segment.number);
        let beyond = look_beyond(&mut window, len, seed, self.at, self.expected)?;
        let proof = beyond.valid.iter().find(|stray| stray.durable_upto >= self.expected);
        match proof {
            Some(Stray { offset, durable_upto, .. }) => {
                Err(self.damage(format!("a batch at byte {offset} says that lsn {durable_upto} was")))
            }
            None => Ok(beyond.end),
        }
    }
}

/// Writes the bytes from `from` to `to` once more, zeros from there to `wiped_to`, and syncs.
fn rewrite(opened: &Opened, from: u64, to: u64, wiped_to: u64) -> DiskResult<()> {
    if from == wiped_to {
        return Ok(());
    }
    let size = |bytes: u64| usize::try_from(bytes).expect("a segment fits into memory");
    let mut bytes = vec![0; size(wiped_to - from)];
    opened.file.read_at(READ, from, &mut bytes[..size(to - from)])?;
    opened.file.write_at(Site("recover.write"), from, &bytes)?;
    opened.file.sync(Site("recover.sync"))
}
