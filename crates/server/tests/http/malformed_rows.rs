//! Malformed requests: of which kind each field and each parameter is.
//!
//! Lives here: one row for each field of each request schema, and for each parameter. One that the document
//! has and that has no row here fails the test. Not here: what is wrong for a kind (`malformed_kinds.rs`),
//! and playing the rows (`malformed_play.rs`).

use crate::malformed_kinds::Kind;

/// A field: where it is, what it takes, and whether null is among that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) takes_null: bool,
    pub(crate) is_required: bool,
}

const fn may(path: &'static str, kind: Kind) -> Field {
    Field { path, kind, takes_null: false, is_required: false }
}

const fn must(path: &'static str, kind: Kind) -> Field {
    Field { is_required: true, ..may(path, kind) }
}

/// One of which null takes the value away, or sets the default.
const fn null(path: &'static str, kind: Kind) -> Field {
    Field { takes_null: true, ..may(path, kind) }
}

/// A call with a body: its route, the rest of its body, and its fields.
pub(crate) type Body = (&'static str, &'static str, &'static [&'static [Field]]);

const DECADE: i64 = 315_360_000;

const MADE: &[Field] = &[
    must("name", Kind::QueueName),
    may("stream", Kind::StreamName),
    may("from", Kind::StartFrom),
    may("description", Kind::Text(0, 1_024)),
    may("defaultLeaseSeconds", Kind::Integer(1, 43_200)),
    may("maxLeaseSeconds", Kind::Integer(0, 2_592_000)),
    may("maxAttempts", Kind::Integer(1, 1_000)),
    may("backoff", Kind::Object),
    may("backoff.initialSeconds", Kind::Integer(0, 86_400)),
    may("backoff.factor", Kind::Decimal(1, 10)),
    may("backoff.maxSeconds", Kind::Integer(0, 86_400)),
    may("backoff.jitter", Kind::Decimal(0, 1)),
    may("lateAckGraceSeconds", Kind::Integer(0, 3_600)),
    may("redisLeaseSeconds", Kind::Integer(1, 43_200)),
    may("keepDonePayload", Kind::Flag),
    may("protectUnread", Kind::Flag),
    may("retentionSeconds", Kind::Object),
    may("retentionSeconds.done", Kind::Integer(0, DECADE)),
    may("retentionSeconds.dead", Kind::Integer(0, DECADE)),
    may("dedupeWindowSeconds", Kind::Integer(0, 2_592_000)),
    may("retention", Kind::Word("trim")),
];

const CHANGED: &[Field] = &[
    null("description", Kind::Text(0, 1_024)),
    null("defaultLeaseSeconds", Kind::Integer(1, 43_200)),
    null("maxLeaseSeconds", Kind::Integer(0, 2_592_000)),
    null("maxAttempts", Kind::Integer(1, 1_000)),
    null("backoff", Kind::Object),
    null("backoff.initialSeconds", Kind::Integer(0, 86_400)),
    null("backoff.factor", Kind::Decimal(1, 10)),
    null("backoff.maxSeconds", Kind::Integer(0, 86_400)),
    null("backoff.jitter", Kind::Decimal(0, 1)),
    null("lateAckGraceSeconds", Kind::Integer(0, 3_600)),
    null("redisLeaseSeconds", Kind::Integer(1, 43_200)),
    null("keepDonePayload", Kind::Flag),
    null("protectUnread", Kind::Flag),
    null("retentionSeconds", Kind::Object),
    null("retentionSeconds.done", Kind::Integer(0, DECADE)),
    null("retentionSeconds.dead", Kind::Integer(0, DECADE)),
    null("dedupeWindowSeconds", Kind::Integer(0, 2_592_000)),
    may("retention", Kind::Word("trim")),
];

const CLAIM: &[Field] = &[
    may("leaseSeconds", Kind::Integer(1, 43_200)),
    may("waitSeconds", Kind::Integer(0, 60)),
    may("consumerId", Kind::ConsumerId),
];

const MANY: &[Field] = &[must("maxEvents", Kind::Integer(1, 100))];

const PUBLISH: &[Field] = &[
    must("payload", Kind::Payload),
    may("delaySeconds", Kind::Integer(0, DECADE)),
    may("scheduledAt", Kind::TimeWithin),
    may("maxAttempts", Kind::Integer(1, 1_000)),
    may("dedupeKey", Kind::Text(1, 255)),
    may("expiresAt", Kind::TimeAhead),
    may("headers", Kind::Headers),
];

