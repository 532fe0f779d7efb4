//! A queue as its operators set it and see it.
//!
//! Lives here: the requests that make and change one, and its picture. Not here: names (`name.rs`).

mod fields;
mod reply;
mod request;

pub use fields::{QueueFields, Retention, RetentionFields};
pub use reply::{QueueDeletedReply, QueueReply, RetentionReply, StateCounts};
pub use request::{PauseRequest, QueueCreateRequest, QueuePatchRequest, decode_nothing};
