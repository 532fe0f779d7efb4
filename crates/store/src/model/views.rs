//! How the model's queues and events look from outside.
//!
//! Lives here: reads and pages. Not here: ops (`world.rs`), streams (`streams.rs`).

use naven_api::Timestamp;
use naven_core::{DeadReason, Delivery, Now, State, View};

use super::event::{Event, Queue, Stand, next_ready};
use super::world::World;
use crate::read::{Counts, Cursor, DeliveryView, EventView, Page, QueueView, Read, SystemView};
use crate::reply::{OpError, Refused};

impl World {
    pub(super) fn read(&self, read: &Read, now: Now) -> Result<Page, OpError> {
        match read {
            Read::Queue(queue) => Ok(Page::Queue(Box::new(self.queue_view(self.open(queue)?, now)))),
            Read::Queues { name_prefix, cursor, limit } => {
                let open = (0..self.queues.len()).filter(|&at| self.queues[at].is_open());
                let named = open.filter(|&at| self.queues[at].name.starts_with(name_prefix));
                let found = named.map(|at| (at as u128, at)).collect();
                let (page, next) = page(found, cursor.as_ref(), *limit)?;
                Ok(Page::Queues(page.into_iter().map(|at| self.queue_view(at, now)).collect(), next))
            }
            Read::Event { event, payload } => {
                let event = &self.events[self.find(*event)?];
                Ok(Page::Event(Box::new(self.event_view(event, *payload, now))))
            }
            Read::DeadLetters { queue, cursor, limit, payload } => {
                self.dead_letters(self.any(queue)?, cursor.as_ref(), (*limit, *payload), now)
            }
            Read::Dead(read) => self.dead_page(read, now),
            Read::Holders(queue) => Ok(Page::Holders(self.holders(self.open(queue)?, now))),
            Read::Events(read) => self.events_page(read, now),
            Read::Purgeable { queue, filter } => self.purgeable(queue, filter, now),
            Read::Stream(stream) => Ok(Page::Stream(Box::new(self.stream_view(self.open_stream(stream)?)))),
            Read::Streams { name_prefix, cursor, limit } => {
                let open = (0..self.streams.len()).filter(|&at| self.streams[at].closed_at.is_none());
                let named = open.filter(|&at| self.streams[at].name.starts_with(name_prefix));
                let found = named.map(|at| (at as u128, at)).collect();
                let (page, next) = page(found, cursor.as_ref(), *limit)?;
                Ok(Page::Streams(page.into_iter().map(|at| self.stream_view(at)).collect(), next))
            }
            Read::Entries { stream, start, end, reverse, limit, max_bytes, payload } => {
                let stream = self.open_stream(stream)?;
                Ok(self.entries(stream, (*start, *end), *reverse, (*limit as usize, *max_bytes, *payload)))
            }
            Read::Consumers(queue) => Ok(Page::Consumers(self.consumers(self.open(queue)?, now))),
            Read::StreamDetail { stream, full } => {
                Ok(self.stream_detail(self.open_stream(stream)?, *full, now))
            }
            Read::Pending(read) => Ok(self.pending_page(self.open(&read.queue)?, read, now)),
            Read::PendingSummary(queue) => Ok(self.pending_summary(self.open(queue)?, now)),
            Read::Groups(stream) => {
                let readers = self.readers(self.open_stream(stream)?);
                Ok(Page::Groups(readers.into_iter().map(|queue| self.group_view(queue, now)).collect()))
            }
            Read::Operation(id) => self.operation_page(*id),
            Read::Operations { cursor, limit } => self.operations_page(cursor.as_ref(), *limit),
            Read::Keys => Ok(Page::Keys(self.keys.clone())),
            Read::Audit { cursor, limit } => self.audit_log(cursor.as_ref(), *limit),
            Read::System => {
                let queues = self.queues.iter().filter(|queue| queue.is_open()).count() as u64;
                let streams = self.streams.iter().filter(|stream| stream.closed_at.is_none()).count() as u64;
                Ok(Page::System(SystemView { queues, streams, ..SystemView::default() }))
            }
        }
    }

    fn dead_letters(
        &self,
        queue: usize,
        cursor: Option<&Cursor>,
        (limit, payload): (u32, bool),
        now: Now,
    ) -> Result<Page, OpError> {
        let key = |event: &Event| {
            let died = self.died(queue, event)?.as_ms() as u128;
            Some((died << 64) | u128::from(event.arrival))
        };
        let found = self.events.iter().filter_map(|event| Some((key(event)?, event))).collect();
        let (page, next) = page(found, cursor, limit)?;
        let view = |event: &Event| {
            let mut view = self.event_view(event, payload, now);
            view.deliveries.retain(|delivery| delivery.queue_id == self.queues[queue].id);
            view
        };
        Ok(Page::DeadLetters(page.into_iter().map(view).collect(), next))
    }

    /// When its death in this queue is to be listed, where it is dead there.
    pub(super) fn died(&self, queue: usize, event: &Event) -> Option<Timestamp> {
        let closed = self.queues[queue].closed.map(|(at, _)| at);
        match &event.dealing(queue)?.stand {
            Stand::Unread => closed,
            Stand::Live(live) if live.is_over() => live.over_at,
            Stand::Live(_) => closed,
            Stand::Over(_) => None,
        }
    }

