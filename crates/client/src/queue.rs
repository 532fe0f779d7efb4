//! Queues: making one, looking at one, removing one.
//!
//! Lives here: the calls. Not here: a queue's events.

use naven_api::queue::{QueueCreateRequest, QueueDeletedReply, QueueReply};
use reqwest::Method;

use crate::client::{Call, Client};
use crate::error::Error;

/// What to do with a queue that still holds events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Leave the queue as it is.
    Refuse,
    /// Make its ready and pending events dead letters of the closed queue.
    Bury,
}

impl Client {
    /// Makes a queue.
    ///
    /// Cancel safety: dropped, the queue may or may not have been made. Repeated, it answers
    /// `name_taken` where it had been.
    ///
    /// # Errors
    /// `name_taken`, `invalid_field` and what every call may meet.
    pub async fn create_queue(&self, queue: &QueueCreateRequest) -> Result<QueueReply, Error> {
        self.send(Call::post(&["event-queues"], queue)).await
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
        let query = [("force", (unfinished == Unfinished::Bury).to_string())];
        let path = ["event-queues", queue];
        self.send(Call { method: Method::DELETE, ..Call::get(&path, &query) }).await
    }
}
