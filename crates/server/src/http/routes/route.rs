//! What is said of a route.
//!
//! Lives here: its shape, and what many routes have in common. Not here: the routes (the files beside).

use naven_api::ErrorCode;
use naven_api::bulk::REASONS;
use naven_api::limits::{ERROR_FILTER_BYTES_MAX, STATS_FINE_SECONDS, STATS_KEPT_SECONDS, TAIL_SAMPLE_MAX};

use crate::auth::Scope;

/// One route.
pub(in crate::http) struct Route {
    pub(in crate::http) method: &'static str,
    pub(in crate::http) path: &'static str,
    pub(in crate::http) summary: &'static str,
    /// None: open, no key is asked for.
    pub(in crate::http) scope: Option<Need>,
    pub(in crate::http) query: &'static [Parameter],
    /// The schema of its body, where it has one.
    pub(in crate::http) body: Option<&'static str>,
    pub(in crate::http) answers: &'static [Answers],
    /// What it can fail with, besides what every route can.
    pub(in crate::http) errors: &'static [ErrorCode],
}

/// What a key needs.
#[derive(Clone, Copy)]
pub(in crate::http) enum Need {
    /// Any key will do.
    Key,
    /// A key with this scope.
    Scope(Scope),
}

/// A parameter of the query: its name, what it says, and its kind in a schema.
pub(in crate::http) struct Parameter {
    pub(in crate::http) name: &'static str,
    pub(in crate::http) about: &'static str,
    pub(in crate::http) kind: Kind,
    pub(in crate::http) required: bool,
}

/// What a parameter's text reads as.
pub(in crate::http) enum Kind {
    Text,
    /// 1 to so many bytes.
    Bounded(usize),
    /// One of these.
    Words(&'static [&'static str]),
    Pattern(&'static str),
    Time,
    Integer(u32, u32),
    Flag,
}

/// One success.
pub(in crate::http) struct Answers {
    pub(in crate::http) status: &'static str,
    pub(in crate::http) data: Data,
    pub(in crate::http) about: &'static str,
}

