//! Publishing: an event's body is stored once, however many queues read it.
//!
//! Lives here: append, and where an event goes. Not here: the giving of places (`place.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::planted::{Bug, has};

use super::context::Context;
use super::dealing::Dealing;
use super::dedupe::shown;
use super::place::{next_place, wished_place};
use super::telling::For;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::rows::stream::{Head, StreamRow};
use crate::embedded::tables::{Table, Tables};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Append, EntryWish, Place, PlaceWish, Target};

/// Where an event goes.
struct Destination {
    stream: StreamNo,
    stream_row: StreamRow,
    /// The queue whose lane it goes to; none: all queues of the stream.
    only: Option<QueueNo>,
    /// The one queue that it goes to, where it is one.
    sole: Option<(QueueNo, QueueRow)>,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn append(&mut self, append: &Append) -> Result<OpReply, OpError> {
        let Destination { stream, stream_row, only, sole } = self.destination(append)?;
        if !has(Bug::DuePlacedLate) {
            self.place_due(stream, PLACES_PER_OP_MAX as u64);
        }
        if let Some(first) =
            append.dedupe.as_ref().and_then(|key| self.first_of_key(stream, &stream_row, key))
        {
            return Ok(OpReply::Deduped(Box::new(first)));
        }
        let scheduled_at = append.due.instant(self.now.wall);
        let mut row = BodyRow {
            created_at: self.now.wall,
            scheduled_at,
            due: scheduled_at.max(self.now.wall),
            placed: None,
            only,
            expires_at: append.expires_at,
            dedupe_key: append.dedupe.as_ref().and_then(shown),
            trace: append.trace.clone(),
            max_attempts: append.max_attempts,
            headers: append.headers.clone(),
            body: Some(append.body.clone()),
            damaged: false,
        };
        let head = self.head(stream);
        let wish = append.entry.as_deref();
        let place = wished_place(wish.map_or(PlaceWish::Next, |wish| wish.place), head.last, self.now.wall)?;
        // Whoever asks for an entry is told its place at once, whatever else is due.
        let place = wish.map(|_| place);
        let (arrival, is_passed) = self.arrive(stream, (head, place), &mut row);
        let mut view = self.bare_event_view(stream, &stream_row, arrival, &row);
        let to = sole.as_ref().map_or(For::Readers, |(_, queue)| For::Queue(queue));
        self.tell_published(stream, to, view.id, &row);
        if let Some(key) = &append.dedupe {
            self.remember_key(stream, &stream_row, key, &view);
        }
        // Where it goes to several queues, none is looked at: publishing costs the same for all.
        let dealing = match (row.placed, only) {
            (None, _) => Dealing::Waiting,
            (Some(_), Some(_)) => Dealing::InLane,
            (Some(_), None) => Dealing::Unread,
        };
        let gets = |no: QueueNo| !is_passed || self.progress(no).last < view.place.unwrap_or_default();
        let deliveries = sole.iter().filter(|(no, _)| gets(*no));
        view.deliveries =
            deliveries.map(|(_, queue)| self.delivery_view(queue, &row, dealing.clone())).collect();
        if is_passed {
            self.release_event(stream, arrival, row);
        }
        if let Some(how) = wish.and_then(|wish| wish.trim) {
            self.trim_stream(stream, how);
        }
        Ok(OpReply::Event(Box::new(view)))
    }

    /// Stores an event and gives it its place, if it is due: the one that was wished for, or the next. True
    /// where a queue counts it as handed out already.
    fn arrive(
        &mut self,
        stream: StreamNo,
        (mut head, wished): (Head, Option<Place>),
        row: &mut BodyRow,
    ) -> (Arrival, bool) {
        head.arrival += 1;
        let arrival = Arrival(head.arrival);
        let mut place = wished.filter(|_| row.due <= self.now.wall);
        // Where more is due than one operation may place, this one waits behind it.
        let is_behind = self.has_due(stream) && !has(Bug::DuePlacedLate);
        if wished.is_none() && row.due <= self.now.wall && !is_behind {
            place = next_place(head.last, self.now.wall);
        }
        let mut is_passed = false;
        if let Some(place) = place {
            is_passed = self.place(stream, (&mut head, place), arrival, row);
        } else {
            let only = row.only;
            let mut value = Bytes::new();
            match only {
                Some(queue) => {
                    value = Bytes::copy_from_slice(&key::number(queue.0));
                    self.change_progress(queue, |progress| progress.lane_waiting += 1);
                }
                None => head.waiting += 1,
            }
            // Whoever waits learns how long to sleep.
            self.hint_reader(stream, only);
            self.tables.put(Table::Waiting, &key::at_wall(stream.0, row.due, arrival), value);
            self.put_body(stream, arrival, row);
        }
        self.put_head(stream, &head);
        if let Some(at) = row.expiry() {
            self.tables.put(Table::Expire, &key::at_wall(stream.0, at, arrival), Bytes::new());
        }
        (arrival, is_passed)
    }

    /// Where an event goes. A stream that is to be made is made, unless the event is refused anyway.
    fn destination(&mut self, append: &Append) -> Result<Destination, OpError> {
        let wish = append.entry.as_deref();
        let is_later = append.due.instant(self.now.wall) > self.now.wall;
        let is_placed = |wish: &EntryWish| wish.place != PlaceWish::Next;
        if wish.is_some_and(|wish| matches!(append.to, Target::Queue(_)) || (is_later && is_placed(wish))) {
            return Err(Refused::WrongState.into());
        }
        match &append.to {
            Target::Stream(stream) => {
                let found = self.open_stream(stream);
                let (stream, stream_row) = match (found, wish.filter(|wish| wish.make_stream)) {
                    (Err(_), Some(wish)) => {
                        wished_place(wish.place, Place::default(), self.now.wall)?;
                        self.made_stream(stream)?
                    }
                    (found, _) => found?,
                };
                let sole = if stream_row.queues == 1 { self.first_open_member(stream) } else { None };
                let sole = sole.and_then(|no| Some((no, self.queue(no)?)));
                Ok(Destination { stream, stream_row, only: None, sole })
            }
            Target::Queue(queue) => {
                let (no, queue) = self.open_queue(queue)?;
                let stream_row = self.stream(queue.stream);
                let only = (stream_row.queues > 1).then_some(no);
                Ok(Destination { stream: queue.stream, stream_row, only, sole: Some((no, queue)) })
            }
        }
    }
}
