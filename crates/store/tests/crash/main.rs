//! Power cuts at every write of a script, and syncs that fail: nothing answered is lost.
//!
//! Lives here: the embedded engine on a disk that forgets what was not synced. Not here: the log
//! alone (`log_crash.rs`) and real processes that are killed (`crates/cli/tests`).

mod audit;
mod copies;
mod copying;
mod damage;
mod faults;
#[path = "../backup/folder.rs"]
#[allow(dead_code, reason = "the backup tests use all of it")]
mod folder;
mod full;
mod held;
mod held_disk;
mod images;
mod position;
mod replayed;
mod saving;
mod script;
mod sites;
mod syncs;
