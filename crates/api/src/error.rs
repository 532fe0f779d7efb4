//! Every failure that a caller can be told, in one enum.
//!
//! Lives here: the code, its slug, its HTTP status, whether to try again, what to do about it.
//! Not here: messages about one request (the door that answers it). `docs/errors.md` is checked
//! against [`ErrorCode::ALL`], which holds only reasons that can occur in this version.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal;)+) => {
        /// A failure's number and slug: HTTP status x 100 + n, never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)+
        }

        impl ErrorCode {
            /// Every code that this version can answer.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),+];

            /// The number: five digits, the first three are the HTTP status.
            pub const fn code(self) -> u32 {
                match self { $(ErrorCode::$name => $code),+ }
            }

            /// The stable slug that programs compare.
            pub const fn reason(self) -> &'static str {
                match self { $(ErrorCode::$name => $reason),+ }
            }

            /// The code with this number, if this version knows it.
            pub fn from_code(code: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.code() == code)
            }
        }
    };
}

codes! {
    /// A batch ran and some of its items failed: each item carries its own code.
    PartialFailure = 20700, "partial_failure";
    /// The body is not JSON, not UTF-8, or holds a lone surrogate outside a payload.
    MalformedJson = 40000, "malformed_json";
    /// A field is missing, of the wrong type or out of range; `fields` names each.
    InvalidField = 40001, "invalid_field";
    /// A field that this route does not take.
    UnknownField = 40002, "unknown_field";
    /// A list's cursor is not one that this list gave out.
    InvalidCursor = 40005, "invalid_cursor";
    /// A list's filter is not one.
    InvalidFilter = 40006, "invalid_filter";
    /// No key was sent.
    KeyMissing = 40100, "key_missing";
    /// The key sent is not one of ours.
    KeyInvalid = 40101, "key_invalid";
    /// The key's time is over.
    KeyExpired = 40102, "key_expired";
    /// The key reaches the thing, but may not do this to it.
    ScopeMissing = 40300, "scope_missing";
    /// No such path.
    RouteNotFound = 40400, "route_not_found";
    /// No such queue, or the key may not see it.
    QueueNotFound = 40401, "queue_not_found";
    /// No such event, or the key may not see it.
    EventNotFound = 40402, "event_not_found";
    /// No such stream, or no such queue on it, or the key may not see it.
    StreamOrGroupNotFound = 40404, "stream_or_group_not_found";
    /// No such thing of another kind, such as a key, or the key may not see it.
    OtherNotFound = 40405, "other_not_found";
    /// The path exists, the method on it does not.
    MethodNotAllowed = 40500, "method_not_allowed";
    /// The request or its body did not arrive in time.
    RequestTimeout = 40800, "request_timeout";
    /// The token was the last holder's, its time is over, and nobody else has the event yet.
    LeaseExpired = 40900, "lease_expired";
    /// Another delivery happened, or the token is not this event's.
    LeaseLost = 40901, "lease_lost";
    /// This token already settled the event the other way.
    LeaseSettled = 40902, "lease_settled";
    /// The name belongs to another queue, or to a stream.
    NameTaken = 40903, "name_taken";
    /// One of these is under way already, and there is one at a time.
    OperationRunning = 40906, "operation_running";
    /// The queue or stream holds events that are not done, and `force` was not given.
    QueueNotEmpty = 40907, "queue_not_empty";
    /// The thing is not in a state that allows this.
    WrongState = 40908, "wrong_state";
    /// The thing is not at the version that `If-Match` names.
    VersionMismatch = 41200, "version_mismatch";
    /// The body is larger than allowed; `details` gives the limit.
    TooLarge = 41300, "too_large";
    /// The path and query together are longer than allowed; `details` gives the limit.
    UriTooLong = 41400, "uri_too_long";
    /// The body is not announced as JSON.
    UnsupportedMediaType = 41500, "unsupported_media_type";
    /// The request names a host that this server does not answer to.
    HostNotAllowed = 42100, "host_not_allowed";
    /// The `Idempotency-Key` was used for another request.
    IdempotencyKeyReused = 42200, "idempotency_key_reused";
    /// The key makes more calls than it may.
    RateLimited = 42900, "rate_limited";
    /// Too many claims wait on this node or under this key.
    TooManyWaiters = 42902, "too_many_waiters";
    /// The headers together are longer than allowed; `details` gives the limit.
    HeadersTooLarge = 43100, "headers_too_large";
    /// The server failed; the call may have been applied.
    Internal = 50000, "internal";
    /// The storage cannot take writes; nothing was written.
    StorageUnavailable = 50301, "storage_unavailable";
    /// The server is shutting down; nothing was written.
    Draining = 50302, "draining";
    /// The commit was not confirmed: repeat with the same token, never assume failure.
    OutcomeUnknown = 50400, "outcome_unknown";
    /// The disk is full: publishing stops, ack and reads go on as long as they can.
    DiskFull = 50700, "disk_full";
}

impl ErrorCode {
    /// The HTTP status of the answer.
    pub const fn http_status(self) -> u16 {
        (self.code() / 100) as u16
    }

    /// True where the same request may succeed later without a change to it.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::RequestTimeout
            | Self::OperationRunning
            | Self::RateLimited
            | Self::TooManyWaiters
            | Self::StorageUnavailable
            | Self::Draining
            | Self::OutcomeUnknown
            | Self::DiskFull => true,
            Self::PartialFailure
            | Self::MalformedJson
            | Self::InvalidField
            | Self::UnknownField
            | Self::InvalidCursor
            | Self::InvalidFilter
            | Self::KeyMissing
            | Self::KeyInvalid
            | Self::KeyExpired
            | Self::ScopeMissing
            | Self::RouteNotFound
            | Self::QueueNotFound
            | Self::EventNotFound
            | Self::StreamOrGroupNotFound
            | Self::OtherNotFound
            | Self::MethodNotAllowed
            | Self::LeaseExpired
            | Self::LeaseLost
            | Self::LeaseSettled
            | Self::NameTaken
            | Self::QueueNotEmpty
            | Self::WrongState
            | Self::VersionMismatch
            | Self::TooLarge
            | Self::UriTooLong
            | Self::UnsupportedMediaType
            | Self::HostNotAllowed
            | Self::IdempotencyKeyReused
            | Self::HeadersTooLarge
            | Self::Internal => false,
        }
    }

    /// True where the call may have taken effect although it failed.
    pub const fn may_have_applied(self) -> bool {
        matches!(self, Self::PartialFailure | Self::Internal | Self::OutcomeUnknown)
    }

    /// Seconds for `Retry-After`, where the answer carries one.
    pub const fn retry_after_seconds(self) -> Option<u32> {
        match self.http_status() {
            429 | 503 => Some(1),
            507 => Some(5),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code(), self.reason())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_slugs_are_unique_and_in_order() {
        for pair in ErrorCode::ALL.windows(2) {
            assert!(pair[0].code() < pair[1].code(), "{} before {}", pair[0], pair[1]);
        }
        let mut reasons: Vec<_> = ErrorCode::ALL.iter().map(|code| code.reason()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        assert_eq!(reasons.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn a_code_is_found_by_its_number() {
        for &code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_code(code.code()), Some(code));
        }
        assert_eq!(ErrorCode::from_code(0), None);
    }

    #[test]
    fn refusals_of_a_lease_are_conflicts_and_final() {
        for code in [ErrorCode::LeaseExpired, ErrorCode::LeaseLost, ErrorCode::LeaseSettled] {
            assert_eq!(code.http_status(), 409);
            assert!(!code.is_retryable());
            assert!(!code.may_have_applied());
        }
    }
}
