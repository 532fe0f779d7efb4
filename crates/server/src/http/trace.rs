//! The caller's trace: the headers `traceparent` and `tracestate`.
//!
//! Lives here: reading them, and the span that names the trace in a request's log lines. Not here: which
//! headers are a trace (`naven_api::trace`), and handing it on to consumers (`shown.rs`).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, Request};
use naven_api::TraceContext;
use tracing::Span;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// Where in its caller's trace a request stands, if the caller says so in a way that is valid. What is
/// not valid is as if it had not been sent: a fault in tracing must never fail the work.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace(pub(super) Option<Box<TraceContext>>);

impl Trace {
    /// What these headers say.
    fn of(headers: &HeaderMap) -> Self {
        let mut parents = headers.get_all(PARENT).iter();
        // Of two parents nobody knows which is meant.
        let (Some(parent), None) = (parents.next(), parents.next()) else { return Self(None) };
        // A line that is no text spoils the list as a whole; empty members do not.
        let states: Option<Vec<&str>> =
            headers.get_all(STATE).iter().map(|line| line.to_str().ok()).collect();
        let context = parent
            .to_str()
            .ok()
            .and_then(|parent| TraceContext::of_headers(parent, states.unwrap_or_default()));
        Self(context.map(Box::new))
    }
}

/// Notes the trace of a request, and gives the span in which it is answered: without a trace there is none.
pub(super) fn enter<B>(request: &mut Request<B>) -> Span {
    let Trace(Some(context)) = Trace::of(request.headers()) else { return Span::none() };
    let span = tracing::error_span!("request", trace_id = context.trace_id());
    request.extensions_mut().insert(Trace(Some(context)));
    span
}

impl<S: Sync> FromRequestParts<S> for Trace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
