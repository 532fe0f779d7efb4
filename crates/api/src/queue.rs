//! A queue as its operators set it and see it.
//!
//! Lives here: the requests that make and change one, and its picture. Not here: names (`name.rs`).

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::backoff::Backoff;
use crate::field::{BadRequest, Faults, Rule};
use crate::id::QueueId;
use crate::limits::{
    BACKOFF_FACTOR_MILLI_MAX, BACKOFF_FACTOR_MILLI_MIN, BACKOFF_JITTER_MILLI_MAX, BACKOFF_SECONDS_MAX,
    DESCRIPTION_BYTES_MAX, LATE_ACK_GRACE_SECONDS_MAX, LEASE_SECONDS_DEFAULT, LEASE_SECONDS_MAX,
    LEASE_SECONDS_MIN, MAX_ATTEMPTS_DEFAULT, MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN, MAX_LEASE_SECONDS_MAX,
    REASON_BYTES_MAX,
};
use crate::name::QueueName;
use crate::object::{Object, decode};
use crate::seconds::LeaseSeconds;
use crate::time::Timestamp;
use crate::value;

/// Settings of a queue that its maker names; absent ones have their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueFields {
    /// For people: at most 1 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The lease of a claim or heartbeat that names none, in seconds: 1 to 43,200, by default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_lease_seconds: Option<LeaseSeconds>,
    /// Longest total hold of one lease, in seconds: 0 (none, the default) to 2,592,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lease_seconds: Option<u32>,
    /// Attempts of an event: 1 to 1,000, by default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Spacing of retries. Set as a whole: its absent fields have their defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// How long after its lease's end the last holder may still settle, in seconds: 0 to 3,600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ack_grace_seconds: Option<u32>,
}

/// Makes a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueCreateRequest {
    /// Its unique name.
    pub name: QueueName,
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
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let name = object
                .required("name", crate::claim::queue_name_rule(), |text| value::string(text)?.parse().ok());
            let fields = QueueFields::read(object, Null::Refused);
            Some(Self { name: name?, fields })
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

/// What a null means: in a change it sets the default, elsewhere it is a fault.
#[derive(Clone, Copy, PartialEq)]
enum Null {
    Refused,
    IsDefault,
}

impl QueueFields {
    fn read(object: &mut Object<'_>, null: Null) -> Self {
        let description = field(
            object,
            null,
            "description",
            String::new(),
            value::text_rule(DESCRIPTION_BYTES_MAX),
            |text| value::bounded_string(text, DESCRIPTION_BYTES_MAX),
        );
        let default_lease = bounded(
            object,
            null,
            "defaultLeaseSeconds",
            LEASE_SECONDS_DEFAULT,
            LEASE_SECONDS_MIN..=LEASE_SECONDS_MAX,
        );
        let max_lease_seconds = bounded(object, null, "maxLeaseSeconds", 0, 0..=MAX_LEASE_SECONDS_MAX);
        let max_attempts =
            bounded(object, null, "maxAttempts", MAX_ATTEMPTS_DEFAULT, MAX_ATTEMPTS_MIN..=MAX_ATTEMPTS_MAX);
        let backoff = object.object("backoff", null == Null::IsDefault).map(|mut inner| {
            let backoff = read_backoff(&mut inner, null);
            inner.end();
            backoff
        });
        let late_ack_grace_seconds =
            bounded(object, null, "lateAckGraceSeconds", 0, 0..=LATE_ACK_GRACE_SECONDS_MAX);
        Self {
            description,
            default_lease_seconds: default_lease.and_then(|seconds| LeaseSeconds::try_from(seconds).ok()),
            max_lease_seconds,
            max_attempts,
            backoff,
            late_ack_grace_seconds,
        }
    }
}

fn read_backoff(object: &mut Object<'_>, null: Null) -> Backoff {
    let default = Backoff::default();
    let seconds = 0..=BACKOFF_SECONDS_MAX;
    let initial = bounded(object, null, "initialSeconds", default.initial_seconds, seconds.clone());
    let factor = decimal(
        object,
        null,
        "factor",
        default.factor_milli,
        BACKOFF_FACTOR_MILLI_MIN,
        BACKOFF_FACTOR_MILLI_MAX,
    );
    let max = bounded(object, null, "maxSeconds", default.max_seconds, seconds);
    let jitter = decimal(object, null, "jitter", default.jitter_milli, 0, BACKOFF_JITTER_MILLI_MAX);
    Backoff {
        initial_seconds: initial.unwrap_or(default.initial_seconds),
        factor_milli: factor.unwrap_or(default.factor_milli),
        max_seconds: max.unwrap_or(default.max_seconds),
        jitter_milli: jitter.unwrap_or(default.jitter_milli),
    }
}

