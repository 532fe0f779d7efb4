//! One call for an effect, step by step.
//!
//! Lives here: the order of things, and what is repeated. Not here: what a caller chooses (`lease.rs`), and the rules
//! (`rule.rs`).

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::effect::{Effect, EffectKey};
use super::error::{Doubt, Failed, OnceError};
use super::holder::{Holder, Running};
use super::rule::{Abandoned, Begun, Finished, OnDoubt};
use super::store::{Store, StoreError};

/// Largest result, in bytes of JSON.
pub const RESULT_BYTES_MAX: usize = 65_536;
/// Longest step of a store: what takes longer counts as not answered.
pub const STEP_MAX: Duration = Duration::from_secs(10);
/// How often a store is told that an effect is done, until it answers.
pub const FINISH_TRIES: u32 = 5;
/// The pause before the second of these; each is twice the one before.
const FINISH_PAUSE: Duration = Duration::from_millis(50);

/// An effect in the hands of one call.
pub(super) struct Turn<'a, S> {
    store: &'a S,
    holder: &'a Holder,
    effect: Effect,
    running: Running,
}

/// What to do next.
pub(super) enum Next<R> {
    /// Run it.
    Run,
    /// It was done before.
    Stored(R),
    /// It may have been done before.
    Doubt(Doubt),
}

impl<'a, S: Store> Turn<'a, S> {
    pub(super) fn new(store: &'a S, holder: &'a Holder, name: &str) -> Result<Self, OnceError> {
        let effect = holder.effect(name)?;
        if holder.is_over() {
            return Err(OnceError::LeaseOver);
        }
        let running = holder.enter(name).ok_or(OnceError::Running)?;
        Ok(Self { store, holder, effect, running })
    }

    pub(super) async fn begin<R: DeserializeOwned>(&self, doubt: OnDoubt) -> Result<Next<R>, OnceError> {
        let own = self.effect.fence;
        let mut begun = step(self.store.begin(&self.effect, doubt)).await?;
        // Begun by us, but not run: the answer was lost, or surely nothing happened.
        if begun == (Begun::InDoubt { fence: own, is_doubtful: false }) && !self.running.was_started() {
            begun = step(self.store.begin(&self.effect, OnDoubt::Denied)).await?;
        }
        match begun {
            Begun::Now if self.holder.is_over() => {
                self.abandon().await;
                Err(OnceError::LeaseOver)
            }
            Begun::Now => Ok(Next::Run),
            Begun::Done(result) => decoded(&result).map(Next::Stored),
            Begun::InDoubt { fence, .. } => {
                Ok(Next::Doubt(Doubt { key: self.effect.key(), earlier_fence: fence, fence: own }))
            }
            Begun::Running => Err(OnceError::Running),
            Begun::Stale { seen } => Err(OnceError::Stale { fence: own, seen, ran: false }),
        }
    }

    /// Runs what was begun, and records it.
    pub(super) async fn run<R: Serialize>(
        &self,
        effect: impl AsyncFnOnce(EffectKey) -> Result<R, Failed>,
    ) -> Result<R, OnceError> {
        // Before the call: what it does without awaiting counts too.
        self.running.start();
        match effect(self.effect.key()).await {
            Ok(result) => self.finish(result).await,
            Err(Failed { source, is_undone: false }) => Err(OnceError::Failed { source, in_doubt: true }),
            Err(Failed { source, is_undone: true }) => {
                self.running.undo();
                let in_doubt = !self.abandon().await;
                Err(OnceError::Failed { source, in_doubt })
            }
        }
    }

    /// Records what is done.
    pub(super) async fn finish<R: Serialize>(&self, result: R) -> Result<R, OnceError> {
        let (kept, why) = match encoded(&result) {
            Ok(bytes) => (bytes, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        match self.finish_surely(&kept).await {
            Ok(Finished::Recorded) => match why {
                None => Ok(result),
                Some(why) => Err(OnceError::ResultNotKept { why }),
            },
            Ok(Finished::Stale { seen }) => {
                Err(OnceError::Stale { fence: self.effect.fence, seen, ran: true })
            }
            Ok(Finished::Taken) => Err(OnceError::Conflict),
            Err(error) => Err(OnceError::Unrecorded(error)),
        }
    }

    async fn finish_surely(&self, result: &[u8]) -> Result<Finished, StoreError> {
        let mut pause = FINISH_PAUSE;
        let mut tries = 1;
        loop {
            match step(self.store.finish(&self.effect, result)).await {
                Err(error) if tries < FINISH_TRIES => {
                    warn!(effect = %self.effect.key(), %error, tries, "that an effect is done is said again");
                }
                answer => return answer,
            }
            sleep(pause).await;
            pause *= 2;
            tries += 1;
        }
    }

    /// Takes back what was begun; false where it is in doubt all the same.
    async fn abandon(&self) -> bool {
        match step(self.store.abandon(&self.effect)).await {
            Ok(abandoned) => abandoned == Abandoned::Undone,
            Err(error) => {
                warn!(effect = %self.effect.key(), %error, "an effect that did not happen is in doubt");
                false
            }
        }
    }
}

/// One step of a store, within its time.
pub(super) async fn step<T>(step: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(STEP_MAX, step).await.unwrap_or_else(|late| Err(StoreError::new(late)))
}

/// A result as it is kept, or why it cannot be.
pub(super) fn encoded<R: Serialize>(result: &R) -> Result<Vec<u8>, String> {
    let bytes = serde_json::to_vec(result).map_err(|error| format!("its result is no JSON: {error}"))?;
    if bytes.len() > RESULT_BYTES_MAX {
        return Err(format!(
            "its result is {} bytes of JSON, and {RESULT_BYTES_MAX} is the most",
            bytes.len()
        ));
    }
    Ok(bytes)
}

/// A result as it was kept.
pub(super) fn decoded<R: DeserializeOwned>(result: &[u8]) -> Result<R, OnceError> {
    if result.is_empty() {
        let why = "an earlier attempt could not keep its result".to_owned();
        return Err(OnceError::ResultNotKept { why });
    }
    serde_json::from_slice(result).map_err(OnceError::Unreadable)
}
