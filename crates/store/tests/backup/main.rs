//! Backups and checks: what is in them, what is refused, and what a restore leaves at any moment.
//!
//! Lives here: the list of themes. Not here: the command line (`crates/cli/tests`).

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

#[path = "../crash/audit.rs"]
#[allow(dead_code, reason = "the crash tests use all of it")]
mod audit;
mod damage;
mod folder;
mod images;
mod running;
mod salvage;
mod salvage_anywhere;
mod salvage_whole;
#[path = "../crash/script.rs"]
#[allow(dead_code, reason = "the crash tests use all of it")]
mod script;
mod verify;
