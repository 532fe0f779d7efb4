//! Checkpoints: what changed in RAM goes to the cold store, on a thread of its own, so that neither
//! RAM nor the log grows with what was done.
//!
//! Lives here: writing one window after the other, what a full disk means for them, giving back the
//! part of the log that is no longer needed, and making the file smaller in between. Not here: when a window is closed
//! (`sequencer.rs`), and the cold store itself (`cold.rs`).
//!
//! The log is kept from one checkpoint earlier than needed: should the newest commit of the cold
//! store be lost, what was in it is replayed.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use naven_core::planted::{Bug, has};
use tokio::sync::oneshot;

use super::cold::{Applied, Cold, ColdReader, Room};
use super::log::{Alarm, ClosedSegments, Commit, Lsn};
use super::storage_error::StorageError;
use super::supply::Supply;
use super::window::Window;

/// How often it is looked at whether the file could be smaller.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the copying of a file rests between two pieces.
const PIECE_AFTER: Duration = Duration::from_millis(5);
/// A window that was closed, and what the cold store is of once it is written.
pub(super) struct Checkpoint {
    pub(super) window: Arc<Window>,
    pub(super) applied: Applied,
    /// The lease clock when it was closed, in ms: later than the last batch in it.
    pub(super) closed_ms: i64,
}

/// A reader, none where there is no cold store yet, and what it is of.
pub(super) type ReadAnswer = (Option<Arc<ColdReader>>, Applied);

/// What the thread is asked.
pub(super) enum Ask {
    /// Write this; everything in it is durable in the log.
    Write(Checkpoint),
    /// Hand out a reader of what is there now, and what it is of; it shares nothing with others.
    Read { reply: oneshot::Sender<ReadAnswer> },
    /// Write no more.
    Stop,
}

/// Writes the cold store of one engine.
pub(super) struct Checkpointer {
    pub(super) cold: Cold,
    pub(super) closed: Arc<ClosedSegments>,
    pub(super) supply: Arc<Supply>,
    pub(super) alarm: Alarm,
    /// Readers that are in others' hands.
    pub(super) lent: Vec<Weak<ColdReader>>,
}

impl Checkpointer {
    /// Of this cold store, under the log that `commit` writes.
    pub(super) fn new(cold: Cold, commit: &Commit, supply: Arc<Supply>) -> Self {
        let (closed, alarm) = (Arc::clone(commit.closed()), commit.alarm());
        Self { cold, closed, supply, alarm, lent: Vec::new() }
    }

    /// Starts the thread; it ends when it is told to stop, or when a write fails for good.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub(super) fn start(self, asked: mpsc::Receiver<Ask>) -> io::Result<JoinHandle<()>> {
        let work = move || {
            let (supply, alarm) = (Arc::clone(&self.supply), self.alarm.clone());
            if let Err(error) = self.run(&asked) {
                no_more(&alarm, &error);
            }
            supply.end();
        };
        std::thread::Builder::new().name("naven-checkpoints".to_owned()).spawn(work)
    }

    fn run(mut self, asked: &mpsc::Receiver<Ask>) -> Result<(), StorageError> {
        loop {
            let pause = if self.cold.is_compacting() { PIECE_AFTER } else { LOOK_EVERY };
            let ask = match asked.recv_timeout(pause) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if self.turn(ask)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Does what is asked, and a piece of what makes the file smaller.
    ///
    /// # Errors
    /// Where a write fails for good: there must be no further turn.
    pub(super) fn turn(&mut self, ask: Option<Ask>) -> Result<ControlFlow<()>, StorageError> {
        match ask {
            Some(Ask::Write(checkpoint)) => self.write(checkpoint)?,
            Some(Ask::Read { reply }) => self.read(reply)?,
            Some(Ask::Stop) => return Ok(ControlFlow::Break(())),
            None => {}
        }
        self.compact()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Goes on with a smaller file, or begins one where it is time.
    fn compact(&mut self) -> Result<(), StorageError> {
        self.lent.retain(|reader| reader.strong_count() > 0);
        if !self.lent.is_empty() {
            // A file that takes the place of another ends all readers of the old one.
            return Ok(());
        }
        if !self.cold.is_compacting() {
            return self.cold.begin_compaction();
        }
        if self.cold.compact_piece()? {
            self.supply.void();
            let room = self.supply.room();
            self.hand_out(if room == Room::LetGo { Room::Short } else { room })?;
        }
        Ok(())
    }

    /// Lends a reader to whoever copies the store.
    fn read(&mut self, reply: oneshot::Sender<ReadAnswer>) -> Result<(), StorageError> {
        let reader = self.cold.reader()?.map(Arc::new);
        self.lent.extend(reader.as_ref().map(Arc::downgrade));
        // Whoever asked may have gone meanwhile.
        drop(reply.send((reader, self.cold.applied())));
        Ok(())
    }

    /// Writes a window, and hands out a reader of what is there now. Where there is no room the window
    /// is given up: the tables take it back, and come again with what has changed meanwhile.
    fn write(&mut self, checkpoint: Checkpoint) -> Result<(), StorageError> {
        let (previous, closed_ms) = (self.upto(), checkpoint.closed_ms);
        if has(Bug::SegmentFreedEarly) {
            self.closed.recycle_below(checkpoint.applied.lsn)?;
        }
        let written = self.cold.write(&checkpoint.window, checkpoint.applied);
        drop(checkpoint);
        let room = match written {
            Ok(()) => {
                self.closed.recycle_below(previous)?;
                self.supply.void();
                self.cold.keep_room(closed_ms)?
            }
            Err(StorageError::Disk(error)) if error.is_no_room() => {
                tracing::warn!("no room for a checkpoint: {error}");
                self.supply.void();
                self.cold.let_room_go()?
            }
            Err(error) => return Err(error),
        };
        self.closed.hold_back(room.is_short());
        self.hand_out(room)
    }

    fn hand_out(&mut self, room: Room) -> Result<(), StorageError> {
        let reader = self.cold.reader()?.map(Arc::new);
        self.supply.put((reader, self.upto()), room);
        Ok(())
    }

    fn upto(&self) -> Lsn {
        self.cold.applied().lsn
    }
}

/// The engine cannot go on without checkpoints.
pub(super) fn no_more(alarm: &Alarm, error: &StorageError) {
    alarm.raise(format!("no checkpoint can be written: {error}"));
}
