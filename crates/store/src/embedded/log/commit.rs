//! Group commit: one thread writes and syncs while the next batches pile up.
//!
//! Lives here: what callers see of it. Not here: the thread itself (`wal_thread.rs`), and the
//! writing (`append.rs`).

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::append::Log;
use super::batch::{Batch, Lsn};
use super::closed::ClosedSegments;
use super::pool::Pool;
use super::segment::LOG_FOLDER;
use super::wal_thread::{self, Writer};
use crate::embedded::stand_in::StandIn;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, PoisonError};

/// Callers wait while more bytes than this wait to be written.
pub const WAITING_BYTES_MAX: usize = 2 << 20;
/// Callers wait while more transactions than this wait to be written.
pub const WAITING_TXNS_MAX: u64 = 2_048;

/// What a batch takes beside its transactions, in bytes, generously.
const BATCH_ROOM: u64 = 256;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// It is durable.
    Durable,
    /// A write or a sync failed: it may be durable, or not.
    Unknown,
    /// It was never handed to the disk, and never will be.
    NotWritten,
}

/// Told what became of a batch, exactly once. It runs on the log's thread, so it must not wait.
pub type Then = Box<dyn FnOnce(Committed) + Send>;

/// Told once that the log failed, after everybody who waited was told.
pub type OnFailure = Box<dyn FnOnce(&CommitFailed) + Send>;

/// The log failed, for good: the process must end and start again from disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct CommitFailed {
    /// What happened, for the operator.
    pub why: String,
}

/// The log on a thread of its own. Dropping it writes what waits, but no seal.
pub struct Commit {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What callers and the log's thread share.
pub(super) struct Shared {
    pub(super) pool: Arc<Pool>,
    pub(super) closed: Arc<ClosedSegments>,
    /// Everything up to this LSN is durable.
    pub(super) durable: AtomicU64,
    pub(super) state: Mutex<State>,
    /// Something waits to be written, or the end has come.
    pub(super) work: Condvar,
    /// There is room for more.
    pub(super) room: Condvar,
    pub(super) stand_in: StandIn,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) batches: Vec<Batch>,
    pub(super) thens: Vec<Then>,
    pub(super) bytes: usize,
    pub(super) txns: u64,
    /// Bytes that the log's thread has taken and not made durable yet.
    pub(super) writing: usize,
    /// Who waits for what others wrote, by the LSN they wait for.
    pub(super) readers: BTreeMap<Lsn, Vec<Then>>,
    pub(super) ending: Ending,
    /// The log's thread has ended: nothing that is not durable now will ever be.
    pub(super) is_over: bool,
    pub(super) failed: Option<CommitFailed>,
    pub(super) on_failure: Option<OnFailure>,
}

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Ending {
    /// Not in sight.
    #[default]
    Serving,
    /// Write what waits, then stop: with a seal of these clocks, or without one.
    Asked(Option<(Timestamp, LeaseTime)>),
}

impl std::fmt::Debug for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commit").field("durable", &self.durable_lsn()).finish_non_exhaustive()
    }
}

/// Stops a log from outside, for good.
#[derive(Clone)]
pub struct Alarm(Arc<Shared>);

impl Alarm {
    /// The log takes nothing any more, and whoever waits is told so.
    pub fn raise(&self, why: String) {
        self.0.fail(why, Vec::new(), Vec::new());
    }
}

/// Says how far a log is durable, from outside.
#[derive(Clone)]
pub struct DurableUpto(Arc<Shared>);

impl DurableUpto {
    /// Up to which LSN, itself included, everything is durable; whatever was answered is.
    pub fn lsn(&self) -> Lsn {
        self.0.durable.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for DurableUpto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DurableUpto").field(&self.lsn()).finish()
    }
}

impl Commit {
    /// For whoever copies the log.
    pub fn durable_upto(&self) -> DurableUpto {
        DurableUpto(Arc::clone(&self.shared))
    }

    /// For whoever finds that the engine cannot go on.
    pub fn alarm(&self) -> Alarm {
        Alarm(Arc::clone(&self.shared))
    }

    /// Starts the log's threads: one writes, one makes segments ahead of need. `on_failure` is told
    /// once, if ever, when a write or a sync fails.
    ///
    /// # Errors
    /// Where a thread cannot be started.
    pub fn start(log: Log, on_failure: OnFailure) -> io::Result<Self> {
        let (commit, writer) = Self::of(log, on_failure);
        commit.start_threads(writer)?;
        Ok(commit)
    }

    /// The log, and the part that writes it: nothing is written before that runs.
    pub(in crate::embedded) fn of(log: Log, on_failure: OnFailure) -> (Self, Writer) {
        let shared = Arc::new(Shared {
            pool: Arc::clone(log.pool()),
            closed: Arc::clone(log.closed()),
            durable: AtomicU64::new(log.durable_lsn()),
            state: Mutex::new(State { on_failure: Some(on_failure), ..State::default() }),
            work: Condvar::new(),
            room: Condvar::new(),
            stand_in: StandIn::default(),
        });
        let writer = Writer::of(log, Arc::clone(&shared));
        (Self { shared, threads: Mutex::default() }, writer)
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// Where one cannot be started.
    pub(in crate::embedded) fn start_threads(&self, writer: Writer) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.spawn("naven-segments", move || wal_thread::keep_spares(&shared))?;
        self.spawn("naven-log", move || writer.run())
    }

