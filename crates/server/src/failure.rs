//! Why a call was not answered as asked, for callers and for logs.
//!
//! Lives here: the failure that handlers return, and what engines' refusals mean to callers. Not
//! here: the bytes of the answer (`http/envelope.rs`).

use naven_api::field::{Rule, echo};
use naven_api::{BadRequest, ErrorCode, ErrorData, FieldFault};
use naven_store::reply::{OpError, Refused};
use serde_json::Value;

/// Most queues of an event that a failure names.
const QUEUES_NAMED_MAX: usize = 20;

/// A failure on its way to the caller.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which.
    pub code: ErrorCode,
    /// For people.
    pub text: String,
    /// Which fields were refused.
    pub fields: Vec<FieldFault>,
    /// How long to wait before trying again.
    pub retry_after_seconds: Option<u32>,
    /// More about this one failure.
    pub details: Option<Value>,
    /// For the log alone: what lies behind it.
    pub cause: Option<String>,
}

impl Failure {
    /// A failure with its code and text.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            fields: Vec::new(),
            retry_after_seconds: code.retry_after_seconds(),
            details: None,
            cause: None,
        }
    }

    /// The server is at fault; `cause` goes to the log.
    pub fn internal(cause: impl Into<String>) -> Self {
        let failure = Self::new(ErrorCode::Internal, "the server failed; the call may have been applied");
        Self { cause: Some(cause.into()), ..failure }
    }

    /// The event is in several queues, `queues` among them, and the call did not say which it means.
    pub fn queue_needed(queues: &[&str]) -> Self {
        let names: Vec<String> = queues.iter().take(QUEUES_NAMED_MAX).map(|name| echo(name)).collect();
        let rule = match names.len() {
            0 => "one of the event's queues".to_owned(),
            named if named < queues.len() => format!("one of the event's queues: {}, ...", names.join(", ")),
            _ => format!("one of the event's queues: {}", names.join(", ")),
        };
        BadRequest::Invalid(vec![Rule::new(rule).missing_at("queue".to_owned())]).into()
    }

    /// The same with details for programs.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// What programs are told.
    pub fn data(&self, request_id: Option<&str>) -> ErrorData {
        ErrorData {
            reason: self.code.reason().to_owned(),
            request_id: request_id.map(str::to_owned),
            retryable: self.code.is_retryable(),
            fields: (!self.fields.is_empty()).then(|| self.fields.clone()),
            retry_after_seconds: self.retry_after_seconds,
            details: self.details.clone(),
        }
    }
}

impl From<BadRequest> for Failure {
    fn from(bad: BadRequest) -> Self {
        let failure = Self::new(bad.code(), bad.to_string());
        match bad {
            BadRequest::Malformed(_) => failure,
            BadRequest::Unknown(fields) | BadRequest::Invalid(fields) => Self { fields, ..failure },
        }
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Refused(refused) => refused.into(),
            OpError::Undone => Self::internal("a transaction was undone without a reason"),
            OpError::Busy { after } => {
                let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
                let failure =
                    Self::new(ErrorCode::StorageUnavailable, "too much at once; nothing was written");
                Self { retry_after_seconds: Some(seconds), ..failure }
            }
            OpError::Full => Self::new(ErrorCode::DiskFull, "the disk is full; nothing was written"),
            OpError::Unsupported => Self::internal("an op reached an engine that does not have it"),
            OpError::Unavailable => {
                Self::new(ErrorCode::StorageUnavailable, "the storage takes no work; nothing was written")
            }
            OpError::Unknown => Self::new(
                ErrorCode::OutcomeUnknown,
                "the outcome is not known: repeat the call with the same token or Idempotency-Key, never assume that it failed",
            ),
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let (code, text) = match refused {
            Refused::Expired => (
                ErrorCode::LeaseExpired,
                "the lease's time is over: stop the work, the event will be delivered again",
            ),
            Refused::Lost => (
                ErrorCode::LeaseLost,
                "the lease is lost: the event was delivered again, or the token is not its",
            ),
            Refused::Settled => {
                (ErrorCode::LeaseSettled, "this token already settled the event the other way")
            }
            Refused::KeyNotFound => (ErrorCode::OtherNotFound, "no such key"),
            Refused::OperationNotFound => (ErrorCode::OtherNotFound, "no such operation"),
            Refused::OperationRunning => (
                ErrorCode::OperationRunning,
                "an operation of this kind is under way in this queue: wait for its end, or cancel it",
            ),
            Refused::Stale => (ErrorCode::VersionMismatch, "it has changed since"),
            Refused::QueueNotFound => (ErrorCode::QueueNotFound, "no such queue"),
            Refused::StreamNotFound => (ErrorCode::StreamOrGroupNotFound, "no such stream"),
            Refused::KeyReused => (
                ErrorCode::IdempotencyKeyReused,
                "this Idempotency-Key came before with another request: a new request needs a new key",
            ),
            Refused::EventNotFound => (ErrorCode::EventNotFound, "no such event"),
            Refused::NameTaken => (
                ErrorCode::NameTaken,
                "a queue of this name exists, or a stream, which a queue can join by naming it as stream",
            ),
            Refused::NotEmpty => (
                ErrorCode::QueueNotEmpty,
                "it holds events that are not done: settle them, or delete with ?force=true",
            ),
            Refused::WrongState => (ErrorCode::WrongState, "the event is not in a state that allows this"),
            Refused::DueForAll => (
                ErrorCode::WrongState,
                "the event waits for its time, which is one for all its queues: it cannot be changed in one of them before it is due",
            ),
            Refused::BadCursor => (ErrorCode::InvalidCursor, "not a cursor that this list gave out"),
            Refused::TooLarge => {
                (ErrorCode::TooLarge, "the request makes a larger transaction than is taken")
            }
            Refused::QueueNeeded => return Self::queue_needed(&[]),
            Refused::PlacesUsedUp => (ErrorCode::WrongState, "the stream has had the last place there is"),
            Refused::Changed
            | Refused::PlaceTaken
            | Refused::PlaceBehind
            | Refused::BeforeDeleted
            | Refused::FactsWrong => {
                return Self::internal(format!(
                    "a refusal that no route of this version can meet: {refused:?}"
                ));
            }
        };
        Self::new(code, text)
    }
}
