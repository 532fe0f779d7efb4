//! What operators ask of single events.
//!
//! Lives here: cancelling, another due time, running now. Not here: redriving (`event.rs`), and what becomes of the event
//! (`naven-core`).

use serde::Serialize;

use crate::field::{BadRequest, Faults, Rule};
use crate::limits::{MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN, REASON_BYTES_MAX};
use crate::object::{Object, decode};
use crate::time::Timestamp;
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

/// Gives an event that nobody has another due time, or another bound on its attempts. What is absent stays as
/// it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RescheduleRequest {
    /// When it is due, at most ten years ahead; a past time or null: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>))]
    pub scheduled_at: Option<Option<Timestamp>>,
    /// Attempts of this event in all its queues, 1 to 1000; null: as each queue has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1, maximum = 1000))]
    pub max_attempts: Option<Option<u32>>,
    /// In which queue, by name or id; needed where the event is in several and does not wait for its first
    /// time. The query takes it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

impl RescheduleRequest {
    /// Reads a request's body at the wall clock's `now`. `in_query` is the parameter `queue`, which may stand
    /// there instead.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(
        body: &[u8],
        faults: Faults,
        in_query: Option<String>,
        now: Timestamp,
    ) -> Result<Self, BadRequest> {
        let (min, max) = (MAX_ATTEMPTS_MIN, MAX_ATTEMPTS_MAX);
        decode(body, faults, |object| {
            let scheduled_at = object.changed("scheduledAt", None, value::instant_rule(), |text| {
                value::instant(text, now).map(Some)
            });
            let max_attempts = object.changed("maxAttempts", None, value::integer_rule(min, max), |text| {
                value::integer(text, min, max).map(Some)
            });
            Some(Self { scheduled_at, max_attempts, queue: queue(object, in_query) })
        })
    }
}

/// Makes an event due now that waits for its time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunNowRequest {
    /// In which queue, by name or id; needed where the event is in several and does not wait for its first
    /// time. The query takes it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

impl RunNowRequest {
    /// Reads a request's body. `in_query` is the parameter `queue`, which may stand there instead.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, in_query: Option<String>) -> Result<Self, BadRequest> {
        decode(body, faults, |object| Some(Self { queue: queue(object, in_query) }))
    }
}

/// The queue that a call names, in its body or in its query.
pub(crate) fn queue(object: &mut Object<'_>, in_query: Option<String>) -> Option<String> {
    let queue = value::queue_ref(object, "queue");
    if queue.is_some() && in_query.is_some() {
        object.refuse("queue", &Rule::new("given once"));
    }
    queue.or(in_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_sets_the_default_and_what_is_absent_stays() {
        let now = Timestamp::from_ms(1_764_374_400_000);
        let read = |body: &str| RescheduleRequest::decode(body.as_bytes(), Faults::default(), None, now);
        assert_eq!(read("{}").unwrap(), RescheduleRequest::default());
        let nulls = read(r#"{"scheduledAt":null,"maxAttempts":null}"#).unwrap();
        assert_eq!((nulls.scheduled_at, nulls.max_attempts), (Some(None), Some(None)));
        let both = read(r#"{"scheduledAt":"2001-01-01T00:00:00Z","maxAttempts":1000}"#).unwrap();
        assert!(both.scheduled_at.is_some_and(|at| at.is_some_and(|at| at < now)));
        assert_eq!(both.max_attempts, Some(Some(1_000)));
        for body in [
            r#"{"maxAttempts":0}"#,
            r#"{"maxAttempts":1001}"#,
            r#"{"maxAttempts":"3"}"#,
            r#"{"scheduledAt":1}"#,
            r#"{"scheduledAt":"soon"}"#,
            r#"{"scheduledAt":"2099-01-01T00:00:00Z"}"#,
            r#"{"delaySeconds":3}"#,
            r#"{"queue":null}"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
    }

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