const PUBLISH_MANY: &[Field] = &[
    must("events", Kind::Objects),
    must("events[0].payload", Kind::Payload),
    may("events[0].delaySeconds", Kind::Integer(0, DECADE)),
    may("events[0].scheduledAt", Kind::TimeWithin),
    may("events[0].maxAttempts", Kind::Integer(1, 1_000)),
    may("events[0].dedupeKey", Kind::Text(1, 255)),
    may("events[0].expiresAt", Kind::TimeAhead),
    may("events[0].headers", Kind::Headers),
];

const WHICH: &[Field] = &[
    may("ids", Kind::Ids),
    may("filter", Kind::Filter("reason")),
    may("filter.reason", Kind::Word("fatal")),
    may("filter.error", Kind::Text(1, 1_024)),
    may("filter.diedAfter", Kind::Time),
    may("filter.diedBefore", Kind::Time),
    may("all", Kind::True),
];
const DRY: &[Field] = &[may("dryRun", Kind::Flag)];
const REDRIVE: &[Field] = &[may("resetAttempts", Kind::Flag)];
const TARGET: &[Field] = &[may("targetQueue", Kind::QueueRef)];
const PURGE: &[Field] =
    &[may("states", Kind::States), may("olderThan", Kind::Time), may("dryRun", Kind::Flag)];
const RESCHEDULE: &[Field] =
    &[null("scheduledAt", Kind::TimeWithin), null("maxAttempts", Kind::Integer(1, 1_000))];

const TOKEN: &[Field] = &[must("leaseToken", Kind::AnyText)];
const BEAT: &[Field] = &[
    may("leaseSeconds", Kind::Integer(1, 43_200)),
    may("progress", Kind::Object),
    may("progress.percent", Kind::Integer(0, 100)),
    may("progress.note", Kind::AnyText),
];
const RESULT: &[Field] = &[null("result", Kind::Value)];
const NACK: &[Field] = &[
    may("error", Kind::AnyText),
    may("retryDelaySeconds", Kind::Integer(0, DECADE)),
    may("mode", Kind::Word("fail")),
];
const ITEMS: &[Field] = &[
    must("items", Kind::Objects),
    must("items[0].eventId", Kind::AnyText),
    must("items[0].leaseToken", Kind::AnyText),
];
const ITEM_BEAT: &[Field] = &[
    may("items[0].leaseSeconds", Kind::Integer(1, 43_200)),
    may("items[0].progress", Kind::Object),
    may("items[0].progress.percent", Kind::Integer(0, 100)),
    may("items[0].progress.note", Kind::AnyText),
];
const ITEM_RESULT: &[Field] = &[null("items[0].result", Kind::Value)];
const ITEM_NACK: &[Field] = &[
    may("items[0].error", Kind::AnyText),
    may("items[0].retryDelaySeconds", Kind::Integer(0, DECADE)),
    may("items[0].mode", Kind::Word("fail")),
];
const ITEM: &str = r#"{"items":[{"eventId":"e","leaseToken":"t"}]}"#;

const REASON: &[Field] = &[may("reason", Kind::Text(0, 1_024))];
const QUEUE: &[Field] = &[may("queue", Kind::AnyText)];
const PLACE: &[Field] = &[may("id", Kind::EntryId), may("time", Kind::Time)];
const LENGTH: &[Field] = &[may("maxLength", Kind::Integer(0, 1_000_000_000))];

const NEW_KEY: &[Field] = &[
    must("name", Kind::QueueName),
    must("scopes", Kind::Scopes),
    may("queues", Kind::Patterns),
    may("expiresAt", Kind::TimeAhead),
    may("rateLimit", Kind::Integer(1, 1_000_000)),
];
const KEY: &[Field] = &[
    may("scopes", Kind::Scopes),
    may("queues", Kind::Patterns),
    null("expiresAt", Kind::TimeAhead),
    null("rateLimit", Kind::Integer(1, 1_000_000)),
];
const OVERLAP: &[Field] = &[may("overlapSeconds", Kind::Integer(0, 2_592_000))];

