//! The engine without threads: every part takes its turn when it is told to.
//!
//! Lives here: turns, for simulations that have to come out the same each time. Not here: the parts themselves,
//! which are those of an engine with threads.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::checkpointer::{Ask, Checkpointer, no_more};
use super::disk::Disk;
use super::engine::{Embedded, Options, Parts};
use super::log::Alarm;
use super::log::pool::Pool;
use super::log::wal_thread::{Writer, Written};
use super::sequencer::Sequencer;
use super::storage_error::StorageError;
use super::supply::Supply;
use crate::clock::{Clock, Random};

/// A part of the engine that would have a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Applies what callers hand in.
    Sequencer,
    /// Writes the log, and answers.
    Log,
    /// Makes segments ahead of need.
    Segments,
    /// Writes the cold store.
    Checkpoints,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sequencer, Self::Log, Self::Segments, Self::Checkpoints];
}

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Something was done.
    Done,
    /// There was nothing to do.
    Nothing,
    /// There is something to do, and no room on the disk for it.
    NoRoom,
    /// The part has ended.
    Over,
}

/// The parts of one engine. Dropping it without closing the engine writes what waits, as an engine with
/// threads does; a process that is killed is played by taking the disk away first.
pub struct Stepped {
    sequencer: Option<Sequencer>,
    others: Arc<Mutex<Others>>,
}

/// The parts that the sequencer may have to wait for.
struct Others {
    writer: Option<Writer>,
    pool: Arc<Pool>,
    checkpointer: Option<Checkpointer>,
    asked: Receiver<Ask>,
    supply: Arc<Supply>,
    alarm: Alarm,
}

impl std::fmt::Debug for Stepped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stepped")
    }
}

impl Stepped {
    /// As [`Embedded::open`], but nothing happens between turns.
    ///
    /// # Errors
    /// See [`StorageError`].
    pub fn open(
        disk: Arc<dyn Disk>,
        options: Options,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<(Embedded, Self), StorageError> {
        let (engine, parts) = Embedded::assemble(disk, options, clock, random)?;
        let Parts { sequencer, writer, checkpointer, asked } = parts;
        let supply = Arc::clone(&checkpointer.supply);
        let others = Others {
            pool: writer.pool(),
            writer: Some(writer),
            alarm: checkpointer.alarm.clone(),
            checkpointer: Some(checkpointer),
            asked,
            supply: Arc::clone(&supply),
        };
        let others = Arc::new(Mutex::new(others));
        for stand_in in [&supply.stand_in, sequencer.commit.stand_in()] {
            let others = Arc::downgrade(&others);
            stand_in.set(move || {
                let Some(others) = others.upgrade() else { return };
                match others.try_lock() {
                    Ok(mut others) => others.take_turns(),
                    Err(TryLockError::Poisoned(_)) => panic!("a turn panicked"),
                    Err(TryLockError::WouldBlock) => panic!("a part waits for its own turn"),
                }
            });
        }
        Ok((engine, Self { sequencer: Some(sequencer), others }))
    }

    /// Lets one part do what there is to do for it, without waiting. The sequencer takes all that callers have
    /// handed in; it looks after ticks and checkpoints in each turn, with or without callers.
    ///
    /// # Panics
    /// Where the part does, which in an engine with threads ends the engine.
    pub fn turn(&mut self, part: Part) -> Turn {
        match part {
            Part::Sequencer => self.apply(),
            Part::Log => self.others().write(),
            Part::Segments => self.others().make_segment(),
            Part::Checkpoints => self.others().checkpoint(),
        }
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&mut self) -> Turn {
        let Some(mut sequencer) = self.sequencer.take() else { return Turn::Over };
        if sequencer.inbox.take_in(1).is_err() {
            sequencer.close(None);
            return Turn::Over;
        }
        let turn = if sequencer.inbox.is_empty() { Turn::Nothing } else { Turn::Done };
        match sequencer.turn() {
            ControlFlow::Continue(()) => {
                self.sequencer = Some(sequencer);
                turn
            }
            ControlFlow::Break(closing) => {
                sequencer.close(Some(closing));
                Turn::Over
            }
        }
    }
}

impl Others {
    fn write(&mut self) -> Turn {
        let Some(writer) = &mut self.writer else { return Turn::Over };
        match writer.turn() {
            Written::Group => Turn::Done,
            Written::Nothing => Turn::Nothing,
            Written::NoRoom => Turn::NoRoom,
            Written::End => {
                writer.finish();
                self.writer = None;
                Turn::Over
            }
        }
    }

    fn make_segment(&self) -> Turn {
        if self.pool.is_stopping() {
            return Turn::Over;
        }
        match self.pool.keep_one() {
            Ok(None) => Turn::Nothing,
            Ok(Some(true)) => Turn::Done,
            Ok(Some(false)) => Turn::NoRoom,
            Err(error) => {
                self.alarm.raise(error.to_string());
                Turn::Over
            }
        }
    }

    fn checkpoint(&mut self) -> Turn {
        let Some(checkpointer) = &mut self.checkpointer else { return Turn::Over };
        let ask = self.asked.try_recv().ok();
        let is_asked = ask.is_some();
        match checkpointer.turn(ask) {
            Ok(ControlFlow::Continue(())) if is_asked => return Turn::Done,
            Ok(ControlFlow::Continue(())) => return Turn::Nothing,
            Ok(ControlFlow::Break(())) => {}
            Err(error) => no_more(&self.alarm, &error),
        }
        self.supply.end();
        self.checkpointer = None;
        Turn::Over
    }

    /// What the sequencer waits for: what it handed to the log written, and what that sets free checkpointed.
    fn take_turns(&mut self) {
        while self.write() == Turn::Done {}
        while self.checkpoint() == Turn::Done {}
    }
}
