//! The embedded engine: a write-ahead log, and what is replayed from it.
//!
//! From the bottom up: [`disk`] is all I/O there is; [`folder`] opens a data folder and what it is
//! known by ([`meta`]); [`log`] makes batches durable and reads them back; the cold store is what the
//! log is replayed onto.

mod apply;
pub mod backup;
mod checkpointer;
mod cold;
mod command;
pub mod disk;
mod engine;
pub mod finding;
pub mod folder;
mod inbox;
#[cfg(any(fuzzing, all(test, feature = "conformance")))]
pub mod laws;
mod layered;
pub mod lock;
pub mod log;
pub mod meta;
mod pace;
mod prepare;
mod record;
mod replay;
mod request;
mod restore;
mod rows;
pub mod salvage;
mod sequencer;
mod stand_in;
#[cfg(feature = "conformance")]
pub mod stepped;
pub mod storage_error;
mod supply;
mod tables;
mod turns;
pub mod verify;
mod window;

pub use engine::{Embedded, Options};
pub use pace::Pace;
