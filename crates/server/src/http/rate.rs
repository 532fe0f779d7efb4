//! What callers are told of the bound on their calls.
//!
//! Lives here: which calls count, and the headers `RateLimit-Policy` and `RateLimit`, which are those of
//! draft-ietf-httpapi-ratelimit-headers-11: a draft, so they may change. Not here: counting
//! (`auth/pace.rs`).

use std::sync::{Arc, OnceLock};

use axum::extract::MatchedPath;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response};
use naven_api::ErrorCode;

use crate::auth::{Caller, Standing};
use crate::failure::Failure;

/// Where a request's key stands, for its answer: filled once the key is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<OnceLock<Standing>>);

/// Calls that are never held back: that would make leases expire, and so make duplicates.
const FREE: [&str; 3] = ["/v1/events/{id}/heartbeat", "/v1/events/{id}/ack", "/v1/events/{id}/nack"];
/// The same for many leases at once.
const FREE_BATCHES: &str = "/v1/leases/";

/// Counts the call that `parts` begin, where it counts and `caller` has a bound.
///
/// # Errors
/// 42900.
pub(super) fn count(parts: &Parts, caller: &Caller) -> Result<(), Failure> {
    let Some(pace) = caller.pace() else { return Ok(()) };
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    if FREE.contains(&path) || path.starts_with(FREE_BATCHES) {
        return Ok(());
    }
    let standing = pace.call();
    if let Some(Tally(slot)) = parts.extensions.get() {
        // A request has one key.
        let _ = slot.set(standing);
    }
    if standing.wait_seconds == 0 {
        return Ok(());
    }
    let text = format!("the key makes more than {} calls a second", standing.per_second);
    let failure = Failure::new(ErrorCode::RateLimited, text);
    Err(Failure { retry_after_seconds: Some(standing.wait_seconds), ..failure })
}

/// Tells the caller where its key stands.
pub(super) fn tell<B>(response: &mut Response<B>, Tally(slot): &Tally) {
    let Some(Standing { per_second, remaining, wait_seconds }) = slot.get().copied() else { return };
    let wait = wait_seconds.max(1);
    for (name, text) in [
        ("ratelimit-policy", format!("\"key\";q={per_second};w=1")),
        ("ratelimit", format!("\"key\";r={remaining};t={wait}")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
}
