//! Publishing: one event, or up to 500 of which all or none are taken; to one queue, or to a stream with
//! all its queues.
//!
//! Lives here: the calls. Not here: the event as it comes back (`event.rs`).

use naven_api::IdempotencyKey;
use naven_api::envelope::Items;
use naven_api::publish::PublishRequest;
use serde::Serialize;

use crate::client::{Call, Client};
use crate::error::Error;
use crate::event::Event;
use crate::once::Once;

#[derive(Serialize)]
struct BatchBody<'a> {
    events: &'a [PublishRequest],
}

impl Client {
    /// Publishes one event to `queue` (its name or id), and to no other queue of its stream. Answered only
    /// once the event is durable.
    ///
    /// Cancel safety: dropped, the event may or may not have been published, and a publish that is
    /// repeated may make two events. [`Client::once`] makes the repetition harmless; so does a
    /// `dedupe_key` within the stream's window.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_field`, `too_large`, `disk_full` and what every call may meet.
    pub async fn publish(&self, queue: &str, event: &PublishRequest) -> Result<Event, Error> {
        self.publish_to(&["event-queues", queue, "events"], event, None).await
    }

    /// Publishes 1 to 500 events to `queue`: all of them or none, answered in order.
    ///
    /// Cancel safety: as for [`publish`](Self::publish), for the whole batch.
    ///
    /// # Errors
    /// As for [`publish`](Self::publish); fields are named `events[3].payload`.
    pub async fn publish_batch(&self, queue: &str, events: &[PublishRequest]) -> Result<Vec<Event>, Error> {
        self.publish_all_to(&["event-queues", queue, "events", "batch"], events, None).await
    }

    /// Publishes one event to every queue of `stream`. Where there are several, the answer does not say how
    /// they stand: [`event`](Self::event) does.
    ///
    /// Cancel safety: as for [`publish`](Self::publish).
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `invalid_field`, `too_large`, `disk_full` and what every call may meet.
    pub async fn publish_to_stream(&self, stream: &str, event: &PublishRequest) -> Result<Event, Error> {
        self.publish_to(&["streams", stream, "events"], event, None).await
    }

    /// Publishes 1 to 500 events to every queue of `stream`: all of them or none, answered in order.
    ///
    /// Cancel safety: as for [`publish`](Self::publish), for the whole batch.
    ///
    /// # Errors
    /// As for [`publish_to_stream`](Self::publish_to_stream); fields are named `events[3].payload`.
    pub async fn publish_batch_to_stream(
        &self,
        stream: &str,
        events: &[PublishRequest],
    ) -> Result<Vec<Event>, Error> {
        self.publish_all_to(&["streams", stream, "events", "batch"], events, None).await
    }

    async fn publish_to(
        &self,
        path: &[&str],
        event: &PublishRequest,
        once: Option<&IdempotencyKey>,
    ) -> Result<Event, Error> {
        self.send(Call { once, ..Call::post(path, event) }).await
    }

    async fn publish_all_to(
        &self,
        path: &[&str],
        events: &[PublishRequest],
        once: Option<&IdempotencyKey>,
    ) -> Result<Vec<Event>, Error> {
        let reply: Items<Event> = self.send(Call { once, ..Call::post(path, BatchBody { events }) }).await?;
        Ok(reply.items)
    }
}

impl Once<'_> {
    /// As [`Client::publish`]; repeated, it answers the first event again.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn publish(&self, queue: &str, event: &PublishRequest) -> Result<Event, Error> {
        self.client.publish_to(&["event-queues", queue, "events"], event, Some(self.key)).await
    }

    /// As [`Client::publish_batch`]; repeated, it answers the first events again.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn publish_batch(&self, queue: &str, events: &[PublishRequest]) -> Result<Vec<Event>, Error> {
        let path = ["event-queues", queue, "events", "batch"];
        self.client.publish_all_to(&path, events, Some(self.key)).await
    }

    /// As [`Client::publish_to_stream`]; repeated, it answers the first event again.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn publish_to_stream(&self, stream: &str, event: &PublishRequest) -> Result<Event, Error> {
        self.client.publish_to(&["streams", stream, "events"], event, Some(self.key)).await
    }

    /// As [`Client::publish_batch_to_stream`]; repeated, it answers the first events again.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn publish_batch_to_stream(
        &self,
        stream: &str,
        events: &[PublishRequest],
    ) -> Result<Vec<Event>, Error> {
        let path = ["streams", stream, "events", "batch"];
        self.client.publish_all_to(&path, events, Some(self.key)).await
    }
}
