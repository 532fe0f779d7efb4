//! Routes of single events and of leases, for people.
//!
//! Lives here: their part of the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test
//! holds the two to each other).

use naven_api::ErrorCode;

use super::route::{
    ADMIN, Answers, CONSUME, CURSOR, Data, Kind, LIMIT, Parameter, QUEUE, READ, Route, WITH_PAYLOAD, each,
    errors, ok,
};

/// In the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/events/{id}",
        summary: "Show an event, with its payload unless includePayload=false",
        scope: READ,
        query: &[WITH_PAYLOAD],
        body: None,
        answers: &ok(Data::Of("EventReply"), "The event"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::EventNotFound],
    },
    Route {
        method: "GET",
        path: "/v1/events/{id}/timeline",
        summary: "List an event's last 20 deliveries in one queue, newest first",
        scope: READ,
        query: &[QUEUE, CURSOR],
        body: None,
        answers: &ok(Data::Of("TimelineReply"), "The deliveries of its present round"),
        errors: &[
            ErrorCode::InvalidField,
            ErrorCode::UnknownField,
            ErrorCode::InvalidCursor,
            ErrorCode::EventNotFound,
        ],
    },
    Route {
        method: "POST",
        path: "/v1/events/{id}/heartbeat",
        summary: "Extend a lease; the token stays the same",
        scope: CONSUME,
        query: &[],
        body: Some("HeartbeatRequest"),
        answers: &ok(
            Data::Of("HeartbeatReply"),
            "The lease's new end; null where the caller has settled the event",
        ),
        errors: errors!(EventNotFound, LeaseExpired, LeaseLost),
    },
    Route {
        method: "POST",
        path: "/v1/events/{id}/ack",
        summary: "Say that the event is done; repeating it is safe",
        scope: CONSUME,
        query: &[],
        body: Some("AckRequest"),
        answers: &ok(Data::Of("AckReply"), "It is done"),
        errors: errors!(EventNotFound, LeaseExpired, LeaseLost, LeaseSettled),
    },
    Route {
        method: "POST",
        path: "/v1/events/{id}/nack",
        summary: "Say that the event failed, failed for good, or is given back",
        scope: CONSUME,
        query: &[],
        body: Some("NackRequest"),
        answers: &ok(Data::Of("NackReply"), "Where the event stands"),
        errors: errors!(EventNotFound, LeaseExpired, LeaseLost, LeaseSettled),
    },
    Route {
        method: "POST",
        path: "/v1/events/{id}/cancel",
        summary: "Call an event off: at once where nobody holds it, else once its holder lets go",
        scope: ADMIN,
        query: &[QUEUE],
        body: Some("CancelRequest"),
        answers: &[
            Answers {
                status: "200",
                data: Data::Of("EventReply"),
                about: "It is cancelled: the event, without its payload",
            },
            Answers {
                status: "202",
                data: Data::Of("EventReply"),
                about: "Its holder is asked to stop, with the answer to its next heartbeat",
            },
        ],
        errors: errors!(QueueNotFound, EventNotFound, WrongState),
    },
    Route {
        method: "POST",
        path: "/v1/events/{id}/redrive",
        summary: "Begin a new round of a dead letter",
        scope: ADMIN,
        query: &[QUEUE],
        body: Some("RedriveRequest"),
        answers: &ok(Data::Of("EventReply"), "The event, without its payload"),
        errors: errors!(QueueNotFound, EventNotFound, WrongState, IdempotencyKeyReused),
    },
    Route {
        method: "POST",
        path: "/v1/leases/heartbeat",
        summary: "Extend up to 500 leases, each by itself",
        scope: CONSUME,
        query: &[],
        body: Some("HeartbeatBatchRequest"),
        answers: &each("HeartbeatBatchReply"),
        errors: errors!(),
    },
    Route {
        method: "POST",
        path: "/v1/leases/ack",
        summary: "Ack up to 500 leases, each by itself",
        scope: CONSUME,
        query: &[],
        body: Some("AckBatchRequest"),
        answers: &each("AckBatchReply"),
        errors: errors!(),
    },
    Route {
        method: "POST",
        path: "/v1/leases/nack",
        summary: "Nack up to 500 leases, each by itself",
        scope: CONSUME,
        query: &[],
        body: Some("NackBatchRequest"),
        answers: &each("NackBatchReply"),
        errors: errors!(),
    },
    Route {
        method: "GET",
        path: "/v1/dead-letters",
        summary: "List a queue's dead letters, also of a queue that was deleted",
        scope: READ,
        query: &[
            Parameter {
                name: "queueId",
                about: "The queue's id",
                kind: Kind::Pattern("^evq_[0-9a-hjkmnp-tv-z]{26}$"),
                required: true,
            },
            CURSOR,
            LIMIT,
            WITH_PAYLOAD,
        ],
        body: None,
        answers: &ok(Data::ListOf("EventReply"), "One page"),
        errors: &[
            ErrorCode::InvalidField,
            ErrorCode::UnknownField,
            ErrorCode::InvalidCursor,
            ErrorCode::QueueNotFound,
        ],
    },
];
