//! Queues: making one, looking at one, removing one.
//!
//! Lives here: the calls. Not here: a queue's events.

use naven_api::IdempotencyKey;
use naven_api::queue::{QueueCreateRequest, QueueDeletedReply, QueueReply};
use reqwest::Method;

use crate::client::{Call, Client};
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
        let query = [unfinished.parameter()];
        let path = ["event-queues", queue];
        self.send(Call { method: Method::DELETE, ..Call::get(&path, &query) }).await
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
