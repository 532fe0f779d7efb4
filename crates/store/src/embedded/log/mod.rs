//! The write-ahead log: batches in segments, one sync for many.
//!
//! # What is on disk
//! `log/` holds numbered segments of one fixed length, zero-filled once and used again under new
//! numbers. A segment is a row of batches ([`batch`]), each at a multiple of 64 bytes; its last is
//! a `roll` that names the next segment, which is there, durably, before the roll is written. A
//! batch longer than a segment has a segment of its own (`.big`). A clean stop ends with a `seal`.
//!
//! Several batches are written and synced together, so after a crash any of one group may be there
//! and any may not. Each batch says up to which LSN all was durable when it was written: that
//! tells a tail, which is cut, from damage, which refuses the start ([`recover`]).
//!
//! # Layers
//! [`append::Log`] writes and syncs on the caller's thread; [`commit::Commit`] puts it on a thread of
//! its own, so that batches pile up while a sync runs. [`closed`] is for the checkpointer: it reads
//! segments that are no longer written, and gives them back to the [`pool`].

pub mod append;
pub mod batch;
pub(in crate::embedded) mod check;
pub mod closed;
pub mod commit;
pub(in crate::embedded) mod copy;
#[cfg(any(fuzzing, all(test, feature = "conformance")))]
pub mod laws;
pub mod pool;
pub mod recover;
mod scan;
#[cfg(all(test, shuttle))]
mod schedules;
pub mod segment;
mod tail;
mod torn;
pub(in crate::embedded) mod wal_thread;
mod window;

pub use append::{AppendError, Log};
pub use batch::{Batch, BatchHeader, BatchKind, FIRST_LSN, Lsn};
pub use closed::{ClosedSegments, Pin};
pub use commit::{Alarm, Commit, CommitFailed, Committed, DurableUpto, OnFailure, Then};
pub use recover::{Recovered, Replay};
