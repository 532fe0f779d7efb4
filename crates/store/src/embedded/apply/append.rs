//! Publishing: an event's body is stored, and it takes its place now or when it is due.
//!
//! Lives here: append and the giving of places. Not here: claims (`claim.rs`).

use naven_api::Timestamp;
use naven_core::View;

use super::context::Context;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, EntryNo, StreamNo};
use crate::embedded::rows::stream::{EntryRow, Head};
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply};
use crate::txn::{Body, Due, Place};

impl<T: Tables> Context<'_, T> {
    pub(super) fn append(
        &mut self,
        queue: &QueueRef,
        body: &Body,
        due: Due,
        headers: &[(String, String)],
        max_attempts: Option<u32>,
    ) -> Result<OpReply, OpError> {
        let (_, queue) = self.open_queue(queue)?;
        let stream = queue.stream;
        self.place_due(stream, u64::MAX);
        let scheduled_at = match due {
            Due::Now => self.now.wall,
            Due::In(delay) => self.now.wall.plus_ms(delay.as_ms()),
            Due::At(at) => at,
        };
        let mut row = BodyRow {
            created_at: self.now.wall,
            scheduled_at,
            due: scheduled_at.max(self.now.wall),
            entry: None,
            max_attempts,
            headers: headers.to_vec(),
            body: Some(body.clone()),
        };
        let mut head = self.head(stream);
        head.arrival += 1;
        let arrival = Arrival(head.arrival);
        if row.due <= self.now.wall {
            self.place(stream, &mut head, arrival, &mut row, View::Ready);
        } else {
            self.tables.put(Table::Waiting, &key::at_wall(stream.0, row.due, arrival), bytes::Bytes::new());
            self.put_body(stream, arrival, &row);
            self.count_all(stream, |counts| *counts.of_mut(View::Scheduled) += 1);
        }
        self.put_head(stream, &head);
        self.hint(stream);
        self.event_view(stream, arrival, &row, false).map(|view| OpReply::Event(Box::new(view)))
    }

    /// Places at most `most` events of a stream whose time has come, in the order in which they
    /// became due. Answers how many.
    pub(super) fn place_due(&mut self, stream: StreamNo, most: u64) -> u64 {
        let mut placed = 0;
        let mut head = None;
        while placed < most {
            let Some((due, arrival)) = self.first(Table::Waiting, stream.0) else { break };
            if Timestamp::from_ms(due) > self.now.wall {
                break;
            }
            let head = head.get_or_insert_with(|| self.head(stream));
            self.tables.delete(Table::Waiting, &key::timed(stream.0, due, arrival));
            let mut row = self.body(stream, arrival).expect("a waiting event has a body");
            self.place(stream, head, arrival, &mut row, View::Scheduled);
            placed += 1;
        }
        if let Some(head) = head {
            self.put_head(stream, &head);
            self.hint(stream);
        }
        placed
    }

    /// Gives an event the next place of its stream; `from` is the state it was counted in, ready
    /// for one that was not counted yet.
    fn place(&mut self, stream: StreamNo, head: &mut Head, arrival: Arrival, row: &mut BodyRow, from: View) {
        head.last = next_place(head.last, self.now.wall);
        head.entry += 1;
        head.version += 1;
        let entry = EntryRow { place: head.last, arrival };
        self.tables.put(Table::Entry, &key::counted(stream.0, head.entry), entry.encode());
        row.entry = Some(EntryNo(head.entry));
        self.put_body(stream, arrival, row);
        self.count_all(stream, |counts| {
            if from != View::Ready {
                *counts.of_mut(from) = counts.of(from).saturating_sub(1);
            }
            *counts.of_mut(View::Ready) += 1;
        });
    }

    fn count_all(&mut self, stream: StreamNo, change: impl Fn(&mut crate::read::Counts)) {
        for queue in self.members(stream) {
            let mut progress = self.progress(queue);
            change(&mut progress.counts);
            self.put_progress(queue, &progress);
        }
    }

    /// Wakes whoever waits on a queue of this stream.
    fn hint(&mut self, stream: StreamNo) {
        for queue in self.members(stream) {
            self.hints.extend(self.queue(queue).map(|row| row.id));
        }
    }

    /// The place of a placed entry.
    pub(super) fn place_of(&self, stream: StreamNo, row: &BodyRow) -> Option<Place> {
        self.entry(stream, row.entry?).map(|entry| entry.place)
    }

    /// The first event above a queue's cursor.
    pub(super) fn next_fresh(&self, stream: StreamNo, cursor: u64) -> Option<(EntryNo, Arrival)> {
        let mut next = None;
        let (from, to) = (key::counted(stream.0, cursor + 1), key::past_number(stream.0));
        self.tables.scan(Table::Entry, &from, &to, Order::Rising, &mut |key, value| {
            let entry = EntryRow::decode(value.clone()).expect("entries are written by this version");
            next = Some((EntryNo(key::count_of(key)), entry.arrival));
            std::ops::ControlFlow::Break(())
        });
        next
    }
}

/// The place after `last` at this wall time: it rises even where the clock does not.
fn next_place(last: Place, wall: Timestamp) -> Place {
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
