//! Routes of many dead letters and of operations, for people.
//!
//! Lives here: their part of the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test
//! holds the two to each other).

use naven_api::ErrorCode;

use super::route::{ADMIN, Answers, CURSOR, Data, LIMIT, READ, Route, errors, ok};

const BULK: &[Answers] = &[
    Answers {
        status: "200",
        data: Data::Either("BulkReply", "MatchedReply"),
        about: "With ids: done to all of them. With dryRun: how many are meant",
    },
    Answers {
        status: "202",
        data: Data::Of("OperationReply"),
        about: "With filter or all: an operation that does it in the background",
    },
    Answers {
        status: "207",
        data: Data::Of("BulkReply"),
        about: "20700 partial_failure: each item carries its own code",
    },
];

/// In the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/dead-letters/redrive",
        summary: "Begin a new round of many dead letters",
        scope: ADMIN,
        query: &[],
        body: Some("DeadRedriveRequest"),
        answers: BULK,
        errors: errors!(QueueNotFound, OperationRunning, IdempotencyKeyReused),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/dead-letters/discard",
        summary: "Forget many dead letters",
        scope: ADMIN,
        query: &[],
        body: Some("DeadDiscardRequest"),
        answers: BULK,
        errors: errors!(QueueNotFound, OperationRunning, IdempotencyKeyReused),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/purge",
        summary: "Throw away what waits in a queue, or is dead there",
        scope: ADMIN,
        query: &[],
        body: Some("PurgeRequest"),
        answers: &[
            Answers {
                status: "200",
                data: Data::Of("MatchedReply"),
                about: "With dryRun: how many are meant",
            },
            Answers {
                status: "202",
                data: Data::Of("OperationReply"),
                about: "An operation that does it in the background",
            },
        ],
        errors: errors!(QueueNotFound, OperationRunning, IdempotencyKeyReused),
    },
    Route {
        method: "GET",
        path: "/v1/operations",
        summary: "List operations, newest first",
        scope: READ,
        query: &[CURSOR, LIMIT],
        body: None,
        answers: &ok(Data::ListOf("OperationReply"), "One page"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::InvalidCursor],
    },
    Route {
        method: "GET",
        path: "/v1/operations/{id}",
        summary: "Show an operation",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::Of("OperationReply"), "The operation"),
        errors: &[ErrorCode::UnknownField, ErrorCode::OtherNotFound],
    },
    Route {
        method: "POST",
        path: "/v1/operations/{id}/cancel",
        summary: "End an operation where it stands; what it did stays",
        scope: ADMIN,
        query: &[],
        body: Some("ResumeRequest"),
        answers: &ok(Data::Of("OperationReply"), "The operation as it is now"),
        errors: errors!(OtherNotFound, WrongState),
    },
];
