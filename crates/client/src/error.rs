//! Why a call did not succeed, and what that means for the caller.
//!
//! Lives here: the error and the three questions that a consumer asks of it. Not here: reading an
//! answer (`answer.rs`), the codes themselves (`naven_api::ErrorCode`).

use std::fmt;
use std::time::Duration;

use naven_api::{ErrorCode, FieldFault};

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no.
    #[error(transparent)]
    Api(Box<ApiError>),

    /// No answer came: the server was not reached, the connection broke, or time ran out.
    #[error("no answer from {}", at.as_deref().unwrap_or("the server"))]
    Transport {
        /// The server's address, as far as it is known.
        at: Option<String>,
        /// True where the request may have reached the server, which may have carried it out.
        may_have_arrived: bool,
        /// What the connection said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// An answer came that is not Naven's: often a proxy's own page, or another server.
    #[error("the answer (status {status}) is not one of Naven Events: {why}")]
    Decode {
        /// The HTTP status of that answer.
        status: u16,
        /// What was expected and not found.
        why: String,
    },

    /// The client or a request could not be made; nothing was sent.
    #[error("{why}")]
    Setup {
        /// What was asked for and cannot be.
        why: String,
    },
}

/// The server's own account of a failure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApiError {
    /// Which failure: compare this, never the text.
    pub code: Code,
    /// The HTTP status.
    pub status: u16,
    /// For people; it may change.
    pub message: String,
    /// The slug of the code, as the server spelled it.
    pub reason: String,
    /// Names the request in the server's log.
    pub request_id: Option<String>,
    /// Which fields of the request broke which rule.
    pub fields: Vec<FieldFault>,
    /// How long to wait before the same request.
    pub retry_after: Option<Duration>,
    /// What the server says of the same request sent again; used for codes we do not know.
    pub retryable: bool,
}

/// A failure's number, known to this version or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// One that this version knows.
    Known(ErrorCode),
    /// One of a newer server.
    Unknown(u32),
}

impl Error {
    /// True where the same request may succeed later without a change to it.
    ///
    /// It does not say that sending it again is harmless: where [`may_have_applied`] is true as well,
    /// a repeated publish may make a second event. Heartbeat, ack and nack with the same token may
    /// always be repeated, and so may calls by way of [`Client::once`](crate::Client::once).
    ///
    /// [`may_have_applied`]: Self::may_have_applied
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api(error) => match error.code {
                Code::Known(code) => code.is_retryable(),
                Code::Unknown(_) => error.retryable,
            },
            Self::Transport { .. } => true,
            // What proxies answer while the server behind them restarts or is too slow.
            Self::Decode { status, .. } => matches!(status, 408 | 429 | 502 | 503 | 504),
            Self::Setup { .. } => false,
        }
    }

    /// True where the call may have taken effect although it failed.
    pub fn may_have_applied(&self) -> bool {
        match self {
            Self::Api(error) => match error.code {
                Code::Known(code) => code.may_have_applied(),
                Code::Unknown(_) => error.status >= 500,
            },
            Self::Transport { may_have_arrived, .. } => *may_have_arrived,
            Self::Decode { .. } => true,
            Self::Setup { .. } => false,
        }
    }

    /// True where the lease is over for this consumer: it expired, went to another, was settled the
    /// other way, or the event is not known any more. Stop side effects, reconcile what may already
    /// have succeeded, and settle nothing further.
    pub fn is_lease_gone(&self) -> bool {
        match self.code() {
            Some(
                ErrorCode::LeaseExpired
                | ErrorCode::LeaseLost
                | ErrorCode::LeaseSettled
                | ErrorCode::EventNotFound,
            ) => true,
            // Codes are added one by one (`ErrorCode` is open for that): none of them is one of a lease.
            Some(_) | None => false,
        }
    }

    /// How long the server asks to wait before the same request, where it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after,
            Self::Transport { .. } | Self::Decode { .. } | Self::Setup { .. } => None,
        }
    }

    /// The server's code, where it answered with one that this version knows.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Api(error) => match error.code {
                Code::Known(code) => Some(code),
                Code::Unknown(_) => None,
            },
            Self::Transport { .. } | Self::Decode { .. } | Self::Setup { .. } => None,
        }
    }

    /// The same once more, for another who waits for the same answer.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Api(error) => Self::Api(error.clone()),
            Self::Transport { at, may_have_arrived, source } => Self::Transport {
                at: at.clone(),
                may_have_arrived: *may_have_arrived,
                source: source.to_string().into(),
            },
            Self::Decode { status, why } => Self::Decode { status: *status, why: why.clone() },
            Self::Setup { why } => Self::Setup { why: why.clone() },
        }
    }

    /// The connection's failure as ours. What never connected never arrived.
    pub(crate) fn from_transport(error: reqwest::Error) -> Self {
        let may_have_arrived = !(error.is_connect() || error.is_builder());
        let at = error.url().map(|url| url.origin().ascii_serialization());
        // The path says nothing of the connection.
        Self::Transport { at, may_have_arrived, source: Box::new(error.without_url()) }
    }
}

impl Code {
    /// The code with this number.
    pub fn from_number(number: u32) -> Self {
        ErrorCode::from_code(number).map_or(Self::Unknown(number), Self::Known)
    }

    /// The number: the first three digits are the HTTP status.
    pub fn number(self) -> u32 {
        match self {
            Self::Known(code) => code.code(),
            Self::Unknown(number) => number,
        }
    }
}

impl fmt::Display for ApiError {
    /// `40901 lease_lost: another consumer has this event (request req-1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code.number(), self.reason, self.message)?;
        // Most messages name the first field already.
        for field in self.fields.iter().filter(|field| !self.message.contains(&field.path)) {
            write!(f, "; {}: {}", field.path, field.rule)?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(number: u32) -> Error {
        Error::Api(Box::new(ApiError {
            code: Code::from_number(number),
            status: (number / 100) as u16,
            message: "no".to_owned(),
            reason: "some_reason".to_owned(),
            request_id: Some("r1".to_owned()),
            fields: Vec::new(),
            retry_after: None,
            retryable: true,
        }))
    }

    #[test]
    fn every_known_code_is_asked_and_not_the_answer() {
        for &code in ErrorCode::ALL {
            let error = api(code.code());
            assert_eq!(error.code(), Some(code));
            assert_eq!(error.is_retryable(), code.is_retryable(), "{code}");
            assert_eq!(error.may_have_applied(), code.may_have_applied(), "{code}");
        }
    }

    #[test]
    fn a_newer_servers_code_is_judged_by_its_own_word_and_status() {
        let error = api(42_999);
        assert_eq!(error.code(), None);
        assert!(error.is_retryable());
        assert!(!error.may_have_applied());
        assert!(api(59_999).may_have_applied());
    }

    #[test]
    fn a_lease_is_gone_at_each_conflict_and_at_an_unknown_event() {
        for number in [40_900, 40_901, 40_902, 40_402] {
            assert!(api(number).is_lease_gone(), "{number}");
        }
        for number in [40_903, 40_401, 50_301, 40_999] {
            assert!(!api(number).is_lease_gone(), "{number}");
        }
    }

    #[test]
    fn the_text_names_code_fields_and_request() {
        let Error::Api(mut error) = api(40_001) else { panic!("an answer of the server") };
        let field = r#"{"path":"leaseSeconds","rule":"an integer from 1 to 43200","min":1,"max":43200}"#;
        error.fields.push(serde_json::from_str(field).unwrap());
        assert_eq!(
            Error::Api(error).to_string(),
            "40001 some_reason: no; leaseSeconds: an integer from 1 to 43200 (request r1)"
        );
    }
}
