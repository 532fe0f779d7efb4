//! The way in and out of the HTTP door, around every route.
//!
//! Lives here: request ids, limits of a request's head, panics, the envelope of failures, headers of
//! every answer, and the access line. Not here: routes (`router.rs`).

use std::any::Any;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use naven_api::limits::REQUEST_ID_BYTES_MAX;
use naven_api::{Envelope, ErrorCode, ErrorData, base32};
use serde_json::json;
use tower::{Layer, ServiceExt};
use tower_http::cors::CorsLayer;
use tracing::Instrument;
use tracing::field::display;

use super::body::RequestRoom;
use super::caller_address::{CallerAddress, Peer, TrustedProxies};
use super::extract::RequestId;
use super::host::HostRule;
use super::problem::{self, Problem};
use super::rate::{self, Tally};
use super::router::router;
use super::shown_path::shown_path;
use super::{compress, cors, trace};
use crate::access::Access;
use crate::failure::Failure;
use crate::net::{Activity, InRequest};
use crate::node::Node;

const REQUEST_ID: &str = "naven-request-id";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static(problem::PROBLEM_JSON);

/// The door: cheap to clone, one for the whole server.
#[derive(Clone)]
pub(crate) struct HttpDoor {
    pub(crate) node: Arc<Node>,
    router: Router,
    hosts: HostRule,
    cors: Option<CorsLayer>,
    proxies: TrustedProxies,
    /// The other end of the connection, where the door is that of one.
    peer: Option<Peer>,
}

impl HttpDoor {
    /// The door of `node` at `address`.
    pub(crate) fn new(node: Arc<Node>, address: SocketAddr, access: &Access) -> Self {
        let hosts = HostRule::new(address, &access.allowed_hosts);
        let cors = cors::layer(&access.cors_origins);
        let proxies = TrustedProxies::new(&access.trusted_proxies);
        Self { router: router(Arc::clone(&node)), node, hosts, cors, proxies, peer: None }
    }

    /// The door for a connection that comes from there.
    pub(crate) fn from(self, peer: Option<Peer>) -> Self {
        Self { peer, ..self }
    }

    /// Answers one request, whatever it is.
    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let method = request.method().clone();
        let cors = self.cors.clone();
        let plain = tower::service_fn(move |mut request| {
            let door = self.clone();
            // Every log line of the request names the trace that it is part of.
            let span = trace::enter(&mut request);
            async move { Ok::<_, Infallible>(door.answer_plainly(request).await) }.instrument(span)
        });
        let compressed = compress::layer().layer(plain).map_response(|response| response.map(Body::new));
        let answered = match cors {
            Some(cors) => cors.layer(compressed).oneshot(request).await,
            None => compressed.oneshot(request).await,
        };
        let mut response = match answered {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if method == Method::HEAD {
            // The length stays in the header, as for a GET.
            *response.body_mut() = Body::empty();
        }
        response
    }

    /// Answers as if nobody compressed anything or came from another origin.
    async fn answer_plainly(self, mut request: Request<Body>) -> Response<Body> {
        let began = self.node.clock.monotonic_ms();
        let call = self.node.metrics.calls.begin(&mut request);
        let id = request_id(&request).unwrap_or_else(|| self.new_request_id());
        let (method, path) = (request.method().clone(), shown_path(request.uri().path()));
        let tally = Tally::default();
        request.extensions_mut().insert(tally.clone());
        request.extensions_mut().insert(RequestId(id.clone()));
        // It goes back when this returns, or is dropped.
        let room = RequestRoom::default();
        request.extensions_mut().insert(room.clone());
        let peer = self.peer.map(Peer::address);
        let caller = peer.map(|peer| self.proxies.caller(peer, request.headers()));
        if let Some(caller) = caller {
            request.extensions_mut().insert(CallerAddress(caller));
        }
        let wants_problem = problem::is_wanted(request.headers());
        let mut response = match self.check_head(&request) {
            Err(failure) => axum::response::IntoResponse::into_response(failure),
            Ok(()) => self.route(request, &id).await,
        };
        let failure = take_failure(&mut response);
        if let Some(failure) = &failure {
            let body = if wants_problem {
                (PROBLEM, serde_json::to_vec(&Problem::new(failure, &path, &id)))
            } else {
                (JSON, serde_json::to_vec(&envelope(failure, &id)))
            };
            write_failure(&mut response, failure, body, &id);
        }
        drop(room);
        rate::tell(&mut response, &tally);
        finish(&mut response, &id);
        call.answered(response.status());
        let (status, took_ms) = (response.status().as_u16(), self.node.clock.monotonic_ms() - began);
        let code = failure.as_ref().map_or(0, |failure| failure.code.code());
        let client = caller.filter(|_| caller != peer).map(display);
        let peer = peer.map(display);
        tracing::debug!(request_id = id, %method, path, status, code, took_ms, peer, client, "answered");
        response
    }

