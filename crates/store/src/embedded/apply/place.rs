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
use crate::reply::Refused;
use crate::txn::{Place, PlaceWish};

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
            let Some(place) = next_place(head.last, self.now.wall) else { break };
            self.tables.delete(Table::Waiting, &key::timed(stream.0, due, arrival));
            let mut row = self.pointed_body(stream, arrival);
            match only {
                Some(queue) => self.change_progress(queue, |progress| progress.lane_waiting -= 1),
                None => head.waiting -= 1,
            }
            let is_passed = self.place(stream, (head, place), arrival, &mut row);
            self.tell_due(stream, arrival, &row);
            let n = row.placed.map_or(0, |placed| placed.n.0);
            for &(queue, arrivals) in closed.iter().filter(|_| only.is_none()) {
                // It was scheduled when that queue was deleted, and is its dead letter.
                if arrival.0 <= arrivals {
                    self.put_lane(queue, EntryNo(n), arrival);
                    self.change_progress(queue, |progress| progress.lane_ready += 1);
                }
            }
            if is_passed {
                self.put_head(stream, head);
                self.release_event(stream, arrival, row);
                *head = self.head(stream);
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

    /// Gives an event a place behind the stream's last: in the stream itself, or in its queue's lane. True
    /// where a queue counts it as handed out already: nobody else may need it.
    pub(super) fn place(
        &mut self,
        stream: StreamNo,
        (head, place): (&mut Head, Place),
        arrival: Arrival,
        row: &mut BodyRow,
    ) -> bool {
        head.last = place;
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
            head.added_told += 1;
            head.length += 1;
        }
        self.hint_reader(stream, row.only);
        row.only.is_none() && place <= head.furthest && self.pass(stream, n, place)
    }

    /// Queues that count this place as handed out go past its entry. True where there are any.
    fn pass(&mut self, stream: StreamNo, n: EntryNo, place: Place) -> bool {
        let mut is_passed = false;
        for no in self.open_members(stream) {
            let mut progress = self.progress(no);
            let Some(queue) = self.queue(no).filter(|_| progress.last >= place) else { continue };
            self.set_aside(no, &queue, n, &mut progress);
            self.put_progress(no, &progress);
            is_passed = true;
        }
        is_passed
    }

    /// A queue of this stream counts everything up to `place` as handed out, which may be ahead of the
    /// stream's last: what gets a place up to there it does not get. What is published to it alone it gets.
    pub(super) fn go_ahead(&mut self, stream: StreamNo, place: Place) {
        let mut head = self.head(stream);
        if place > head.last.max(head.furthest) {
            head.furthest = place;
            self.put_head(stream, &head);
        }
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

/// The place after `last` at this wall time: it rises even where the clock does not. None past the last
/// place there is, which only explicit ids of the Redis door come near.
pub(super) fn next_place(last: Place, wall: Timestamp) -> Option<Place> {
    let ms = u64::try_from(wall.as_ms()).unwrap_or(0);
    if ms > last.ms { Some(Place { ms, seq: 0 }) } else { last.after() }
}

/// The place that a publisher wishes for, behind `last`.
pub(super) fn wished_place(wish: PlaceWish, last: Place, wall: Timestamp) -> Result<Place, Refused> {
    if last == Place::LAST {
        return Err(Refused::PlacesUsedUp);
    }
    let place = match wish {
        PlaceWish::Next => next_place(last, wall),
        PlaceWish::Exactly(place) => Some(place).filter(|place| *place > last),
        PlaceWish::In(ms) if ms == last.ms => last.seq.checked_add(1).map(|seq| Place { ms, seq }),
        PlaceWish::In(ms) => Some(Place { ms, seq: 0 }).filter(|place| *place > last),
    };
    place.ok_or(Refused::PlaceTaken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ms: u64, seq: u64) -> Place {
        Place { ms, seq }
    }

    #[test]
    fn places_rise_even_where_the_clock_goes_back() {
        let next = |last, ms| next_place(last, Timestamp::from_ms(ms));
        assert_eq!(next(Place::default(), 10), Some(place(10, 0)));
        assert_eq!(next(place(10, 0), 5), Some(place(10, 1)));
        assert_eq!(next(place(10, 1), 11), Some(place(11, 0)));
        assert_eq!(next(Place::default(), -1), Some(place(0, 1)));
        assert_eq!(next(place(12, u64::MAX), 11), Some(place(13, 0)));
        assert_eq!(next(Place::LAST, 11), None);
    }

    #[test]
    fn a_wish_is_met_behind_the_last_place_only() {
        let wish = |wish, last| wished_place(wish, last, Timestamp::from_ms(5));
        let taken = Err(Refused::PlaceTaken);
        assert_eq!(wish(PlaceWish::Exactly(place(4, 4)), place(4, 3)), Ok(place(4, 4)));
        assert_eq!(wish(PlaceWish::Exactly(place(4, 3)), place(4, 3)), taken);
        assert_eq!(wish(PlaceWish::Exactly(place(0, 0)), place(0, 0)), taken);
        assert_eq!(wish(PlaceWish::In(0), place(0, 0)), Ok(place(0, 1)));
        assert_eq!(wish(PlaceWish::In(7), place(4, 3)), Ok(place(7, 0)));
        assert_eq!(wish(PlaceWish::In(3), place(4, 3)), taken);
        assert_eq!(wish(PlaceWish::In(4), place(4, u64::MAX)), taken);
        for any in [PlaceWish::Next, PlaceWish::In(4), PlaceWish::Exactly(place(4, 4))] {
            assert_eq!(wish(any, Place::LAST), Err(Refused::PlacesUsedUp));
        }
    }
}
