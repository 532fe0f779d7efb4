//! What a start begins with: the cold store, and the log that goes on from there.
//!
//! Lives here: replaying the log onto the tables without letting them outgrow RAM. Not here: reading
//! the log (`log/recover.rs`), applying its records (`replay.rs`).

use std::sync::Arc;

use naven_core::Now;

use super::cold::{Applied, COLD_FILE, Cold, guarded, look};
use super::disk::Disk;
use super::layered::{Layered, unless_unreadable};
use super::log::{BatchHeader, Log, Recovered};
use super::meta::Meta;
use super::pace::Pace;
use super::replay::replay;
use super::storage_error::{BoxError, StorageError};
use super::supply::Supply;
use super::tables::Journaled;

/// Everything of a data folder, ready to go on.
pub(super) struct Restored {
    pub(super) tables: Journaled<Layered>,
    pub(super) cold: Cold,
    pub(super) log: Log,
    pub(super) recovered: Recovered,
    pub(super) supply: Arc<Supply>,
}

impl Restored {
    /// Opens the cold store and replays the log behind it.
    ///
    /// # Errors
    /// `Damage` with file and offset, `Newer`, `Record`, `Disk`.
    pub(super) fn open(disk: Arc<dyn Disk>, meta: &Meta, pace: Pace) -> Result<Self, StorageError> {
        look(&disk, meta)?;
        let mut cold = Cold::open(Arc::clone(&disk), meta)?;
        let supply = Arc::new(Supply::default());
        let reader = cold.reader()?.map(Arc::new);
        let tables = Journaled::new(Layered::load(reader, Arc::clone(&supply))?);
        let from = cold.applied().lsn + 1;
        let mut replaying = Replaying { last: cold.applied(), tables, cold, pace };
        let opened = Log::open(disk, meta, from, &mut |header, payload| replaying.batch(header, payload));
        let (log, recovered) = opened.map_err(unwrapped)?;
        if recovered.next_lsn < from {
            let what = format!("it holds lsn {}, and the log ends before", from - 1);
            return Err(StorageError::damage(COLD_FILE, 0, what));
        }
        let Replaying { tables, cold, .. } = replaying;
        Ok(Self { tables, cold, log, recovered, supply })
    }
}

struct Replaying {
    tables: Journaled<Layered>,
    cold: Cold,
    pace: Pace,
    /// The last batch that was applied.
    last: Applied,
}

impl Replaying {
    fn batch(&mut self, header: &BatchHeader, payload: &[u8]) -> Result<(), BoxError> {
        let window = self.tables.inner().open();
        // What this batch proves durable may go to the cold store; what it does not might still be cut.
        let is_proved = header.durable_upto >= self.last.lsn;
        if is_proved && self.pace.is_reached(window.rows(), window.bytes()) {
            self.write()?;
        }
        let now = Now { wall: header.wall, lease: header.lease };
        // Rows that contradict each other would be a panic: whoever starts is told that the cold store is damaged.
        guarded(|| unless_unreadable(|| replay(&mut self.tables, payload, now)))??;
        self.last = Applied { lsn: header.next_lsn() - 1, wall: header.wall, lease: header.lease };
        Ok(())
    }

    /// Writes what was replayed so far. Without room for it the log still holds everything: the
    /// tables only take more RAM.
    fn write(&mut self) -> Result<(), StorageError> {
        let tables = self.tables.inner_mut();
        let window = tables.freeze(self.last);
        match self.cold.write(&window, self.last) {
            Ok(()) => tables.rest_on(self.cold.reader()?.map(Arc::new), self.last.lsn),
            Err(StorageError::Disk(error)) if error.is_no_room() => {
                tables.take_back_window();
                tables.rest_on(self.cold.reader()?.map(Arc::new), self.cold.applied().lsn);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// An error of the tables is not one of the record that met it.
fn unwrapped(error: StorageError) -> StorageError {
    match error {
        StorageError::Record { file, offset, source } => match source.downcast::<StorageError>() {
            Ok(own) => *own,
            Err(source) => StorageError::Record { file, offset, source },
        },
        other => other,
    }
}
