//! The laws of requests, which hold whatever bytes come.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws it is held to. They are checked where fuzz
//! targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: tables of requests
//! (beside each of them).

mod bounds;
mod requests;

pub use requests::check;
