//! When what changed in RAM goes to the cold store.
//!
//! Lives here: the sizes at which a window is closed, and what happens where writing falls behind.
//! Not here: the writing (`checkpointer.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use naven_core::planted::{Bug, has};
use naven_core::{LeaseTime, Now};

use super::checkpointer::{Ask, Checkpoint};
use super::cold::{Applied, Room};
use super::layered::Layered;
use super::log::{Commit, Committed, Lsn};
use super::supply::Supply;

/// Nothing more is applied while so many full windows wait.
const BEHIND_MAX: usize = 4;
/// A window that is written without room that is kept has a row for so many bytes at most: a row that
/// goes may take a page.
const BYTES_PER_ROW: usize = 1 << 10;
/// Windows that are written at a stretch to give the log room.
const FREEING_MAX: usize = 4;
/// So many looks are taken while one of them is written.
const FREEING_LOOKS: usize = 20;
/// How long a full disk is left alone, in ms.
const RETRY_MS: i64 = 1_000;
/// How long a wait for the cold store lasts before the engine's health is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// When a window of changes is closed and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// At so many changed rows.
    pub rows: usize,
    /// At so many bytes of them.
    pub bytes: usize,
    /// So many ms after the last one was closed.
    pub age_ms: i64,
}

impl Pace {
    /// Only when asked to: for tests that choose the moment.
    pub const NEVER: Self = Self { rows: usize::MAX, bytes: usize::MAX, age_ms: i64::MAX };

    /// The pace of a store with segments of this length: small disks have small windows, so that the
    /// room that is kept suffices for those that wait when it is needed (`cold/reserve.rs`).
    pub fn of_segments(segment_bytes: u64) -> Self {
        const BYTES_MAX: u64 = 16 << 20;
        let bytes = usize::try_from((segment_bytes / 4).min(BYTES_MAX)).expect("16 MiB fit");
        Self { rows: 60_000, bytes, age_ms: 1_000 }
    }

    /// The pace while no room is kept.
    fn without_reserve(self) -> Self {
        Self { rows: self.rows.min((self.bytes / BYTES_PER_ROW).max(1)), ..self }
    }

    /// True where so much waits that it is time.
    pub(super) fn is_reached(&self, rows: usize, bytes: usize) -> bool {
        rows >= self.rows || bytes >= self.bytes
    }
}

/// The sequencer's side of checkpoints.
pub(super) struct Checkpoints {
    thread: mpsc::Sender<Ask>,
    supply: Arc<Supply>,
    pace: Pace,
    /// The lease clock when a window was last closed, in ms.
    closed_ms: i64,
}

impl Checkpoints {
    pub(super) fn new(thread: mpsc::Sender<Ask>, supply: Arc<Supply>, pace: Pace, since: LeaseTime) -> Self {
        Self { thread, supply, pace, closed_ms: since.as_ms() }
    }

    /// True while there is no room for more than settling.
    pub(super) fn is_stuck(&self) -> bool {
        self.supply.room().is_short()
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        // A thread that is gone need not be told.
        drop(self.thread.send(Ask::Stop));
    }

    /// Takes what was written, closes the window where it is time, and waits where writing has fallen
    /// too far behind: RAM is bounded.
    pub(super) fn turn(&mut self, tables: &mut Layered, commit: &Commit, at: Applied, now: Now) {
        self.take(tables);
        let window = tables.open();
        let room = self.supply.room();
        let age_ms = if room.is_short() { self.pace.age_ms.min(RETRY_MS) } else { self.pace.age_ms };
        let is_old = now.lease.as_ms().saturating_sub(self.closed_ms) >= age_ms;
        let is_full = match room {
            Room::Ample | Room::Kept => self.pace.is_reached(window.rows(), window.bytes()),
            Room::Short => self.pace.without_reserve().is_reached(window.rows(), window.bytes()),
            Room::LetGo => true,
            // The next try comes in its time, however much waits.
            Room::None => false,
        };
        let is_time = (is_full || is_old) && window.rows() > 0;
        // On a full disk a checkpoint without a change gives back the log that only the last needed, and
        // shows whether there is room again.
        let gives_back = is_old && (room.is_short() || (commit.is_full() && commit.closed().upto() > 0));
        if (is_time || gives_back) && tables.frozen_upto().is_none() {
            self.closed_ms = now.lease.as_ms();
            self.close_window(tables, commit, at);
        }
        while self.is_behind(tables) && self.supply.wait(LOOK_EVERY) && commit.failure().is_none() {
            self.take(tables);
        }
    }

    fn is_behind(&self, tables: &Layered) -> bool {
        let window = tables.open();
        let room = self.supply.room();
        let most = if room == Room::Ample { BEHIND_MAX } else { 1 };
        let is_far = self.pace.is_reached(window.rows() / most, window.bytes() / most);
        is_far && tables.frozen_upto().is_some() && !room.has_given_up()
    }

    /// Gives the log room for a batch of so many bytes, where there is none but checkpoints can make some.
    /// It waits for them: those who settle find room, or wait for it, as long as there is any.
    pub(super) fn free_log(&mut self, tables: &mut Layered, commit: &Commit, at: Applied, bytes: usize) {
        for _ in 0..FREEING_MAX {
            let helps = commit.closed().can_give_back() && self.supply.room() != Room::None;
            if self.pace == Pace::NEVER || !helps || commit.has_room_for(bytes) {
                return;
            }
            if tables.frozen_upto().is_none() {
                self.close_window(tables, commit, at);
            }
            for _ in 0..FREEING_LOOKS {
                if tables.frozen_upto().is_none() || !self.supply.wait(LOOK_EVERY) {
                    break;
                }
                self.take(tables);
            }
        }
    }

    /// Writes all that changed up to `at`. None where that failed.
    pub(super) fn finish(
        &mut self,
        tables: &mut Layered,
        commit: &Commit,
        at: Applied,
        failed: &AtomicBool,
    ) -> Option<Lsn> {
        let wait = |tables: &mut Layered| {
            while tables.frozen_upto().is_some()
                && !failed.load(Ordering::Acquire)
                && self.supply.wait(LOOK_EVERY)
            {
                self.take(tables);
            }
            tables.frozen_upto().is_none()
        };
        if !wait(tables) {
            return None;
        }
        self.close_window(tables, commit, at);
        (wait(tables) && tables.open().rows() == 0).then_some(at.lsn)
    }

    /// Reads from the newest state of the cold store from here on.
    fn take(&self, tables: &mut Layered) {
        if let Some((reader, upto)) = self.supply.take() {
            tables.rest_on(reader, upto);
            if self.supply.room().has_given_up() {
                tables.take_back_window();
            }
        }
    }

    /// Closes the window. It goes to the cold store once it is durable in the log: what is lost there
    /// must not be here.
    fn close_window(&self, tables: &mut Layered, commit: &Commit, at: Applied) {
        let checkpoint = Checkpoint { window: tables.freeze(at), applied: at, closed_ms: self.closed_ms };
        let thread = self.thread.clone();
        commit.when_durable(
            if has(Bug::CheckpointBeforeLog) { 0 } else { at.lsn },
            Box::new(move |committed| {
                // Where the log has failed the engine goes down, and the log says what was.
                if committed == Committed::Durable {
                    drop(thread.send(Ask::Write(checkpoint)));
                }
            }),
        );
    }
}
