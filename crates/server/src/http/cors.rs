//! Which web pages may call, by the rules that browsers keep (CORS).
//!
//! Lives here: what is allowed and shown to them. Not here: which origins those are (`access.rs`).

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, LOCATION, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::access::Origin;

/// How long a browser may remember what it was allowed.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Answers preflights and marks answers for pages of `origins`; none where there are none. Nothing is
/// allowed that rests on cookies: callers send their key themselves.
pub(super) fn layer(origins: &[Origin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin.as_str()).ok());
    let named = HeaderName::from_static;
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            named("idempotency-key"),
            named("traceparent"),
            named("tracestate"),
        ])
        .expose_headers([
            ETAG,
            LOCATION,
            RETRY_AFTER,
            named("ratelimit"),
            named("ratelimit-policy"),
            named("idempotent-replayed"),
            named("naven-request-id"),
        ])
        .max_age(REMEMBERED);
    Some(layer)
}
