//! The laws of queries, which hold whatever text comes.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws it is held to. They are checked where fuzz
//! targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: bodies (`naven_api`).

mod cursors;
mod filters;

pub use cursors::check as cursors;
pub use filters::check as filters;
