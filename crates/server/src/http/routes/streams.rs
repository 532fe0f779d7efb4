//! Routes of streams, for people.
//!
//! Lives here: their part of the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test
//! holds the two to each other).

use naven_api::ErrorCode;
use naven_api::limits::MIN_IDLE_SECONDS_MAX;

use super::route::{
    ADMIN, CURSOR, Data, FORCE, Kind, LIMIT, NAME_PREFIX, PRODUCE, PUBLISHED, Parameter, READ, Route,
    WITH_PAYLOAD, created, errors, ok, optional,
};

/// An entry's id, or a time.
const PLACE: &str = "^(([0-9]{1,19}|1[0-7][0-9]{18})-([0-9]{1,19}|1[0-7][0-9]{18})\
                     |[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ].+)$";

const START: Parameter =
    optional("start", "The first place shown: an entry's id, or an RFC 3339 time", Kind::Pattern(PLACE));
const END: Parameter =
    optional("end", "The last place shown: an entry's id, or an RFC 3339 time", Kind::Pattern(PLACE));
const REVERSE: Parameter = optional("reverse", "Whether the last entry comes first", Kind::Flag);
const MIN_IDLE_SECONDS: Parameter = optional(
    "minIdleSeconds",
    "Only what nothing was heard of for so long, by default 0",
    Kind::Integer(0, MIN_IDLE_SECONDS_MAX),
);
const CONSUMER: Parameter = optional(
    "consumer",
    "Only what this Redis consumer has, or what is leased: @http, or what nobody has: empty",
    Kind::Text,
);

/// In the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/streams/{name}/events",
        summary: "Publish an event to every queue of a stream",
        scope: PRODUCE,
        query: &[],
        body: Some("PublishRequest"),
        answers: PUBLISHED,
        errors: errors!(StreamOrGroupNotFound, IdempotencyKeyReused),
    },
    Route {
        method: "POST",
        path: "/v1/streams/{name}/events/batch",
        summary: "Publish up to 500 events to every queue of a stream, all or none",
        scope: PRODUCE,
        query: &[],
        body: Some("PublishBatchRequest"),
        answers: &created(Data::ItemsOf("EventReply"), "The events in the order of the request"),
        errors: errors!(StreamOrGroupNotFound, IdempotencyKeyReused),
    },
    Route {
        method: "GET",
        path: "/v1/streams",
        summary: "List streams, newest first",
        scope: READ,
        query: &[CURSOR, LIMIT, NAME_PREFIX],
        body: None,
        answers: &ok(Data::ListOf("StreamReply"), "One page"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::InvalidCursor],
    },
    Route {
        method: "GET",
        path: "/v1/streams/{name}",
        summary: "Show a stream",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::Of("StreamReply"), "The stream"),
        errors: &[ErrorCode::UnknownField, ErrorCode::StreamOrGroupNotFound],
    },
    Route {
        method: "DELETE",
        path: "/v1/streams/{name}",
        summary: "Delete a stream and its queues",
        scope: ADMIN,
        query: &[FORCE],
        body: None,
        answers: &ok(Data::Of("StreamDeletedReply"), "It is gone"),
        errors: errors!(InvalidField, UnknownField, StreamOrGroupNotFound, QueueNotEmpty),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{name}/entries",
        summary: "List a stream's entries in the order of their places",
        scope: READ,
        query: &[START, END, REVERSE, CURSOR, LIMIT, WITH_PAYLOAD],
        body: None,
        answers: &ok(Data::ListOf("EntryReply"), "One page, with payloads unless includePayload=false"),
        errors: &[
            ErrorCode::InvalidField,
            ErrorCode::UnknownField,
            ErrorCode::InvalidCursor,
            ErrorCode::StreamOrGroupNotFound,
        ],
    },
    Route {
        method: "GET",
        path: "/v1/streams/{name}/groups",
        summary: "List the queues of a stream, oldest first",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::ListOf("GroupReply"), "All of them"),
        errors: &[ErrorCode::UnknownField, ErrorCode::StreamOrGroupNotFound],
    },
    Route {
        method: "DELETE",
        path: "/v1/streams/{name}/groups/{group}",
        summary: "Delete a queue of a stream",
        scope: ADMIN,
        query: &[FORCE],
        body: None,
        answers: &ok(Data::Of("QueueDeletedReply"), "It is gone"),
        errors: errors!(InvalidField, UnknownField, StreamOrGroupNotFound, QueueNotEmpty),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{name}/groups/{group}/consumers",
        summary: "Show who holds or waits for a queue's events",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::Of("ConsumersReply"), "Its consumers, those that hold most first"),
        errors: &[ErrorCode::UnknownField, ErrorCode::StreamOrGroupNotFound],
    },
    Route {
        method: "DELETE",
        path: "/v1/streams/{name}/groups/{group}/consumers/{consumer}",
        summary: "Forget a Redis consumer; what it holds becomes dead letters",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("ConsumerDeletedReply"), "It is forgotten, or never was"),
        errors: errors!(UnknownField, StreamOrGroupNotFound),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{name}/groups/{group}/pending",
        summary: "List what is pending in a queue in the order of the places",
        scope: READ,
        query: &[START, END, CONSUMER, MIN_IDLE_SECONDS, CURSOR, LIMIT],
        body: None,
        answers: &ok(
            Data::Of("PendingListReply"),
            "One page of what somebody has, and of what waits to be taken again",
        ),
        errors: &[
            ErrorCode::InvalidField,
            ErrorCode::UnknownField,
            ErrorCode::InvalidCursor,
            ErrorCode::StreamOrGroupNotFound,
        ],
    },
    Route {
        method: "POST",
        path: "/v1/streams/{name}/groups/{group}/reset",
        summary: "Put a queue at another place of its stream",
        scope: ADMIN,
        query: &[],
        body: Some("ResetRequest"),
        answers: &ok(Data::Of("QueueReply"), "The queue as it is now"),
        errors: errors!(StreamOrGroupNotFound, IdempotencyKeyReused),
    },
    Route {
        method: "POST",
        path: "/v1/streams/{name}/trim",
        summary: "Drop a stream's oldest entries",
        scope: ADMIN,
        query: &[],
        body: Some("TrimRequest"),
        answers: &ok(
            Data::Of("TrimReply"),
            "How many left the stream; what a queue still needs of them stays for it",
        ),
        errors: errors!(StreamOrGroupNotFound),
    },
];
