//! What logged transactions do to the tables.
//!
//! Deterministic: only the tables, the transaction and the two clock readings go in, so that replay
//! at start decides nothing anew. Who may do what to a delivery is the core's word alone.

mod append;
mod audit;
mod cancel;
mod claim;
mod consumer;
mod context;
#[cfg(test)]
mod cost;
mod dead;
mod dealing;
mod dedupe;
mod delete;
mod discard;
mod events;
mod expire;
mod group;
mod group_reads;
mod holders;
mod keys;
mod lapse;
mod leave;
#[cfg(test)]
mod leftovers;
mod move_dead;
mod moves;
mod once;
mod operation;
mod pending;
mod pending_list;
mod place;
mod purge;
mod purging;
mod read;
mod reader;
mod rename;
mod reschedule;
mod reset;
mod retain;
mod run;
mod set_id;
mod set_place;
mod settle;
mod start;
mod streams;
mod telling;
mod tend;
mod transfer;
mod trim;
mod unproven;
mod view;

pub(crate) use context::Context;
pub(crate) use lapse::has_ends;
pub(crate) use run::{apply, apply_telling};