fn field<T>(
    object: &mut Object<'_>,
    null: Null,
    name: &str,
    default: T,
    rule: Rule,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    match null {
        Null::Refused => object.optional(name, rule, read),
        Null::IsDefault => object.changed(name, default, rule, read),
    }
}

fn bounded(
    object: &mut Object<'_>,
    null: Null,
    name: &str,
    default: u32,
    range: std::ops::RangeInclusive<u32>,
) -> Option<u32> {
    let (min, max) = range.into_inner();
    field(object, null, name, default, value::integer_rule(min, max), |text| value::integer(text, min, max))
}

fn decimal(object: &mut Object<'_>, null: Null, name: &str, default: u32, min: u32, max: u32) -> Option<u32> {
    let (min, max) = (min / 1_000, max / 1_000);
    field(object, null, name, default, value::decimal_rule(min, max), |text| {
        value::decimal_milli(text, min, max)
    })
}

/// A queue as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueReply {
    /// Its id.
    pub id: QueueId,
    /// Its unique name.
    pub name: String,
    /// Its stream's name.
    pub stream: String,
    /// For people.
    pub description: String,
    /// True while no event is handed out.
    pub paused: bool,
    /// Why, if it is paused and somebody said so.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub pause_reason: Option<String>,
    /// The lease of a claim or heartbeat that names none.
    pub default_lease_seconds: u32,
    /// Longest total hold of one lease; 0: none.
    pub max_lease_seconds: u32,
    /// Attempts of an event; null: no bound.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub max_attempts: Option<u32>,
    /// Spacing of retries.
    pub backoff: Backoff,
    /// How long after its lease's end the last holder may still settle.
    pub late_ack_grace_seconds: u32,
    /// Deliveries by state.
    pub counts: StateCounts,
    /// How long the longest-waiting ready event has been due; null where none is.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub oldest_ready_age_seconds: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its settings last changed.
    pub updated_at: Timestamp,
}

/// Deliveries of a queue by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StateCounts {
    /// The first due time is ahead.
    pub scheduled: u64,
    /// May be claimed now.
    pub ready: u64,
    /// An HTTP consumer has it.
    pub leased: u64,
    /// A Redis consumer has it.
    pub held: u64,
    /// Due again later.
    pub retrying: u64,
    /// Finished.
    pub done: u64,
    /// Given up.
    pub dead: u64,
    /// Called off.
    pub cancelled: u64,
}

/// What a deletion answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueDeletedReply {
    /// The queue that is gone.
    pub id: QueueId,
    /// Always true.
    pub deleted: bool,
}

impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Backoff", 4)?;
        fields.serialize_field("initialSeconds", &self.initial_seconds)?;
        fields.serialize_field("factor", &Milli(self.factor_milli))?;
        fields.serialize_field("maxSeconds", &self.max_seconds)?;
        fields.serialize_field("jitter", &Milli(self.jitter_milli))?;
        fields.end()
    }
}

/// Thousandths, shown as the number that they are.
struct Milli(u32);

impl Serialize for Milli {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1_000) {
            serializer.serialize_u32(self.0 / 1_000)
        } else {
            serializer.serialize_f64(f64::from(self.0) / 1_000.0)
        }
    }
}

impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown {
            initial_seconds: u32,
            factor: f64,
            max_seconds: u32,
            jitter: f64,
        }
        let shown = Shown::deserialize(deserializer)?;
        let milli = |number: f64| (number * 1_000.0).round() as u32;
        Ok(Self {
            initial_seconds: shown.initial_seconds,
            factor_milli: milli(shown.factor),
            max_seconds: shown.max_seconds,
            jitter_milli: milli(shown.jitter),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_name_cannot_be_changed() {
        assert!(QueuePatchRequest::decode(br#"{"name":"b"}"#, Faults::default()).is_err());
    }
}