    pub(super) fn counts(&self, queue: usize) -> Counts {
        let mut counts = Counts::default();
        // A retry stays one until a step of the order has recorded that it fell due.
        let recorded = Now { wall: Timestamp::from_ms(i64::MIN), ..Now::default() };
        for event in &self.events {
            match event.dealing(queue).map(|one| &one.stand) {
                Some(Stand::Unread) if event.placed.is_none() => *counts.of_mut(View::Scheduled) += 1,
                Some(Stand::Unread) => *counts.of_mut(View::Ready) += 1,
                Some(Stand::Live(live)) => *counts.of_mut(live.view(recorded)) += 1,
                // A dead letter that was given up is remembered, and counted no more.
                Some(Stand::Over(outcome)) if matches!(outcome.state, State::Dead(_)) => {}
                Some(Stand::Over(outcome)) => *counts.of_mut(outcome.view(recorded)) += 1,
                None => {}
            }
        }
        counts
    }

    pub(super) fn queue_view(&self, queue: usize, now: Now) -> QueueView {
        let row = &self.queues[queue];
        let stream = &self.streams[row.stream];
        let due = |event: &Event| event.live(queue).map_or(event.due, |live| live.due);
        QueueView {
            id: row.id,
            name: row.name.clone(),
            stream: String::from_utf8_lossy(&stream.name).into_owned(),
            settings: row.settings.clone(),
            stream_settings: stream.settings,
            paused: row.paused.clone(),
            counts: self.counts(queue),
            oldest_ready: next_ready(&self.events, queue).map(|at| due(&self.events[at])),
            trimmed_unread: row.trimmed_unread,
            now: now.wall,
            created_at: row.created_at,
            updated_at: row.updated_at,
            revision: row.revision,
        }
    }

    pub(super) fn event_view(&self, event: &Event, payload: bool, now: Now) -> EventView {
        let view = |queue: usize| self.queues[queue].delivery_view(event, queue, now);
        EventView {
            id: event.id,
            stream: String::from_utf8_lossy(&self.streams[event.stream].name).into_owned(),
            place: event.placed.filter(|_| event.only.is_none()).map(|(_, place)| place),
            body: event.body.clone().filter(|_| payload),
            headers: event.headers.clone(),
            created_at: event.created_at,
            scheduled_at: event.scheduled_at,
            expires_at: event.expires_at,
            dedupe_key: event.dedupe_key.clone(),
            trace: event.trace.clone(),
            deliveries: event.dealings.iter().map(|one| view(one.queue)).collect(),
        }
    }
}

/// The largest `limit` keys below the cursor's, and a cursor where more follow.
pub(super) fn page<T>(
    mut found: Vec<(u128, T)>,
    cursor: Option<&Cursor>,
    limit: u32,
) -> Result<(Vec<T>, Option<Cursor>), OpError> {
    if let Some(cursor) = cursor {
        let bytes = cursor.0.as_slice().try_into().map_err(|_| Refused::BadCursor)?;
        found.retain(|(key, _)| *key < u128::from_be_bytes(bytes));
    }
    found.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more).map(|(key, _)| Cursor(key.to_be_bytes().to_vec()));
    Ok((found.into_iter().map(|(_, item)| item).collect(), next))
}

impl Queue {
    pub(super) fn delivery_view(&self, event: &Event, queue: usize, now: Now) -> DeliveryView {
        let delivery: Delivery = event.delivery(queue).cloned().unwrap_or_else(|| self.fresh(event));
        let closed = self.closed.filter(|_| !delivery.is_over());
        let policy = self.policy(event);
        let is_ahead = event.placed.is_none() && event.due > now.wall;
        let state = match closed {
            Some(_) => View::Dead,
            None if is_ahead => View::Scheduled,
            None => delivery.view(now),
        };
        let is_to_come = matches!(state, View::Scheduled | View::Ready | View::Retrying);
        let holder = delivery.log.last().filter(|_| matches!(state, View::Leased | View::Held));
        let dead: Option<DeadReason> =
            if let State::Dead(reason) = delivery.state { Some(reason) } else { None };
        DeliveryView {
            queue: self.name.clone(),
            queue_id: self.id,
            state,
            attempts: delivery.attempts,
            expiries: delivery.expiries,
            fence: delivery.fence,
            max_attempts: policy.max_attempts,
            next_attempt_at: is_to_come.then_some(delivery.due),
            lease_expires_at: holder.and(delivery.ends_at()).map(|end| now.wall_of(end)),
            consumer: holder.and_then(|past| past.consumer.clone()),
            cancel_requested: delivery.cancel_requested,
            cancel_reason: delivery.cancel_reason.as_ref().map(ToString::to_string),
            settled_at: delivery.over_at.or(closed.map(|(at, _)| at)),
            last_error: delivery.last_error.as_ref().map(ToString::to_string),
            progress: delivery.progress.clone(),
            result: delivery.result.clone(),
            dead: dead.or(closed.map(|(_, reason)| reason)),
            log: delivery.log.clone(),
        }
    }
}
