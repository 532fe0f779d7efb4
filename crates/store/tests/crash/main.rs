//! Power cuts at every write of a script, and syncs that fail: nothing answered is lost.
//!
//! Lives here: the embedded engine on a disk that forgets what was not synced. Not here: the log
//! alone (`log_crash.rs`) and real processes that are killed (`crates/cli/tests`).

mod audit;
mod damage;
mod faults;
mod full;
mod images;
mod position;
mod script;
mod syncs;
