//! Queues: making, looking at, changing, pausing and removing them.
//!
//! Lives here: the calls. Not here: a queue's events.

use naven_api::IdempotencyKey;
use naven_api::envelope::List;
use naven_api::queue::{PauseRequest, QueueCreateRequest, QueueDeletedReply, QueuePatchRequest, QueueReply};
use reqwest::Method;

use crate::client::{Call, Client, Tagged};
use crate::error::Error;
use crate::once::Once;

/// What to do with a queue that still holds events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Leave the queue as it is.
    Refuse,
    /// Make its ready and pending events dead letters of the closed queue.
    Bury,
}

impl Unfinished {
    /// The parameter that says so.
    pub(crate) fn parameter(self) -> (&'static str, String) {
        ("force", (self == Self::Bury).to_string())
    }
}

impl Client {
    /// Makes a queue, on a stream of its own or on the one that is named.
    ///
    /// Cancel safety: dropped, the queue may or may not have been made. Repeated, it answers
    /// `name_taken` where it had been; [`Client::once`] then answers the queue.
    ///
    /// # Errors
    /// `name_taken`, `invalid_field` and what every call may meet.
    pub async fn create_queue(&self, queue: &QueueCreateRequest) -> Result<QueueReply, Error> {
        self.create_under(queue, None).await
    }

    async fn create_under(
        &self,
        queue: &QueueCreateRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<QueueReply, Error> {
        self.send(Call { once, ..Call::post(&["event-queues"], queue) }).await
    }

    /// One queue, by its name or id.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found` and what every call may meet.
    pub async fn queue(&self, queue: &str) -> Result<QueueReply, Error> {
        self.send(Call::get(&["event-queues", queue], &[])).await
    }

    /// As [`queue`](Self::queue), with the version of its settings.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// As there.
    pub async fn queue_tagged(&self, queue: &str) -> Result<Tagged<QueueReply>, Error> {
        self.send_tagged(Call::get(&["event-queues", queue], &[])).await
    }

    /// Queues whose names begin with `name_prefix`, newest first, 50 a page: hand the last page's
    /// `next_cursor` in for the next one.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `invalid_cursor` and what every call may meet.
    pub async fn queues(&self, name_prefix: &str, cursor: Option<&str>) -> Result<List<QueueReply>, Error> {
        let mut query = vec![("namePrefix", name_prefix.to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        self.send(Call::get(&["event-queues"], &query)).await
    }

    /// Changes a queue's settings, by its name or id: what `changes` does not name stays. With `if_match`,
    /// an [`etag`](Tagged::etag), only at that version.
    ///
    /// Cancel safety: dropped, it may or may not have been changed. Repeated, it changes nothing more; with
    /// `if_match` it answers `version_mismatch` where it had been done.
    ///
    /// # Errors
    /// `queue_not_found`, `version_mismatch`, `invalid_field` and what every call may meet.
    pub async fn patch_queue(
        &self,
        queue: &str,
        changes: &QueuePatchRequest,
        if_match: Option<&str>,
    ) -> Result<Tagged<QueueReply>, Error> {
        let path = ["event-queues", queue];
        self.send_tagged(Call { method: Method::PATCH, if_match, ..Call::post(&path, changes) }).await
    }

    /// Stops handing out a queue's events, by its name or id; publishing goes on. `reason` is for people.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers the same.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_field` and what every call may meet.
    pub async fn pause_queue(&self, queue: &str, reason: Option<&str>) -> Result<QueueReply, Error> {
        let body = PauseRequest { reason: reason.map(str::to_owned) };
        self.send(Call::post(&["event-queues", queue, "pause"], body)).await
    }

    /// Hands out a queue's events again, by its name or id.
    ///
    /// Cancel safety: dropped, it may or may not have been done. Repeated, it answers the same.
    ///
    /// # Errors
    /// `queue_not_found` and what every call may meet.
    pub async fn resume_queue(&self, queue: &str) -> Result<QueueReply, Error> {
        self.send(Call::post(&["event-queues", queue, "resume"], serde_json::json!({}))).await
    }

    /// Removes a queue, by its name or id.
    ///
    /// Cancel safety: dropped, it may or may not have been removed. Repeated, it answers
    /// `queue_not_found` where it had been.
    ///
    /// # Errors
    /// `queue_not_found`, `queue_not_empty` and what every call may meet.
    pub async fn delete_queue(
        &self,
        queue: &str,
        unfinished: Unfinished,
    ) -> Result<QueueDeletedReply, Error> {
        self.delete_queue_at(queue, unfinished, None).await
    }

    /// As [`delete_queue`](Self::delete_queue); with `if_match`, an [`etag`](Tagged::etag), only at that
    /// version of its settings.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there, and `version_mismatch`.
    pub async fn delete_queue_at(
        &self,
        queue: &str,
        unfinished: Unfinished,
        if_match: Option<&str>,
    ) -> Result<QueueDeletedReply, Error> {
        let query = [unfinished.parameter()];
        let path = ["event-queues", queue];
        self.send(Call { method: Method::DELETE, if_match, ..Call::get(&path, &query) }).await
    }
}

impl Once<'_> {
    /// As [`Client::create_queue`]; repeated, it answers the queue that it made first.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn create_queue(&self, queue: &QueueCreateRequest) -> Result<QueueReply, Error> {
        self.client.create_under(queue, Some(self.key)).await
    }
}
