//! Heartbeats, acks and nacks of many leases in one call.
//!
//! Lives here: the request and the reply, whatever is said of each lease. Not here: what is said of
//! one (`settle.rs`).

use serde::{Deserialize, Serialize};

use crate::envelope::ErrorData;
use crate::field::{BadRequest, Faults, Rule};
use crate::limits::BATCH_ITEMS_MAX;
use crate::object::{Object, decode};
use crate::settle::{AckRequest, HeartbeatRequest, NackRequest};
use crate::value;

/// What can be said of each lease of a batch.
pub trait LeaseWord: Sized {
    /// Reads it from an item, beside the event's id.
    fn read(item: &mut Object<'_>) -> Option<Self>;
}

macro_rules! words {
    ($($word:ty),+) => {
        $(impl LeaseWord for $word {
            fn read(item: &mut Object<'_>) -> Option<Self> {
                <$word>::read(item)
            }
        })+
    };
}

words!(HeartbeatRequest, AckRequest, NackRequest);

/// One lease of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseItem<W> {
    /// The event's id. One that does not parse names nothing, and its item answers 40402.
    pub event_id: String,
    /// What is said of its lease.
    #[serde(flatten)]
    pub word: W,
}

/// What is said of several leases, each taken or refused by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseBatchRequest<W> {
    /// 1 to 500 leases.
    pub items: Vec<LeaseItem<W>>,
}

impl<W: LeaseWord> LeaseBatchRequest<W> {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let items = object.objects("items", BATCH_ITEMS_MAX, |item| {
                let event_id = item.required("eventId", Rule::new("an event's id"), value::string);
                let word = W::read(item);
                Some(LeaseItem { event_id: event_id?, word: word? })
            });
            Some(Self { items: items? })
        })
    }
}

/// What became of one lease of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseItemReply<R> {
    /// Its place in the request, from 0.
    pub index: u32,
    /// The event's id, as it was given.
    pub event_id: String,
    /// 0 for success, else an error's code.
    pub code: u32,
    /// `ok`, or what went wrong.
    pub message: String,
    /// The single call's data.
    pub data: LeaseItemData<R>,
}

/// What stands under `data` of a batch item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LeaseItemData<R> {
    /// It was taken.
    Taken(R),
    /// It was refused.
    Refused(ErrorData),
}

/// The answer to a batch: all taken (code 0), or some refused (code 20700).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseBatchReply<R> {
    /// `partial_failure` where some were refused; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many were refused; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// An answer for each, in order.
    pub items: Vec<LeaseItemReply<R>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faulty_paths<W: LeaseWord + std::fmt::Debug>(body: &str) -> Vec<String> {
        match LeaseBatchRequest::<W>::decode(body.as_bytes(), Faults::default()) {
            Err(BadRequest::Invalid(fields)) => fields.into_iter().map(|fault| fault.path).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_batch_names_its_items() {
        let acks = r#"{"items":[{"eventId":"e","leaseToken":"t"},{"eventId":1}]}"#;
        assert_eq!(faulty_paths::<AckRequest>(acks), ["items[1].eventId", "items[1].leaseToken"]);
        let beats = r#"{"items":[{"eventId":"e","leaseToken":"t","leaseSeconds":0}]}"#;
        assert_eq!(faulty_paths::<HeartbeatRequest>(beats), ["items[0].leaseSeconds"]);
        let nacks = r#"{"items":[{"leaseToken":"t","mode":"fatal","retryDelaySeconds":1}]}"#;
        assert_eq!(faulty_paths::<NackRequest>(nacks), ["items[0].eventId", "items[0].retryDelaySeconds"]);
    }

    #[test]
    fn an_item_is_sent_as_it_is_read() {
        let text = r#"{"items":[{"eventId":"e","leaseToken":"t","leaseSeconds":9}]}"#;
        let read = LeaseBatchRequest::<HeartbeatRequest>::decode(text.as_bytes(), Faults::default());
        assert_eq!(serde_json::to_string(&read.unwrap()).unwrap(), text);
    }
}
