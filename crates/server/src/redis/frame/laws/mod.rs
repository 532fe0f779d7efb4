//! The laws of the codec, which hold whatever bytes come and however they are cut.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws it is held to. They are checked where fuzz
//! targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: tables of frames and
//! replies (`tests`).

mod case;
mod reader;
mod replies;
mod requests;

pub use case::check;
#[cfg(test)]
pub(crate) use reader::{Seen, read_all};
