//! The thread that writes: it takes all that waits, writes and syncs it, and tells who waited.
//!
//! Lives here: that loop, and the one that makes segments ahead of need. Not here: what callers see
//! (`commit.rs`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::append::{AppendError, Log};
use super::batch::{Batch, Lsn};
use super::commit::{Committed, Ending, Shared, State, Then};
#[cfg(feature = "conformance")]
use super::pool::Pool;

/// How often a full disk is tried again, a second apart, before the log gives up.
const ROOM_TRIES: u32 = 10;

/// What is written together.
struct Group {
    batches: Vec<Batch>,
    thens: Vec<Then>,
}

/// What a turn of the writer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::embedded) enum Written {
    /// A group is durable.
    Group,
    /// Nothing waits.
    Nothing,
    /// There is no room for what waits; it may come.
    NoRoom,
    /// The log is closed, or has failed: there are no more turns.
    End,
}

/// What writes the log of one engine.
pub(in crate::embedded) struct Writer {
    log: Log,
    shared: Arc<Shared>,
    /// What there was no room for, and how often that is tried again.
    held_up: Option<(Group, u32)>,
}

/// What there is to be written.
enum Next {
    Group(Group),
    Nothing,
    /// The end has come: with a seal of these clocks, or without.
    End(Option<(Timestamp, LeaseTime)>),
}

impl Writer {
    pub(super) fn of(log: Log, shared: Arc<Shared>) -> Self {
        Self { log, shared, held_up: None }
    }

    /// Serves until the end or a failure. A panic is a failure: nobody waits for an answer that cannot
    /// come.
    pub(super) fn run(mut self) {
        if catch_unwind(AssertUnwindSafe(|| self.serve())).is_err() {
            self.shared.fail("the log's thread panicked".to_owned(), Vec::new(), Vec::new());
        }
        self.shared.finish();
    }

    /// The last turn is over: nobody waits for what cannot come.
    #[cfg(feature = "conformance")]
    pub(in crate::embedded) fn finish(&self) {
        self.shared.finish();
    }

    #[cfg(feature = "conformance")]
    pub(in crate::embedded) fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.shared.pool)
    }

    fn serve(&mut self) {
        loop {
            match self.turn() {
                Written::Group => {}
                Written::Nothing => self.shared.wait_for_work(),
                Written::NoRoom => self.shared.pool.wait_for_room(),
                Written::End => return,
            }
        }
    }

    /// Writes what waits, as far as there is room. It waits for nothing but the disk.
    pub(in crate::embedded) fn turn(&mut self) -> Written {
        let (group, tries) = match self.held_up.take() {
            Some(held_up) => held_up,
            None => match self.next() {
                Next::Group(group) => (group, ROOM_TRIES),
                Next::Nothing => return Written::Nothing,
                Next::End(seal) => {
                    self.seal(seal);
                    return Written::End;
                }
            },
        };
        self.commit(group, tries)
    }

    /// Everything that waits.
    fn next(&self) -> Next {
        let mut state = self.shared.state();
        if state.failed.is_some() {
            return Next::End(None);
        }
        if state.batches.is_empty() {
            return match state.ending {
                Ending::Serving => Next::Nothing,
                Ending::Asked(seal) => Next::End(seal),
            };
        }
        let group =
            Group { batches: std::mem::take(&mut state.batches), thens: std::mem::take(&mut state.thens) };
        state.writing = state.bytes;
        (state.bytes, state.txns) = (0, 0);
        drop(state);
        self.shared.room.notify_all();
        Next::Group(group)
    }

    fn seal(&mut self, clocks: Option<(Timestamp, LeaseTime)>) {
        let Some((wall, lease)) = clocks else { return };
        match self.log.seal(wall, lease) {
            // Without room for a seal the next start reads the tail as after a crash, which is safe.
            Ok(()) | Err(AppendError::NoRoom { .. }) => {}
            Err(error @ (AppendError::Failed { .. } | AppendError::Dead)) => {
                self.shared.fail(error.to_string(), Vec::new(), Vec::new());
            }
        }
    }

    /// Makes a group durable and tells who waited.
    fn commit(&mut self, mut group: Group, tries: u32) -> Written {
        let shared = &*self.shared;
        match self.log.append(&group.batches) {
            Ok(()) => match tell(shared, self.log.durable_lsn(), group) {
                true => Written::Group,
                false => Written::End,
            },
            Err(AppendError::NoRoom { durable }) => {
                let rest = group.split_off(durable);
                if !tell(shared, self.log.durable_lsn(), group) {
                    shared.fail(String::new(), Vec::new(), rest.thens);
                    return Written::End;
                }
                if tries == 0 || shared.pool.is_stopping() {
                    let why = "there was no room on the disk for what was applied".to_owned();
                    shared.fail(why, Vec::new(), rest.thens);
                    return Written::End;
                }
                // Nothing is applied that has no room, but somebody else may have taken it since. It
                // may come back: an operator's, or a checkpoint's that gives segments back.
                self.held_up = Some((rest, tries - 1));
                Written::NoRoom
            }
            Err(error @ (AppendError::Failed { .. } | AppendError::Dead)) => {
                let untouched = match error {
                    AppendError::Failed { untouched, .. } => untouched,
                    AppendError::NoRoom { .. } | AppendError::Dead => 0,
                };
                let rest = group.split_off(untouched);
                shared.fail(error.to_string(), group.thens, rest.thens);
                Written::End
            }
        }
    }
}

/// Makes segments ahead of need.
pub(super) fn keep_spares(shared: &Shared) {
    match catch_unwind(AssertUnwindSafe(|| shared.pool.keep())) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => shared.fail(error.to_string(), Vec::new(), Vec::new()),
        Err(_) => shared.fail("the thread that makes segments panicked".to_owned(), Vec::new(), Vec::new()),
    }
}

impl Group {
    fn split_off(&mut self, at: usize) -> Self {
        Self { batches: self.batches.split_off(at), thens: self.thens.split_off(at) }
    }
}

/// Tells everybody who waited for what is now durable, in the order of what they waited for. False
/// where the other thread failed meanwhile: nothing succeeds after that.
fn tell(shared: &Shared, durable: Lsn, group: Group) -> bool {
    let mut state = shared.state();
    if state.failed.is_some() {
        drop(state);
        shared.fail(String::new(), group.thens, Vec::new());
        return false;
    }
    state.writing = 0;
    let mut readers = readers_upto(&mut state, durable);
    shared.durable.store(durable, Ordering::Release);
    drop(state);
    for (batch, then) in group.batches.iter().zip(group.thens) {
        // Whoever waits for what came before this batch hears first.
        let later = readers.split_off(&batch.lsn);
        let earlier = std::mem::replace(&mut readers, later);
        earlier.into_values().flatten().for_each(|then| then(Committed::Durable));
        then(Committed::Durable);
    }
    readers.into_values().flatten().for_each(|then| then(Committed::Durable));
    true
}

fn readers_upto(state: &mut State, durable: Lsn) -> BTreeMap<Lsn, Vec<Then>> {
    let later = state.readers.split_off(&(durable + 1));
    std::mem::replace(&mut state.readers, later)
}
