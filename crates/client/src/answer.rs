//! The envelope that every answer comes in, taken apart.
//!
//! Lives here: from status, headers and bytes to a typed reply or an [`Error`]. Not here: sending
//! (`client.rs`).

use std::time::Duration;

use naven_api::{Envelope, ErrorCode, ErrorData};
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::{ApiError, Code, Error};

/// What an answer is that says of some items that they failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partly {
    /// A failure of the call.
    IsFailure,
    /// A reply: its items say for themselves what became of them.
    IsSuccess,
}

/// The reply in an answer's body. `data` is kept as text first, so that payloads stay byte for byte.
pub(crate) fn read<T: DeserializeOwned>(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    partly: Partly,
) -> Result<T, Error> {
    let decode = |error: serde_json::Error| Error::Decode { status, why: error.to_string() };
    let envelope: Envelope<&RawValue> = serde_json::from_slice(body).map_err(decode)?;
    let is_success = (200..300).contains(&status);
    let is_partial = envelope.code == ErrorCode::PartialFailure.code() && partly == Partly::IsSuccess;
    match (is_success, envelope.code) {
        (true, code) if code == 0 || is_partial => serde_json::from_str(envelope.data.get()).map_err(decode),
        (false, 0) => Err(Error::Decode { status, why: "code 0 with a status of failure".to_owned() }),
        (_, code) => Err(refusal(status, headers, code, envelope.message, envelope.data)),
    }
}

fn refusal(status: u16, headers: &HeaderMap, code: u32, message: String, data: &RawValue) -> Error {
    // What is said matters more than its form: the code stands for itself.
    let data: ErrorData = serde_json::from_str(data.get()).unwrap_or_default();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = data.retry_after_seconds.or_else(|| header("retry-after")?.parse().ok());
    Error::Api(Box::new(ApiError {
        code: Code::from_number(code),
        status,
        message,
        reason: data.reason,
        request_id: data.request_id.or_else(|| header("naven-request-id").map(str::to_owned)),
        fields: data.fields.unwrap_or_default(),
        retry_after: seconds.map(|seconds| Duration::from_secs(u64::from(seconds))),
        retryable: data.retryable,
    }))
}