    /// For an engine without threads.
    #[cfg(feature = "conformance")]
    pub(in crate::embedded) fn stand_in(&self) -> &StandIn {
        &self.shared.stand_in
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Hands over a batch; `then` is told when it is durable. Batches come from one thread, each
    /// beginning with the LSN at which the one before ended. Blocks only while too much waits to
    /// be written. After a failure or the end, `then` is told `NotWritten` at once.
    pub fn push(&self, batch: Batch, then: Then) {
        let mut state = self.shared.state();
        while state.is_serving() && !state.has_room() {
            state = self.shared.wait_for_room(state);
        }
        if !state.is_serving() {
            drop(state);
            return then(Committed::NotWritten);
        }
        state.bytes += batch.payload.len();
        state.txns += u64::from(batch.count);
        state.batches.push(batch);
        state.thens.push(then);
        drop(state);
        self.shared.work.notify_one();
    }

    /// Tells `then` when everything up to `lsn`, itself included, is durable: at once where it is.
    /// After a failure it is told `Unknown`, whatever it waits for: nothing succeeds any more.
    pub fn when_durable(&self, lsn: Lsn, then: Then) {
        let mut state = self.shared.state();
        let outcome = if state.failed.is_some() {
            Committed::Unknown
        } else if self.durable_lsn() >= lsn {
            Committed::Durable
        } else if state.is_over {
            Committed::NotWritten
        } else {
            state.readers.entry(lsn).or_default().push(then);
            return;
        };
        drop(state);
        then(outcome);
    }

    /// Up to which LSN, itself included, everything is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// True where the disk is full: publishes must be refused, while what is left serves settling
    /// and heartbeats. It is tried again each second, and whenever segments come back.
    pub fn is_full(&self) -> bool {
        self.shared.pool.is_full()
    }

    /// True where a batch of so many bytes can surely be made durable. Where it cannot, nothing may
    /// be applied: what is applied has to be written, and would wait for room that may never come.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        let state = self.shared.state();
        let waiting = (state.bytes + state.writing) as u64;
        drop(state);
        self.shared.pool.has_room_for(waiting, bytes as u64 + BATCH_ROOM)
    }

    /// Why the log takes nothing any more, if it failed.
    pub fn failure(&self) -> Option<CommitFailed> {
        self.shared.state().failed.clone()
    }

    /// Closed segments, for whoever makes checkpoints.
    pub fn closed(&self) -> &Arc<ClosedSegments> {
        &self.shared.closed
    }

    /// Writes what waits, then a seal with these clocks, and ends the threads. Later calls do
    /// nothing.
    ///
    /// # Errors
    /// Where the log failed, now or before.
    pub fn close(&self, wall: Timestamp, lease: LeaseTime) -> Result<(), CommitFailed> {
        self.end(Some((wall, lease)));
        self.failure().map_or(Ok(()), Err)
    }

    fn end(&self, seal: Option<(Timestamp, LeaseTime)>) {
        let mut state = self.shared.state();
        if state.ending == Ending::Serving {
            state.ending = Ending::Asked(seal);
        }
        drop(state);
        self.shared.pool.stop();
        self.shared.work.notify_all();
        self.shared.room.notify_all();
        self.shared.stand_in.take_turns();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Both threads catch their own panics and say so through `failed`.
            drop(thread.join());
        }
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there may be room for more.
    fn wait_for_room<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        drop(state);
        if self.stand_in.take_turns() {
            return self.state();
        }
        let state = self.state();
        if state.is_serving() && !state.has_room() {
            return self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Waits until something is to be done; it may come back without.
    pub(super) fn wait_for_work(&self) {
        let state = self.state();
        if state.is_serving() && state.batches.is_empty() {
            drop(self.work.wait(state).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The log failed: `unknown` may have reached the disk, `unwritten` and what waits did not.
    pub(super) fn fail(&self, why: String, unknown: Vec<Then>, unwritten: Vec<Then>) {
        let mut state = self.state();
        if state.failed.is_none() {
            state.failed = Some(CommitFailed { why });
        }
        let waiting = std::mem::take(&mut state.thens);
        state.batches.clear();
        let readers = std::mem::take(&mut state.readers);
        let notice = state.on_failure.take();
        let failed = state.failed.clone();
        drop(state);
        self.room.notify_all();
        self.work.notify_all();
        // First, so that whoever hears of the failure by an answer finds the engine unwell.
        if let (Some(notice), Some(failed)) = (notice, failed) {
            tracing::error!(folder = LOG_FOLDER, "the log failed: {failed}");
            notice(&failed);
        }
        unknown.into_iter().for_each(|then| then(Committed::Unknown));
        unwritten.into_iter().chain(waiting).for_each(|then| then(Committed::NotWritten));
        readers.into_values().flatten().for_each(|then| then(Committed::Unknown));
    }

    /// The log's thread ends. Who still waits, waits for what was never pushed.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.is_over = true;
        let readers = std::mem::take(&mut state.readers);
        drop(state);
        readers.into_values().flatten().for_each(|then| then(Committed::NotWritten));
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.bytes <= WAITING_BYTES_MAX && self.txns <= WAITING_TXNS_MAX
    }

    pub(super) fn is_serving(&self) -> bool {
        self.ending == Ending::Serving && self.failed.is_none()
    }
}
