//! Publishing: an event's body is stored once, however many queues read it.
//!
//! Lives here: append, and where an event goes. Not here: the giving of places (`place.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;

use super::context::Context;
use super::dealing::Dealing;
use super::dedupe::shown;
use super::telling::For;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::rows::stream::StreamRow;
use crate::embedded::tables::{Table, Tables};
use crate::reply::{OpError, OpReply};
use crate::txn::{Append, Target};

/// Where an event goes.
struct Destination {
    stream: StreamNo,
    stream_row: StreamRow,
    /// The queue whose lane it goes to; none: all queues of the stream.
    only: Option<QueueNo>,
    /// The one queue that it goes to, where it is one.
    sole: Option<QueueRow>,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn append(&mut self, append: &Append) -> Result<OpReply, OpError> {
        let Destination { stream, stream_row, only, sole } = self.destination(&append.to)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
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
        let arrival = self.arrive(stream, only, &mut row);
        let mut view = self.bare_event_view(stream, &stream_row, arrival, &row);
        self.tell_published(stream, sole.as_ref().map_or(For::Readers, For::Queue), view.id, &row);
        if let Some(key) = &append.dedupe {
            self.remember_key(stream, &stream_row, key, (view.id, scheduled_at));
        }
        // Where it goes to several queues, none is looked at: publishing costs the same for all.
        let dealing = match (row.placed, only) {
            (None, _) => Dealing::Waiting,
            (Some(_), Some(_)) => Dealing::InLane,
            (Some(_), None) => Dealing::Unread,
        };
        view.deliveries = sole.iter().map(|queue| self.delivery_view(queue, &row, dealing.clone())).collect();
        Ok(OpReply::Event(Box::new(view)))
    }

    /// Stores an event and gives it its place, if it is due.
    fn arrive(&mut self, stream: StreamNo, only: Option<QueueNo>, row: &mut BodyRow) -> Arrival {
        let mut head = self.head(stream);
        head.arrival += 1;
        let arrival = Arrival(head.arrival);
        // Where more is due than one operation may place, this one waits behind it.
        if row.due <= self.now.wall && !self.has_due(stream) {
            self.place(stream, &mut head, arrival, row);
        } else {
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
        arrival
    }

    fn destination(&self, to: &Target) -> Result<Destination, OpError> {
        match to {
            Target::Stream(stream) => {
                let (stream, stream_row) = self.open_stream(stream)?;
                let sole = if stream_row.queues == 1 { self.first_open_member(stream) } else { None };
                let sole = sole.and_then(|no| self.queue(no));
                Ok(Destination { stream, stream_row, only: None, sole })
            }
            Target::Queue(queue) => {
                let (no, queue) = self.open_queue(queue)?;
                let stream_row = self.stream(queue.stream);
                let only = (stream_row.queues > 1).then_some(no);
                Ok(Destination { stream: queue.stream, stream_row, only, sole: Some(queue) })
            }
        }
    }
}
