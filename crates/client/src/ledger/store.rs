//! Where records of effects are kept.
//!
//! Lives here: what is asked of a store. Not here: the rules (`rule.rs`), and the stores.

use std::error::Error as StdError;
use std::future::Future;

use super::effect::Effect;
use super::rule::{Abandoned, Begun, Finished, OnDoubt};

/// Why a store did not answer. The step may have taken effect.
#[derive(Debug, thiserror::Error)]
#[error("the ledger's store did not answer")]
pub struct StoreError(#[source] Box<dyn StdError + Send + Sync>);

impl StoreError {
    /// For this reason.
    pub fn new(why: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(why.into())
    }
}

/// Keeps the records of effects, and the highest fencing number seen of each event.
///
/// A store finds what is kept, lets [`Kept`](super::Kept) decide, and saves, as **one** step that no other step of the
/// event lies within. Each step answers once it is as durable as the store makes things. Dropped before that, or where it
/// answers an error, it took effect wholly or not at all; the same bearer may ask the same again, and gets the same
/// answer as if it asked once.
pub trait Store: Send + Sync + 'static {
    /// Begins an effect for its bearer, or says why not.
    fn begin(
        &self,
        effect: &Effect,
        doubt: OnDoubt,
    ) -> impl Future<Output = Result<Begun, StoreError>> + Send;

    /// Records that an effect is done, with its result: up to [`RESULT_BYTES_MAX`](super::RESULT_BYTES_MAX), and none where
    /// it cannot be kept.
    fn finish(
        &self,
        effect: &Effect,
        result: &[u8],
    ) -> impl Future<Output = Result<Finished, StoreError>> + Send;

    /// Takes back what its bearer began: nothing happened.
    fn abandon(&self, effect: &Effect) -> impl Future<Output = Result<Abandoned, StoreError>> + Send;
}
