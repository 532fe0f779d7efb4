//! Which answers are compressed, for callers who accept gzip.
//!
//! Lives here: the rule. Not here: the compressing, which is the library's.

use http::header::{CONTENT_TYPE, ETAG};
use http::{Extensions, HeaderMap, StatusCode, Version};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate, SizeAbove};

/// Shorter answers, in bytes, are sent as they are.
const SMALLEST: u64 = 1024;

/// A rule over an answer's head.
type HeadRule = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Compresses text of more than 1 KiB.
pub(super) fn layer() -> CompressionLayer<And<SizeAbove, HeadRule>> {
    let rule: HeadRule = |_, _, headers, _| is_worth_it(headers);
    CompressionLayer::new().compress_when(SizeAbove::new(SMALLEST).and(rule))
}

/// Text that ends: streams have to arrive piece by piece, and backups are compressed by whoever keeps
/// them. What bears an `ETag` stays as it is, so that the tag means these very bytes.
fn is_worth_it(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_text = [
        "application/json",
        "application/problem+json",
        "text/html",
        "text/css",
        "text/javascript",
        "text/plain",
    ]
    .iter()
    .any(|text| kind.starts_with(text));
    is_text && !headers.contains_key(ETAG)
}
