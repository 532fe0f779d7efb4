//! What a publisher asks for.
//!
//! Lives here: the requests of publish and its batch, and reading them. Not here: the answer, which
//! is the event (`event.rs`).

use serde::Serialize;

use crate::field::{BadRequest, Faults, Rule};
use crate::headers::Headers;
use crate::limits::{
    BATCH_ITEMS_MAX, DELAY_SECONDS_MAX, MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN, PAYLOAD_BYTES_DEFAULT,
};
use crate::name::DedupeKey;
use crate::object::{Object, decode};
use crate::payload::Payload;
use crate::seconds::DelaySeconds;
use crate::time::Timestamp;
use crate::value;

/// One event to publish.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishRequest {
    /// A JSON object, kept byte for byte: at most 256 KiB by default, nested at most 64 deep.
    pub payload: Payload,
    /// Seconds until it is due: 0 to 315,360,000. Not together with `scheduledAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<DelaySeconds>,
    /// When it is due: at most ten years ahead; an instant in the past is kept, and due now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// Attempts of this event, over its queue's: 1 to 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Its domain identity: within the stream's window, a second event of this key is the first one again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedupe_key: Option<DedupeKey>,
    /// When it is of no use any more, after it is due and at most ten years ahead: from then on nobody
    /// gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Names and texts that travel with it: at most 32, each at most 1 KiB.
    #[serde(skip_serializing_if = "Headers::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub headers: Headers,
}

/// Events to publish, all or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishBatchRequest {
    /// 1 to 500 events.
    pub events: Vec<PublishRequest>,
}

/// What the rules for publishing depend on.
#[derive(Debug, Clone, Copy)]
pub struct PublishRules {
    /// The wall clock: `scheduledAt` is bounded against it.
    pub now: Timestamp,
    /// Largest payload, in bytes.
    pub payload_bytes_max: usize,
}

impl PublishRules {
    /// The rules at `now` with the default size of payloads.
    pub fn at(now: Timestamp) -> Self {
        Self { now, payload_bytes_max: PAYLOAD_BYTES_DEFAULT }
    }
}

impl PublishRequest {
    /// Publishes `payload` now, with nothing else said.
    pub fn new(payload: Payload) -> Self {
        Self {
            payload,
            delay_seconds: None,
            scheduled_at: None,
            max_attempts: None,
            dedupe_key: None,
            expires_at: None,
            headers: Headers::default(),
        }
    }

    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, rules: PublishRules) -> Result<Self, BadRequest> {
        decode(body, faults, |object| Self::read(object, rules))
    }

    fn read(object: &mut Object<'_>, rules: PublishRules) -> Option<Self> {
        let payload = object.opaque("payload", Payload::rule(rules.payload_bytes_max), |raw| {
            Payload::checked(raw, rules.payload_bytes_max)
        });
        let delay_seconds = object
            .optional("delaySeconds", value::integer_rule(0, DELAY_SECONDS_MAX), |text| {
                value::integer(text, 0, DELAY_SECONDS_MAX)
            })
            .and_then(|seconds| DelaySeconds::try_from(seconds).ok());
        let scheduled_at =
            object.optional("scheduledAt", value::instant_rule(), |text| value::instant(text, rules.now));
        if delay_seconds.is_some() && scheduled_at.is_some() {
            object.refuse("scheduledAt", &Rule::new("not together with delaySeconds"));
        }
        let (min, max) = (MAX_ATTEMPTS_MIN, MAX_ATTEMPTS_MAX);
        let max_attempts = object
            .optional("maxAttempts", value::integer_rule(min, max), |text| value::integer(text, min, max));
        let dedupe_key = object
            .optional("dedupeKey", Rule::new(DedupeKey::RULE), |text| value::string(text)?.parse().ok());
        let expires_at =
            object.optional("expiresAt", value::instant_rule(), |text| value::instant(text, rules.now));
        let due = due(delay_seconds, scheduled_at, rules.now);
        if expires_at.is_some_and(|at| at <= due) {
            object.refuse("expiresAt", &Rule::new("after the time at which the event is due"));
        }
        let headers = Headers::read(object);
        Some(Self {
            payload: payload?,
            delay_seconds,
            scheduled_at,
            max_attempts,
            dedupe_key,
            expires_at,
            headers: headers?,
        })
    }
}

/// When an event is due that is published at `now`: never before that.
fn due(delay: Option<DelaySeconds>, scheduled_at: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let delayed = delay.map_or(now, |delay| now.plus_ms(i64::from(delay.get()) * 1_000));
    scheduled_at.map_or(delayed, |at| at.max(now))
}

