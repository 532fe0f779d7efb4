//! Places: each event takes the next one of its stream once, when it is due.
//!
//! Lives here: the giving of places, in the order in which events become due. Not here: publishing
//! (`append.rs`).

use bytes::Bytes;
use naven_api::Timestamp;

use super::context::{Context, number_of};
use crate::embedded::rows::body::{BodyRow, Placed};
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::stream::{EntryRow, Head};
use crate::embedded::tables::{Order, Table, Tables};
use crate::txn::Place;

impl<T: Tables> Context<'_, T> {
    /// Places at most `most` events of a stream whose time has come, in the order in which they
    /// became due. Answers how many. What is left over goes first the next time, and nothing that
    /// is published meanwhile is placed before it.
    pub(super) fn place_due(&mut self, stream: StreamNo, most: u64) -> u64 {
        let mut placed = 0;
        let mut at = None;
        while placed < most {
            let Some((due, arrival, only)) = self.first_waiting(stream) else { break };
            if Timestamp::from_ms(due) > self.now.wall {
                break;
            }
            let (head, closed) = at.get_or_insert_with(|| (self.head(stream), self.closed_members(stream)));
            self.tables.delete(Table::Waiting, &key::timed(stream.0, due, arrival));
            let mut row = self.pointed_body(stream, arrival);
            match only {
                Some(queue) => self.change_progress(queue, |progress| progress.lane_waiting -= 1),
                None => head.waiting -= 1,
            }
            self.place(stream, head, arrival, &mut row);
            self.tell_due(stream, arrival, &row);
            let n = row.placed.map_or(0, |placed| placed.n.0);
            for &(queue, arrivals) in closed.iter().filter(|_| only.is_none()) {
                // It was scheduled when that queue was deleted, and is its dead letter.
                if arrival.0 <= arrivals {
                    self.put_lane(queue, EntryNo(n), arrival);
                    self.change_progress(queue, |progress| progress.lane_ready += 1);
                }
            }
            placed += 1;
        }
        if let Some((head, _)) = at {
            self.put_head(stream, &head);
        }
        placed
    }

    /// True where an event of this stream is due and has no place.
    pub(super) fn has_due(&self, stream: StreamNo) -> bool {
        self.first_waiting(stream).is_some_and(|(due, ..)| Timestamp::from_ms(due) <= self.now.wall)
    }

    /// Gives an event the next place of its stream: in the stream itself, or in its queue's lane.
    pub(super) fn place(&mut self, stream: StreamNo, head: &mut Head, arrival: Arrival, row: &mut BodyRow) {
        head.last = next_place(head.last, self.now.wall);
        head.entry += 1;
        let n = EntryNo(head.entry);
        row.placed = Some(Placed { n, place: head.last });
        self.put_body(stream, arrival, row);
        if let Some(queue) = row.only {
            self.put_lane(queue, n, arrival);
            self.change_progress(queue, |progress| progress.lane_ready += 1);
        } else {
            let entry = EntryRow { place: head.last, arrival, created_at: row.created_at };
            self.tables.put(Table::Entry, &key::counted(stream.0, n.0), entry.encode());
            head.version += 1;
            head.added += 1;
            head.length += 1;
        }
        self.hint_reader(stream, row.only);
    }

    /// Whoever may be handed an event for this queue, or for all, is to look.
    pub(super) fn hint_reader(&mut self, stream: StreamNo, only: Option<QueueNo>) {
        match only {
            Some(queue) => self.queue(queue).into_iter().for_each(|row| self.hint(row.id)),
            None => self.hint_stream(stream),
        }
    }

    pub(super) fn put_lane(&mut self, queue: QueueNo, n: EntryNo, arrival: Arrival) {
        let value = Bytes::copy_from_slice(&arrival.0.to_be_bytes());
        self.tables.put(Table::Lane, &key::counted(queue.0, n.0), value);
    }

    /// The next event to be placed: when it is due, and the one queue that it is for, if it is.
    fn first_waiting(&self, stream: StreamNo) -> Option<(i64, Arrival, Option<QueueNo>)> {
        let mut first = None;
        let (from, to) = (key::number(stream.0), key::past_number(stream.0));
        self.tables.scan(Table::Waiting, &from, &to, Order::Rising, &mut |key, value| {
            let (due, arrival) = key::time_of(key);
            let only = (!value.is_empty()).then(|| QueueNo(number_of(value.clone())));
            first = Some((due, arrival, only));
            std::ops::ControlFlow::Break(())
        });
        first
    }

    /// The deleted queues of a stream, each with the last event that it can have to do with.
    fn closed_members(&self, stream: StreamNo) -> Vec<(QueueNo, u64)> {
        let mut closed = Vec::new();
        self.scan_members(stream, &mut |no, id| {
            if id.is_none() {
                let row = self.queue(no).and_then(|row| row.closed);
                closed.extend(row.map(|row| (no, row.arrivals)));
            }
            std::ops::ControlFlow::Continue(())
        });
        closed
    }
}

/// The place after `last` at this wall time: it rises even where the clock does not.
pub(super) fn next_place(last: Place, wall: Timestamp) -> Place {
    let ms = u64::try_from(wall.as_ms()).unwrap_or(0);
    if ms > last.ms {
        Place { ms, seq: 0 }
    } else {
        // The top of the id space is out of reach: only explicit ids of the Redis door come near it.
        Place { ms: last.ms, seq: last.seq.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_rise_even_where_the_clock_goes_back() {
        let first = next_place(Place::default(), Timestamp::from_ms(10));
        assert_eq!(first, Place { ms: 10, seq: 0 });
        let second = next_place(first, Timestamp::from_ms(5));
        assert_eq!(second, Place { ms: 10, seq: 1 });
        assert_eq!(next_place(second, Timestamp::from_ms(11)), Place { ms: 11, seq: 0 });
        assert_eq!(next_place(Place::default(), Timestamp::from_ms(-1)), Place { ms: 0, seq: 1 });
    }
}
