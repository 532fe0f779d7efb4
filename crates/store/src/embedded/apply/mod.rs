//! What logged transactions do to the tables.
//!
//! Deterministic: only the tables, the transaction and the two clock readings go in, so that replay
//! at start decides nothing anew. Who may do what to a delivery is the core's word alone.

mod append;
mod claim;
mod context;
mod delete;
mod group;
mod moves;
mod read;
mod run;
mod settle;
mod view;

pub(crate) use context::Context;
pub(crate) use run::apply;
