//! Effects that happen once for the lease of an event.
//!
//! Lives here: what a caller may choose where an effect is in doubt. Not here: the steps of a call (`turn.rs`), and effects within
//! a store (`postgres`, `redis`).

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::effect::EffectKey;
use super::error::{Doubt, Failed, OnceError};
use super::holder::Holder;
use super::rule::OnDoubt;
use super::store::Store;
use super::turn::{Next, Turn};

/// Effects that were done, in a store. Cheap to clone: all clones share the store.
#[derive(Debug)]
pub struct Ledger<S> {
    store: Arc<S>,
}

impl<S> Clone for Ledger<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store) }
    }
}

impl<S: Store> Ledger<S> {
    /// A ledger in this store.
    pub fn new(store: S) -> Self {
        Self { store: Arc::new(store) }
    }

    /// The ledger as the holder of a lease may use it: `ledger.lease(&delivery)`.
    pub fn lease(&self, holder: impl Into<Holder>) -> Lease<S> {
        Lease { store: Arc::clone(&self.store), holder: holder.into() }
    }

    /// Where it is kept.
    pub fn store(&self) -> &S {
        &self.store
    }
}

/// A ledger in the hands of who holds the lease of an event.
///
/// Each of its methods is for one effect by name, and answers what the effect answered: now, or at an earlier attempt. The
/// result `R` is kept as JSON, so that it should read back as what it was, also by a later version of the program.
///
/// Cancel safety: dropped before the effect has begun, a call leaves at most an effect that was begun and not run: this
/// lease runs it when it is asked again; for another one it is in doubt. Dropped later, the effect is in doubt. An effect that
/// goes on elsewhere (spawned) is not stopped by that.
#[derive(Debug)]
pub struct Lease<S> {
    pub(super) store: Arc<S>,
    pub(super) holder: Holder,
}

impl<S> Clone for Lease<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), holder: self.holder.clone() }
    }
}

impl<S: Store> Lease<S> {
    /// Runs `effect` unless an earlier attempt did, or may have: **at most once**.
    ///
    /// In doubt it is refused, at this and at each later attempt, until somebody who knows says so
    /// ([`once_asked`](Self::once_asked) under the same name does).
    ///
    /// # Errors
    /// See [`OnceError`].
    pub async fn once<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        effect: impl AsyncFnOnce() -> Result<R, Failed>,
    ) -> Result<R, OnceError> {
        let turn = Turn::new(&*self.store, &self.holder, name)?;
        match turn.begin(OnDoubt::Leave).await? {
            Next::Stored(result) => Ok(result),
            Next::Doubt(doubt) => Err(OnceError::InDoubt(doubt)),
            Next::Run => turn.run(async |_| effect().await).await,
        }
    }

    /// Runs `effect` unless an earlier attempt is known to have done it: **at least once**, always under the same key, by
    /// which an outside API does it once.
    ///
    /// An earlier attempt whose handler is late may run it at the same time. Most APIs then refuse one of the two.
    ///
    /// # Errors
    /// See [`OnceError`]; [`OnceError::InDoubt`] is none of them.
    pub async fn once_keyed<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        effect: impl AsyncFnOnce(EffectKey) -> Result<R, Failed>,
    ) -> Result<R, OnceError> {
        let turn = Turn::new(&*self.store, &self.holder, name)?;
        let mut next = turn.begin(OnDoubt::Leave).await?;
        if matches!(next, Next::Doubt(_)) {
            next = turn.begin(OnDoubt::RunAgain).await?;
        }
        match next {
            Next::Stored(result) => Ok(result),
            Next::Doubt(doubt) => Err(OnceError::InDoubt(doubt)),
            Next::Run => turn.run(effect).await,
        }
    }

    /// Runs `effect` unless an earlier attempt did; in doubt, `ask` is asked first: `Some` result where it happened, which
    /// is recorded, and `None` where it did not, so that it is run.
    ///
    /// It happens once if the answer is right, **and stays right**: the handler of the earlier attempt may be late, and come
    /// to its effect after the question. Where the API takes an idempotency key, hand it the key as well.
    ///
    /// # Errors
    /// See [`OnceError`]. Where `ask` fails, the effect stays in doubt.
    pub async fn once_asked<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        ask: impl AsyncFnOnce(Doubt) -> Result<Option<R>, Failed>,
        effect: impl AsyncFnOnce(EffectKey) -> Result<R, Failed>,
    ) -> Result<R, OnceError> {
        let turn = Turn::new(&*self.store, &self.holder, name)?;
        let doubt = match turn.begin(OnDoubt::Leave).await? {
            Next::Stored(result) => return Ok(result),
            Next::Run => return turn.run(effect).await,
            Next::Doubt(doubt) => doubt,
        };
        let answer = ask(doubt).await.map_err(|failed| OnceError::Unanswered(failed.source))?;
        // Where it happened, that is what is left in doubt until it is recorded.
        let found = if answer.is_some() { OnDoubt::RunAgain } else { OnDoubt::Denied };
        match (turn.begin(found).await?, answer) {
            (Next::Stored(result), _) => Ok(result),
            (Next::Doubt(doubt), _) => Err(OnceError::InDoubt(doubt)),
            (Next::Run, Some(result)) => turn.finish(result).await,
            (Next::Run, None) => turn.run(effect).await,
        }
    }
}
