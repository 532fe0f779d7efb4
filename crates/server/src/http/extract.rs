//! Who asks, and for what: the parts of a request before its body.
//!
//! Lives here: the caller and the names in the path. Not here: bodies (`body.rs`), queries
//! (`query.rs`), and who may do what (`auth.rs`).

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use bytes::Bytes;
use http::Method;
use http::header::AUTHORIZATION;
use http::request::Parts;
use naven_api::{ErrorCode, EventId, KeyId, OperationId};
use naven_store::queue::QueueRef;
use naven_store::txn::StreamRef;

use super::query::Query;
use super::rate;
use super::repetition::Repetition;
use crate::auth::{Caller, Stranger};
use crate::failure::Failure;
use crate::node::Node;

impl FromRequestParts<Arc<Node>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Failure> {
        let mut sent = parts.headers.get_all(AUTHORIZATION).iter();
        let Some(first) = sent.next() else {
            return Err(Failure::new(ErrorCode::KeyMissing, "no key: send Authorization: Bearer nvk_..."));
        };
        let invalid = || Failure::new(ErrorCode::KeyInvalid, "not a key that this server knows");
        let (None, Ok(text)) = (sent.next(), first.to_str()) else { return Err(invalid()) };
        let (scheme, key) = text.split_once(' ').ok_or_else(invalid)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(invalid());
        }
        let caller = node.keys.caller(key.trim(), node.clock.wall()).map_err(|stranger| match stranger {
            Stranger::Unknown => invalid(),
            Stranger::Expired => Failure::new(ErrorCode::KeyExpired, "the key's time is over"),
        })?;
        rate::count(parts, &caller)?;
        let id = parts.extensions.get::<RequestId>();
        Ok(caller.in_request(id.map_or("", |RequestId(id)| id)))
    }
}

/// The id of the request, which the door gave it.
#[derive(Debug, Clone)]
pub(super) struct RequestId(pub(super) String);

/// The queue that the path names, by id or by name. Whether there is one, the engine says.
pub(super) struct QueueInPath(pub(super) QueueRef);

/// The stream that the path names. Whether there is one, the engine says.
pub(super) struct StreamInPath(pub(super) StreamRef);

/// The stream that the path names, and the queue that it names on it.
pub(super) struct GroupInPath {
    pub(super) stream: StreamRef,
    pub(super) group: String,
}

/// The same, and a Redis consumer of that queue.
pub(super) struct ConsumerInPath {
    pub(super) stream: StreamRef,
    pub(super) group: String,
    pub(super) consumer: Bytes,
}

/// The bearer key that the path names. Text that is no id names nothing.
pub(super) struct KeyInPath(pub(super) KeyId);

/// The operation that the path names. Text that is no id names nothing.
pub(super) struct OperationInPath(pub(super) OperationId);

/// The event that the path names.
pub(super) struct EventInPath(Option<EventId>);

impl EventInPath {
    /// Its id.
    ///
    /// # Errors
    /// 40402: text that is no id names nothing.
    pub(super) fn id(&self) -> Result<EventId, Failure> {
        self.0.ok_or_else(|| Failure::new(ErrorCode::EventNotFound, "no such event"))
    }
}

impl FromRequestParts<Arc<Node>> for QueueInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [name] = names(parts, node).await;
        Ok(Self(QueueRef::from_text(&name)))
    }
}

impl FromRequestParts<Arc<Node>> for StreamInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [name] = names(parts, node).await;
        Ok(Self(StreamRef(name.into())))
    }
}

impl FromRequestParts<Arc<Node>> for GroupInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [stream, group] = names(parts, node).await;
        Ok(Self { stream: StreamRef(stream.into()), group })
    }
}

impl FromRequestParts<Arc<Node>> for ConsumerInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [stream, group, consumer] = names(parts, node).await;
        Ok(Self { stream: StreamRef(stream.into()), group, consumer: consumer.into() })
    }
}

impl FromRequestParts<Arc<Node>> for KeyInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [name] = names(parts, node).await;
        // No key has the id of all zeros: ids bear the time of their making.
        Ok(Self(name.parse().unwrap_or(KeyId::from_bits(0))))
    }
}

impl FromRequestParts<Arc<Node>> for OperationInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [name] = names(parts, node).await;
        // As for keys, no operation has the id of all zeros.
        Ok(Self(name.parse().unwrap_or(OperationId::from_bits(0))))
    }
}

impl FromRequestParts<Arc<Node>> for EventInPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Infallible> {
        let [name] = names(parts, node).await;
        Ok(Self(name.parse().ok()))
    }
}

impl FromRequestParts<Arc<Node>> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Node>) -> Result<Self, Infallible> {
        let query = Self::new(parts.uri.query());
        if parts.method == Method::DELETE {
            Repetition::of(&parts.headers, &parts.method, &parts.uri).refuse(query.faults());
        }
        Ok(query)
    }
}

/// The names in the path, decoded; empty, which names nothing, where one is not UTF-8.
async fn names<const N: usize>(parts: &mut Parts, node: &Arc<Node>) -> [String; N] {
    let params = RawPathParams::from_request_parts(parts, node).await.ok();
    let mut values = params.iter().flat_map(|params| params.iter()).map(|(_, value)| value.to_owned());
    std::array::from_fn(|_| values.next().unwrap_or_default())
}
