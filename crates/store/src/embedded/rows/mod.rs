//! The engine's rows: what the tables' bytes mean.

pub(crate) mod answer;
pub(crate) mod audit;
pub(crate) mod body;
pub(crate) mod codec;
pub(crate) mod consumer;
pub(crate) mod dedupe;
pub(crate) mod delivery;
pub(crate) mod key;
pub(crate) mod operation;
pub(crate) mod queue;
pub(crate) mod stream;
pub(crate) mod told;
