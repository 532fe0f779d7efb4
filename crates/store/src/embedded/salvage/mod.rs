//! What can still be read of a damaged data folder, made into a new one.
//!
//! `folder.rs` goes through it all. Rows that can be read are copied (`copy.rs`, `walk.rs`), and where
//! others were is remembered (`lost.rs`). Then rows are made to fit each other again: streams and queues
//! (`owners.rs`), events and what queues do with them (`events.rs`, `dealings.rs`, `again.rs`), and all that
//! is found by time (`by_time.rs`). Queues are counted anew (`count.rs`), the log is replayed as far as it
//! can be (`log.rs`), and the check of `naven verify` has the last word. The damaged folder is only read.

mod again;
mod audit;
mod by_time;
mod consumers;
mod copy;
mod count;
mod dealings;
mod events;
mod folder;
mod log;
mod lost;
mod meta;
mod operations;
mod owners;
mod report;
mod rows;
mod seen;
mod walk;

pub use folder::salvage;
pub use report::{LostLog, QueueSaved, Salvaged, StreamSaved};

#[cfg(all(test, feature = "conformance"))]
mod tests;
