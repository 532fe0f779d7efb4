//! A store that loses requests and answers when it is told to.
//!
//! Lives here: the switches. Not here: the store under it.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use naven_client::ledger::{Abandoned, Begun, Effect, Finished, OnDoubt, Store, StoreError};

/// What goes wrong; nothing at first. Each is a number of steps that it still happens to.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lose_begin_answers: AtomicU32,
    pub(crate) lose_finish_answers: AtomicU32,
    pub(crate) lose_finishes: AtomicU32,
    pub(crate) lose_abandons: AtomicU32,
    /// Steps that were asked for.
    pub(crate) asked: AtomicU32,
    /// Done after each step that begins.
    pub(crate) after_begin: Mutex<Option<fn()>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Faulty<S> {
    store: Arc<S>,
    pub(crate) faults: Arc<Faults>,
}

impl<S: Store> Faulty<S> {
    pub(crate) fn over(store: &Arc<S>) -> Self {
        Self { store: Arc::clone(store), faults: Arc::default() }
    }
}

fn happens(left: &AtomicU32) -> bool {
    left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn lost<T>() -> Result<T, StoreError> {
    Err(StoreError::new("cut"))
}

impl<S: Store> Store for Faulty<S> {
    async fn begin(&self, effect: &Effect, doubt: OnDoubt) -> Result<Begun, StoreError> {
        self.faults.asked.fetch_add(1, SeqCst);
        let answer = self.store.begin(effect, doubt).await;
        if let Some(after) = *self.faults.after_begin.lock().unwrap() {
            after();
        }
        if happens(&self.faults.lose_begin_answers) { lost() } else { answer }
    }

    async fn finish(&self, effect: &Effect, result: &[u8]) -> Result<Finished, StoreError> {
        self.faults.asked.fetch_add(1, SeqCst);
        if happens(&self.faults.lose_finishes) {
            return lost();
        }
        let answer = self.store.finish(effect, result).await;
        if happens(&self.faults.lose_finish_answers) { lost() } else { answer }
    }

    async fn abandon(&self, effect: &Effect) -> Result<Abandoned, StoreError> {
        self.faults.asked.fetch_add(1, SeqCst);
        if happens(&self.faults.lose_abandons) {
            return lost();
        }
        self.store.abandon(effect).await
    }
}
