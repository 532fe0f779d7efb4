//! What all actors of a soak share.
//!
//! Lives here: where the server is, its key, the clock, what befell it, what is wrong. Not here: one generation
//! (`book.rs`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::Clock;
use super::ledger::Ledger;
use super::plan::Plan;
use crate::history::WorldEvent;

/// Findings that are kept: one is enough to fail.
const WRONG_MAX: usize = 50;

/// A restart that begins before a generation may end within it.
const BEFORE_MS: i64 = 120_000;
/// Clocks that differ by less from what was said last are not mentioned, in ms: cutting makes one of it.
const DRIFT_MS: i64 = 2;

/// Where both doors listen.
#[derive(Debug, Clone)]
pub(super) struct Doors {
    pub(super) http: String,
    pub(super) redis: String,
}

/// What all actors share.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) plan: Plan,
    pub(super) clock: Clock,
    pub(super) key: String,
    pub(super) ledger: Ledger,
    /// None while the server is down.
    pub(super) doors: Mutex<Option<Doors>>,
    world: Mutex<Vec<WorldEvent>>,
    wrong: Mutex<Vec<String>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
    is_over: AtomicBool,
}

/// No holder of these locks panics half-way through a change.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn pause(ms: i64) {
    tokio::time::sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0))).await;
}

impl Scene {
    pub(super) fn new(plan: Plan, key: String) -> Arc<Self> {
        let clock = Clock::start();
        let start = WorldEvent::WallClock { at_ms: clock.now_ms(), offset_ms: 0 };
        Arc::new(Self {
            plan,
            clock,
            key,
            ledger: Ledger::default(),
            doors: Mutex::default(),
            world: Mutex::new(vec![start]),
            wrong: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) fn doors(&self) -> Option<Doors> {
        lock(&self.doors).clone()
    }

    /// Where it listens, once it does; none where the soak is over before.
    pub(super) async fn reach(&self) -> Option<Doors> {
        while !self.is_over() {
            if let Some(doors) = self.doors() {
                return Some(doors);
            }
            pause(20).await;
        }
        None
    }

    pub(super) fn befell(&self, event: WorldEvent) {
        lock(&self.world).push(event);
    }

    /// Says again by how much the wall clock is ahead, where that has changed.
    pub(super) fn look_at_clocks(&self) {
        let (at_ms, offset_ms) = (self.clock.now_ms(), self.clock.offset_ms());
        let mut world = lock(&self.world);
        let last = world.iter().rev().find_map(|event| match event {
            WorldEvent::WallClock { offset_ms, .. } => Some(*offset_ms),
            _ => None,
        });
        if last.is_none_or(|last| (last - offset_ms).abs() >= DRIFT_MS) {
            world.push(WorldEvent::WallClock { at_ms, offset_ms });
        }
    }

    /// What befell the server from then on, or a little before, and how the clocks stood.
    pub(super) fn world_since(&self, from_ms: i64) -> Vec<WorldEvent> {
        since(&lock(&self.world), from_ms - BEFORE_MS)
    }

    /// Says what is wrong, and that the soak need not go on.
    pub(super) fn is_wrong(&self, what: impl Into<String>) {
        let mut wrong = lock(&self.wrong);
        if wrong.len() < WRONG_MAX {
            wrong.push(what.into());
        }
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn wrongs(&self) -> Vec<String> {
        lock(&self.wrong).clone()
    }

    /// True once something is wrong: everybody comes to an end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// The most connections that were open at once since this was last asked.
    pub(super) fn take_most_open(&self) -> usize {
        self.most_open.swap(self.open.load(Ordering::Relaxed), Ordering::Relaxed)
    }
}

/// A connection that counts.
#[derive(Debug)]
pub(super) struct Counted(Arc<Scene>);

impl Counted {
    pub(super) fn new(scene: &Arc<Scene>) -> Self {
        let open = scene.open.fetch_add(1, Ordering::Relaxed) + 1;
        scene.most_open.fetch_max(open, Ordering::Relaxed);
        Self(Arc::clone(scene))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn since(world: &[WorldEvent], from_ms: i64) -> Vec<WorldEvent> {
    let is_clock = |event: &&WorldEvent| matches!(event, WorldEvent::WallClock { .. });
    let (before, after): (Vec<_>, Vec<_>) = world.iter().partition(|event| event.at_ms() < from_ms);
    let clock = before.into_iter().rev().find(is_clock);
    clock.into_iter().chain(after).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_world_begins_with_its_clocks() {
        let wall = |at_ms, offset_ms| WorldEvent::WallClock { at_ms, offset_ms };
        let crash = |at_ms| WorldEvent::Crash { at_ms };
        let world = [wall(0, 0), crash(10), wall(20, 3), crash(30), wall(40, 5), crash(50)];
        assert_eq!(since(&world, 30), [wall(20, 3), crash(30), wall(40, 5), crash(50)]);
        assert_eq!(since(&world, 0), world);
        assert_eq!(since(&world, 60), [wall(40, 5)]);
    }
}
