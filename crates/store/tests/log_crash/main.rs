//! The log and the folder against power cuts, faults and damage, on a disk in
//! memory that forgets what was not synced.
//!
//! Lives here: the list of themes. Not here: the engine that is built on the log (`embedded.rs`).

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod commit;
mod crash;
mod damage;
mod faults;
mod folder;
mod full;
mod real;
mod script;
