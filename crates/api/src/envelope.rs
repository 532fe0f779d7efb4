//! What every answer is wrapped in.
//!
//! Lives here: `{code, message, data}`, an error's data, and lists. Not here: the codes (`error.rs`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::field::FieldFault;

/// Every answer's shape. Success is code 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// 0 for success, else HTTP status x 100 + n.
    pub code: u32,
    /// For people: `ok`, or what went wrong.
    pub message: String,
    /// The answer, or an error's data.
    pub data: T,
}

impl<T> Envelope<T> {
    /// A success.
    pub fn ok(data: T) -> Self {
        Self { code: 0, message: "ok".to_owned(), data }
    }
}

/// What programs need to know of an error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorData {
    /// The stable slug.
    pub reason: String,
    /// The answer's `Naven-Request-Id`; absent in items of a batch, which share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// True where the same request may succeed later.
    pub retryable: bool,
    /// Which fields were refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldFault>>,
    /// How long to wait before trying again; the header `Retry-After` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
    /// More about this one error, such as a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub details: Option<Value>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct List<T> {
    /// The items, newest first.
    pub items: Vec<T>,
    /// Where the next page begins; null on the last one.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_cursor: Option<String>,
}

/// The events that a batch published, in the order of the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Items<T> {
    /// One for each event of the request.
    pub items: Vec<T>,
}
