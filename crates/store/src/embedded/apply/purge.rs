//! The end of closed queues and streams: their rows go, in bounded steps.
//!
//! Lives here: what is left of a queue when its dead letters have been kept long enough, and of a
//! stream when its last queue is gone. Not here: closing them (`delete.rs`), and consumers
//! (`consumer.rs`).

use naven_api::Timestamp;

use super::claim::lane_arrival;
use super::context::{Context, READABLE, number_of};
use crate::embedded::rows::consumer::CLOSING_CONSUMER;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Closed, QueueRow};
use crate::embedded::tables::{Order, Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// Removes what is closed and was kept long enough: at most `most` rows. Answers how many.
    pub(super) fn purge(&mut self, most: u64) -> u64 {
        let mut gone = 0;
        // Consumers first: nothing may lead to one of a queue that is gone.
        for kind in [CLOSING_CONSUMER, key::CLOSING_QUEUE, key::CLOSING_STREAM] {
            while gone < most
                && let Some((at, Arrival(number))) = self.first(Table::Closing, kind)
                && Timestamp::from_ms(at) <= self.now.wall
            {
                let small = || u32::try_from(number).expect(READABLE);
                let (here, is_over) = match kind {
                    CLOSING_CONSUMER => self.purge_consumer(number, most - gone),
                    key::CLOSING_QUEUE => self.purge_queue(QueueNo(small()), most - gone),
                    _ => self.purge_stream(StreamNo(small()), most - gone),
                };
                gone += here;
                if is_over {
                    self.tables.delete(Table::Closing, &key::timed(kind, at, Arrival(number)));
                }
            }
        }
        gone
    }

    /// Removes at most `most` rows of a closed queue. Answers how many, and whether that was all.
    fn purge_queue(&mut self, no: QueueNo, most: u64) -> (u64, bool) {
        let queue = self.named_queue(no);
        let closed = queue.closed.expect("a closing queue is closed");
        let mut gone = self.purge_dealings(no, &queue, most);
        gone += self.purge_unread(no, &queue, closed, most - gone);
        gone += self.purge_waiting(no, queue.stream, most - gone);
        gone += self.purge_consumers(no, most - gone);
        if gone >= most {
            return (gone, false);
        }
        self.tables.delete(Table::Queue, &key::number(no.0));
        self.tables.delete(Table::Progress, &key::number(no.0));
        self.tables.delete(Table::Begun, &key::number(no.0));
        self.tables.delete(Table::QueueId, &queue.id.bits().to_be_bytes());
        self.tables.delete(Table::Member, &key::member(queue.stream, no));
        if self.stream(queue.stream).closed.is_some() && self.members(queue.stream).is_empty() {
            self.remove_stream_soon(queue.stream);
        }
        (gone + 1, true)
    }

    fn purge_dealings(&mut self, no: QueueNo, queue: &QueueRow, most: u64) -> u64 {
        let mut gone = 0;
        for table in [Table::Delivery, Table::Outcome, Table::Lane] {
            while gone < most
                && let Some((n, value)) = self.next_row(table, no.0, 0)
            {
                let mut progress = self.progress(no);
                let arrival = if table == Table::Lane {
                    self.tables.delete(table, &key::counted(no.0, n.0));
                    lane_arrival(&value)
                } else {
                    let (arrival, delivery) = delivery::decode(value).expect(READABLE);
                    match table {
                        Table::Delivery => self.forget(no, (n, arrival), &delivery, &mut progress),
                        _ => self.forget_outcome(no, (n, arrival), &delivery, &mut progress),
                    }
                    arrival
                };
                self.release(queue.stream, arrival);
                gone += 1;
            }
        }
        gone
    }

    fn purge_unread(&mut self, no: QueueNo, queue: &QueueRow, closed: Closed, most: u64) -> u64 {
        let mut gone = 0;
        let mut progress = self.progress(no);
        while gone < most
            && let Some((n, entry)) = self.next_entry(queue.stream, progress.cursor + 1)
            && n.0 <= closed.upto
        {
            progress.cursor = n.0;
            self.put_progress(no, &progress);
            if self.has(Table::Aside, no.0, n) {
                self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
                continue;
            }
            self.release(queue.stream, entry.arrival);
            gone += 1;
        }
        gone
    }

    fn purge_waiting(&mut self, no: QueueNo, stream: StreamNo, most: u64) -> u64 {
        if most == 0 || self.progress(no).lane_waiting == 0 {
            return 0;
        }
        let mut found = Vec::new();
        let (from, to) = (key::number(stream.0), key::past_number(stream.0));
        self.tables.scan(Table::Waiting, &from, &to, Order::Rising, &mut |key, value| {
            let is_its = !value.is_empty() && number_of(value.clone()) == no.0;
            found.extend(is_its.then(|| key::time_of(key)));
            let is_full = found.len() as u64 >= most;
            if is_full { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        for &(due, arrival) in &found {
            self.tables.delete(Table::Waiting, &key::timed(stream.0, due, arrival));
            if let Some(row) = self.body(stream, arrival) {
                self.drop_body(stream, arrival, &row);
            }
        }
        self.change_progress(no, |progress| progress.lane_waiting -= found.len() as u64);
        found.len() as u64
    }

    /// Removes at most `most` events of a closed stream that no queue reads any more.
    fn purge_stream(&mut self, no: StreamNo, most: u64) -> (u64, bool) {
        let mut gone = 0;
        while gone < most
            && let Some((arrival, _)) = self.next_row(Table::Body, no.0, 0)
        {
            let arrival = Arrival(arrival.0);
            let missing = || self.tables.miss(Table::Body, &key::counted(no.0, arrival.0));
            let row = self.body(no, arrival).unwrap_or_else(missing);
            match row.placed {
                Some(placed) => self.tables.delete(Table::Entry, &key::counted(no.0, placed.n.0)),
                None => self.tables.delete(Table::Waiting, &key::at_wall(no.0, row.due, arrival)),
            }
            self.drop_body(no, arrival, &row);
            gone += 1;
        }
        if gone >= most {
            return (gone, false);
        }
        self.forget_keys_of(no);
        self.tables.delete(Table::Stream, &key::number(no.0));
        self.tables.delete(Table::Head, &key::number(no.0));
        (gone + 1, true)
    }
}
