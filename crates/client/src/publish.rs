//! Publishing: one event, or up to 500 of which all or none are taken.
//!
//! Lives here: the two calls. Not here: the event as it comes back (`event.rs`).

use naven_api::envelope::Items;
use naven_api::publish::PublishRequest;
use serde::Serialize;

use crate::client::{Call, Client};
use crate::error::Error;
use crate::event::Event;

#[derive(Serialize)]
struct BatchBody<'a> {
    events: &'a [PublishRequest],
}

impl Client {
    /// Publishes one event to `queue` (its name or id). Answered only once the event is durable.
    ///
    /// Cancel safety: dropped, the event may or may not have been published. There is no key against
    /// duplicates in this version: a publish that is repeated may make two events.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_field`, `too_large`, `disk_full` and what every call may meet.
    pub async fn publish(&self, queue: &str, event: &PublishRequest) -> Result<Event, Error> {
        self.send(Call::post(&["event-queues", queue, "events"], event)).await
    }

    /// Publishes 1 to 500 events to `queue`: all of them or none, answered in order.
    ///
    /// Cancel safety: as for [`publish`](Self::publish), for the whole batch.
    ///
    /// # Errors
    /// As for [`publish`](Self::publish); fields are named `events[3].payload`.
    pub async fn publish_batch(&self, queue: &str, events: &[PublishRequest]) -> Result<Vec<Event>, Error> {
        let path = ["event-queues", queue, "events", "batch"];
        let reply: Items<Event> = self.send(Call::post(&path, BatchBody { events })).await?;
        Ok(reply.items)
    }
}
