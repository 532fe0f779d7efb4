//! The laws of what comes in from outside, which hold whatever it is.
//!
//! They are checked where fuzz targets are built (`fuzz/` at the root), and by tests on the saved inputs. Each
//! stands beside what it is about; here are those of bearer keys.

mod keys;
#[cfg(test)]
mod saved;

pub use crate::http::laws::{cursors, filters};
pub use crate::redis::laws as resp;
pub use keys::check as keys;
#[cfg(test)]
pub(crate) use saved::saved_inputs;
