//! How queues and events look from outside.
//!
//! Lives here: the views. Not here: finding pages of them (`read.rs`), streams (`streams.rs`).

use naven_api::Timestamp;
use naven_core::{State, View};

use super::context::{Context, event_id};
use super::dealing::Dealing;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::rows::stream::StreamRow;
use crate::embedded::tables::{Table, Tables};
use crate::read::{Counts, DeliveryView, EventView, QueueView};

impl<T: Tables> Context<'_, T> {
    pub(super) fn queue_view(&self, no: QueueNo, row: &QueueRow) -> QueueView {
        let progress = self.progress(no);
        let again = self.first(Table::Again, no.0).map(|(due, _)| due);
        let fresh = self.first_fresh(no, row.stream, &progress).map(|event| event.due.as_ms());
        let stream = self.stream(row.stream);
        QueueView {
            id: row.id,
            name: row.name.clone(),
            stream: name_of(&stream),
            settings: row.settings.clone(),
            stream_settings: stream.settings,
            paused: row.paused.clone(),
            counts: self.counts(no, row),
            oldest_ready: again.into_iter().chain(fresh).min().map(Timestamp::from_ms),
            trimmed_unread: progress.trimmed_unread,
            now: self.now.wall,
            created_at: row.created_at,
            updated_at: row.updated_at,
            revision: row.revision,
        }
    }

    /// Deliveries of an open queue by state. What nobody held yet has no row of its own: it is what
    /// the stream counts, less what the queue has taken in.
    pub(super) fn counts(&self, no: QueueNo, row: &QueueRow) -> Counts {
        let (head, progress) = (self.head(row.stream), self.progress(no));
        let mut counts = progress.counts;
        *counts.of_mut(View::Scheduled) = head.waiting + progress.lane_waiting;
        *counts.of_mut(View::Ready) += head.added - progress.read + progress.lane_ready;
        counts
    }

    /// An event with the deliveries of all its queues.
    pub(super) fn event_view(
        &self,
        stream: StreamNo,
        arrival: Arrival,
        row: &BodyRow,
        payload: bool,
    ) -> EventView {
        let mut view = self.bare_event_view(stream, &self.stream(stream), arrival, row);
        view.body = row.body.clone().filter(|_| payload);
        let dealings = self.dealings(stream, arrival, row);
        let deliveries = dealings.into_iter();
        view.deliveries =
            deliveries.map(|(_, queue, dealing)| self.delivery_view(&queue, row, dealing)).collect();
        view
    }

    /// An event without its payload and its deliveries.
    pub(super) fn bare_event_view(
        &self,
        stream: StreamNo,
        stream_row: &StreamRow,
        arrival: Arrival,
        row: &BodyRow,
    ) -> EventView {
        EventView {
            id: event_id(row, stream, arrival),
            stream: name_of(stream_row),
            // Only the queue that it is for could see its place.
            place: row.placed.filter(|_| row.only.is_none()).map(|placed| placed.place),
            body: None,
            headers: row.headers.clone(),
            created_at: row.created_at,
            scheduled_at: row.scheduled_at,
            expires_at: row.expires_at,
            dedupe_key: row.dedupe_key.clone(),
            trace: row.trace.clone(),
            deliveries: Vec::new(),
        }
    }

    pub(super) fn delivery_view(&self, queue: &QueueRow, row: &BodyRow, dealing: Dealing) -> DeliveryView {
        let waits = dealing == Dealing::Waiting;
        let mut delivery = match dealing {
            Dealing::Live(delivery) | Dealing::Over(delivery) => delivery,
            Dealing::Waiting | Dealing::Unread | Dealing::InLane => queue.fresh(row),
        };
        if let Some(closed) = queue.closed.filter(|_| !delivery.is_over()) {
            delivery.state = State::Dead(closed.reason);
            delivery.over_at = Some(closed.at);
        }
        let state = match delivery.view(self.now) {
            View::Ready if waits && row.due > self.now.wall => View::Scheduled,
            other => other,
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
            lease_expires_at: delivery.ends_at().map(|end| self.now.wall_of(end)),
            consumer: delivery
                .log
                .last()
                .filter(|_| delivery.is_held())
                .and_then(|past| past.consumer.clone()),
            cancel_requested: delivery.cancel_requested,
            cancel_reason: delivery.cancel_reason.as_ref().map(ToString::to_string),
            settled_at: delivery.over_at,
            last_error: delivery.last_error.as_ref().map(|error| error.as_str().to_owned()),
            progress: delivery.progress,
            result: delivery.result,
            dead: match delivery.state {
                State::Dead(reason) => Some(reason),
                _ => None,
            },
            log: delivery.log,
        }
    }
}

pub(super) fn name_of(stream: &StreamRow) -> String {
    String::from_utf8_lossy(&stream.name).into_owned()
}
