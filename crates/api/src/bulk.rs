//! Many dead letters at once, and operations.
//!
//! Lives here: redriving and discarding many, and the operations that do it. Not here: their lists
//! (`dead.rs`), and redriving one (`event.rs`).

use serde::{Deserialize, Serialize};

use crate::envelope::ErrorData;
use crate::event::target_queue;
use crate::field::{BadRequest, Faults, Rule};
use crate::id::{OperationId, QueueId};
use crate::limits::{BATCH_ITEMS_MAX, ERROR_FILTER_BYTES_MAX};
use crate::object::{Object, decode};
use crate::time::Timestamp;
use crate::value;

/// Why dead letters died: what a filter's `reason` takes.
pub const REASONS: [&str; 9] = [
    "attempts_used_up",
    "expired_attempts",
    "fatal",
    "event_expired",
    "queue_deleted",
    "consumer_deleted",
    "group_destroyed",
    "stream_deleted",
    "damaged",
];

/// Which dead letters are meant: exactly one of the three.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Which {
    /// These events, 1 to 500.
    Ids(Vec<String>),
    /// All that it lets in.
    Filter(DeadFilterRequest),
    /// All; never false.
    All(bool),
}

/// A filter of dead letters: at least one of its fields. All that are given have to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadFilterRequest {
    /// They died for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Their fingerprint is this, or their last error contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// They died at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_after: Option<Timestamp>,
    /// They died before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_before: Option<Timestamp>,
}

/// Begins a new round of many dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadRedriveRequest {
    /// Which.
    #[serde(flatten)]
    pub which: Which,
    /// True (when absent too) where the attempts start again at none.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub reset_attempts: bool,
    /// The queue, by name or id, to which their contents go as new events, while the dead letters end. Their
    /// attempts begin at none. Absent: a new round where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_queue: Option<String>,
    /// True where nothing is to be done but to say how many are meant.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dry_run: bool,
}

/// Forgets many dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadDiscardRequest {
    /// Which.
    #[serde(flatten)]
    pub which: Which,
    /// True where nothing is to be done but to say how many are meant.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dry_run: bool,
}

impl DeadRedriveRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let which = which(object);
            let reset = object.optional("resetAttempts", Rule::new("true or false"), value::boolean);
            let target_queue = target_queue(object, reset);
            let dry_run = dry_run(object);
            Some(Self { which: which?, reset_attempts: reset.unwrap_or(true), target_queue, dry_run })
        })
    }
}

impl DeadDiscardRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let which = which(object);
            let dry_run = dry_run(object);
            Some(Self { which: which?, dry_run })
        })
    }
}

fn dry_run(object: &mut Object<'_>) -> bool {
    object.optional("dryRun", Rule::new("true or false"), value::boolean).unwrap_or(false)
}

fn which(object: &mut Object<'_>) -> Option<Which> {
    let given = ["ids", "filter", "all"].map(|name| object.has(name));
    let ids_rule = Rule::bounded("a list of 1 to 500 event ids", 1, BATCH_ITEMS_MAX as u64);
    let ids = object.optional("ids", ids_rule, |text| {
        let ids: Vec<String> = serde_json::from_str(text).ok()?;
        (1..=BATCH_ITEMS_MAX).contains(&ids.len()).then_some(ids)
    });
    let filter = object.object("filter", false).and_then(|mut inner| {
        let filter = filter(&mut inner);
        inner.end();
        filter
    });
    let all = object.optional("all", Rule::new("true"), |text| (text == "true").then_some(true));
    if given.iter().filter(|given| **given).count() != 1 {
        object.refuse("ids", &Rule::new("exactly one of ids, filter and all"));
        return None;
    }
    ids.map(Which::Ids).or(filter.map(Which::Filter)).or(all.map(Which::All))
}

fn filter(object: &mut Object<'_>) -> Option<DeadFilterRequest> {
    let is_empty = !["reason", "error", "diedAfter", "diedBefore"].iter().any(|name| object.has(name));
    let reason = object.optional("reason", reason_rule(), |text| {
        value::string(text).filter(|reason| REASONS.contains(&reason.as_str()))
    });
    let error = object.optional("error", error_filter_rule(), |text| error_filter(value::string(text)?));
    let time = |text: &str| Timestamp::parse(&value::string(text)?).ok();
    let died_after = object.optional("diedAfter", Rule::new(Timestamp::RULE), time);
    let died_before = object.optional("diedBefore", Rule::new(Timestamp::RULE), time);
    if is_empty {
        object.refuse("reason", &Rule::new("at least one of reason, error, diedAfter and diedBefore"));
        return None;
    }
    Some(DeadFilterRequest { reason, error, died_after, died_before })
}

