//! What handlers answer, as bytes.
//!
//! Lives here: the envelope around successes, large answers in pieces, and the body that gives leases back when its
//! client is gone. Not here: failures, which become bytes once their request id is known (`door.rs`).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONNECTION, ETAG, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use naven_api::Envelope;
use serde::Serialize;

use super::condition::tag;
use crate::failure::Failure;
use crate::room::{Taken, UNCOUNTED_BYTES};
use crate::wait::Undelivered;

/// The draft on idempotency keys leaves the name of such a header open.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What every handler returns.
pub(super) type Reply = Result<Answer, Failure>;

/// A success on its way to the caller.
pub(super) struct Answer {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    bytes: Vec<u8>,
    undelivered: Option<Undelivered>,
    room: Option<Taken>,
}

/// Most bytes that a connection takes at once: what it has not taken is still ours to give back, or to hold.
const PIECE_BYTES: usize = 64 * 1024;

/// 200 with `data` in the envelope.
pub(super) fn ok<T: Serialize>(data: &T) -> Reply {
    Answer::new(StatusCode::OK, &Envelope::ok(data))
}

/// 201 with `data` in the envelope.
pub(super) fn created<T: Serialize>(data: &T) -> Reply {
    Answer::new(StatusCode::CREATED, &Envelope::ok(data))
}

/// 202 with `data` in the envelope: it was asked for, and is not done yet.
pub(super) fn accepted<T: Serialize>(data: &T) -> Reply {
    Answer::new(StatusCode::ACCEPTED, &Envelope::ok(data))
}

impl Answer {
    pub(super) fn new<T: Serialize>(status: StatusCode, envelope: &Envelope<T>) -> Reply {
        let bytes = serde_json::to_vec(envelope).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { status, headers: Vec::new(), bytes, undelivered: None, room: None })
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Where the thing that was made is.
    pub(super) fn located_at(mut self, path: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(path).ok().map(|value| (LOCATION, value)));
        self
    }

    /// At which version the thing is.
    pub(super) fn tagged(mut self, revision: u64) -> Self {
        self.headers.extend(HeaderValue::from_str(&tag(revision)).ok().map(|value| (ETAG, value)));
        self
    }

    /// Where `replayed`, this is what the same call was answered before.
    pub(super) fn replayed(mut self, replayed: bool) -> Self {
        if replayed {
            self.headers.push((REPLAYED, HeaderValue::from_static("true")));
        }
        self
    }

    /// The connection ends with this answer.
    pub(super) fn closing(mut self) -> Self {
        self.headers.push((CONNECTION, HeaderValue::from_static("close")));
        self
    }

    /// It takes this room until it has been read, or as much of it as it needs.
    pub(super) fn taking(mut self, mut room: Taken) -> Self {
        // What it was written into may have room for twice as much.
        self.bytes.shrink_to_fit();
        room.shrink_to(self.bytes.len());
        self.room = Some(room);
        self
    }

    /// The leases in this answer go back unless it is taken.
    pub(super) fn guarding(mut self, leases: Undelivered) -> Self {
        self.undelivered = Some(leases);
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let bytes = match self.room {
            None => Bytes::from(self.bytes),
            Some(room) => Bytes::from_owner(Roomy { bytes: self.bytes, _room: room }),
        };
        let body = match self.undelivered {
            None if bytes.len() <= UNCOUNTED_BYTES => Body::from(bytes),
            leases => Body::new(Pieces { bytes: Some(bytes), leases }),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        // The door writes it, because only the door knows the request's id.
        response.extensions_mut().insert(self);
        response
    }
}

/// Bytes that take room until the last piece of them is gone.
struct Roomy {
    bytes: Vec<u8>,
    _room: Taken,
}

impl AsRef<[u8]> for Roomy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes, some with leases in them, that the connection takes in pieces. Dropped before it took the last one, they give
/// the leases back.
struct Pieces {
    bytes: Option<Bytes>,
    leases: Option<Undelivered>,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(mut bytes) = self.bytes.take() else { return Poll::Ready(None) };
        if bytes.len() > PIECE_BYTES {
            let piece = bytes.split_to(PIECE_BYTES);
            self.bytes = Some(bytes);
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if let Some(leases) = &mut self.leases {
            leases.delivered();
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::wait::tests::{Bench, LeaseLeft};

    async fn answered(bench: &Bench) -> Response {
        bench.publish().await;
        let leases = bench.claim_now().await;
        let answer = Answer::new(StatusCode::OK, &Envelope::ok(1)).expect("a number can be written");
        answer.guarding(leases).into_response()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_gives_its_leases_back() {
        let bench = Bench::new().await;
        drop(answered(&bench).await);
        assert_eq!(bench.lease_left().await, LeaseLeft::GivenBack);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_taken_keeps_them() {
        let bench = Bench::new().await;
        let body = answered(&bench).await.into_body().collect().await.expect("it cannot fail").to_bytes();
        assert_eq!(&body[..], br#"{"code":0,"message":"ok","data":1}"#);
        assert_eq!(bench.lease_left().await, LeaseLeft::Held);
    }
}
