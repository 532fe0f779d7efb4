//! The words of Naven Events: ids, limits, error codes, requests and replies.
//!
//! These are the public types of the Rust SDK and the only types that both doors share. No I/O, no
//! clock, no randomness; builds for `wasm32-unknown-unknown`.

pub mod audit;
pub mod backoff;
pub mod base32;
pub mod bulk;
pub mod claim;
pub mod dead;
pub mod envelope;
pub mod error;
pub mod error_text;
pub mod event;
pub mod event_list;
pub mod field;
pub mod headers;
pub mod id;
pub mod key;
#[cfg(any(test, fuzzing))]
pub mod laws;
pub mod lease_batch;
pub mod limits;
pub mod name;
pub mod object;
#[cfg(feature = "openapi")]
mod openapi;
pub mod operate;
pub mod payload;
pub mod payload_filter;
pub mod pending;
pub mod place;
pub mod progress;
pub mod publish;
pub mod purge;
pub mod queue;
pub mod result;
pub mod seconds;
pub mod settle;
pub mod stream;
pub mod system;
pub mod time;
pub mod token;
pub mod trace;
pub mod value;
pub mod watch;

pub use backoff::Backoff;
pub use envelope::{Envelope, ErrorData};
pub use error::ErrorCode;
pub use error_text::ErrorText;
pub use field::{BadRequest, FieldFault};
pub use headers::Headers;
pub use id::{EventId, KeyId, OperationId, ParseIdError, QueueId};
pub use key::Scope;
pub use name::{ConsumerId, DedupeKey, IdempotencyKey, InvalidName, QueueName, StreamName};
pub use payload::Payload;
pub use payload_filter::{PayloadCondition, PayloadPath};
pub use place::{EntryId, StartFrom};
pub use progress::{NoteText, Percent, Progress};
pub use result::AckResult;
pub use seconds::{DelaySeconds, LeaseSeconds, WaitSeconds};
pub use time::Timestamp;
pub use token::LeaseToken;
pub use trace::TraceContext;
