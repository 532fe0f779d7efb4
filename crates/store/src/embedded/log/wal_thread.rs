//! The thread that writes: it takes all that waits, writes and syncs it, and tells who waited.
//!
//! Lives here: that loop, and the one that makes segments ahead of need. Not here: what callers see
//! (`commit.rs`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::append::{AppendError, Log};
use super::batch::{Batch, Lsn};
use super::commit::{Committed, Ending, Shared, State, Then};

/// How often a full disk is tried again, a second apart, before the log gives up.
const ROOM_TRIES: u32 = 10;

/// What is written together.
struct Group {
    batches: Vec<Batch>,
    thens: Vec<Then>,
}

/// Serves until the end or a failure. A panic is a failure: nobody waits for an answer that cannot
/// come.
pub(super) fn run(mut log: Log, shared: &Shared) {
    if catch_unwind(AssertUnwindSafe(|| serve(&mut log, shared))).is_err() {
        shared.fail("the log's thread panicked".to_owned(), Vec::new(), Vec::new());
    }
    shared.finish();
}

/// Makes segments ahead of need.
pub(super) fn keep_spares(shared: &Shared) {
    match catch_unwind(AssertUnwindSafe(|| shared.pool.keep())) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => shared.fail(error.to_string(), Vec::new(), Vec::new()),
        Err(_) => shared.fail("the thread that makes segments panicked".to_owned(), Vec::new(), Vec::new()),
    }
}

fn serve(log: &mut Log, shared: &Shared) {
    while let Some(group) = next_group(shared) {
        if !commit(log, shared, group) {
            return;
        }
    }
    let state = shared.state();
    let seal = if let (Ending::Asked(seal), None) = (state.ending, &state.failed) { seal } else { None };
    drop(state);
    if let Some((wall, lease)) = seal {
        match log.seal(wall, lease) {
            // Without room for a seal the next start reads the tail as after a crash, which is safe.
            Ok(()) | Err(AppendError::NoRoom { .. }) => {}
            Err(error @ (AppendError::Failed { .. } | AppendError::Dead)) => {
                shared.fail(error.to_string(), Vec::new(), Vec::new());
            }
        }
    }
}

/// Everything that waits; none at the end, or after a failure of the other thread.
fn next_group(shared: &Shared) -> Option<Group> {
    let mut state = shared.state();
    while state.is_serving() && state.batches.is_empty() {
        state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if state.failed.is_some() || state.batches.is_empty() {
        return None;
    }
    let group =
        Group { batches: std::mem::take(&mut state.batches), thens: std::mem::take(&mut state.thens) };
    state.writing = state.bytes;
    (state.bytes, state.txns) = (0, 0);
    drop(state);
    shared.room.notify_all();
    Some(group)
}

/// Makes a group durable and tells who waited. False after a failure.
fn commit(log: &mut Log, shared: &Shared, mut group: Group) -> bool {
    let mut tries = ROOM_TRIES;
    loop {
        match log.append(&group.batches) {
            Ok(()) => {
                let lsn = log.durable_lsn();
                return tell(shared, lsn, group);
            }
            Err(AppendError::NoRoom { durable }) => {
                let rest = group.split_off(durable);
                if !tell(shared, log.durable_lsn(), group) {
                    shared.fail(String::new(), Vec::new(), rest.thens);
                    return false;
                }
                group = rest;
                if tries == 0 || shared.pool.is_stopping() {
                    let why = "there was no room on the disk for what was applied".to_owned();
                    shared.fail(why, Vec::new(), group.thens);
                    return false;
                }
                // Nothing is applied that has no room, but somebody else may have taken it since. It
                // may come back: an operator's, or a checkpoint's that gives segments back.
                tries -= 1;
                shared.pool.wait_for_room();
            }
            Err(error @ (AppendError::Failed { .. } | AppendError::Dead)) => {
                let untouched = match error {
                    AppendError::Failed { untouched, .. } => untouched,
                    AppendError::NoRoom { .. } | AppendError::Dead => 0,
                };
                let rest = group.split_off(untouched);
                shared.fail(error.to_string(), group.thens, rest.thens);
                return false;
            }
        }
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
