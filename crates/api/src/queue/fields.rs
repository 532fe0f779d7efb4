//! Settings of a queue as their maker names them.
//!
//! Lives here: the fields, and reading them. Not here: the requests around them (`request.rs`).

use serde::Serialize;

use crate::backoff::Backoff;
use crate::field::Rule;
use crate::limits::{
    BACKOFF_FACTOR_MILLI_MAX, BACKOFF_FACTOR_MILLI_MIN, BACKOFF_JITTER_MILLI_MAX, BACKOFF_SECONDS_MAX,
    DEAD_RETENTION_SECONDS_DEFAULT, DEDUPE_WINDOW_SECONDS_DEFAULT, DEDUPE_WINDOW_SECONDS_MAX,
    DESCRIPTION_BYTES_MAX, DONE_RETENTION_SECONDS_DEFAULT, LATE_ACK_GRACE_SECONDS_MAX, LEASE_SECONDS_DEFAULT,
    LEASE_SECONDS_MAX, LEASE_SECONDS_MIN, MAX_ATTEMPTS_DEFAULT, MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN,
    MAX_LEASE_SECONDS_MAX, RETENTION_SECONDS_MAX,
};
use crate::object::Object;
use crate::seconds::LeaseSeconds;
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
    /// How long a consumer of the Redis door has what it was handed before a claim may take it, in seconds: 1 to
    /// 43,200; by default it has no end. Counted from the last delivery or XCLAIM; what is held already keeps the
    /// end that it has until then. Null, which a change alone takes, lifts the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LeaseSeconds>))]
    pub redis_lease_seconds: Option<Option<LeaseSeconds>>,
    /// Whether a done event keeps its payload for as long as it is remembered: by default not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_done_payload: Option<bool>,
    /// Whether entries that this queue has not read are kept for it when its stream is trimmed: by
    /// default they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect_unread: Option<bool>,
    /// How long settled events are kept. Set one by one: absent ones stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_seconds: Option<RetentionFields>,
    /// How long a dedupe key of the queue's stream is remembered, in seconds: 0 to 2,592,000, by default
    /// 300. It is the stream's: all its queues share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedupe_window_seconds: Option<u32>,
    /// When entries of the queue's stream leave; by default `consumed` where the queue made a stream of its
    /// own, and `trim` where it made a shared one. It is the stream's: all its queues share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
}

/// When entries leave a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Retention {
    /// Once every queue of the stream has settled them.
    Consumed,
    /// When they are trimmed.
    Trim,
}

/// How long settled events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetentionFields {
    /// A done event, in seconds: 0 to 315,360,000, by default 86,400. What is needed to judge a late
    /// retry is kept for a day at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    /// A dead letter, in seconds: 0 to 315,360,000, by default 1,209,600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<u32>,
}

/// What a null means: in a change it sets the default, elsewhere it is a fault.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Null {
    Refused,
    IsDefault,
}

impl QueueFields {
    /// The fields that `object` has.
    pub(super) fn read(object: &mut Object<'_>, null: Null) -> Self {
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
        let lease = value::integer_rule(LEASE_SECONDS_MIN, LEASE_SECONDS_MAX);
        let redis_lease_seconds = field(object, null, "redisLeaseSeconds", None, lease, |text| {
            let seconds = value::integer(text, LEASE_SECONDS_MIN, LEASE_SECONDS_MAX)?;
            LeaseSeconds::try_from(seconds).ok().map(Some)
        });
        Self {
            description,
            default_lease_seconds: default_lease.and_then(|seconds| LeaseSeconds::try_from(seconds).ok()),
            max_lease_seconds,
            max_attempts,
            backoff,
            late_ack_grace_seconds,
            redis_lease_seconds,
            keep_done_payload: flag(object, null, "keepDonePayload", false),
            protect_unread: flag(object, null, "protectUnread", true),
            retention_seconds: read_retention(object, null),
            dedupe_window_seconds: bounded(
                object,
                null,
                "dedupeWindowSeconds",
                DEDUPE_WINDOW_SECONDS_DEFAULT,
                0..=DEDUPE_WINDOW_SECONDS_MAX,
            ),
            // Which of the two is a stream's default depends on how it was made: null names none.
            retention: object.optional("retention", Rule::new("\"consumed\" or \"trim\""), |text| {
                match value::string(text)?.as_str() {
                    "consumed" => Some(Retention::Consumed),
                    "trim" => Some(Retention::Trim),
                    _ => None,
                }
            }),
        }
    }
}

fn read_retention(object: &mut Object<'_>, null: Null) -> Option<RetentionFields> {
    let (done, dead) = (DONE_RETENTION_SECONDS_DEFAULT, DEAD_RETENTION_SECONDS_DEFAULT);
    let is_null = object.is_null("retentionSeconds");
    let mut inner = object.object("retentionSeconds", null == Null::IsDefault)?;
    if is_null {
        return Some(RetentionFields { done: Some(done), dead: Some(dead) });
    }
    let done = bounded(&mut inner, null, "done", done, 0..=RETENTION_SECONDS_MAX);
    let dead = bounded(&mut inner, null, "dead", dead, 0..=RETENTION_SECONDS_MAX);
    inner.end();
    Some(RetentionFields { done, dead })
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

fn flag(object: &mut Object<'_>, null: Null, name: &str, default: bool) -> Option<bool> {
    field(object, null, name, default, Rule::new("true or false"), value::boolean)
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
