//! The table of the HTTP contract's section on lease semantics, cell by cell, and the rules beside
//! it that one delivery can show.
//!
//! Lives here: the list of ideas, one file each. Not here: laws over random scripts (`laws.rs`) and
//! what needs tokens, queues or several events (the engines' conformance suite).

mod attempts;
mod cancel;
mod cells;
mod grace;
mod log;
mod redis;
mod reschedule;
mod rounds;
mod scene;
mod told;