pub(crate) const BODIES: &[Body] = &[
    ("POST /v1/event-queues", r#"{"name":"x","stream":"s"}"#, &[MADE]),
    ("PATCH /v1/event-queues/{queue}", "{}", &[CHANGED]),
    ("POST /v1/event-queues/{queue}/claim", r#"{"waitSeconds":0}"#, &[CLAIM]),
    ("POST /v1/event-queues/{queue}/claim-batch", r#"{"maxEvents":1,"waitSeconds":0}"#, &[MANY, CLAIM]),
    ("POST /v1/event-queues/{queue}/events", r#"{"payload":{}}"#, &[PUBLISH]),
    ("POST /v1/event-queues/{queue}/events/batch", r#"{"events":[{"payload":{}}]}"#, &[PUBLISH_MANY]),
    ("POST /v1/event-queues/{queue}/dead-letters/discard", "{}", &[WHICH]),
    ("POST /v1/event-queues/{queue}/dead-letters/redrive", "{}", &[WHICH]),
    ("POST /v1/event-queues/{queue}/pause", "{}", &[REASON]),
    ("POST /v1/event-queues/{queue}/purge", r#"{"dryRun":true}"#, &[PURGE]),
    ("POST /v1/event-queues/{queue}/resume", "{}", &[]),
    ("POST /v1/events/{id}/heartbeat", r#"{"leaseToken":"t"}"#, &[TOKEN, BEAT]),
    ("POST /v1/events/{id}/ack", r#"{"leaseToken":"t"}"#, &[TOKEN, RESULT]),
    ("POST /v1/events/{id}/nack", r#"{"leaseToken":"t"}"#, &[TOKEN, NACK]),
    ("POST /v1/events/{id}/cancel", "{}", &[REASON, QUEUE]),
    ("POST /v1/events/{id}/redrive", "{}", &[QUEUE, REDRIVE, TARGET]),
    ("PATCH /v1/events/{id}", "{}", &[RESCHEDULE, QUEUE]),
    ("POST /v1/events/{id}/run-now", "{}", &[QUEUE]),
    ("POST /v1/keys", r#"{"name":"x","scopes":["read"]}"#, &[NEW_KEY]),
    ("PATCH /v1/keys/{id}", "{}", &[KEY]),
    ("POST /v1/keys/{id}/rotate", "{}", &[OVERLAP]),
    ("POST /v1/leases/heartbeat", ITEM, &[ITEMS, ITEM_BEAT]),
    ("POST /v1/leases/ack", ITEM, &[ITEMS, ITEM_RESULT]),
    ("POST /v1/leases/nack", ITEM, &[ITEMS, ITEM_NACK]),
    ("POST /v1/operations/{id}/cancel", "{}", &[]),
    ("POST /v1/streams/{name}/events", r#"{"payload":{}}"#, &[PUBLISH]),
    ("POST /v1/streams/{name}/events/batch", r#"{"events":[{"payload":{}}]}"#, &[PUBLISH_MANY]),
    ("POST /v1/streams/{name}/groups/{group}/reset", "{}", &[PLACE]),
    ("POST /v1/streams/{name}/trim", "{}", &[PLACE, LENGTH]),
];

/// Further fields of these calls, which need another one beside them.
pub(crate) const MORE: &[Body] = &[
    ("POST /v1/event-queues/{queue}/dead-letters/discard", r#"{"all":true}"#, &[DRY]),
    ("POST /v1/event-queues/{queue}/dead-letters/redrive", r#"{"all":true}"#, &[DRY, REDRIVE, TARGET]),
];

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Asked {
    Limit,
    Flag,
    Cursor,
    Place,
    Time,
    Word(&'static str),
    /// A part of an error.
    Error,
    /// A queue's id.
    QueueId,
    /// Any text, once.
    Text,
    /// The header that makes a call repeatable.
    Repetition,
    /// A number of this range.
    Number(u32, u32),
    /// A part of a payload's text.
    Part,
    /// Nothing that is wrong can be said of it, or what can stands in rows of its own.
    Elsewhere,
}

const PAGE: &[(&str, Asked)] = &[("cursor", Asked::Cursor), ("limit", Asked::Limit)];
const PREFIX: &[(&str, Asked)] = &[("namePrefix", Asked::Text)];
const PAYLOAD: &[(&str, Asked)] = &[("includePayload", Asked::Flag)];
const FORCE: &[(&str, Asked)] = &[("force", Asked::Flag)];
const IN_QUEUE: &[(&str, Asked)] = &[("queue", Asked::Text)];
const ONCE: &[(&str, Asked)] = &[("Idempotency-Key", Asked::Repetition)];
const LETTERS: &[(&str, Asked)] = &[
    ("reason", Asked::Word("fatal")),
    ("error", Asked::Error),
    ("diedAfter", Asked::Time),
    ("diedBefore", Asked::Time),
    ("groupBy", Asked::Word("error")),
];
const EVENTS: &[(&str, Asked)] = &[
    ("state", Asked::Word("ready")),
    ("createdAfter", Asked::Time),
    ("createdBefore", Asked::Time),
    ("error", Asked::Error),
    ("payload.PATH", Asked::Elsewhere),
    ("q", Asked::Part),
    ("includeTotal", Asked::Flag),
];
const STATS: &[(&str, Asked)] =
    &[("from", Asked::Time), ("to", Asked::Time), ("stepSeconds", Asked::Number(10, 86_400))];
const TAIL: &[(&str, Asked)] = &[("states", Asked::Word("ready")), ("sample", Asked::Number(1, 1_000))];
/// A trace that is none is passed over.
const TRACE: &[(&str, Asked)] = &[("traceparent", Asked::Elsewhere), ("tracestate", Asked::Elsewhere)];
const SPAN: &[(&str, Asked)] = &[("start", Asked::Place), ("end", Asked::Place), ("reverse", Asked::Flag)];
const PENDING: &[(&str, Asked)] = &[
    ("start", Asked::Place),
    ("end", Asked::Place),
    ("consumer", Asked::Text),
    ("minIdleSeconds", Asked::Number(0, 315_360_000)),
];

/// A route and its parameters, in groups.
pub(crate) type Parameters = (&'static str, &'static [&'static [(&'static str, Asked)]]);

pub(crate) const PARAMETERS: &[Parameters] = &[
    ("GET /v1/audit-log", &[PAGE]),
    ("GET /v1/dead-letters", &[&[("queueId", Asked::QueueId)], PAGE, PAYLOAD]),
    ("GET /v1/event-queues", &[PAGE, PREFIX]),
    ("POST /v1/event-queues", &[ONCE]),
    ("DELETE /v1/event-queues/{queue}", &[FORCE]),
    ("POST /v1/event-queues/{queue}/claim", &[ONCE]),
    ("POST /v1/event-queues/{queue}/claim-batch", &[ONCE]),
    ("GET /v1/event-queues/{queue}/dead-letters", &[LETTERS, PAGE, PAYLOAD]),
    ("POST /v1/event-queues/{queue}/dead-letters/discard", &[ONCE]),
    ("POST /v1/event-queues/{queue}/dead-letters/redrive", &[ONCE]),
    ("POST /v1/event-queues/{queue}/events", &[ONCE, TRACE]),
    ("POST /v1/event-queues/{queue}/events/batch", &[ONCE, TRACE]),
    ("GET /v1/event-queues/{queue}/events", &[EVENTS, PAGE, PAYLOAD]),
    ("GET /v1/event-queues/{queue}/stats", &[STATS]),
    ("GET /v1/event-queues/{queue}/tail", &[TAIL]),
    ("POST /v1/event-queues/{queue}/purge", &[ONCE]),
    ("GET /v1/events/{id}", &[PAYLOAD]),
    ("PATCH /v1/events/{id}", &[IN_QUEUE]),
    ("POST /v1/events/{id}/run-now", &[IN_QUEUE]),
    ("POST /v1/events/{id}/cancel", &[IN_QUEUE]),
    ("POST /v1/events/{id}/redrive", &[IN_QUEUE, ONCE]),
    ("GET /v1/events/{id}/timeline", &[IN_QUEUE, &[("cursor", Asked::Cursor)]]),
    ("GET /v1/keys", &[PAGE]),
    ("GET /v1/operations", &[PAGE]),
    ("GET /v1/streams", &[PAGE, PREFIX]),
    ("DELETE /v1/streams/{name}", &[FORCE]),
    ("GET /v1/streams/{name}/entries", &[SPAN, PAGE, PAYLOAD]),
    ("POST /v1/streams/{name}/events", &[ONCE, TRACE]),
    ("POST /v1/streams/{name}/events/batch", &[ONCE, TRACE]),
    ("DELETE /v1/streams/{name}/groups/{group}", &[FORCE]),
    ("GET /v1/streams/{name}/groups/{group}/pending", &[PENDING, PAGE]),
    ("POST /v1/streams/{name}/groups/{group}/reset", &[ONCE]),
];
