//! A ledger in this process, for tests.
//!
//! Lives here: rows in memory. Not here: the rules (`rule.rs`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::effect::Effect;
use super::rule::{Abandoned, Begun, Finished, Kept, OnDoubt, Record};
use super::store::{Store, StoreError};

/// Keeps records for as long as it, or a clone of it, lives: for tests. All clones share what is kept.
///
/// Nothing is ever deleted, and a process that ends takes all of it along: not for work that matters.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    events: Arc<Mutex<HashMap<Event, Known>>>,
}

/// Queue and id.
type Event = (Arc<str>, Arc<str>);

#[derive(Debug, Default)]
struct Known {
    seen: Option<u64>,
    effects: HashMap<Arc<str>, Record>,
}

impl Memory {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Event, Known>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `decide` look at what is kept of an effect, and change it, as one step.
    fn step<T>(&self, effect: &Effect, decide: impl FnOnce(&mut Kept) -> T) -> T {
        let mut events = self.lock();
        let event = (Arc::clone(&effect.queue), Arc::clone(&effect.event));
        let known = events.entry(event).or_default();
        let mut kept = Kept { seen: known.seen, record: known.effects.remove(&effect.name) };
        let answer = decide(&mut kept);
        known.seen = Some(kept.seen_with(effect));
        if let Some(record) = kept.record {
            known.effects.insert(Arc::clone(&effect.name), record);
        }
        answer
    }
}

impl Store for Memory {
    async fn begin(&self, effect: &Effect, doubt: OnDoubt) -> Result<Begun, StoreError> {
        Ok(self.step(effect, |kept| {
            let begun = kept.begin(effect, doubt);
            if begun == Begun::Now {
                kept.record = Some(kept.begun_by(effect, doubt));
            }
            begun
        }))
    }

    async fn finish(&self, effect: &Effect, result: &[u8]) -> Result<Finished, StoreError> {
        Ok(self.step(effect, |kept| {
            let finished = kept.finish(effect);
            let (fence, bearer, result) = (effect.fence, effect.bearer.clone(), result.to_vec());
            if finished == Finished::Recorded {
                kept.record = Some(Record::Done { fence, bearer, result });
            }
            finished
        }))
    }

    async fn abandon(&self, effect: &Effect) -> Result<Abandoned, StoreError> {
        Ok(self.step(effect, |kept| {
            let abandoned = kept.abandon(effect);
            if abandoned == Abandoned::Undone {
                kept.record = None;
            }
            abandoned
        }))
    }
}
