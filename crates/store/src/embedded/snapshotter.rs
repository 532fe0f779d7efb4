//! Snapshots: made from closed segments on a thread of its own, so that the log need not grow.
//!
//! Lives here: when one is made, how, and what a start begins with. The same `apply` replays the
//! closed part of the log onto the last snapshot's tables; the tables that serve are not touched.
//! Not here: the file's format (`snapshot.rs`).

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use naven_api::Timestamp;
use naven_core::{LeaseTime, Now};

use super::disk::Disk;
use super::log::{ClosedSegments, Lsn};
use super::meta::Meta;
use super::replay::replay;
use super::snapshot;
use super::storage_error::{BoxError, StorageError};
use super::tables::{Journaled, RamTables, Table, Tables};

/// How often the size of the log is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a snapshot that failed is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// The same on a full disk, where somebody may make room at any time.
const RETRY_AFTER_FULL: Duration = Duration::from_secs(5);

/// Makes snapshots of one store.
pub(super) struct Snapshotter {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) meta: Meta,
    pub(super) closed: Arc<ClosedSegments>,
    /// A snapshot is made when so many bytes of closed log lie beyond the last.
    pub(super) every_bytes: u64,
}

/// What the snapshots' thread is asked.
pub(super) enum Ask {
    /// Make one now, and say where it stands.
    Make(mpsc::Sender<Result<Lsn, StorageError>>),
    /// Make no more.
    Stop,
}

/// What a start begins with.
pub(super) struct Restored {
    pub(super) tables: RamTables,
    /// Everything up to this LSN is in them.
    pub(super) lsn: Lsn,
    /// The lease clock as it stood there; none without a snapshot.
    pub(super) lease: Option<LeaseTime>,
}

/// Loads the newest snapshot; without one, nothing.
///
/// # Errors
/// `Damage` with file and offset, `Newer`, `Disk`.
pub(super) fn restore(disk: &dyn Disk, meta: &Meta) -> Result<Restored, StorageError> {
    let mut tables = RamTables::default();
    let header = snapshot::read_newest(disk, meta.store, &mut |table, key, value| {
        let table = Table::from_number(table).ok_or("a table that this version does not know")?;
        tables.put(table, key, bytes::Bytes::copy_from_slice(value));
        Ok::<(), BoxError>(())
    })?;
    Ok(match header {
        Some(header) => Restored { tables, lsn: header.lsn, lease: Some(header.lease) },
        None => Restored { tables, lsn: 0, lease: None },
    })
}

impl Snapshotter {
    /// Makes one of what a start has just replayed, where it is due. A process that never lives for
    /// as long as the thread below needs would otherwise have more to replay at each start. Answers
    /// where the newest snapshot stands; `last` is where the one before does.
    pub(super) fn make_at_start(&self, last: Lsn, tables: &RamTables, header: &snapshot::Header) -> Lsn {
        if self.closed.bytes_from(last + 1) < self.every_bytes {
            return last;
        }
        let made = self.write(tables, header);
        // The log still holds everything: nothing is lost, and the thread tries again.
        made.inspect_err(|error| tracing::error!("no snapshot could be made: {error}")).unwrap_or(last)
    }

    /// Starts the thread; it ends when it is told to stop. `last` is where the newest snapshot stands.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub(super) fn start(self, last: Lsn) -> io::Result<(mpsc::Sender<Ask>, JoinHandle<()>)> {
        let (ask, asked) = mpsc::channel();
        let work = move || self.run(last, &asked);
        let thread = std::thread::Builder::new().name("naven-snapshots".to_owned()).spawn(work)?;
        Ok((ask, thread))
    }

    fn run(&self, mut last: Lsn, asked: &mpsc::Receiver<Ask>) {
        let mut pause = LOOK_EVERY;
        loop {
            match asked.recv_timeout(pause) {
                Ok(Ask::Make(reply)) => {
                    let made = self.make();
                    last = made.as_ref().copied().unwrap_or(last);
                    // Whoever asked may have gone meanwhile.
                    drop(reply.send(made));
                    continue;
                }
                Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => pause = LOOK_EVERY,
            }
            let bytes = self.closed.bytes_from(last + 1);
            let is_full = self.closed.is_disk_full();
            // On a full disk any segment that comes back helps.
            if bytes < self.every_bytes && !(is_full && bytes > 0) {
                continue;
            }
            match self.make() {
                Ok(lsn) => last = lsn,
                // The log still holds everything: nothing is lost, it only grows meanwhile.
                Err(error) => {
                    tracing::error!("no snapshot could be made: {error}");
                    pause = if is_full { RETRY_AFTER_FULL } else { RETRY_AFTER };
                }
            }
        }
    }

    /// Makes one snapshot of all that is in closed segments, and gives those back. Answers where it
    /// stands.
    fn make(&self) -> Result<Lsn, StorageError> {
        let restored = restore(&*self.disk, &self.meta)?;
        let mut tables = Journaled::new(restored.tables);
        let mut stamp = (Timestamp::default(), restored.lease.unwrap_or_default());
        if self.closed.upto() <= restored.lsn {
            return Ok(restored.lsn);
        }
        let next = self.closed.read(restored.lsn + 1, self.closed.upto(), &mut |header, payload| {
            stamp = (header.wall, header.lease);
            replay(&mut tables, payload, Now { wall: header.wall, lease: header.lease }).map(drop)
        })?;
        let header = snapshot::Header { lsn: next - 1, wall: stamp.0, lease: stamp.1 };
        self.write(tables.inner(), &header)
    }

    fn write(&self, tables: &RamTables, header: &snapshot::Header) -> Result<Lsn, StorageError> {
        let rows = tables.rows().map(|(table, key, value)| (table as u8, key, value));
        snapshot::write(&*self.disk, self.meta.store, header, rows)?;
        self.closed.recycle_below(header.lsn)?;
        tracing::info!(lsn = header.lsn, "snapshot made");
        Ok(header.lsn)
    }
}
