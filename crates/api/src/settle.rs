//! What a holder says of its event, and what it is answered.
//!
//! Lives here: heartbeat, ack and nack. Not here: those of many leases at once
//! (`lease_batch.rs`), and whether a lease holds (`naven-core`).

use serde::{Deserialize, Serialize};

use crate::claim::lease_seconds;
use crate::error_text::ErrorText;
use crate::field::{BadRequest, Faults, Rule};
use crate::limits::DELAY_SECONDS_MAX;
use crate::object::{Object, decode};
use crate::progress::Progress;
use crate::result::AckResult;
use crate::seconds::{DelaySeconds, LeaseSeconds};
use crate::time::Timestamp;
use crate::token::LeaseToken;
use crate::value;

/// Asks for more time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatRequest {
    /// The claim's token.
    pub lease_token: LeaseToken,
    /// The lease ends this many seconds from now: 1 to 43,200. The queue's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<LeaseSeconds>,
    /// How far the holder came; when absent, what it said before stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// Says that the event is finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AckRequest {
    /// The claim's token.
    pub lease_token: LeaseToken,
    /// What came of it: any JSON value, kept byte for byte, of at most 4 KiB, nested at most 64 deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = AckResult, required = false))]
    pub result: Option<AckResult>,
}

/// What a nack asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NackMode {
    /// The attempt counts; retry by `retryDelaySeconds`, or by the queue's backoff.
    #[default]
    Fail,
    /// No retry will help: a dead letter at once.
    Fatal,
    /// Given back: due now, and the attempt does not count.
    Release,
}

/// Says that the event was not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NackRequest {
    /// The claim's token.
    pub lease_token: LeaseToken,
    /// What went wrong: cut at 8 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorText>,
    /// Seconds until the retry: 0 to 315,360,000. Only with mode `fail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay_seconds: Option<DelaySeconds>,
    /// `fail` when absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub mode: NackMode,
}

impl HeartbeatRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, Self::read)
    }

    /// Reads its fields, in a body or in an item of a batch.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let (lease_token, lease_seconds) = (lease_token(object), lease_seconds(object));
        let progress = Progress::read(object);
        Some(Self { lease_token: lease_token?, lease_seconds, progress })
    }
}

impl AckRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, Self::read)
    }

    /// Reads its fields, in a body or in an item of a batch.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let (lease_token, result) = (lease_token(object), AckResult::read(object));
        Some(Self { lease_token: lease_token?, result })
    }
}

impl NackRequest {
    /// Reads a request's body. A `retryDelaySeconds` beside a mode that has no delay is refused:
    /// ignoring it would promise a pause that does not come.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, Self::read)
    }

    /// Reads its fields, in a body or in an item of a batch.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let lease_token = lease_token(object);
        let error = value::error_text(object);
        let delay = object.optional("retryDelaySeconds", value::integer_rule(0, DELAY_SECONDS_MAX), |text| {
            value::integer(text, 0, DELAY_SECONDS_MAX)
        });
        let retry_delay_seconds = delay.and_then(|seconds| DelaySeconds::try_from(seconds).ok());
        let mode = object.optional("mode", Rule::new("one of fail, fatal, release"), |text| {
            // A word alone: the library would take an object that is named by it too.
            serde_json::from_str::<NackMode>(text).ok().filter(|_| text.starts_with('"'))
        });
        let mode = mode.unwrap_or_default();
        if retry_delay_seconds.is_some() && mode != NackMode::Fail {
            object.refuse("retryDelaySeconds", &Rule::new("only with mode fail"));
        }
        Some(Self { lease_token: lease_token?, error, retry_delay_seconds, mode })
    }
}

fn lease_token(object: &mut Object<'_>) -> Option<LeaseToken> {
    object.required("leaseToken", Rule::new("the claim's token, a text"), |text| {
        value::string(text).map(LeaseToken::new)
    })
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatReply {
    /// The lease's new end; null where the caller has settled the event and there is nothing to extend.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub lease_expires_at: Option<Timestamp>,
    /// How long it holds from this answer on, in milliseconds; null where the other is.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub lease_ms: Option<u64>,
    /// Where the event stands.
    pub state: String,
    /// True where an operator asked the holder to stop.
    pub cancel_requested: bool,
}

/// The answer to an ack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AckReply {
    /// Where the event stands: `done`.
    pub state: String,
    /// When it was done.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub settled_at: Option<Timestamp>,
    /// True where the same caller was already told so.
    pub replayed: bool,
}

/// The answer to a nack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NackReply {
    /// Where the event stands: `retrying`, `dead`, `ready`; `cancelled` where the holder was asked to stop.
    pub state: String,
    /// When it is due again; null where it is dead or cancelled.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_attempt_at: Option<Timestamp>,
    /// True where the same caller was already told so.
    pub replayed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_belongs_to_a_failure() {
        let nack = |body: &str| NackRequest::decode(body.as_bytes(), Faults::default());
        let taken = nack(r#"{"leaseToken":"t","error":"a\u0000b","retryDelaySeconds":30}"#).unwrap();
        assert_eq!(taken.mode, NackMode::Fail);
        assert_eq!(taken.error.unwrap().as_str(), "a\\u0000b");
        assert!(nack(r#"{"leaseToken":"t","mode":"release"}"#).is_ok());
        for mode in ["release", "fatal"] {
            let body = format!(r#"{{"leaseToken":"t","retryDelaySeconds":0,"mode":"{mode}"}}"#);
            assert!(nack(&body).is_err(), "{mode}");
        }
        assert!(nack(r#"{"leaseToken":"t","mode":"retry"}"#).is_err());
        assert!(nack(r#"{"leaseToken":7}"#).is_err());
    }
}
