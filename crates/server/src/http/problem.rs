//! Failures as `application/problem+json` (RFC 9457), for callers who ask for it.
//!
//! Lives here: who asks for it, and its shape. Not here: the envelope, which everybody else gets
//! (`door.rs`), and what failed (`failure.rs`).

use http::HeaderMap;
use http::header::ACCEPT;
use naven_api::FieldFault;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;

/// The media type.
pub(super) const PROBLEM_JSON: &str = "application/problem+json";
const JSON: &str = "application/json";

/// A failure in the shape of RFC 9457; the members behind `instance` are our own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Problem<'a> {
    /// Where it is explained: a path of this server.
    r#type: String,
    title: String,
    status: u16,
    detail: &'a str,
    /// The path that was called.
    instance: &'a str,
    code: u32,
    reason: String,
    request_id: Option<String>,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<FieldFault>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl<'a> Problem<'a> {
    /// `failure` of a call of `path`.
    pub(super) fn new(failure: &'a Failure, path: &'a str, request_id: &str) -> Self {
        let data = failure.data(Some(request_id));
        Self {
            r#type: format!("/docs/errors/{}", failure.code.code()),
            title: data.reason.replace('_', " "),
            status: failure.code.http_status(),
            detail: &failure.text,
            instance: path,
            code: failure.code.code(),
            reason: data.reason,
            request_id: data.request_id,
            retryable: data.retryable,
            fields: data.fields,
            retry_after_seconds: data.retry_after_seconds,
            details: data.details,
        }
    }
}

/// Whether the caller wants failures as problems: it names the type, and does not like plain JSON better.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let (mut problem, mut json) = (0.0, 0.0);
    let texts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in texts.flat_map(|text| text.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |text| text.parse().unwrap_or(0.0_f32));
        match name.as_str() {
            PROBLEM_JSON => problem = weight,
            JSON => json = weight,
            _ => {}
        }
    }
    problem > 0.0 && problem >= json
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_problem_is_for_those_who_name_it_and_like_it_best() {
        for (accept, wanted) in [
            ("application/problem+json", true),
            ("Application/Problem+JSON; charset=utf-8", true),
            ("text/html, application/problem+json;q=0.5", true),
            ("application/json, application/problem+json", true),
            ("application/json, application/problem+json;q=0.9", false),
            ("application/problem+json;q=0", false),
            ("application/problem+json;q=x", false),
            ("application/*", false),
            ("*/*", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(is_wanted(&headers), wanted, "{accept}");
        }
        assert!(!is_wanted(&HeaderMap::new()));
    }
}
