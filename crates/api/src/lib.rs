//! The words of Naven Events: ids, limits, error codes, requests and replies.
//!
//! These are the public types of the Rust SDK and the only types that both doors share. No I/O, no
//! clock, no randomness; builds for `wasm32-unknown-unknown`.

pub mod backoff;
pub mod base32;
pub mod error;
pub mod error_text;
pub mod id;
pub mod limits;
pub mod name;
pub mod seconds;
pub mod time;
pub mod token;

pub use backoff::Backoff;
pub use error::ErrorCode;
pub use error_text::ErrorText;
pub use id::{EventId, KeyId, ParseIdError, QueueId};
pub use name::{ConsumerId, InvalidName, QueueName};
pub use seconds::{DelaySeconds, LeaseSeconds, WaitSeconds};
pub use time::Timestamp;
pub use token::LeaseToken;
