//! Segments that wait to be used: zero-filled once, and used again and again.
//!
//! Lives here: making them ahead of need, taking one, giving one back, and what it means when there
//! is no room to make more. Not here: what is written into them (`append.rs`), and when the log no
//! longer needs a segment (`closed.rs`).
//!
//! A spare's old bytes stay in it: checksums are seeded with the segment's number, so they never
//! pass for batches under a new one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::segment::{LOG_FOLDER, Segment};
use crate::embedded::disk::{Disk, DiskError, DiskResult, Site};
use crate::embedded::storage_error::StorageError;
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, wait_at_most};

/// Spares that are made ahead of need at first; more where the log had to wait for one.
const SPARES_MIN: usize = 3;
/// Most spares that are kept.
const SPARES_MAX: usize = 16;
/// Spares that serve settling and heartbeats while the disk is full: below it, publishes are
/// refused.
pub const RESERVE: usize = 2;
/// How often a full disk is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The spare segments of one log.
pub struct Pool {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    spares: VecDeque<String>,
    target: usize,
    /// The number of the next spare's name.
    next: u64,
    /// The last try to make a file found no room.
    found_no_room: bool,
    /// What room there is belongs to the cold store.
    holds_back: bool,
    stopping: bool,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The spares of a new store, made before anything is promised.
pub(in crate::embedded) fn make_first_spares(disk: &dyn Disk, segment_bytes: u64) -> DiskResult<()> {
    (1..=SPARES_MIN as u64).try_for_each(|number| make(disk, &spare_name(number), segment_bytes))
}

fn spare_name(number: u64) -> String {
    format!("{LOG_FOLDER}/{number:012}.spare")
}

/// Makes a file under a passing name, so that a spare is always whole.
fn make(disk: &dyn Disk, name: &str, bytes: u64) -> DiskResult<()> {
    let passing = format!("{name}.new");
    drop(disk.create(Site("segment.create"), &passing, bytes)?);
    let placed = disk.rename(Site("segment.rename"), &passing, name);
    if placed.is_err() {
        // It is of no use to anyone and holds room; the next start removes it if this does not.
        let _ = disk.remove(Site("segment.remove"), &passing);
    }
    placed
}

impl Pool {
    /// The pool of a log in which these spares and unfinished files were found.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        spares: &[String],
        unfinished: &[String],
    ) -> Result<Self, StorageError> {
        let path = |file: &String| format!("{LOG_FOLDER}/{file}");
        for file in unfinished {
            disk.remove(Site("segment.remove"), &path(file))?;
        }
        let mut whole = VecDeque::new();
        let mut next = 1;
        for file in spares {
            let number = file.strip_suffix(".spare").and_then(|digits| digits.parse().ok()).unwrap_or(0);
            next = next.max(number + 1);
            let len = disk.open(Site("segment.open"), &path(file))?.len(Site("segment.len"))?;
            if len == segment_bytes {
                whole.push_back(path(file));
            } else {
                disk.remove(Site("segment.remove"), &path(file))?;
            }
        }
        let (target, found_no_room, holds_back, stopping) = (SPARES_MIN, false, false, false);
        let state = State { spares: whole, target, next, found_no_room, holds_back, stopping };
        Ok(Self { disk, segment_bytes, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// True where the disk is full: less than the reserve is left, and more cannot be made.
    pub fn is_full(&self) -> bool {
        let (spares, more) = self.segments_left(RESERVE);
        let more = if self.state().holds_back { 0 } else { more };
        spares + more < RESERVE
    }

    /// While it holds back it makes no spare but the one that the log needs to go on.
    pub(super) fn hold_back(&self, holds_back: bool) {
        self.state().holds_back = holds_back;
        self.changed.notify_all();
    }

    /// True where a batch of so many bytes can surely be written behind `waiting` bytes that are on
    /// their way. A segment counts for half its length, since no batch lies in two.
    pub(super) fn has_room_for(&self, waiting: u64, bytes: u64) -> bool {
        if bytes > self.segment_bytes / 2 {
            // It may need a file of its own, which only free room can give.
            return self.free_bytes() / 2 >= waiting + bytes + self.segment_bytes;
        }
        let needed =
            usize::try_from((waiting + bytes).div_ceil(self.segment_bytes / 2)).unwrap_or(usize::MAX);
        let (spares, more) = self.segments_left(needed);
        spares + more >= needed
    }

    /// The spares, and how many more can be made. The disk is asked only where there are fewer spares
    /// than `needed`, and not at all once making one has failed for want of room: that nobody has met
    /// the end of the disk yet does not mean that it is far.
    fn segments_left(&self, needed: usize) -> (usize, usize) {
        let state = self.state();
        let (spares, found_no_room) = (state.spares.len(), state.found_no_room);
        drop(state);
        if spares >= needed || found_no_room {
            return (spares, 0);
        }
        // One less than fit: a file system needs some room for itself.
        let more = (self.free_bytes() / self.segment_bytes).saturating_sub(1);
        (spares, usize::try_from(more).unwrap_or(usize::MAX - spares))
    }

    fn free_bytes(&self) -> u64 {
        self.disk.free_bytes(Site("segment.room")).unwrap_or(0)
    }

    /// How many spares there are.
    pub fn spares(&self) -> usize {
        self.state().spares.len()
    }

    /// Makes spares until there are so many. That there is no room for them is remembered, and is
    /// no error.
    ///
    /// # Errors
    /// Whatever else the file system says.
    pub(super) fn top_up(&self, wanted: usize) -> DiskResult<()> {
        while self.spares() < wanted && self.make_one()? {}
        Ok(())
    }

    /// Makes spares up to what the log's use has shown to be needed.
    ///
    /// # Errors
    /// Whatever the file system says, but for want of room.
    pub(super) fn refill(&self) -> DiskResult<()> {
        let target = self.state().target;
        self.top_up(target)
    }

    /// Makes one spare, or answers false where there is no room.
    fn make_one(&self) -> DiskResult<bool> {
        let state = self.state();
        if state.holds_back && !state.spares.is_empty() {
            return Ok(false);
        }
        drop(state);
        // Asked first, so that a full disk is not filled to its last byte and emptied each second.
        if self.disk.free_bytes(Site("segment.room"))? < self.segment_bytes {
            self.state().found_no_room = true;
            return Ok(false);
        }
        let name = self.fresh_name();
        let made = make(&*self.disk, &name, self.segment_bytes);
        let made = made.and_then(|()| self.disk.sync_dir(Site("dir.sync"), LOG_FOLDER));
        match made {
            Ok(()) => {
                self.put(name);
                Ok(true)
            }
            Err(error) if may_pass(&error) => {
                self.state().found_no_room = true;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a spare and makes it `segment`; false where there is none, and no room to make one.
    /// Its name is durable only after the folder's next sync.
    pub(super) fn place(&self, segment: &Segment) -> DiskResult<bool> {
        if self.spares() == 0 {
            let mut state = self.state();
            if !state.found_no_room {
                state.target = (state.target + 1).min(SPARES_MAX);
            }
            drop(state);
            self.top_up(1)?;
        }
        let Some(name) = self.state().spares.pop_front() else { return Ok(false) };
        self.disk.rename(Site("segment.rename"), &name, &segment.name)?;
        self.changed.notify_all();
        Ok(true)
    }

    /// Makes a file of its own for a long batch; false where there is no room.
    pub(super) fn place_oversize(&self, segment: &Segment) -> DiskResult<bool> {
        match make(&*self.disk, &segment.name, segment.len) {
            Ok(()) => Ok(true),
            Err(error) if may_pass(&error) => {
                self.state().found_no_room = true;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes back segments that the log no longer needs. What is over the target, and what is of
    /// another length, is removed.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(super) fn give_back(&self, segments: &[Segment]) -> DiskResult<()> {
        let state = self.state();
        let target = if state.holds_back { SPARES_MIN } else { state.target };
        let mut room = target.saturating_sub(state.spares.len());
        drop(state);
        let mut spares = Vec::new();
        for segment in segments {
            if segment.is_oversize() || room == 0 {
                self.disk.remove(Site("segment.remove"), &segment.name)?;
            } else {
                let name = self.fresh_name();
                self.disk.rename(Site("segment.rename"), &segment.name, &name)?;
                spares.push(name);
                room -= 1;
            }
        }
        if !segments.is_empty() {
            self.disk.sync_dir(Site("dir.sync"), LOG_FOLDER)?;
        }
        for name in spares {
            self.put(name);
        }
        Ok(())
    }

    /// Waits until there may be room, at most so long as a full disk is left alone.
    pub(super) fn wait_for_room(&self) {
        let state = self.state();
        if !state.stopping {
            wait_at_most(&self.changed, state, TRY_AGAIN);
        }
    }

    /// Keeps making spares ahead of need until [`Pool::stop`].
    ///
    /// # Errors
    /// Whatever the file system says, but for want of room: that is tried again each second.
    pub(super) fn keep(&self) -> DiskResult<()> {
        loop {
            let mut state = self.state();
            while !state.stopping && state.spares.len() >= state.target {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.stopping {
                return Ok(());
            }
            drop(state);
            if !self.make_one()? {
                let state = self.state();
                if !state.stopping {
                    wait_at_most(&self.changed, state, TRY_AGAIN);
                }
            }
        }
    }

    /// Makes one spare where the log's use has shown that it will be needed: none where it has not, false where
    /// there is no room.
    ///
    /// # Errors
    /// Whatever the file system says, but for want of room.
    #[cfg(feature = "conformance")]
    pub(in crate::embedded) fn keep_one(&self) -> DiskResult<Option<bool>> {
        let state = self.state();
        if state.spares.len() >= state.target {
            return Ok(None);
        }
        drop(state);
        self.make_one().map(Some)
    }

    /// Ends [`Pool::keep`] and every wait.
    pub(super) fn stop(&self) {
        self.state().stopping = true;
        self.changed.notify_all();
    }

    pub(in crate::embedded) fn is_stopping(&self) -> bool {
        self.state().stopping
    }

    fn fresh_name(&self) -> String {
        let mut state = self.state();
        state.next += 1;
        spare_name(state.next - 1)
    }

    fn put(&self, name: String) {
        let mut state = self.state();
        state.spares.push_back(name);
        state.found_no_room = false;
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for what goes by itself: a full disk, and too many open files.
fn may_pass(error: &DiskError) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    error.is_no_room() || matches!(error.source.raw_os_error(), Some(ENFILE | EMFILE))
}
