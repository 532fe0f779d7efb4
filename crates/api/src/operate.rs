//! What operators ask of single events.
//!
//! Lives here: cancelling. Not here: redriving (`event.rs`), and what becomes of the event
//! (`naven-core`).

use serde::Serialize;

use crate::field::{BadRequest, Faults, Rule};
use crate::limits::REASON_BYTES_MAX;
use crate::object::{Object, decode};
use crate::value;

/// Calls an event off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CancelRequest {
    /// Why, for people: at most 1 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In which queue, by name or id; needed where the event is in several. The query takes it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

impl CancelRequest {
    /// Reads a request's body. `in_query` is the parameter `queue`, which may stand there instead.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, in_query: Option<String>) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let reason = object.optional("reason", value::text_rule(REASON_BYTES_MAX), |text| {
                value::bounded_string(text, REASON_BYTES_MAX)
            });
            Some(Self { reason, queue: queue(object, in_query) })
        })
    }
}

/// The queue that a call names, in its body or in its query.
fn queue(object: &mut Object<'_>, in_query: Option<String>) -> Option<String> {
    let queue = object.optional("queue", Rule::new("a queue's name or id"), value::string);
    if queue.is_some() && in_query.is_some() {
        object.refuse("queue", &Rule::new("given once"));
    }
    queue.or(in_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_named_once_in_the_body_or_in_the_query() {
        let read = |body: &str, in_query: Option<&str>| {
            CancelRequest::decode(body.as_bytes(), Faults::default(), in_query.map(str::to_owned))
        };
        let queue = |body, in_query| read(body, in_query).unwrap().queue;
        assert_eq!(queue("{}", None), None);
        assert_eq!(queue("{}", Some("a")).as_deref(), Some("a"));
        assert_eq!(queue(r#"{"queue":"b","reason":"no use"}"#, None).as_deref(), Some("b"));
        assert!(read(r#"{"queue":"b"}"#, Some("b")).is_err());
        let long = |bytes| format!(r#"{{"reason":"{}"}}"#, "x".repeat(bytes));
        assert!(read(&long(REASON_BYTES_MAX), None).is_ok());
        assert!(read(&long(REASON_BYTES_MAX + 1), None).is_err());
    }
}
