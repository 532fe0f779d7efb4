//! Every route, for people: what it takes, what it answers, how it fails.
//!
//! Lives here: the table behind `/openapi.json`. Not here: handlers (`router.rs`; a test holds the
//! two to each other), and the document's form (`openapi.rs`).

use naven_api::ErrorCode;

use crate::auth::Scope;

/// One route.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    /// None: open, no key is asked for.
    pub(super) scope: Option<Need>,
    pub(super) query: &'static [Parameter],
    /// The schema of its body, where it has one.
    pub(super) body: Option<&'static str>,
    pub(super) answers: &'static [Answers],
    /// What it can fail with, besides what every route can.
    pub(super) errors: &'static [ErrorCode],
}

/// What a key needs.
#[derive(Clone, Copy)]
pub(super) enum Need {
    /// Any key will do.
    Key,
    /// A key with this scope.
    Scope(Scope),
}

/// A parameter of the query: its name, what it says, and its kind in a schema.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
}

/// What a parameter's text reads as.
pub(super) enum Kind {
    Text,
    Integer(u32, u32),
    Flag,
}

/// One success.
pub(super) struct Answers {
    pub(super) status: &'static str,
    pub(super) data: Data,
    pub(super) about: &'static str,
}

/// What stands under `data`.
pub(super) enum Data {
    Of(&'static str),
    OrNull(&'static str),
    ListOf(&'static str),
    ItemsOf(&'static str),
    /// The whole answer is a document of its own.
    Raw,
}

const fn optional(name: &'static str, about: &'static str, kind: Kind) -> Parameter {
    Parameter { name, about, kind, required: false }
}

const CURSOR: Parameter = optional("cursor", "The nextCursor of the page before", Kind::Text);
const LIMIT: Parameter = optional("limit", "Most items, by default 50", Kind::Integer(1, 500));
const WITH_PAYLOAD: Parameter = optional("includePayload", "Whether payloads are shown", Kind::Flag);

const fn ok(data: Data, about: &'static str) -> [Answers; 1] {
    [Answers { status: "200", data, about }]
}

const fn created(data: Data, about: &'static str) -> [Answers; 1] {
    [Answers { status: "201", data, about }]
}

const PRODUCE: Option<Need> = Some(Need::Scope(Scope::Produce));
const CONSUME: Option<Need> = Some(Need::Scope(Scope::Consume));
const READ: Option<Need> = Some(Need::Scope(Scope::Read));
const ADMIN: Option<Need> = Some(Need::Scope(Scope::Admin));

/// Failures of every call that writes.
const WRITES: [ErrorCode; 3] =
    [ErrorCode::StorageUnavailable, ErrorCode::OutcomeUnknown, ErrorCode::DiskFull];

macro_rules! errors {
    ($($code:ident),*) => { &[WRITES[0], WRITES[1], WRITES[2], $(ErrorCode::$code),*] };
}

/// Every route, in the order of the contract.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/event-queues",
        summary: "Make a queue",
        scope: ADMIN,
        query: &[],
        body: Some("QueueCreateRequest"),
        answers: &created(Data::Of("QueueReply"), "The queue; Location names it"),
        errors: errors!(NameTaken),
    },
    Route {
        method: "GET",
        path: "/v1/event-queues",
        summary: "List queues with their counts, newest first",
        scope: READ,
        query: &[CURSOR, LIMIT, optional("namePrefix", "Only names that begin with this", Kind::Text)],
        body: None,
        answers: &ok(Data::ListOf("QueueReply"), "One page"),
        errors: &[ErrorCode::InvalidField, ErrorCode::UnknownField, ErrorCode::InvalidCursor],
    },
    Route {
        method: "GET",
        path: "/v1/event-queues/{queue}",
        summary: "Show a queue",
        scope: READ,
        query: &[],
        body: None,
        answers: &ok(Data::Of("QueueReply"), "The queue"),
        errors: &[ErrorCode::UnknownField, ErrorCode::QueueNotFound],
    },
    Route {
        method: "PATCH",
        path: "/v1/event-queues/{queue}",
        summary: "Change a queue: absent settings stay, null sets the default",
        scope: ADMIN,
        query: &[],
        body: Some("QueuePatchRequest"),
        answers: &ok(Data::Of("QueueReply"), "The queue as it is now"),
        errors: errors!(QueueNotFound),
    },
    Route {
        method: "DELETE",
        path: "/v1/event-queues/{queue}",
        summary: "Delete a queue",
        scope: ADMIN,
        query: &[optional("force", "Whatever it still holds becomes dead letters", Kind::Flag)],
        body: None,
        answers: &ok(Data::Of("QueueDeletedReply"), "It is gone"),
        errors: errors!(InvalidField, UnknownField, QueueNotFound, QueueNotEmpty),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/pause",
        summary: "Hand out no events until resumed; publishing goes on",
        scope: ADMIN,
        query: &[],
        body: Some("PauseRequest"),
        answers: &ok(Data::Of("QueueReply"), "The queue as it is now"),
        errors: errors!(QueueNotFound),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/resume",
        summary: "Hand out events again",
        scope: ADMIN,
        query: &[],
        body: Some("ResumeRequest"),
        answers: &ok(Data::Of("QueueReply"), "The queue as it is now"),
        errors: errors!(QueueNotFound),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/events",
        summary: "Publish an event",
        scope: PRODUCE,
        query: &[],
        body: Some("PublishRequest"),
        answers: &created(Data::Of("EventReply"), "The event, without its payload"),
        errors: errors!(QueueNotFound),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/events/batch",
        summary: "Publish up to 500 events, all or none",
        scope: PRODUCE,
        query: &[],
        body: Some("PublishBatchRequest"),
        answers: &created(Data::ItemsOf("EventReply"), "The events in the order of the request"),
        errors: errors!(QueueNotFound),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/claim",
        summary: "Lease one due event, waiting up to waitSeconds",
        scope: CONSUME,
        query: &[],
        body: Some("ClaimRequest"),
        answers: &ok(Data::OrNull("ClaimReply"), "The lease, or null where none came in time"),
        errors: errors!(QueueNotFound, TooManyWaiters, Draining),
    },
    Route {
        method: "POST",
        path: "/v1/event-queues/{queue}/claim-batch",
        summary: "Lease up to maxEvents due events, as soon as one is there",
        scope: CONSUME,
        query: &[],
        body: Some("ClaimBatchRequest"),
        answers: &ok(Data::Of("ClaimBatchReply"), "The leases; empty where none came in time"),
        errors: errors!(QueueNotFound, TooManyWaiters, Draining),
    },
    Route {
        method: "GET",
        path: "/v1/event-queues/{queue}/dead-letters",
        summary: "List a queue's dead letters, newest death first",
        scope: READ,
        query: &[CURSOR, LIMIT, WITH_PAYLOAD],
        body: None,
        answers: &ok(Data::ListOf("EventReply"), "One page"),
        errors: &[
            ErrorCode::InvalidField,
            ErrorCode::UnknownField,
            ErrorCode::InvalidCursor,
            ErrorCode::QueueNotFound,
        ],
    },
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
        path: "/v1/events/{id}/redrive",
        summary: "Begin a new round of a dead letter",
        scope: ADMIN,
        query: &[],
        body: Some("RedriveRequest"),
        answers: &ok(Data::Of("EventReply"), "The event, without its payload"),
        errors: errors!(EventNotFound, WrongState),
    },
    Route {
        method: "POST",
        path: "/v1/leases/ack",
        summary: "Ack up to 500 leases, each by itself",
        scope: CONSUME,
        query: &[],
        body: Some("AckBatchRequest"),
        answers: &[
            Answers { status: "200", data: Data::Of("AckBatchReply"), about: "All were taken" },
            Answers {
                status: "207",
                data: Data::Of("AckBatchReply"),
                about: "20700 partial_failure: each item carries its own code",
            },
        ],
        errors: errors!(),
    },
    Route {
        method: "GET",
        path: "/v1/dead-letters",
        summary: "List a queue's dead letters, also of a queue that was deleted",
        scope: READ,
        query: &[
            Parameter { name: "queueId", about: "The queue's id", kind: Kind::Text, required: true },
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
    Route {
        method: "GET",
        path: "/v1/me",
        summary: "Show the key that asks",
        scope: Some(Need::Key),
        query: &[],
        body: None,
        answers: &ok(Data::Of("MeReply"), "The key, without its secret"),
        errors: &[ErrorCode::UnknownField],
    },
    Route {
        method: "GET",
        path: "/v1/system",
        summary: "Show the server's figures and limits",
        scope: ADMIN,
        query: &[],
        body: None,
        answers: &ok(Data::Of("SystemReply"), "Figures and limits"),
        errors: &[ErrorCode::UnknownField],
    },
    Route {
        method: "GET",
        path: "/healthz",
        summary: "Whether the process turns its loop",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Of("HealthReply"), "It does"),
        errors: &[],
    },
    Route {
        method: "GET",
        path: "/readyz",
        summary: "Whether calls will be served",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Of("HealthReply"), "They will"),
        errors: &[ErrorCode::StorageUnavailable, ErrorCode::Draining],
    },
    Route {
        method: "GET",
        path: "/openapi.json",
        summary: "This document",
        scope: None,
        query: &[],
        body: None,
        answers: &ok(Data::Raw, "OpenAPI 3.1"),
        errors: &[],
    },
];
