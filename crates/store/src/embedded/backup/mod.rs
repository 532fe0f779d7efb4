//! Backups: all of a store in one stream of bytes, and a store made of it.
//!
//! A backup is the cold store's rows as they were after one checkpoint, then the log from there up to
//! what is durable when its end is written. Restoring is opening: rows first, then replay.
//!
//! `format.rs` is what the stream looks like, and `check.rs` reads it back.
//! `pieces.rs` makes one, of a running engine (`running.rs`) or of a folder at rest; [`Restoring`] makes a
//! folder of one, and `new_folder.rs` one of what was salvaged.

mod check;
mod error;
mod fixed;
mod format;
pub(in crate::embedded) mod leftover;
pub(in crate::embedded) mod new_folder;
mod pieces;
mod resting;
mod restoring;
pub(in crate::embedded) mod running;

pub use check::{CheckOnly, Checker, Summary, is_backup};
pub use error::BackupError;
pub use leftover::is_restore_cut_short;
pub use resting::of_folder;
pub use restoring::Restoring;
