//! How the model's queues and events look from outside.
//!
//! Lives here: reads and pages. Not here: ops (`world.rs`).

use naven_api::Timestamp;
use naven_core::{DeadReason, Now, State, View};

use super::queue::{Event, Queue};
use super::world::World;
use crate::queue::StreamSettings;
use crate::read::{Counts, Cursor, DeliveryView, EventView, Page, QueueView, Read, SystemView};
use crate::reply::{OpError, Refused};

impl World {
    pub(super) fn read(&self, read: &Read, now: Now) -> Result<Page, OpError> {
        match read {
            Read::Queue(queue) => Ok(Page::Queue(Box::new(self.queues[self.open(queue)?].view(now)))),
            Read::Queues { name_prefix, cursor, limit } => {
                let open = self.queues.iter().filter(|queue| queue.closed_at.is_none());
                let named = open.filter(|queue| queue.name.starts_with(name_prefix));
                let found = named.map(|queue| (queue.id.bits(), queue)).collect();
                let (page, next) = page(found, cursor.as_ref(), *limit)?;
                Ok(Page::Queues(page.into_iter().map(|queue| queue.view(now)).collect(), next))
            }
            Read::Event { event, payload } => {
                let (at, index) = self.find(*event)?;
                let queue = &self.queues[at];
                Ok(Page::Event(Box::new(queue.event_view(&queue.events[index], *payload, now))))
            }
            Read::DeadLetters { queue, cursor, limit, payload } => {
                let queue = &self.queues[self.any(queue)?];
                let key = |at: usize| Some((queue.died(&queue.events[at])?, at as u128));
                let keys = (0..queue.events.len()).filter_map(key);
                let found = keys.map(|(died, at)| (((died.as_ms() as u128) << 64) | at, at as usize));
                let (page, next) = page(found.collect(), cursor.as_ref(), *limit)?;
                let view = |at: usize| queue.event_view(&queue.events[at], *payload, now);
                Ok(Page::DeadLetters(page.into_iter().map(view).collect(), next))
            }
            Read::Stream(_) | Read::Streams { .. } | Read::Entries { .. } | Read::Groups(_) => {
                Err(OpError::Unsupported)
            }
            Read::Keys => Ok(Page::Keys(self.keys.clone())),
            Read::System => {
                let queues = self.queues.iter().filter(|queue| queue.closed_at.is_none()).count() as u64;
                Ok(Page::System(SystemView { queues, ..SystemView::default() }))
            }
        }
    }
}

/// The largest `limit` keys below the cursor's, and a cursor where more follow.
fn page<T>(
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
    /// When its deletion ended this event, where it did.
    fn closed_over(&self, event: &Event) -> Option<Timestamp> {
        self.closed_at.filter(|_| !event.delivery.is_over())
    }

    fn died(&self, event: &Event) -> Option<Timestamp> {
        let is_dead = matches!(event.delivery.state, State::Dead(_));
        event.delivery.over_at.filter(|_| is_dead).or(self.closed_over(event))
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        // A retry stays one until a step of the order has recorded that it fell due.
        let recorded = Now { wall: Timestamp::from_ms(i64::MIN), ..Now::default() };
        for event in &self.events {
            *counts.of_mut(self.state(event, recorded)) += 1;
        }
        counts
    }

    fn state(&self, event: &Event, now: Now) -> View {
        let is_ahead = event.is_waiting() && event.delivery.due > now.wall;
        if is_ahead { View::Scheduled } else { event.delivery.view(now) }
    }

    pub(super) fn view(&self, now: Now) -> QueueView {
        QueueView {
            id: self.id,
            name: self.name.clone(),
            stream: self.name.clone(),
            settings: self.settings.clone(),
            stream_settings: StreamSettings::default(),
            paused: self.paused.clone(),
            counts: self.counts(),
            oldest_ready: self.next_ready().map(|at| self.events[at].delivery.due),
            now: now.wall,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    pub(super) fn event_view(&self, event: &Event, payload: bool, now: Now) -> EventView {
        EventView {
            id: event.id,
            stream: self.name.clone(),
            place: event.place,
            body: event.body.clone().filter(|_| payload),
            headers: event.headers.clone(),
            created_at: event.created_at,
            scheduled_at: event.scheduled_at,
            expires_at: None,
            dedupe_key: None,
            deliveries: vec![self.delivery_view(event, now)],
        }
    }

    fn delivery_view(&self, event: &Event, now: Now) -> DeliveryView {
        let (closed, policy, delivery) = (self.closed_over(event), self.policy(event), &event.delivery);
        let state = if closed.is_some() { View::Dead } else { self.state(event, now) };
        let is_ahead = matches!(state, View::Scheduled | View::Ready | View::Retrying);
        let holder = delivery.log.last().filter(|_| state == View::Leased);
        let dead = if let State::Dead(reason) = delivery.state { Some(reason) } else { None };
        DeliveryView {
            queue: self.name.clone(),
            queue_id: self.id,
            state,
            attempts: delivery.attempts,
            expiries: delivery.expiries,
            fence: delivery.fence,
            max_attempts: policy.max_attempts,
            next_attempt_at: is_ahead.then_some(delivery.due),
            lease_expires_at: holder.and(delivery.ends_at(&policy)).map(|end| now.wall_of(end)),
            consumer: holder.and_then(|past| past.consumer.clone()),
            settled_at: delivery.over_at.or(closed),
            last_error: delivery.last_error.as_ref().map(ToString::to_string),
            dead: dead.or(closed.map(|_| DeadReason::QueueDeleted)),
            log: delivery.log.clone(),
        }
    }
}
