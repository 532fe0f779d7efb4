//! The embedded engine: a write-ahead log, and what is replayed from it.
//!
//! From the bottom up: [`disk`] is all I/O there is; [`folder`] opens a data folder and what it is
//! known by ([`meta`]); [`log`] makes batches durable and reads them back; [`snapshot`] is what
//! the log is replayed onto.

mod apply;
mod command;
pub mod disk;
mod engine;
pub mod folder;
pub mod lock;
pub mod log;
pub mod meta;
mod prepare;
mod record;
mod replay;
mod request;
mod rows;
mod sequencer;
pub mod snapshot;
mod snapshotter;
pub mod storage_error;
mod tables;

pub use engine::{Embedded, Options};
