//! One queue of the model and its events.
//!
//! Lives here: what is placed, due, overdue and next. Not here: ops (`world.rs`).

use std::time::Duration;

use naven_api::{EventId, QueueId, Timestamp};
use naven_core::{Delivery, LeaseTime, Now, Policy, State, Step};

use crate::queue::QueueSettings;
use crate::txn::{Body, Place};

#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) id: EventId,
    pub(super) body: Option<Body>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) created_at: Timestamp,
    pub(super) scheduled_at: Timestamp,
    pub(super) max_attempts: Option<u32>,
    pub(super) place: Option<Place>,
    pub(super) delivery: Delivery,
}

impl Event {
    fn is_untouched(&self) -> bool {
        self.delivery.state == State::Ready && self.delivery.fence == 0 && self.delivery.round == 0
    }

    /// Scheduled, and its due time not recorded yet. One that is buried or redriven meanwhile waits
    /// no more, and gets no place.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_untouched() && self.place.is_none()
    }
}

#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) id: QueueId,
    pub(super) name: String,
    pub(super) settings: QueueSettings,
    pub(super) paused: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    pub(super) last_place: Place,
    /// By arrival: the first is number 1.
    pub(super) events: Vec<Event>,
}

impl Queue {
    pub(super) fn new(id: QueueId, name: &str, settings: &QueueSettings, now: Timestamp) -> Self {
        let (name, settings) = (name.to_owned(), settings.clone());
        let (paused, closed_at, last_place, events) = (None, None, Place::default(), Vec::new());
        Self { id, name, settings, paused, created_at: now, updated_at: now, closed_at, last_place, events }
    }

    pub(super) fn policy(&self, event: &Event) -> Policy {
        let QueueSettings { max_attempts, backoff, max_lease_seconds, late_ack_grace_seconds, .. } =
            self.settings;
        Policy {
            max_attempts: event.max_attempts.or(max_attempts),
            backoff,
            max_lease_ms: (max_lease_seconds > 0).then_some(i64::from(max_lease_seconds) * 1_000),
            grace_ms: i64::from(late_ack_grace_seconds) * 1_000,
            redis_lease_ms: None,
            expires_at: None,
        }
    }

    pub(super) fn place(&mut self, at: usize, now: Now) {
        let (last, wall_ms) = (self.last_place, now.wall.as_ms() as u64);
        let seq = if wall_ms > last.ms { 0 } else { last.seq + 1 };
        self.last_place = Place { ms: wall_ms.max(last.ms), seq };
        self.events[at].place = Some(self.last_place);
    }

    /// Gives places to scheduled events whose time has come; how many.
    pub(super) fn place_due(&mut self, now: Now, limit: usize) -> usize {
        let is_due = |event: &Event| event.is_waiting() && event.delivery.due <= now.wall;
        let due = self.first_by(limit, |event, _| is_due(event).then_some(event.delivery.due.as_ms()));
        due.iter().for_each(|&at| self.place(at, now));
        due.len()
    }

    /// Takes `step` (fall due, expire) wherever the rules allow it, earliest first; how many.
    pub(super) fn step_all(&mut self, step: &Step, now: Now, limit: usize) -> usize {
        let moved = self.first_by(limit, |event, policy| {
            let end = event.delivery.ends_at(policy).map(LeaseTime::as_ms);
            let is_allowed = event.delivery.apply(step, now, policy).is_ok();
            is_allowed.then_some(end.unwrap_or(event.delivery.due.as_ms()))
        });
        for &at in &moved {
            let policy = self.policy(&self.events[at]);
            let next = self.events[at].delivery.apply(step, now, &policy);
            self.events[at].delivery = next.expect("it was allowed a moment ago");
        }
        moved.len()
    }

    fn first_by(&self, limit: usize, key: impl Fn(&Event, &Policy) -> Option<i64>) -> Vec<usize> {
        let found = self.events.iter().enumerate();
        let mut found: Vec<(i64, usize)> =
            found.filter_map(|(at, event)| Some((key(event, &self.policy(event))?, at))).collect();
        found.sort_unstable();
        found.truncate(limit);
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// What a claim takes next: the earlier of the earliest that was held or redriven before, and of
    /// the first in place order that was not.
    pub(super) fn next_ready(&self) -> Option<usize> {
        let due = |at: usize| (self.events[at].delivery.due, at);
        let ready = |at: &usize| self.events[*at].delivery.state == State::Ready;
        let all = 0..self.events.len();
        let again = all.clone().filter(ready).filter(|&at| !self.events[at].is_untouched());
        let fresh = all.filter(|&at| self.events[at].is_untouched() && self.events[at].place.is_some());
        let first_fresh = fresh.min_by_key(|&at| self.events[at].place);
        again.min_by_key(|&at| due(at)).into_iter().chain(first_fresh).min_by_key(|&at| due(at))
    }

    /// How long until something may be claimable.
    pub(super) fn due_in(&self, now: Now) -> Option<Duration> {
        let waits = self.events.iter().filter_map(|event| {
            let is_later = event.is_waiting() || event.delivery.state == State::Retrying;
            let due = is_later.then_some(event.delivery.due.as_ms() - now.wall.as_ms());
            let end = event.delivery.ends_at(&self.policy(event));
            due.or_else(|| Some(end?.as_ms() - now.lease.as_ms()))
        });
        waits.min().map(|ms| Duration::from_millis(ms.max(0) as u64))
    }
}
