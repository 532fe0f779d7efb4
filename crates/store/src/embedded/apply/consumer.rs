//! Redis consumers of a queue: their numbers, what they hold, and their deletion.
//!
//! Lives here: the table of consumers and the index of their holds. Not here: how they take events
//! (`claim.rs`) and finish them (`settle.rs`).
//!
//! A consumer is known from the first time that it asks for anything. Its number is one above the highest that
//! is there, and its row stays for as long as it holds anything, deleted or not.

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::limits::CONSUMER_HOLDS_ENDED_MAX;
use naven_core::{ConsumerNo, DeadReason, Delivery, Step};

use super::context::{Context, READABLE, number_of};
use crate::embedded::rows::consumer::{self, ConsumerRow, holder};
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply};

impl<T: Tables> Context<'_, T> {
    /// The number of the consumer of this name, if it has one.
    pub(super) fn consumer_named(&self, no: QueueNo, name: &[u8]) -> Option<ConsumerNo> {
        let number = self.tables.get(Table::ConsumerName, &consumer::consumer_name(no, name))?;
        Some(ConsumerNo(number_of(number)))
    }

    /// The number that the queue's next consumer gets.
    pub(super) fn next_consumer(&self, no: QueueNo) -> ConsumerNo {
        let mut last = 0;
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Consumer, &from, &to, Order::Falling, &mut |key, _| {
            last = consumer::consumer_of(key).0;
            ControlFlow::Break(())
        });
        ConsumerNo(last.checked_add(1).expect("no queue ever has so many consumers"))
    }

    /// Makes a consumer, which holds nothing yet.
    pub(super) fn make_consumer(&mut self, no: QueueNo, number: ConsumerNo, name: &Bytes) {
        let row =
            ConsumerRow { name: name.clone(), held: 0, is_deleted: false, seen: self.now.wall, active: None };
        self.put_consumer(no, number, &row);
        let number = Bytes::copy_from_slice(&key::number(number.0));
        self.tables.put(Table::ConsumerName, &consumer::consumer_name(no, name), number);
    }

    /// The number of the consumer of this name, which is made where it is not there. It counts as seen now.
    pub(super) fn consumer_for(&mut self, no: QueueNo, name: &Bytes) -> ConsumerNo {
        let Some(number) = self.consumer_named(no, name) else {
            let number = self.next_consumer(no);
            self.make_consumer(no, number, name);
            return number;
        };
        let row = self.consumer(no, number);
        if row.seen != self.now.wall {
            self.put_consumer(no, number, &ConsumerRow { seen: self.now.wall, ..row });
        }
        number
    }

    /// The consumer was handed something that it holds.
    pub(super) fn consumer_took(&mut self, no: QueueNo, number: ConsumerNo) {
        let row = self.consumer(no, number);
        self.put_consumer(no, number, &ConsumerRow { active: Some(self.now.wall), ..row });
    }

    /// Makes a consumer of an open queue. Says whether it was not there before; one that was is not seen by it.
    pub(super) fn make_named_consumer(&mut self, queue: &QueueRef, name: &Bytes) -> Result<OpReply, OpError> {
        let (no, _) = self.open_queue(queue)?;
        let is_new = self.consumer_named(no, name).is_none();
        if is_new {
            let number = self.next_consumer(no);
            self.make_consumer(no, number, name);
        }
        Ok(OpReply::Made(is_new))
    }

    /// Keeps the index of holds in step with a delivery that changes hands.
    pub(super) fn move_hold(
        &mut self,
        no: QueueNo,
        n: EntryNo,
        before: Option<&Delivery>,
        after: Option<&Delivery>,
    ) {
        let (old, new) = (before.and_then(holder), after.and_then(holder));
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.tables.delete(Table::Held, &consumer::held(no, old, n));
            let row = self.consumer(no, old);
            self.put_consumer(no, old, &ConsumerRow { held: row.held.saturating_sub(1), ..row });
        }
        if let Some(new) = new {
            self.tables.put(Table::Held, &consumer::held(no, new, n), Bytes::new());
            let row = self.consumer(no, new);
            self.put_consumer(no, new, &ConsumerRow { held: row.held + 1, ..row });
        }
    }

    /// Deletes a consumer: what it holds is dead, the most of it at once and the rest while tending. What lies
    /// above the cursor is handed out again instead, and what has no content any more is forgotten. Answers how
    /// much it held; nothing where there is no such consumer.
    pub(super) fn delete_consumer(&mut self, queue: &QueueRef, name: &Bytes) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        let Some(number) = self.consumer_named(no, name) else { return Ok(OpReply::Removed(0)) };
        self.tables.delete(Table::ConsumerName, &consumer::consumer_name(no, name));
        let row = self.consumer(no, number);
        let held = row.held;
        self.put_consumer(no, number, &ConsumerRow { is_deleted: true, ..row });
        let (_, is_over) = self.end_holds(no, queue, number, CONSUMER_HOLDS_ENDED_MAX as u64);
        if !is_over {
            self.tables.put(Table::Closing, &consumer::closing_consumer(no, number), Bytes::new());
        }
        Ok(OpReply::Removed(held))
    }

    /// Goes on with the end of a deleted consumer's holds. Answers how many, and whether that was all. In
    /// a closed queue all is dead already, and its rows go with it.
    pub(super) fn purge_consumer(&mut self, number: u64, most: u64) -> (u64, bool) {
        let (no, number) = consumer::from_number(number);
        match self.queue(no).filter(|queue| queue.closed.is_none()) {
            Some(queue) => self.end_holds(no, queue, number, most),
            None => (0, true),
        }
    }

    /// Removes at most `most` consumers of a closed queue that holds nothing more. Answers how many.
    pub(super) fn purge_consumers(&mut self, no: QueueNo, most: u64) -> u64 {
        let mut gone = 0;
        while gone < most
            && let Some((number, row)) = self.first_consumer(no)
        {
            if !row.is_deleted {
                self.tables.delete(Table::ConsumerName, &consumer::consumer_name(no, &row.name));
            }
            self.tables.delete(Table::Consumer, &consumer::consumer(no, number));
            gone += 1;
        }
        gone
    }

    /// Ends at most `most` holds of a deleted consumer; its row goes with the last.
    fn end_holds(&mut self, no: QueueNo, mut queue: QueueRow, number: ConsumerNo, most: u64) -> (u64, bool) {
        let (mut ended, mut progress, mut is_new_round) = (0, self.progress(no), false);
        let mut contentless = Vec::new();
        while ended < most
            && let Some(n) = self.first_held(no, number)
        {
            let missing = || self.tables.miss(Table::Delivery, &key::counted(no.0, n.0));
            let (arrival, before) = self.delivery(no, n).unwrap_or_else(missing);
            let row = self.pointed_body(queue.stream, arrival);
            if self.is_ahead(no, n) {
                self.forget(no, (n, arrival), &before, &mut progress);
                self.put_back(no, n, &mut progress);
                is_new_round = true;
            } else if row.body.is_none() && !row.damaged {
                self.forget(no, (n, arrival), &before, &mut progress);
                contentless.push(arrival);
            } else {
                let step = Step::Bury(DeadReason::ConsumerDeleted);
                let dead = before.apply(&step, self.now, &queue.policy(&row));
                let dead = dead.expect("what is held is not over");
                self.save(no, (n, arrival), Some(&before), &dead, &mut progress);
                self.tell(&queue, (arrival, &row), Some(&before), &dead);
            }
            ended += 1;
        }
        if ended > 0 {
            self.put_progress(no, &progress);
        }
        if is_new_round {
            queue.round = queue.round.saturating_add(1);
            queue.fence = progress.fence;
            self.put_queue(no, &queue);
            self.hint(queue.id);
        }
        contentless.into_iter().for_each(|arrival| self.release(queue.stream, arrival));
        let is_over = self.first_held(no, number).is_none();
        if is_over {
            self.tables.delete(Table::Consumer, &consumer::consumer(no, number));
        }
        (ended, is_over)
    }

    /// Consumers of a queue that are not deleted.
    pub(super) fn count_consumers(&self, no: QueueNo) -> u64 {
        let mut count = 0;
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::ConsumerName, &from, &to, Order::Rising, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    fn first_held(&self, no: QueueNo, number: ConsumerNo) -> Option<EntryNo> {
        let mut first = None;
        let (from, to) =
            (consumer::held(no, number, EntryNo(0)), consumer::held(no, number, EntryNo(u64::MAX)));
        self.tables.scan(Table::Held, &from, &to, Order::Rising, &mut |key, _| {
            first = Some(consumer::entry_of(key));
            ControlFlow::Break(())
        });
        first
    }

    fn first_consumer(&self, no: QueueNo) -> Option<(ConsumerNo, ConsumerRow)> {
        let mut first = None;
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Consumer, &from, &to, Order::Rising, &mut |key, value| {
            let row = ConsumerRow::decode(value.clone()).expect(READABLE);
            first = Some((consumer::consumer_of(key), row));
            ControlFlow::Break(())
        });
        first
    }

    pub(super) fn consumer(&self, no: QueueNo, number: ConsumerNo) -> ConsumerRow {
        let key = consumer::consumer(no, number);
        let row = self.tables.get(Table::Consumer, &key).and_then(ConsumerRow::decode);
        row.unwrap_or_else(|| self.tables.miss(Table::Consumer, &key))
    }

    fn put_consumer(&mut self, no: QueueNo, number: ConsumerNo, row: &ConsumerRow) {
        self.tables.put(Table::Consumer, &consumer::consumer(no, number), row.encode());
    }
}
