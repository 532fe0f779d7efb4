//! A stream as its operators see it.
//!
//! Lives here: pictures of a stream, its entries and its queues, and putting a queue at another place.
//! Not here: publishing (`publish.rs`), making a queue on a stream (`queue`).

use serde::{Deserialize, Serialize};

use crate::field::{BadRequest, Faults, Rule};
use crate::headers::Headers;
use crate::id::{EventId, QueueId};
use crate::limits::TRIM_LENGTH_MAX;
use crate::object::decode;
use crate::payload::Payload;
use crate::place::EntryId;
use crate::queue::StateCounts;
use crate::time::Timestamp;
use crate::value;

/// A stream: an ordered log of events, read by any number of queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StreamReply {
    /// Its name.
    pub name: String,
    /// When entries leave: `consumed` (once every queue has settled them) or `trim` (when they are
    /// trimmed). More may come.
    pub retention: String,
    /// How long a dedupe key is remembered.
    pub dedupe_window_seconds: u32,
    /// Entries that are there.
    pub length: u64,
    /// The id of the first of them.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub first_id: Option<EntryId>,
    /// The last id that was ever given; null where none was.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_id: Option<EntryId>,
    /// Entries that were ever added.
    pub entries_added: u64,
    /// Events that are not due yet, and so have no place yet.
    pub scheduled: u64,
    /// How many queues read it.
    pub queues: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One entry of a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryReply {
    /// Its place in the stream.
    pub stream_id: EntryId,
    /// The event.
    pub event_id: EventId,
    /// The JSON object, byte for byte; null where it is not kept any more; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Payload>))]
    pub payload: Option<Option<Payload>>,
    /// Names and texts that travel with it.
    pub headers: Headers,
    /// When it was published.
    pub created_at: Timestamp,
}

/// A queue as its stream's readers know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupReply {
    /// The queue's id.
    pub queue_id: QueueId,
    /// The queue's name.
    pub name: String,
    /// True while no event is handed out.
    pub paused: bool,
    /// The id of the last entry that it has taken in; null where it has taken none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_delivered_id: Option<EntryId>,
    /// Entries that it has not taken in yet.
    pub lag: u64,
    /// Deliveries that somebody has, or that wait for a retry.
    pub pending: u64,
    /// How long ago the longest-held of them was handed out first; null where there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub oldest_pending_age_seconds: Option<u64>,
    /// Entries that were trimmed away before it had read them.
    pub trimmed_unread: u64,
    /// Deliveries by state.
    pub counts: StateCounts,
}

/// What the deletion of a stream answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StreamDeletedReply {
    /// The stream that is gone, and its queues with it.
    pub name: String,
    /// Always true.
    pub deleted: bool,
}

/// What the deletion of a Redis consumer answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsumerDeletedReply {
    /// How many events it held: they are dead letters now.
    pub dead_letters: u64,
}

/// Puts a queue at another place of its stream. Exactly one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResetRequest {
    /// It goes on behind this entry, which need not be there any more; `0-0` is before all.
    Id(EntryId),
    /// It goes on at the first entry whose place is at or after this instant.
    Time(Timestamp),
}

impl ResetRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let (has_id, has_time) = (object.has("id"), object.has("time"));
            let id =
                object.optional("id", Rule::new(EntryId::RULE), |text| value::string(text)?.parse().ok());
            let time = object.optional("time", Rule::new(Timestamp::RULE), |text| {
                Timestamp::parse(&value::string(text)?).ok()
            });
            if has_id && has_time {
                object.refuse("time", &Rule::new("not together with id"));
            } else if !has_id && !has_time {
                object.refuse("id", &Rule::new("required: id or time"));
            }
            id.map(Self::Id).or(time.map(Self::Time))
        })
    }
}

/// Drops a stream's oldest entries. Exactly one of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TrimRequest {
    /// So many of the newest entries stay: 0 to 1,000,000,000.
    MaxLength(u32),
    /// This entry, which need not be there, and what comes behind it stay.
    Id(EntryId),
    /// What has its place at or after this instant stays.
    Time(Timestamp),
}

/// What a trim answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrimReply {
    /// The stream.
    pub name: String,
    /// Entries that were dropped from it. What a queue still needs of them stays for that queue alone.
    pub trimmed: u64,
}

impl TrimRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let named = ["maxLength", "id", "time"].into_iter().filter(|name| object.has(name));
            let named: Vec<&str> = named.collect();
            match named[..] {
                [] => object.refuse("maxLength", &Rule::new("required: maxLength, id or time")),
                [_] => {}
                [first, ref more @ ..] => {
                    let rule =
                        if first == "id" { "not together with id" } else { "not together with maxLength" };
                    more.iter().for_each(|name| object.refuse(name, &Rule::new(rule)));
                }
            }
            let length = object.optional("maxLength", value::integer_rule(0, TRIM_LENGTH_MAX), |text| {
                value::integer(text, 0, TRIM_LENGTH_MAX)
            });
            let id =
                object.optional("id", Rule::new(EntryId::RULE), |text| value::string(text)?.parse().ok());
            let time = object.optional("time", Rule::new(Timestamp::RULE), |text| {
                Timestamp::parse(&value::string(text)?).ok()
            });
            length.map(Self::MaxLength).or(id.map(Self::Id)).or(time.map(Self::Time))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_names_exactly_one_place() {
        let reset = |body: &str| ResetRequest::decode(body.as_bytes(), Faults::default());
        let id = ResetRequest::Id(EntryId { ms: 5, seq: 1 });
        assert_eq!(reset(r#"{"id":"5-1"}"#), Ok(id));
        let time = ResetRequest::Time(Timestamp::from_ms(0));
        assert_eq!(reset(r#"{"time":"1970-01-01T00:00:00Z"}"#), Ok(time));
        assert_eq!(serde_json::to_string(&id).unwrap(), r#"{"id":"5-1"}"#);
        for bad in [r"{}", r#"{"id":"5-1","time":"1970-01-01T00:00:00Z"}"#, r#"{"id":"5"}"#, r#"{"id":5}"#] {
            let Err(BadRequest::Invalid(faults)) = reset(bad) else { panic!("{bad}") };
            assert_eq!(faults.len(), 1, "{bad}");
        }
        assert!(matches!(reset(r#"{"id":"5-1","queue":"q"}"#), Err(BadRequest::Unknown(_))));
    }

    #[test]
    fn a_trim_says_what_stays_in_one_way() {
        let trim = |body: &str| TrimRequest::decode(body.as_bytes(), Faults::default());
        assert_eq!(trim(r#"{"maxLength":0}"#), Ok(TrimRequest::MaxLength(0)));
        assert_eq!(trim(r#"{"id":"5-1"}"#), Ok(TrimRequest::Id(EntryId { ms: 5, seq: 1 })));
        let time = TrimRequest::Time(Timestamp::from_ms(0));
        assert_eq!(trim(r#"{"time":"1970-01-01T00:00:00Z"}"#), Ok(time));
        assert_eq!(serde_json::to_string(&TrimRequest::MaxLength(7)).unwrap(), r#"{"maxLength":7}"#);
        for bad in
            [r"{}", r#"{"maxLength":1,"id":"5-1"}"#, r#"{"maxLength":-1}"#, r#"{"maxLength":1000000001}"#]
        {
            let Err(BadRequest::Invalid(faults)) = trim(bad) else { panic!("{bad}") };
            assert_eq!(faults.len(), 1, "{bad}");
        }
    }
}
