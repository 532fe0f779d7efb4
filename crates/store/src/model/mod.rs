//! The memory engine: the model that every other engine is held to.
//!
//! Naive on purpose: a `Vec` of events per queue, searched from end to end, and no bookkeeping that
//! could be wrong. It shares with other engines nothing but [`naven_core::Delivery::apply`] and the
//! making of tokens. For tests: it keeps nothing over a restart.

mod engine;
mod queue;
mod views;
mod world;

pub use engine::Model;