impl PublishBatchRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, rules: PublishRules) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let events = object.objects("events", BATCH_ITEMS_MAX, |item| PublishRequest::read(item, rules));
            Some(Self { events: events? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_795_000_000_000);

    fn faults(body: &str) -> Vec<String> {
        match PublishRequest::decode(body.as_bytes(), Faults::default(), PublishRules::at(NOW)) {
            Ok(_) => Vec::new(),
            Err(BadRequest::Malformed(why)) => vec![why],
            Err(BadRequest::Unknown(fields) | BadRequest::Invalid(fields)) => {
                fields.into_iter().map(|fault| fault.path).collect()
            }
        }
    }

    #[test]
    fn a_request_comes_back_from_its_json() {
        let body = r#"{"payload":{"a":1e3},"scheduledAt":"2026-11-29T00:00:00Z","maxAttempts":3,"dedupeKey":"order 7","expiresAt":"2026-11-30T00:00:00Z","headers":{"b":"2","a":"1"}}"#;
        let request =
            PublishRequest::decode(body.as_bytes(), Faults::default(), PublishRules::at(NOW)).unwrap();
        assert_eq!(request.headers.iter().collect::<Vec<_>>(), [("b", "2"), ("a", "1")]);
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(
            PublishRequest::decode(text.as_bytes(), Faults::default(), PublishRules::at(NOW)),
            Ok(request)
        );
    }

    #[test]
    fn every_fault_is_named() {
        let body = r#"{"delaySeconds":1,"scheduledAt":"2026-11-29T00:00:00Z","maxAttempts":0,"headers":{"a":1,"b":"x","b":"y"}}"#;
        assert_eq!(faults(body), ["payload", "scheduledAt", "maxAttempts", "headers.a", "headers.b"]);
        assert_eq!(faults(r#"{"payload":{},"payload":{}}"#), ["payload"]);
        assert_eq!(faults(r#"{"payload":{},"priority":1,"headers":{}}"#), ["priority"]);
    }

    #[test]
    fn an_event_expires_after_it_is_due() {
        let body = |rest: &str| format!(r#"{{"payload":{{}},{rest}}}"#);
        let at = |seconds: i64| NOW.plus_ms(seconds * 1_000).to_string();
        assert!(faults(&body(&format!(r#""expiresAt":"{}""#, at(1)))).is_empty());
        assert_eq!(faults(&body(&format!(r#""expiresAt":"{}""#, at(0)))), ["expiresAt"]);
        assert!(faults(&body(&format!(r#""delaySeconds":9,"expiresAt":"{}""#, at(10)))).is_empty());
        assert_eq!(faults(&body(&format!(r#""delaySeconds":10,"expiresAt":"{}""#, at(10)))), ["expiresAt"]);
        let scheduled = format!(r#""scheduledAt":"{}","expiresAt":"{}""#, at(5), at(5));
        assert_eq!(faults(&body(&scheduled)), ["expiresAt"]);
        let past = format!(r#""scheduledAt":"{}","expiresAt":"{}""#, at(-9), at(-1));
        assert_eq!(faults(&body(&past)), ["expiresAt"], "what is due now cannot be over already");
        assert_eq!(faults(&body(r#""expiresAt":"9999-12-31T23:59:59Z""#)), ["expiresAt"]);
        assert_eq!(faults(&body(r#""dedupeKey":"""#)), ["dedupeKey"]);
        assert_eq!(faults(&body(r#""dedupeKey":7"#)), ["dedupeKey"]);
    }

    #[test]
    fn lone_surrogates_are_kept_in_payloads_only() {
        assert!(faults(r#"{"payload":{"\ud800":"\udc00"}}"#).is_empty());
        assert_eq!(faults(r#"{"payload":{},"headers":{"a":"\ud800"}}"#), ["lone surrogate in a text"]);
    }

    #[test]
    fn headers_are_bounded_at_the_edge() {
        let body = |count: usize, bytes: usize| {
            let pairs: Vec<_> = (0..count).map(|n| format!("\"h{n}\":\"{}\"", "x".repeat(bytes))).collect();
            format!("{{\"payload\":{{}},\"headers\":{{{}}}}}", pairs.join(","))
        };
        assert!(faults(&body(32, 1_024)).is_empty());
        assert_eq!(faults(&body(33, 1)), ["headers"]);
        assert_eq!(faults(&body(1, 1_025)), ["headers.h0"]);
        assert_eq!(faults(r#"{"payload":{},"headers":[]}"#), ["headers"]);
    }

    #[test]
    fn batches_name_the_item() {
        let decode = |body: &str| {
            PublishBatchRequest::decode(body.as_bytes(), Faults::default(), PublishRules::at(NOW))
        };
        let paths = |body: &str| match decode(body) {
            Err(BadRequest::Unknown(fields) | BadRequest::Invalid(fields)) => {
                fields.into_iter().map(|fault| fault.path).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(
            paths(r#"{"events":[{"payload":{}},{"payload":1},5]}"#),
            ["events[1].payload", "events[2]"]
        );
        assert_eq!(paths(r#"{"events":[{"payload":{},"x":1}]}"#), ["events[0].x"]);
        assert_eq!(paths(r#"{"events":[]}"#), ["events"]);
        assert_eq!(paths("{}"), ["events"]);
        let many = |count: usize| format!("{{\"events\":[{}]}}", vec![r#"{"payload":{}}"#; count].join(","));
        assert_eq!(decode(&many(500)).unwrap().events.len(), 500);
        assert_eq!(paths(&many(501)), ["events"]);
    }
}
