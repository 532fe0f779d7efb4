//! What the model keeps, for how long, and what it forgets.
//!
//! Lives here: release, retention, what is left of the deleted. Not here: deleting (`group.rs`).

use naven_api::limits::OUTCOME_SECONDS_MIN;
use naven_api::{EventId, Timestamp};
use naven_core::{Delivery, Now, State};

use super::event::{Queue, Stand};
use super::world::World;
use crate::queue::Retention;

fn remember_ms(queue: &Queue) -> i64 {
    i64::from(queue.settings.done_retention_seconds.max(OUTCOME_SECONDS_MIN)) * 1_000
}

fn over(delivery: &Delivery) -> Timestamp {
    delivery.over_at.unwrap_or_default()
}

impl World {
    /// A queue needs this event no more: where no other does, a stream of consumed events lets go of
    /// its entry, and its content goes.
    pub(super) fn release(&mut self, event: EventId) {
        let Ok(at) = self.find(event) else { return };
        let event = &mut self.events[at];
        let stream = &mut self.streams[event.stream];
        let stays = event.in_stream && stream.settings.retention == Retention::Trim;
        if event.placed.is_none() || stays || event.is_pinned() {
            return;
        }
        stream.version += u64::from(event.in_stream);
        event.in_stream = false;
        self.drop_content(at);
    }

    /// Takes the content of an event that nobody needs, and all of it where nobody remembers it.
    pub(super) fn drop_content(&mut self, at: usize) {
        let event = &mut self.events[at];
        let keeps = event.dealings.iter().any(|one| match &one.stand {
            Stand::Over(outcome) => {
                outcome.state == State::Done && self.queues[one.queue].settings.keep_done_payload
            }
            Stand::Unread | Stand::Live(_) => false,
        });
        if event.dealings.is_empty() {
            self.events.remove(at);
        } else if !keeps {
            event.body = None;
        }
    }

    /// Dead letters that were kept long enough are given up.
    pub(super) fn forget_dead(&mut self, now: Now, limit: usize) -> usize {
        let mut old = Vec::new();
        for event in &self.events {
            for (queue, row) in self.queues.iter().enumerate().filter(|(_, row)| row.is_open()) {
                let Some(dead) = event.live(queue).filter(|live| live.is_over()) else { continue };
                let keep_ms = i64::from(row.settings.dead_retention_seconds) * 1_000;
                let is_old = over(dead).plus_ms(keep_ms) <= now.wall;
                let is_remembered = over(dead).plus_ms(remember_ms(row)) > now.wall;
                old.extend(is_old.then(|| (event.id, queue, is_remembered.then(|| dead.clone()))));
            }
        }
        old.truncate(limit);
        for (event, queue, remembered) in &old {
            let event = self.events.iter_mut().find(|one| one.id == *event).expect("it is only looked at");
            match remembered {
                Some(dead) => event.put(*queue, Stand::Over(dead.clone())),
                None => event.drop_dealing(*queue),
            }
            let event = event.id;
            self.release(event);
        }
        old.len()
    }

    /// Outcomes that were kept long enough are forgotten.
    pub(super) fn forget_outcomes(&mut self, now: Now, limit: usize) -> usize {
        let mut old = Vec::new();
        for event in &self.events {
            for (queue, row) in self.queues.iter().enumerate().filter(|(_, row)| row.is_open()) {
                let Some(Stand::Over(outcome)) = event.dealing(queue).map(|one| &one.stand) else { continue };
                let is_old = over(outcome).plus_ms(remember_ms(row)) <= now.wall;
                old.extend(is_old.then_some((event.id, queue)));
            }
        }
        old.truncate(limit);
        for (event, queue) in &old {
            self.drop_dealing(*event, *queue);
        }
        old.len()
    }

    fn drop_dealing(&mut self, event: EventId, queue: usize) {
        if let Ok(at) = self.find(event) {
            self.events[at].drop_dealing(queue);
        }
        self.release(event);
    }

    /// What is left of queues and streams that were deleted long enough ago goes.
    pub(super) fn purge(&mut self, now: Now) -> usize {
        let mut gone = 0;
        for queue in 0..self.queues.len() {
            let row = &self.queues[queue];
            let keep_seconds = row.settings.dead_retention_seconds.max(OUTCOME_SECONDS_MIN);
            let ends = row.closed.map(|(at, _)| at.plus_ms(i64::from(keep_seconds) * 1_000));
            if !row.is_gone && ends.is_some_and(|end| end <= now.wall) {
                gone += self.purge_queue(queue);
            }
        }
        for stream in 0..self.streams.len() {
            let is_left = |queue: &Queue| queue.stream == stream && !queue.is_gone;
            let of = &self.streams[stream];
            if of.closed_at.is_some() && !of.is_gone && !self.queues.iter().any(is_left) {
                self.streams[stream].is_gone = true;
                let before = self.events.len();
                self.events.retain(|event| event.stream != stream);
                self.firsts.retain(|first| first.stream != stream);
                gone += before - self.events.len() + 1;
            }
        }
        gone
    }

    fn purge_queue(&mut self, queue: usize) -> usize {
        let dealt = |event: &&super::event::Event| event.dealing(queue).is_some();
        let dealings: Vec<_> =
            self.events.iter().filter(dealt).map(|event| (event.id, event.waits_for_all())).collect();
        for &(event, _) in &dealings {
            self.drop_dealing(event, queue);
        }
        self.events.retain(|event| event.placed.is_some() || event.only != Some(queue));
        self.queues[queue].is_gone = true;
        // What still waits for all has no row that is the queue's.
        let consumers = std::mem::take(&mut self.queues[queue].consumers).len();
        dealings.iter().filter(|(_, waits)| !waits).count() + consumers + 1
    }
}
