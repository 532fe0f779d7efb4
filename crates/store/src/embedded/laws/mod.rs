//! The laws of opening a data folder, whatever was done to its files.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws it is held to. They are checked where fuzz
//! targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: the log's own bytes
//! (`log/laws.rs`), and damage that was made for a purpose (`tests/backup`).

mod cursors;
mod folder;
mod patch;
#[cfg(test)]
mod saved;
mod scene;

pub use cursors::check as cursors;
pub use folder::check as folder;
#[cfg(test)]
pub(crate) use saved::saved_inputs;
