//! What holds for every store.
//!
//! Lives here: the list of cases, by theme. Not here: starting the stores.

mod bench;
mod bounds;
mod doubt;
mod fences;
mod lost;
mod once;

pub(crate) use bench::{Bench, all};
