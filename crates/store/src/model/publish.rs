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
use crate::queue::{Retention, StreamSettings};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Append, Place, PlaceWish, Target};

/// The place that a publisher wants, where it is behind the last one.
fn wished_place(wish: PlaceWish, last: Place, now: Now) -> Result<Place, Refused> {
    let next = last.after().ok_or(Refused::PlacesUsedUp)?;
    let first_of = |ms: u64| Place { ms, seq: 0 };
    let place = match wish {
        PlaceWish::Next => next.max(first_of(now.wall.as_ms().max(0) as u64)),
        PlaceWish::Exactly(place) => place,
        // The next of all, unless that is in another millisecond.
        PlaceWish::In(ms) => next.max(first_of(ms)),
    };
    let is_wished = match wish {
        PlaceWish::In(ms) => place.ms == ms,
        PlaceWish::Next | PlaceWish::Exactly(_) => place >= next,
    };
    if is_wished { Ok(place) } else { Err(Refused::PlaceTaken) }
}

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
        let (stream, only) = self.wished_destination(append, now)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        if let Some(first) = append.dedupe.as_ref().and_then(|key| self.first_of_key(stream, key, now)) {
            return Ok(OpReply::Deduped(Box::new(first)));
        }
        let scheduled_at = append.due.instant(now.wall);
        let due = scheduled_at.max(now.wall);
        let wish = append.entry.as_deref();
        let place = wish.map_or(PlaceWish::Next, |wish| wish.place);
        let place = wished_place(place, self.streams[stream].last_place, now)?;
        let readers = only.map_or_else(|| self.readers(stream), |only| vec![only]);
        let unread = |&queue: &usize| Dealing { queue, stand: Stand::Unread, ahead: false };
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
            dealings: readers.iter().map(unread).collect(),
        });
        let at = self.events.len() - 1;
        let id = self.events[at].id;
        let is_due = due <= now.wall && (wish.is_some() || !is_behind);
        let is_passed = is_due && self.place_at(at, place);
        if let Some(key) = &append.dedupe {
            self.remember_key(stream, key, at, now);
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
        if is_passed {
            self.release(id);
        }
        if let Some(how) = wish.and_then(|wish| wish.trim) {
            self.trim_stream(stream, how);
        }
        Ok(OpReply::Event(Box::new(view)))
    }

    /// Gives an event the next place, which nobody will see, even where there is none any more.
    pub(super) fn place_unseen(&mut self, at: usize, now: Now) {
        let last = self.streams[self.events[at].stream].last_place;
        self.place_at(at, wished_place(PlaceWish::Next, last, now).unwrap_or(last));
    }

    /// Gives an event a place. True where a queue counts that as handed out already, and so never gets it.
    fn place_at(&mut self, at: usize, place: Place) -> bool {
        let event = &mut self.events[at];
        let stream = &mut self.streams[event.stream];
        stream.last_place = place;
        stream.last_n += 1;
        event.placed = Some((stream.last_n, place));
        if event.only.is_some() {
            return false;
        }
        event.in_stream = true;
        self.grown.push(stream.name.clone());
        stream.version += 1;
        stream.added += 1;
        stream.added_told += 1;
        let before = event.dealings.len();
        let queues = &self.queues;
        event.dealings.retain(|one| !queues[one.queue].is_open() || queues[one.queue].last_taken < place);
        event.dealings.len() < before
    }

    /// The stream that an event goes to is made where its publisher wants that, and it is not refused anyway.
    fn wished_destination(&mut self, append: &Append, now: Now) -> Result<(usize, Option<usize>), OpError> {
        let Some(wish) = append.entry.as_deref() else { return self.destination(&append.to) };
        let is_later = append.due.instant(now.wall) > now.wall;
        let Target::Stream(stream) = &append.to else { return Err(Refused::WrongState.into()) };
        if is_later && wish.place != PlaceWish::Next {
            return Err(Refused::WrongState.into());
        }
        if self.open_stream(stream).is_err() && wish.make_stream {
            wished_place(wish.place, Place::default(), now)?;
            let trims = StreamSettings { retention: Retention::Trim, ..StreamSettings::default() };
            self.new_stream(stream, trims, now);
        }
        self.destination(&append.to)
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
        let due: Vec<EventId> = due.into_iter().map(|at| self.events[at].id).collect();
        for (nth, &id) in due.iter().enumerate() {
            let last = self.streams[stream].last_place;
            let Ok(place) = wished_place(PlaceWish::Next, last, now) else { return nth };
            let at = self.find(id).expect("it waits for its place");
            let is_passed = self.place_at(at, place);
            let event = &self.events[at];
            if event.due > event.created_at {
                let readers = event.only.map_or_else(|| self.readers(stream), |only| vec![only]);
                let readers: Vec<_> =
                    readers.into_iter().filter(|&queue| self.queues[queue].is_open()).collect();
                self.tell_of(&readers, at, |queues, event| Change::came_due(queues, event, now));
            }
            if is_passed {
                self.release(id);
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