/// What stands under `data`.
pub(in crate::http) enum Data {
    Of(&'static str),
    /// One of two, by what was asked.
    Either(&'static str, &'static str),
    OrNull(&'static str),
    ListOf(&'static str),
    ItemsOf(&'static str),
    /// The whole answer is a document of its own.
    Raw,
    /// The whole answer is bytes, streamed, and no JSON.
    Bytes,
    /// The whole answer is text.
    Text,
    /// Server-sent events, whose data is this.
    Events(&'static str),
}

pub(super) const fn optional(name: &'static str, about: &'static str, kind: Kind) -> Parameter {
    Parameter { name, about, kind, required: false }
}

pub(super) const CURSOR: Parameter =
    optional("cursor", "The nextCursor of the page before", Kind::Pattern("^[0-9a-f]{8,512}$"));
pub(super) const LIMIT: Parameter = optional("limit", "Most items, by default 50", Kind::Integer(1, 500));
pub(super) const WITH_PAYLOAD: Parameter =
    optional("includePayload", "Whether payloads are shown", Kind::Flag);

pub(super) const REASON: Parameter =
    optional("reason", "Only those that died for this, like attempts_used_up", Kind::Words(&REASONS));
pub(super) const ERROR: Parameter = optional(
    "error",
    "Only those of this fingerprint, or whose last error contains this",
    Kind::Bounded(ERROR_FILTER_BYTES_MAX),
);
pub(super) const DIED_AFTER: Parameter =
    optional("diedAfter", "Only those that died at this time or later", Kind::Time);
pub(super) const DIED_BEFORE: Parameter =
    optional("diedBefore", "Only those that died before this time", Kind::Time);
pub(super) const GROUP_BY: Parameter = optional(
    "groupBy",
    "error: their groups by error, at most limit of them, without a cursor",
    Kind::Words(&["error"]),
);

/// One state or several.
const SOME_STATES: &str = "^(scheduled|ready|leased|held|retrying|done|dead|cancelled)\
                           (,(scheduled|ready|leased|held|retrying|done|dead|cancelled)){0,7}$";

pub(super) const STATE: Parameter = optional(
    "state",
    "Only those in this state; several with commas between, like leased,held",
    Kind::Pattern(SOME_STATES),
);
pub(super) const CREATED_AFTER: Parameter =
    optional("createdAfter", "Only those published at this time or later", Kind::Time);
pub(super) const CREATED_BEFORE: Parameter =
    optional("createdBefore", "Only those published before this time", Kind::Time);
pub(super) const PAYLOAD: Parameter = optional(
    "payload.PATH",
    "Only those whose payload has this value at PATH, names joined by dots, like payload.user.id=7: a string's text, or the JSON of a number, true, false or null. At most 4 of them",
    Kind::Text,
);
pub(super) const TEXT: Parameter = optional(
    "q",
    "Only those whose payload's JSON text contains this: 1 to 256 characters",
    Kind::Bounded(256),
);
pub(super) const WITH_TOTAL: Parameter =
    optional("includeTotal", "Whether the list's length is told, as far as it was counted", Kind::Flag);

pub(super) const FORCE: Parameter =
    optional("force", "Whatever it still holds becomes dead letters", Kind::Flag);
pub(super) const NAME_PREFIX: Parameter =
    optional("namePrefix", "Only names that begin with this", Kind::Text);
pub(super) const QUEUE: Parameter = optional(
    "queue",
    "A queue's name or id: needed where the event is in several",
    Kind::Pattern(crate::http::openapi::QUEUE_REF),
);
pub(super) const FROM: Parameter = optional(
    "from",
    "When the first point begins, rounded down to a step: by default an hour before to",
    Kind::Time,
);
pub(super) const TO: Parameter = optional("to", "When the last point ends: by default now", Kind::Time);
pub(super) const STEP_SECONDS: Parameter = optional(
    "stepSeconds",
    "The length of a point, by default 60: a multiple of 60, or of 10 where from is within the last hour; at \
     most 1,500 points",
    Kind::Integer(STATS_FINE_SECONDS, STATS_KEPT_SECONDS),
);
pub(super) const STATES: Parameter =
    optional("states", "Only changes to these states, with commas between", Kind::Pattern(SOME_STATES));
pub(super) const SAMPLE: Parameter = optional(
    "sample",
    "Only one in so many events, by default every one: all changes of an event, or none",
    Kind::Integer(1, TAIL_SAMPLE_MAX),
);

/// A publish: a new event, or the one that was there already.
pub(super) const PUBLISHED: &[Answers] = &[
    Answers { status: "201", data: Data::Of("EventReply"), about: "The event, without its payload" },
    Answers {
        status: "200",
        data: Data::Of("EventReply"),
        about: "An event of the same dedupeKey was there: that one, with deduped true",
    },
];

pub(super) const fn ok(data: Data, about: &'static str) -> [Answers; 1] {
    [Answers { status: "200", data, about }]
}

pub(super) const fn created(data: Data, about: &'static str) -> [Answers; 1] {
    [Answers { status: "201", data, about }]
}

/// A batch whose items are taken or refused each by itself.
pub(super) const fn each(reply: &'static str) -> [Answers; 2] {
    [
        Answers { status: "200", data: Data::Of(reply), about: "All were taken" },
        Answers {
            status: "207",
            data: Data::Of(reply),
            about: "20700 partial_failure: each item carries its own code",
        },
    ]
}

pub(super) const PRODUCE: Option<Need> = Some(Need::Scope(Scope::Produce));
pub(super) const CONSUME: Option<Need> = Some(Need::Scope(Scope::Consume));
pub(super) const READ: Option<Need> = Some(Need::Scope(Scope::Read));
pub(super) const ADMIN: Option<Need> = Some(Need::Scope(Scope::Admin));

/// Failures of every call that writes.
pub(super) const WRITES: [ErrorCode; 3] =
    [ErrorCode::StorageUnavailable, ErrorCode::OutcomeUnknown, ErrorCode::DiskFull];

/// Errors of a call that writes: those that all of them have, and its own.
macro_rules! errors {
    ($($code:ident),*) => {
        &[
            super::route::WRITES[0],
            super::route::WRITES[1],
            super::route::WRITES[2],
            $(naven_api::ErrorCode::$code),*
        ]
    };
}
pub(super) use errors;

impl Route {
    /// True where the call takes an `Idempotency-Key`: only such a call can meet one that was used before.
    pub(in crate::http) fn takes_idempotency_key(&self) -> bool {
        self.errors.contains(&ErrorCode::IdempotencyKeyReused)
    }

    /// True where what the call makes carries the caller's trace.
    pub(in crate::http) fn takes_trace(&self) -> bool {
        matches!(self.body, Some("PublishRequest" | "PublishBatchRequest"))
    }
}
