//! What is asked of a queue as a whole.
//!
//! Lives here: making, changing and pausing it. Not here: its settings (`fields.rs`), its picture
//! (`reply.rs`).

use serde::Serialize;

use super::fields::{Null, QueueFields};
use crate::field::{BadRequest, Faults, Rule};
use crate::limits::REASON_BYTES_MAX;
use crate::name::{QueueName, StreamName};
use crate::object::decode;
use crate::place::StartFrom;
use crate::value;

/// Makes a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueCreateRequest {
    /// Its unique name.
    pub name: QueueName,
    /// The stream on which it reads, made where it is missing; a stream of its own, named alike, when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamName>,
    /// Where in that stream it begins: `new` when absent. Only together with `stream`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<StartFrom>,
    /// Its settings.
    #[serde(flatten)]
    pub fields: QueueFields,
}

/// Changes a queue: absent settings stay, null sets the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueuePatchRequest {
    /// What changes.
    #[serde(flatten)]
    pub fields: QueueFields,
}

/// Stops handing out a queue's events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PauseRequest {
    /// Why, for people: at most 1 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl QueueCreateRequest {
    /// Makes a queue of this name on a stream of its own, with defaults.
    pub fn new(name: QueueName) -> Self {
        Self { name, stream: None, from: None, fields: QueueFields::default() }
    }

    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let name = object
                .required("name", crate::claim::queue_name_rule(), |text| value::string(text)?.parse().ok());
            let on_shared = object.has("stream");
            let stream = object
                .optional("stream", Rule::new(StreamName::RULE), |text| value::string(text)?.parse().ok());
            let from = object
                .optional("from", Rule::new(StartFrom::RULE), |text| StartFrom::parse(&value::string(text)?));
            if from.is_some() && !on_shared {
                object.refuse("from", &Rule::new("only together with stream"));
            }
            let fields = QueueFields::read(object, Null::Refused);
            Some(Self { name: name?, stream, from, fields })
        })
    }
}

impl QueuePatchRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| Some(Self { fields: QueueFields::read(object, Null::IsDefault) }))
    }
}

impl PauseRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let reason = object.optional("reason", value::text_rule(REASON_BYTES_MAX), |text| {
                value::bounded_string(text, REASON_BYTES_MAX)
            });
            Some(Self { reason })
        })
    }
}

/// Reads the body of a call that takes no fields.
///
/// # Errors
/// See [`BadRequest`].
pub fn decode_nothing(body: &[u8], faults: Faults) -> Result<(), BadRequest> {
    decode(body, faults, |_| Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Backoff;
    use crate::limits::MAX_ATTEMPTS_DEFAULT;

    #[test]
    fn a_change_takes_null_as_the_default_and_a_creation_refuses_it() {
        let body = br#"{"description":null,"defaultLeaseSeconds":null,"maxAttempts":null,"backoff":null}"#;
        let fields = QueuePatchRequest::decode(body, Faults::default()).unwrap().fields;
        assert_eq!(fields.description.as_deref(), Some(""));
        assert_eq!(fields.max_attempts, Some(MAX_ATTEMPTS_DEFAULT));
        assert_eq!(fields.backoff, Some(Backoff::default()));
        assert_eq!(fields.max_lease_seconds, None);
        let bad = QueueCreateRequest::decode(
            br#"{"name":"a","maxAttempts":null,"backoff":null}"#,
            Faults::default(),
        );
        let Err(BadRequest::Invalid(faults)) = bad else { panic!("{bad:?}") };
        assert_eq!(faults.len(), 2);
    }

    #[test]
    fn a_backoff_is_read_and_shown_as_numbers() {
        let body = br#"{"name":"a","backoff":{"factor":1.5,"jitter":0.333,"maxSeconds":60}}"#;
        let backoff = QueueCreateRequest::decode(body, Faults::default()).unwrap().fields.backoff.unwrap();
        let text = serde_json::to_string(&backoff).unwrap();
        assert_eq!(text, r#"{"initialSeconds":5,"factor":1.5,"maxSeconds":60,"jitter":0.333}"#);
        assert_eq!(serde_json::from_str::<Backoff>(&text).unwrap(), backoff);
        let bad = QueueCreateRequest::decode(br#"{"name":"a","backoff":{"x":1}}"#, Faults::default());
        let Err(BadRequest::Unknown(faults)) = bad else { panic!("{bad:?}") };
        assert_eq!(faults[0].path, "backoff.x");
    }

    #[test]
    fn name_stream_and_start_cannot_be_changed() {
        for body in [r#"{"name":"b"}"#, r#"{"stream":"s"}"#, r#"{"from":"new"}"#] {
            let bad = QueuePatchRequest::decode(body.as_bytes(), Faults::default());
            assert!(matches!(bad, Err(BadRequest::Unknown(_))), "{body}");
        }
    }

    #[test]
    fn a_queue_on_a_shared_stream_says_where_it_begins() {
        let create = |body: &str| QueueCreateRequest::decode(body.as_bytes(), Faults::default());
        let body = r#"{"name":"a","stream":"Orders/EU","from":"5-0","dedupeWindowSeconds":0}"#;
        let request = create(body).unwrap();
        assert_eq!(request.stream.as_ref().map(StreamName::as_str), Some("Orders/EU"));
        assert_eq!(serde_json::to_string(&request).unwrap(), body, "a client sends what is read");
        for (body, path) in [
            (r#"{"name":"a","from":"new"}"#, "from"),
            (r#"{"name":"a","stream":"s","from":"later"}"#, "from"),
            (r#"{"name":"a","stream":""}"#, "stream"),
            (r#"{"name":"a","stream":null}"#, "stream"),
        ] {
            let Err(BadRequest::Invalid(faults)) = create(body) else { panic!("{body}") };
            assert_eq!(faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), [path], "{body}");
        }
    }

    #[test]
    fn retentions_are_changed_one_by_one() {
        let patch = |body: &str| QueuePatchRequest::decode(body.as_bytes(), Faults::default());
        let retention = |body| patch(body).unwrap().fields.retention_seconds.unwrap();
        let one = retention(r#"{"retentionSeconds":{"dead":7}}"#);
        assert_eq!((one.done, one.dead), (None, Some(7)));
        let default = retention(r#"{"retentionSeconds":{"done":null}}"#);
        assert_eq!((default.done, default.dead), (Some(86_400), None));
        let both = retention(r#"{"retentionSeconds":null}"#);
        assert_eq!((both.done, both.dead), (Some(86_400), Some(1_209_600)));
        assert!(patch(r#"{"retentionSeconds":{"done":315360001}}"#).is_err());
    }
}
