//! How readers of the cold store come from the thread that writes it to the one that reads it.
//!
//! Lives here: the newest reader, and waiting for one. Not here: making them (`checkpointer.rs`).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cold::{ColdReader, Room};
use super::disk::{DiskError, Site};
use super::log::Lsn;
use super::stand_in::StandIn;
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
    pub(crate) stand_in: StandIn,
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

    /// Says that there will be no more. What was given and not taken may be stale: nobody would give another.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.fresh = None;
        drop(state);
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
        if self.stand_in.take_turns() {
            return !self.state().is_over;
        }
        let state = self.state();
        let waits = |state: &mut State| state.fresh.is_none() && !state.is_over;
        let waited = self.changed.wait_timeout_while(state, at_most, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }

    /// A reader in place of this one, which has become stale. What it holds is left for [`Self::take`] to
    /// say.
    ///
    /// # Errors
    /// `Disk` where none comes.
    pub(super) fn fresh(
        &self,
        stale: Option<&Arc<ColdReader>>,
    ) -> Result<Option<Arc<ColdReader>>, StorageError> {
        let is_stale = |reader: &Option<Arc<ColdReader>>| match (reader, stale) {
            (Some(reader), Some(stale)) => Arc::ptr_eq(reader, stale),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let mut state = self.state();
        state.fresh.take_if(|(reader, _)| is_stale(reader));
        drop(state);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_was_not_taken_is_not_given_once_there_will_be_no_more() {
        let supply = Supply::default();
        supply.put((None, 1), Room::Ample);
        supply.end();
        let fresh = supply.fresh(None).map(|reader| reader.is_some());
        assert!(matches!(fresh, Err(StorageError::Disk(_))), "nobody would ever give another: {fresh:?}");
        assert!(supply.take().is_none());
    }
}
