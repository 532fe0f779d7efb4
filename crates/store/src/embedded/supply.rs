//! How readers of the cold store come from the thread that writes it to the one that reads it.
//!
//! Lives here: the newest reader, and waiting for one. Not here: making them (`checkpointer.rs`).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cold::{ColdReader, Room};
use super::disk::{DiskError, Site};
use super::log::Lsn;
use super::storage_error::StorageError;

/// How long a reader whose file failed waits for another.
const PATIENCE: Duration = Duration::from_secs(10);

/// A reader, and up to which LSN it holds everything.
pub(crate) type Supplied = (Option<Arc<ColdReader>>, Lsn);

/// The newest reader.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Not taken yet.
    fresh: Option<Supplied>,
    /// How much room the last window found and left.
    room: Room,
    /// There will be no more.
    is_over: bool,
}

impl Supply {
    /// Gives the newest reader, and says how much room there is.
    pub(crate) fn put(&self, reader: Supplied, room: Room) {
        let mut state = self.state();
        state.fresh = Some(reader);
        state.room = room;
        drop(state);
        self.changed.notify_all();
    }

    /// What was given and not taken is of no use any more; another follows.
    pub(crate) fn void(&self) {
        self.state().fresh = None;
    }

    /// Says that there will be no more.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// The newest reader, where it was not taken yet.
    pub(crate) fn take(&self) -> Option<Supplied> {
        self.state().fresh.take()
    }

    /// How much room there is.
    pub(crate) fn room(&self) -> Room {
        self.state().room
    }

    /// Says how much room a start has found.
    pub(crate) fn begin_with(&self, room: Room) {
        self.state().room = room;
    }

    /// Waits a moment for a reader that was not taken yet. False at the end.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let state = self.state();
        let waits = |state: &mut State| state.fresh.is_none() && !state.is_over;
        let waited = self.changed.wait_timeout_while(state, at_most, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }

    /// A reader in place of one that has become stale. What it holds is left for [`Self::take`] to
    /// say.
    ///
    /// # Errors
    /// `Disk` where none comes.
    pub(super) fn fresh(&self) -> Result<Option<Arc<ColdReader>>, StorageError> {
        self.wait(PATIENCE);
        match &self.state().fresh {
            Some((reader, _)) => Ok(reader.clone()),
            None => Err(StorageError::Disk(DiskError {
                site: Site("cold.reopen"),
                file: super::cold::COLD_FILE.to_owned(),
                source: std::io::ErrorKind::TimedOut.into(),
            })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
