//! The memory engine: the model that every other engine is held to.
//!
//! Naive on purpose: lists of streams, queues and events, searched from end to end, and no bookkeeping that
//! could be wrong. It shares with other engines nothing but [`naven_core::Delivery::apply`] and the
//! making of tokens. For tests: it keeps nothing over a restart.

mod audit;
mod cancel;
mod claim;
mod consumer;
mod dead;
mod engine;
mod event;
mod events;
mod group;
mod group_reads;
mod keep;
mod keys;
mod leave;
mod move_dead;
mod once;
mod operation;
mod pending;
mod publish;
mod purging;
mod reader;
mod rename;
mod reschedule;
mod set_id;
mod set_place;
mod settle;
mod streams;
mod transfer;
mod views;
mod world;

pub use engine::Model;
