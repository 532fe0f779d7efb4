//! Publishing in the model, and the giving of places.
//!
//! Lives here: append and what it leads to. Not here: claims (`claim.rs`).

use naven_api::EventId;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::{Now, View};

use super::event::{Dealing, Event, Stand};
use super::once::shown;
use super::world::{Answer, World};
use crate::feed::{Change, InQueues};
use crate::reply::{OpError, OpReply};
use crate::txn::{Append, Place, Target};

impl World {
    /// The stream that an event goes to, and the queue that it is for, if it is for one.
    fn destination(&self, to: &Target) -> Result<(usize, Option<usize>), OpError> {
        match to {
            Target::Stream(stream) => Ok((self.open_stream(stream)?, None)),
            Target::Queue(queue) => {
                let at = self.open(queue)?;
                let stream = self.queues[at].stream;
                Ok((stream, (self.readers(stream).len() > 1).then_some(at)))
            }
        }
    }

    pub(super) fn append(&mut self, append: &Append, now: Now) -> Answer {
        let (stream, only) = self.destination(&append.to)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        if let Some(first) = append.dedupe.as_ref().and_then(|key| self.first_of_key(stream, key, now)) {
            return Ok(OpReply::Deduped(Box::new(first)));
        }
        let scheduled_at = append.due.instant(now.wall);
        let due = scheduled_at.max(now.wall);
        let readers = only.map_or_else(|| self.readers(stream), |only| vec![only]);
        self.streams[stream].arrivals += 1;
        let arrival = self.streams[stream].arrivals;
        let number = ((stream as u128 + 1) << 56) | u128::from(arrival);
        let is_behind = self.due_unplaced(stream, now).next().is_some();
        self.events.push(Event {
            id: EventId::new(now.wall.as_ms(), number),
            stream,
            only,
            arrival,
            body: Some(append.body.clone()),
            headers: append.headers.clone(),
            created_at: now.wall,
            scheduled_at,
            due,
            expires_at: append.expires_at,
            dedupe_key: append.dedupe.as_ref().and_then(shown),
            trace: append.trace.clone(),
            max_attempts: append.max_attempts,
            placed: None,
            in_stream: false,
            may_expire: append.expires_at.is_some(),
            dealings: readers.iter().map(|&queue| Dealing { queue, stand: Stand::Unread }).collect(),
        });
        let at = self.events.len() - 1;
        if let Some(key) = &append.dedupe {
            self.remember_key(stream, key, at, now);
        }
        if due <= now.wall && !is_behind {
            self.place(at, now);
        }
        self.woken.extend(readers.iter().map(|&queue| self.queues[queue].id));
        self.tell_of(&readers, at, |queues, event| {
            let to = if due > now.wall { View::Scheduled } else { View::Ready };
            Change::published(queues, event, to, now)
        });
        let mut view = self.event_view(&self.events[at], false, now);
        if readers.len() != 1 {
            view.deliveries.clear();
        }
        Ok(OpReply::Event(Box::new(view)))
    }

    pub(super) fn place(&mut self, at: usize, now: Now) {
        let event = &mut self.events[at];
        let stream = &mut self.streams[event.stream];
        let (last, wall_ms) = (stream.last_place, now.wall.as_ms() as u64);
        let seq = if wall_ms > last.ms { 0 } else { last.seq + 1 };
        stream.last_place = Place { ms: wall_ms.max(last.ms), seq };
        stream.last_n += 1;
        event.placed = Some((stream.last_n, stream.last_place));
        if event.only.is_none() {
            event.in_stream = true;
            stream.added += 1;
            stream.version += 1;
            self.grown.push(stream.name.clone());
        }
    }

    /// Events of a stream that are due and have no place yet.
    fn due_unplaced(&self, stream: usize, now: Now) -> impl Iterator<Item = usize> {
        let is_due =
            move |event: &Event| event.stream == stream && event.placed.is_none() && event.due <= now.wall;
        (0..self.events.len()).filter(move |&at| is_due(&self.events[at]))
    }

    /// Gives places to events whose time has come, earliest due first; how many.
    pub(super) fn place_due(&mut self, stream: usize, now: Now, limit: usize) -> usize {
        let mut due: Vec<usize> = self.due_unplaced(stream, now).collect();
        due.sort_by_key(|&at| (self.events[at].due, self.events[at].arrival));
        due.truncate(limit);
        for &at in &due {
            self.place(at, now);
            let event = &self.events[at];
            if event.due > event.created_at {
                let readers = event.only.map_or_else(|| self.readers(stream), |only| vec![only]);
                let readers: Vec<_> =
                    readers.into_iter().filter(|&queue| self.queues[queue].is_open()).collect();
                self.tell_of(&readers, at, |queues, event| Change::came_due(queues, event, now));
            }
        }
        due.len()
    }

    /// Notes what happened to an event in each of these queues alike.
    fn tell_of(&mut self, queues: &[usize], at: usize, change: impl FnOnce(InQueues, EventId) -> Change) {
        let ids: Vec<_> = queues.iter().map(|&queue| self.queues[queue].id).collect();
        let queues = match ids.as_slice() {
            [] => return,
            [one] => InQueues::One(*one),
            _ => InQueues::Each(ids.into()),
        };
        self.told.push(change(queues, self.events[at].id));
    }
}