/// What a filter's reason may be.
pub fn reason_rule() -> Rule {
    Rule::new(format!("one of {}", REASONS.join(", ")))
}

/// What a filter's error may be.
pub fn error_filter_rule() -> Rule {
    let text = "a fingerprint, or a part of the error: 1 to 1024 bytes";
    Rule::bounded(text, 1, ERROR_FILTER_BYTES_MAX as u64)
}

/// The text, where errors may be filtered by it.
pub fn error_filter(text: String) -> Option<String> {
    (1..=ERROR_FILTER_BYTES_MAX).contains(&text.len()).then_some(text)
}

/// The answer to a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatchedReply {
    /// How many are meant.
    pub matched: u64,
    /// True where only the 20,000 newest were looked at, and there are more.
    pub scan_truncated: bool,
}

/// One of the events that were named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkItem {
    /// Its place in the request, from 0.
    pub index: u32,
    /// The event's id, as it was given.
    pub event_id: String,
    /// 0 for success, else an error's code.
    pub code: u32,
    /// `ok`, or what went wrong.
    pub message: String,
    /// What an error says more; null for success.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub data: Option<ErrorData>,
}

/// The answer where events were named: to all it was done (code 0), or to some not (code 20700).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkReply {
    /// `partial_failure` where some were refused; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many were refused; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// An answer for each, in order.
    pub items: Vec<BulkItem>,
}

/// Work on many events that goes on in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationReply {
    /// Its id.
    pub id: OperationId,
    /// `redrive`, `discard` or `purge`. More may come.
    pub kind: String,
    /// The queue's name.
    pub queue: String,
    /// The queue's id.
    pub queue_id: QueueId,
    /// `pending`, `running`, `done`, `cancelled` or `failed`.
    pub state: String,
    /// How many events it means; null while that is not known.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub matched: Option<u64>,
    /// To how many it was done.
    pub done: u64,
    /// To how many it could not be done.
    pub failed: u64,
    /// Why it could not go on; null where it could.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last came on.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str) -> u32 {
        let redrive = DeadRedriveRequest::decode(body.as_bytes(), Faults::default());
        redrive.map_or_else(|bad| bad.code().code(), |_| 0)
    }

    #[test]
    fn exactly_one_way_to_say_which_is_taken() {
        for body in [
            r#"{"ids":["a"]}"#,
            r#"{"all":true,"dryRun":true,"resetAttempts":false}"#,
            r#"{"filter":{"reason":"fatal","error":"x","diedAfter":"2026-11-29T00:00:00Z"}}"#,
        ] {
            assert_eq!(code(body), 0, "{body}");
        }
        let many = format!("{{\"ids\":[{}]}}", vec!["\"a\""; BATCH_ITEMS_MAX + 1].join(","));
        let long = format!("{{\"filter\":{{\"error\":\"{}\"}}}}", "x".repeat(ERROR_FILTER_BYTES_MAX + 1));
        for body in [
            "{}",
            r#"{"ids":[]}"#,
            r#"{"ids":[1]}"#,
            r#"{"ids":null}"#,
            r#"{"all":false}"#,
            r#"{"all":true,"ids":["a"]}"#,
            r#"{"filter":{}}"#,
            r#"{"filter":7}"#,
            r#"{"filter":{"reason":"bad luck"}}"#,
            r#"{"filter":{"error":""}}"#,
            r#"{"filter":{"diedBefore":"yesterday"}}"#,
            r#"{"all":true,"dryRun":1}"#,
            &many,
            &long,
        ] {
            assert_eq!(code(body), 40_001, "{body}");
        }
        assert_eq!(code(r#"{"all":true,"targetQueue":"x"}"#), 0);
        assert_eq!(code(r#"{"all":true,"targetQueue":7}"#), 40_001);
        assert_eq!(code(r#"{"all":true,"targetQueue":"x","resetAttempts":false}"#), 40_001);
        assert_eq!(code(r#"{"all":true,"ratePerSecond":5}"#), 40_002);
        assert_eq!(code(r#"{"filter":{"reason":"fatal","queue":"x"}}"#), 40_002);
        let discard = |body: &str| DeadDiscardRequest::decode(body.as_bytes(), Faults::default());
        assert!(discard(r#"{"all":true}"#).is_ok());
        assert!(discard(r#"{"all":true,"resetAttempts":true}"#).is_err());
    }
}