    async fn route(&self, request: Request<Body>, id: &str) -> Response<Body> {
        let answered = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind().await;
        match answered {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panic) => {
                tracing::error!(request_id = id, panic = panic_text(&*panic), "a handler panicked");
                axum::response::IntoResponse::into_response(Failure::internal("a handler panicked"))
            }
        }
    }

    /// Bounds of a request's head that are tighter than what the library parses at all.
    fn check_head<B>(&self, request: &Request<B>) -> Result<(), Failure> {
        let limits = self.node.limits;
        let uri_bytes = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
        if uri_bytes > limits.uri_bytes {
            let text = format!("the path and query are longer than {} bytes", limits.uri_bytes);
            return Err(Failure::new(ErrorCode::UriTooLong, text)
                .with_details(json!({ "limitBytes": limits.uri_bytes })));
        }
        let header_bytes: usize =
            request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if header_bytes > limits.header_bytes {
            let text = format!("the headers are longer than {} bytes together", limits.header_bytes);
            return Err(Failure::new(ErrorCode::HeadersTooLarge, text)
                .with_details(json!({ "limitBytes": limits.header_bytes })));
        }
        self.hosts.check(request)
    }

    fn new_request_id(&self) -> String {
        format!("req_{}", base32::encode_u128(self.node.random.draw_u128()))
    }
}

/// The caller's own id for the request, where it is short and printable.
fn request_id<B>(request: &Request<B>) -> Option<String> {
    let text = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let fits =
        (1..=REQUEST_ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

/// The failure that a response stands for. Refusals of the framework itself have none: they are
/// told by their status.
fn take_failure(response: &mut Response<Body>) -> Option<Failure> {
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        return Some(failure);
    }
    let status = response.status();
    if status.is_success() {
        return None;
    }
    Some(match status {
        StatusCode::NOT_FOUND => Failure::new(ErrorCode::RouteNotFound, "no such path"),
        StatusCode::METHOD_NOT_ALLOWED => Failure::new(ErrorCode::MethodNotAllowed, "not this method"),
        other => Failure::internal(format!("the framework answered {other}")),
    })
}

fn envelope(failure: &Failure, id: &str) -> Envelope<ErrorData> {
    Envelope { code: failure.code.code(), message: failure.text.clone(), data: failure.data(Some(id)) }
}

fn write_failure(
    response: &mut Response<Body>,
    failure: &Failure,
    (kind, body): (HeaderValue, serde_json::Result<Vec<u8>>),
    id: &str,
) {
    if failure.code == ErrorCode::Internal {
        tracing::error!(
            request_id = id,
            cause = failure.cause.as_deref().unwrap_or_default(),
            "internal failure"
        );
    }
    let bytes = body.unwrap_or_else(|_| {
        // Texts and numbers alone cannot fail to be written.
        br#"{"code":50000,"message":"the server failed","data":null}"#.to_vec()
    });
    *response.status_mut() =
        StatusCode::from_u16(failure.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.body_mut() = Body::from(bytes);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    headers.remove(CONTENT_LENGTH);
    if let Some(seconds) = failure.retry_after_seconds {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if failure.code.http_status() == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // What is left of such a request is not read.
    if matches!(failure.code, ErrorCode::RequestTimeout | ErrorCode::TooLarge | ErrorCode::HeadersTooLarge) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The headers that every answer has.
fn finish(response: &mut Response<Body>, id: &str) {
    let length = response.body().size_hint().exact();
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(JSON);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Answers hold tokens and states of a moment.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(bytes) = length {
        // Where the router already wrote one, it answers a HEAD: the length of what is not sent.
        headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(bytes));
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, value);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

/// The door as one connection sees it.
pub(crate) struct Connected {
    door: HttpDoor,
    activity: Arc<Activity>,
}

impl Connected {
    pub(crate) fn new(door: HttpDoor, activity: Arc<Activity>) -> Self {
        Self { door, activity }
    }
}

impl hyper::service::Service<Request<Incoming>> for Connected {
    type Response = Response<InAnswer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<InAnswer>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_request = self.activity.request();
        let door = self.door.clone();
        Box::pin(async move {
            let response = door.answer(request.map(Body::new)).await;
            Ok(response.map(|body| InAnswer { body, _in_request: in_request }))
        })
    }
}

/// A body whose end is the end of its request.
pub(crate) struct InAnswer {
    body: Body,
    _in_request: InRequest,
}

impl HttpBody for InAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Poll::Ready(ready!(Pin::new(&mut self.body).poll_frame(cx)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
