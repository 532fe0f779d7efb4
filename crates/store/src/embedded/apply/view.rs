//! How queues and events look from outside.
//!
//! Lives here: the views. Not here: finding pages of them (`read.rs`).

use naven_api::Timestamp;
use naven_core::{DeadReason, Delivery, State, View};

use super::context::{Context, event_id};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};
use crate::queue::StreamSettings;
use crate::read::{DeliveryView, EventView, QueueView};
use crate::reply::OpError;

impl<T: Tables> Context<'_, T> {
    pub(super) fn queue_view(&self, no: QueueNo, row: &QueueRow) -> QueueView {
        let progress = self.progress(no);
        let again = self.first(Table::Again, no.0).map(|(due, _)| due);
        let fresh = self
            .next_fresh(row.stream, progress.cursor)
            .and_then(|(_, arrival)| self.body(row.stream, arrival))
            .map(|event| event.due.as_ms());
        QueueView {
            id: row.id,
            name: row.name.clone(),
            stream: self.stream_name(row.stream),
            settings: row.settings.clone(),
            stream_settings: StreamSettings::default(),
            paused: row.paused.clone(),
            counts: progress.counts,
            oldest_ready: again.into_iter().chain(fresh).min().map(Timestamp::from_ms),
            now: self.now.wall,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    /// An event with the deliveries of all its queues.
    pub(super) fn event_view(
        &self,
        stream: StreamNo,
        arrival: Arrival,
        row: &BodyRow,
        payload: bool,
    ) -> Result<EventView, OpError> {
        let deliveries = self
            .members(stream)
            .into_iter()
            .filter_map(|no| Some(self.delivery_view(no, &self.queue(no)?, row)))
            .collect();
        Ok(EventView {
            id: event_id(row, stream, arrival),
            stream: self.stream_name(stream),
            place: self.place_of(stream, row),
            body: row.body.clone().filter(|_| payload),
            headers: row.headers.clone(),
            created_at: row.created_at,
            scheduled_at: row.scheduled_at,
            expires_at: None,
            dedupe_key: None,
            deliveries,
        })
    }

    pub(super) fn delivery_view(&self, no: QueueNo, queue: &QueueRow, row: &BodyRow) -> DeliveryView {
        let stored = row.entry.and_then(|n| self.delivery(no, n));
        let waits = stored.is_none() && row.entry.is_none();
        let mut delivery = stored.unwrap_or_else(|| Delivery::fresh(row.due));
        if let Some(closed) = queue.closed.filter(|_| !delivery.is_over()) {
            delivery.state = State::Dead(DeadReason::QueueDeleted);
            delivery.over_at = Some(closed);
        }
        let state = match delivery.view(self.now) {
            View::Ready if waits && row.due > self.now.wall => View::Scheduled,
            other => other,
        };
        let leased = match delivery.state {
            State::Leased(lease) => Some(self.now.wall_of(lease.until)),
            _ => None,
        };
        DeliveryView {
            queue: queue.name.clone(),
            queue_id: queue.id,
            state,
            attempts: delivery.attempts,
            expiries: delivery.expiries,
            fence: delivery.fence,
            max_attempts: row.max_attempts.or(queue.settings.max_attempts),
            next_attempt_at: matches!(state, View::Scheduled | View::Ready | View::Retrying)
                .then_some(delivery.due),
            lease_expires_at: leased,
            consumer: delivery.log.last().filter(|_| leased.is_some()).and_then(|past| past.consumer.clone()),
            settled_at: delivery.over_at,
            last_error: delivery.last_error.as_ref().map(|error| error.as_str().to_owned()),
            dead: match delivery.state {
                State::Dead(reason) => Some(reason),
                _ => None,
            },
            log: delivery.log,
        }
    }

    pub(super) fn stream_name(&self, no: StreamNo) -> String {
        String::from_utf8_lossy(&self.stream(no).name).into_owned()
    }
}
