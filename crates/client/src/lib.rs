//! The Rust client of Naven Events: publish, claim, heartbeat, ack and nack over HTTP.
//!
//! ```no_run
//! use naven_client::{ClaimRequest, Client, PublishRequest, payload};
//!
//! # async fn run() -> Result<(), naven_client::Error> {
//! let client = Client::new("http://127.0.0.1:7480", "nvk_...")?;
//! let event = PublishRequest::new(payload::from_json(r#"{"hello":"world"}"#)?);
//! client.publish("demo", &event).await?;
//!
//! if let Some(claim) = client.claim("demo", &ClaimRequest::default()).await? {
//!     println!("{} {}", claim.event.id, claim.event.payload.get());
//!     client.ack(claim.event.id, &claim.lease_token).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Requests and replies are the types of `naven-api`. Replies may carry fields and words that this
//! version does not know: unknown fields are passed over, unknown words kept as text.
//!
//! [`consumer`] is the runtime of a consumer, over HTTP; with the feature `redis`, `streams` is the same over streams of a
//! Redis. [`ledger`] keeps what handlers do from being done twice.
//!
//! What a consumer has to get right (heartbeats, lost answers, 409) is `docs/consumers.md`. Over
//! `https` the roots that the system trusts are trusted, or those handed to [`Client::trusting`].
//!
//! # Features
//! None is on by default: this package then needs 96 others (on Linux), nearly all of them for HTTP and TLS.
//! - `ledger-postgres`: the effect ledger in PostgreSQL, inside your own transaction (`ledger::postgres`); over
//!   `tokio-postgres`, whose version is a part of the interface. 39 more packages.
//! - `ledger-redis`: the effect ledger in Redis or Valkey (`ledger::redis`); over `redis`, likewise. 12 more packages.

mod answer;
mod backup;
mod claim;
mod client;
pub mod consumer;
mod dead;
mod error;
mod event;
mod event_list;
mod key;
pub mod ledger;
mod once;
pub mod payload;
mod pending;
mod publish;
mod queue;
mod settle;
mod stream;
#[cfg(feature = "redis")]
pub mod streams;
mod system;
mod watch;

pub use backup::BackupStream;
pub use client::{Client, Tagged};
pub use dead::BulkAnswer;
pub use error::{ApiError, Code, Error};
pub use event::{DeadLetter, Event};
pub use event_list::{EventPage, Events};
pub use once::Once;
pub use pending::Pending;
pub use queue::Unfinished;
pub use settle::Nack;
pub use stream::{Entries, Entry};
pub use watch::{StatsSpan, Tail, TailFilter, Tailed};

pub use naven_api::audit::AuditReply;
pub use naven_api::bulk::{
    BulkItem, BulkReply, DeadDiscardRequest, DeadFilterRequest, DeadRedriveRequest, MatchedReply,
    OperationReply, Which,
};
pub use naven_api::claim::{ClaimBatchRequest, ClaimReply, ClaimRequest, ClaimedEvent};
pub use naven_api::dead::{ErrorGroupReply, ErrorGroupsReply};
pub use naven_api::envelope::List;
pub use naven_api::event::{
    AttemptReply, DeadReply, DeliveryReply, HoldReply, RedriveRequest, TimelineReply,
};
pub use naven_api::event_list::TotalReply;
pub use naven_api::key::{KeyCreateRequest, KeyDeletedReply, KeyPatchRequest, KeyReply, KeyRotateRequest};
pub use naven_api::operate::RescheduleRequest;
pub use naven_api::pending::{PendingListReply, PendingReply};
pub use naven_api::progress::ProgressReply;
pub use naven_api::publish::PublishRequest;
pub use naven_api::purge::PurgeRequest;
pub use naven_api::queue::{
    QueueCreateRequest, QueueDeletedReply, QueueFields, QueuePatchRequest, QueueReply, Retention,
    RetentionFields, RetentionReply, StateCounts,
};
pub use naven_api::settle::{AckReply, HeartbeatReply, NackMode, NackReply};
pub use naven_api::stream::{GroupReply, ResetRequest, StreamReply, TrimReply, TrimRequest};
pub use naven_api::system::SystemReply;
pub use naven_api::watch::{
    ChangeReply, ConsumerReply, ConsumersReply, PercentilesReply, StatsPoint, StatsReply,
};
pub use naven_api::{
    AckResult, Backoff, ConsumerId, DedupeKey, DelaySeconds, EntryId, ErrorCode, EventId, FieldFault,
    Headers, IdempotencyKey, KeyId, LeaseSeconds, LeaseToken, NoteText, OperationId, Payload,
    PayloadCondition, PayloadPath, Percent, Progress, QueueId, QueueName, Scope, StartFrom, StreamName,
    Timestamp, TraceContext, WaitSeconds,
};
