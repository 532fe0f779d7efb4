//! Reading everything in a data folder that nobody uses, without changing a byte of it.
//!
//! `folder.rs` goes through the folder, `log.rs` through its log, `cold.rs` through its rows; `row.rs` is
//! what a row must be, and `link.rs` and `holder.rs` what it must lead to.

pub(in crate::embedded) mod cold;
mod folder;
mod holder;
pub(in crate::embedded) mod link;
mod log;
pub(in crate::embedded) mod row;

pub use folder::{Report, verify};

#[cfg(all(test, feature = "conformance"))]
mod tests;
