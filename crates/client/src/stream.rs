//! Streams: looking at them, at their entries and queues, putting a queue at another place, removing.
//!
//! Lives here: the calls. Not here: publishing (`publish.rs`), making a queue on a stream (`queue.rs`).

use naven_api::envelope::List;
use naven_api::queue::{QueueDeletedReply, QueueReply};
use naven_api::stream::{GroupReply, ResetRequest, StreamDeletedReply, StreamReply, TrimReply, TrimRequest};
use naven_api::{EntryId, EventId, Headers, IdempotencyKey, Payload, Timestamp};
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::client::{Call, Client};
use crate::error::Error;
use crate::once::Once;
use crate::queue::Unfinished;

/// One entry of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// Its place in the stream.
    pub stream_id: EntryId,
    /// The event.
    pub event_id: EventId,
    /// Its content, where it was asked for and is still kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Names and texts that travel with it.
    pub headers: Headers,
    /// When it was published.
    pub created_at: Timestamp,
}

/// Which entries of a stream are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// The first place: an entry's id or an RFC 3339 time.
    pub start: Option<String>,
    /// The last place: an entry's id or an RFC 3339 time.
    pub end: Option<String>,
    /// True where the last one comes first.
    pub reverse: bool,
    /// Most entries of one page: 1 to 500, 50 where it is none.
    pub limit: Option<u32>,
    /// Where the page before ended: its `next_cursor`.
    pub cursor: Option<String>,
}

impl Client {
    /// Streams whose names begin with `name_prefix`, newest first, 50 a page: hand the last page's
    /// `next_cursor` in for the next one.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `invalid_cursor` and what every call may meet.
    pub async fn streams(&self, name_prefix: &str, cursor: Option<&str>) -> Result<List<StreamReply>, Error> {
        let mut query = vec![("namePrefix", name_prefix.to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        self.send(Call::get(&["streams"], &query)).await
    }

    /// One stream.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `stream_or_group_not_found` and what every call may meet.
    pub async fn stream(&self, stream: &str) -> Result<StreamReply, Error> {
        self.send(Call::get(&["streams", stream], &[])).await
    }

    /// Entries of a stream with their payloads, in the order of their places.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `invalid_field`, `invalid_cursor` and what every call may meet.
    pub async fn entries(&self, stream: &str, entries: &Entries) -> Result<List<Entry>, Error> {
        let Entries { start, end, reverse, limit, cursor } = entries;
        let mut query = vec![("reverse", reverse.to_string())];
        query.extend(start.clone().map(|start| ("start", start)));
        query.extend(end.clone().map(|end| ("end", end)));
        query.extend(limit.map(|limit| ("limit", limit.to_string())));
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        self.send(Call::get(&["streams", stream, "entries"], &query)).await
    }

    /// The queues of a stream, oldest first.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `stream_or_group_not_found` and what every call may meet.
    pub async fn groups(&self, stream: &str) -> Result<Vec<GroupReply>, Error> {
        let list: List<GroupReply> = self.send(Call::get(&["streams", stream, "groups"], &[])).await?;
        Ok(list.items)
    }

    /// Puts the queue `group` (its name or id) of `stream` at another place. What lies behind that place
    /// begins a new round, whatever became of it; old tokens are lost.
    ///
    /// Cancel safety: dropped, it may or may not have been done; repeated, it loses the leases that were
    /// taken meanwhile. [`Client::once`] makes the repetition harmless.
    ///
    /// # Errors
    /// `stream_or_group_not_found` and what every call may meet.
    pub async fn reset_group(
        &self,
        stream: &str,
        group: &str,
        place: &ResetRequest,
    ) -> Result<QueueReply, Error> {
        self.reset_under(stream, group, place, None).await
    }

    async fn reset_under(
        &self,
        stream: &str,
        group: &str,
        place: &ResetRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<QueueReply, Error> {
        let path = ["streams", stream, "groups", group, "reset"];
        self.send(Call { once, ..Call::post(&path, place) }).await
    }

    /// Drops a stream's oldest entries. What a queue still needs of them stays for that queue alone. A long
    /// trim is done in steps; the call may take as long as [`with_call_timeout`](Self::with_call_timeout)
    /// allows.
    ///
    /// Cancel safety: dropped, it stops somewhere; repeated, it goes on.
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `invalid_field` and what every call may meet.
    pub async fn trim_stream(&self, stream: &str, keep: &TrimRequest) -> Result<TrimReply, Error> {
        self.send(Call::post(&["streams", stream, "trim"], keep)).await
    }

    /// Removes the queue `group` (its name or id) of `stream`.
    ///
    /// Cancel safety: as for [`delete_queue`](Self::delete_queue).
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `queue_not_empty` and what every call may meet.
    pub async fn delete_group(
        &self,
        stream: &str,
        group: &str,
        unfinished: Unfinished,
    ) -> Result<QueueDeletedReply, Error> {
        let query = [unfinished.parameter()];
        let path = ["streams", stream, "groups", group];
        self.send(Call { method: Method::DELETE, ..Call::get(&path, &query) }).await
    }

    /// Removes a stream and its queues.
    ///
    /// Cancel safety: dropped, it may or may not have been removed. Repeated, it answers
    /// `stream_or_group_not_found` where it had been.
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `queue_not_empty` and what every call may meet.
    pub async fn delete_stream(
        &self,
        stream: &str,
        unfinished: Unfinished,
    ) -> Result<StreamDeletedReply, Error> {
        let query = [unfinished.parameter()];
        let path = ["streams", stream];
        self.send(Call { method: Method::DELETE, ..Call::get(&path, &query) }).await
    }
}

impl Once<'_> {
    /// As [`Client::reset_group`]; repeated, it changes nothing.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn reset_group(
        &self,
        stream: &str,
        group: &str,
        place: &ResetRequest,
    ) -> Result<QueueReply, Error> {
        self.client.reset_under(stream, group, place, Some(self.key)).await
    }
}
