//! Reading a request's body.
//!
//! Lives here: its media type, its size, how long it may take. Not here: what it says (`naven_api`), and
//! its `Idempotency-Key` (`repetition.rs`).

use axum::extract::FromRequest;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Request};
use http_body::Body as _;
use http_body_util::BodyExt;
use naven_api::field::Faults;
use naven_api::{BadRequest, ErrorCode};
use naven_store::txn::IdempotencySlot;
use serde_json::json;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use super::query::Query;
use super::repetition::Repetition;
use crate::auth::Caller;
use crate::config::Patience;
use crate::failure::Failure;
use crate::node::Node;
use crate::room::Taken;

/// The room that a request's body takes, for as long as the request lasts.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestRoom(Arc<Mutex<Option<Taken>>>);

impl RequestRoom {
    fn hold(&self, room: Taken) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
    }
}

/// A body as it was sent, with what the request around it says.
///
/// Extracting it never fails: what is wrong with it is told by [`Sent::decode`], because the
/// contract puts "no such queue" before every fault of a body.
pub(super) struct Sent {
    bytes: Result<Bytes, Failure>,
    query: Query,
    repetition: Repetition,
}

impl Sent {
    /// The request that the body says, read by `decode`. This call takes no `Idempotency-Key`.
    pub(super) fn decode<T>(
        self,
        decode: impl FnOnce(&[u8], Faults) -> Result<T, BadRequest>,
    ) -> Result<T, Failure> {
        let bytes = self.bytes?;
        let faults = self.query.into_faults();
        self.repetition.refuse(&faults);
        decode(&bytes, faults).map_err(Failure::from)
    }

    /// The request that the body says, read by `decode`, and the slot of `caller` that makes its
    /// repetition harmless, where there is an `Idempotency-Key`.
    pub(super) fn decode_once<T>(
        self,
        caller: &Caller,
        decode: impl FnOnce(&[u8], Faults) -> Result<T, BadRequest>,
    ) -> Result<(T, Option<IdempotencySlot>), Failure> {
        let bytes = self.bytes?;
        let faults = self.query.into_faults();
        let slot = self.repetition.slot(caller, &bytes, &faults);
        Ok((decode(&bytes, faults)?, slot))
    }

    /// A parameter of the query, for the few calls that take one beside their body.
    pub(super) fn parameter(&mut self, name: &str) -> Option<String> {
        self.query.text(name)
    }
}

impl FromRequest<Arc<Node>> for Sent {
    type Rejection = Infallible;

    async fn from_request(request: Request<axum::body::Body>, node: &Arc<Node>) -> Result<Self, Infallible> {
        let query = Query::new(request.uri().query());
        let repetition = Repetition::of(request.headers(), request.method(), request.uri());
        let bytes = read(request, node).await;
        Ok(Self { bytes, query, repetition })
    }
}

async fn read(request: Request<axum::body::Body>, node: &Node) -> Result<Bytes, Failure> {
    let (max, patience) = (node.limits.request_bytes, node.patience);
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    check_media_type(&parts.headers)?;
    let announced =
        parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > max as u64) {
        return Err(too_large(max));
    }
    // Room for the whole is taken before any of it is read, so that half-read bodies never wait for
    // each other; until then the connection is not read, and its client waits.
    let size = announced.map_or(max, |bytes| bytes as usize);
    let room = node.request_room.take(size, patience.body_idle).await.ok_or_else(too_slow)?;
    // It is needed until the request is answered: by then the engine has let go of what it says.
    if let Some(request) = parts.extensions.get::<RequestRoom>() {
        request.hold(room);
    }
    let all = collect(body, max, patience);
    tokio::time::timeout(patience.body_total, all).await.unwrap_or_else(|_| Err(too_slow()))
}

async fn collect(mut body: axum::body::Body, max: usize, patience: Patience) -> Result<Bytes, Failure> {
    // Grows as bytes come: an announced length reserves nothing.
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    loop {
        let frame = tokio::time::timeout(patience.body_idle, body.frame()).await.map_err(|_| too_slow())?;
        let data = match frame {
            None => break,
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => {
                return Err(Failure::new(ErrorCode::MalformedJson, format!("the body broke off: {error}")));
            }
        };
        if first.len() + rest.len() + data.len() > max {
            return Err(too_large(max));
        }
        // Most bodies are one piece, which then is not copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let refuse = |why: &str| {
        let text = format!("{why}: send Content-Type: application/json (with curl: --json instead of -d)");
        Err(Failure::new(ErrorCode::UnsupportedMediaType, text))
    };
    if headers.contains_key(CONTENT_ENCODING) {
        return refuse("encoded bodies are not taken");
    }
    let mut announced = headers.get_all(CONTENT_TYPE).iter();
    let (Some(first), None) = (announced.next(), announced.next()) else {
        return refuse("a body needs exactly one Content-Type");
    };
    let mut parts = first.to_str().unwrap_or_default().split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let is_utf8 = |part: &str| {
        let (name, charset) = part.split_once('=').unwrap_or((part, ""));
        !name.trim().eq_ignore_ascii_case("charset")
            || charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    };
    if is_json && parts.all(is_utf8) { Ok(()) } else { refuse("the body is not announced as JSON in UTF-8") }
}

fn too_large(max: usize) -> Failure {
    Failure::new(ErrorCode::TooLarge, format!("the body is larger than {max} bytes"))
        .with_details(json!({ "limitBytes": max }))
}

fn too_slow() -> Failure {
    Failure::new(ErrorCode::RequestTimeout, "the body did not arrive in time")
}
