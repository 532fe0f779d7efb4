//! What a consumer asks for when it claims, and what it gets.
//!
//! Lives here: claim and claim-batch. Not here: waiting (`naven-server`) and settling (`settle.rs`).

use serde::{Deserialize, Serialize};

use crate::field::{BadRequest, Faults, Rule};
use crate::headers::Headers;
use crate::id::EventId;
use crate::limits::{
    CLAIM_EVENTS_MAX, LEASE_SECONDS_MAX, LEASE_SECONDS_MIN, WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX,
};
use crate::name::{ConsumerId, QueueName};
use crate::object::{Object, decode};
use crate::payload::Payload;
use crate::seconds::{LeaseSeconds, WaitSeconds};
use crate::time::Timestamp;
use crate::token::LeaseToken;
use crate::trace::TraceContext;
use crate::value;

/// Asks for one due event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimRequest {
    /// How long the lease holds, in seconds: 1 to 43,200. The queue's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<LeaseSeconds>,
    /// How long to wait for an event, in seconds: 0 to 60. 20 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<WaitSeconds>,
    /// Who claims, for people: 1 to 128 printable ASCII characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer_id: Option<ConsumerId>,
}

/// Asks for up to 100 due events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimBatchRequest {
    /// Most events: 1 to 100. The answer comes as soon as one is there.
    pub max_events: u32,
    /// As in a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<LeaseSeconds>,
    /// As in a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<WaitSeconds>,
    /// As in a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer_id: Option<ConsumerId>,
}

impl ClaimRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| Some(Self::read(object)))
    }

    /// The wait asked for, or the default.
    pub fn wait(&self) -> u32 {
        self.wait_seconds.map_or(WAIT_SECONDS_DEFAULT, WaitSeconds::get)
    }

    fn read(object: &mut Object<'_>) -> Self {
        let lease_seconds = lease_seconds(object);
        let wait_seconds = object
            .optional("waitSeconds", value::integer_rule(0, WAIT_SECONDS_MAX), |text| {
                value::integer(text, 0, WAIT_SECONDS_MAX)
            })
            .and_then(|seconds| WaitSeconds::try_from(seconds).ok());
        let consumer_id = object
            .optional("consumerId", Rule::new(ConsumerId::RULE), |text| value::string(text)?.parse().ok());
        Self { lease_seconds, wait_seconds, consumer_id }
    }
}

impl ClaimBatchRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let max_events = object.required("maxEvents", value::integer_rule(1, CLAIM_EVENTS_MAX), |text| {
                value::integer(text, 1, CLAIM_EVENTS_MAX)
            });
            let ClaimRequest { lease_seconds, wait_seconds, consumer_id } = ClaimRequest::read(object);
            Some(Self { max_events: max_events?, lease_seconds, wait_seconds, consumer_id })
        })
    }

    /// The same without the number of events.
    pub fn as_claim(&self) -> ClaimRequest {
        let Self { max_events: _, lease_seconds, wait_seconds, consumer_id } = self.clone();
        ClaimRequest { lease_seconds, wait_seconds, consumer_id }
    }
}

/// An optional field `leaseSeconds`.
pub(crate) fn lease_seconds(object: &mut Object<'_>) -> Option<LeaseSeconds> {
    let (min, max) = (LEASE_SECONDS_MIN, LEASE_SECONDS_MAX);
    let seconds =
        object.optional("leaseSeconds", value::integer_rule(min, max), |text| value::integer(text, min, max));
    seconds.and_then(|seconds| LeaseSeconds::try_from(seconds).ok())
}

/// One event in the hands of a consumer. Further fields may come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimReply {
    /// The event.
    pub event: ClaimedEvent,
    /// Proof of the lease, for heartbeat, ack and nack. A secret.
    pub lease_token: LeaseToken,
    /// The first instant at which the lease does not hold any more, by the server's clock.
    pub lease_expires_at: Timestamp,
    /// How long it holds from this answer on, in milliseconds: less than what was asked for where the queue bounds
    /// how long an event may be held.
    pub lease_ms: u64,
}

/// An event as its holder sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimedEvent {
    /// Its id.
    pub id: EventId,
    /// Its queue's name.
    pub queue: String,
    /// The schedule that made it, if one did.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub schedule_id: Option<String>,
    /// The JSON object, byte for byte as published.
    pub payload: Payload,
    /// Names and texts that travel with it.
    pub headers: Headers,
    /// When it was first due.
    pub scheduled_at: Timestamp,
    /// Failed or expired holds of this round, plus this one: 1 on first delivery.
    pub attempt_count: u32,
    /// The part of them that expired.
    pub expiry_count: u32,
    /// The fencing number: rises at every hold, never falls.
    pub delivery_count: u64,
    /// Where in its publisher's trace it was published, to link a span to; null where it gave no trace.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub trace_context: Option<TraceContext>,
}

/// Up to 100 events in the hands of a consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimBatchReply {
    /// The leases, earliest due first; empty where none came in time.
    pub claims: Vec<ClaimReply>,
}

/// The rule for queue names, where a field holds one.
pub(crate) fn queue_name_rule() -> Rule {
    Rule::new(QueueName::RULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_and_absent_means_default() {
        let claim = |body: &str| ClaimRequest::decode(body.as_bytes(), Faults::default());
        assert_eq!(claim("").map(|request| request.wait()), Ok(20));
        assert!(claim(r#"{"leaseSeconds":43200,"waitSeconds":60,"consumerId":"w 1"}"#).is_ok());
        let bad = claim(r#"{"leaseSeconds":0,"waitSeconds":61,"consumerId":""}"#);
        let Err(BadRequest::Invalid(fields)) = bad else { panic!("{bad:?}") };
        assert_eq!(fields.len(), 3);
        assert_eq!((fields[0].min, fields[0].max), (Some(1), Some(43_200)));
        assert!(claim(r#"{"leaseSecond":5}"#).is_err());
    }

    #[test]
    fn a_batch_says_how_many() {
        let batch = |body: &str| ClaimBatchRequest::decode(body.as_bytes(), Faults::default());
        assert_eq!(batch(r#"{"maxEvents":100}"#).map(|request| request.max_events), Ok(100));
        assert!(batch("{}").is_err());
        assert!(batch(r#"{"maxEvents":101}"#).is_err());
    }
}
