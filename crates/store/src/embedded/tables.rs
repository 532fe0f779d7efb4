//! Where the engine's rows live: a few tables of bytes, in key order.
//!
//! Lives here: the trait, the tables' names, and rows in RAM. Not here: the journal that undoes a refused
//! transaction (`tables/journaled.rs`), what rows mean (`rows/`) and who changes them (`apply/`).

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use bytes::Bytes;

mod journaled;
pub(crate) use journaled::Journaled;

/// The tables. Their numbers are on disk: never reuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Table {
    /// () -> the next numbers to give out.
    Numbers = 0,
    /// stream -> name, settings, when it was closed.
    Stream = 1,
    /// stream -> last place, last entry, last arrival, counts.
    Head = 2,
    /// stream, queue -> the queue's id while it is open: the queues of a stream.
    Member = 3,
    /// stream, arrival -> an event's body and what travels with it.
    Body = 4,
    /// stream, n -> place and arrival.
    Entry = 5,
    /// stream, due, arrival -> the one queue that it is for, if it is for one: events without a place.
    Waiting = 6,
    /// queue -> id, name, stream, settings, when it was closed.
    Queue = 7,
    /// queue -> cursor and counts.
    Progress = 8,
    /// kind, name -> number.
    Name = 9,
    /// queue id -> queue.
    QueueId = 10,
    /// queue, n -> one delivery that is not done with: held, to be retried, ready again, dead.
    Delivery = 11,
    /// queue, due, arrival -> (): retries whose time has not come.
    Retry = 12,
    /// queue, due, arrival -> (): deliveries that may be claimed again.
    Again = 13,
    /// queue, lease end, arrival -> (): live leases.
    Ends = 14,
    /// queue, died, arrival -> how many operations the queue had begun by then: dead deliveries.
    Dead = 15,
    /// name -> one key's record.
    Key = 16,
    /// queue, n -> the last state of a delivery that is done with: what late calls are judged by.
    Outcome = 17,
    /// queue, over, arrival -> (): outcomes, to be forgotten in this order.
    Over = 18,
    /// queue, n -> arrival: what waits for this queue alone, outside of the stream.
    Lane = 19,
    /// queue, n -> one byte where a reader of new entries is to come to it again, else nothing: entries
    /// above the cursor that the queue has dealt with already.
    Aside = 20,
    /// stream, wall, arrival -> (): events that are of no use from then on.
    Expire = 21,
    /// stream, space, key -> the first event of this dedupe key.
    Dedupe = 22,
    /// stream, until, arrival -> the dedupe key that is forgotten then.
    DedupeUntil = 23,
    /// scope, key -> what an idempotency key was answered.
    Idem = 24,
    /// until, scope, key -> (): idempotency keys, to be forgotten in this order.
    IdemUntil = 25,
    /// kind, wall, number -> (): closed queues and streams, and deleted consumers, to be removed from then
    /// on.
    Closing = 26,
    /// queue, name -> the number of the Redis consumer of this name.
    ConsumerName = 27,
    /// queue, consumer -> its name, and how much it holds.
    Consumer = 28,
    /// queue, consumer, n -> (): the deliveries that a Redis consumer holds.
    Held = 29,
    /// number -> one change that an operator made.
    Audit = 30,
    /// operation -> what it does and how far it has come.
    Operation = 31,
    /// queue, kind -> the operation of this kind that is under way.
    Running = 32,
    /// queue -> how many operations it ever began: what a death that is recorded meanwhile bears.
    Begun = 33,
    /// queue, end, arrival -> (): holds of Redis consumers that a claim may take from then on.
    HoldEnds = 34,
}

impl Table {
    /// Every table, in the order of their numbers.
    pub(crate) const ALL: [Table; 35] = [
        Self::Numbers,
        Self::Stream,
        Self::Head,
        Self::Member,
        Self::Body,
        Self::Entry,
        Self::Waiting,
        Self::Queue,
        Self::Progress,
        Self::Name,
        Self::QueueId,
        Self::Delivery,
        Self::Retry,
        Self::Again,
        Self::Ends,
        Self::Dead,
        Self::Key,
        Self::Outcome,
        Self::Over,
        Self::Lane,
        Self::Aside,
        Self::Expire,
        Self::Dedupe,
        Self::DedupeUntil,
        Self::Idem,
        Self::IdemUntil,
        Self::Closing,
        Self::ConsumerName,
        Self::Consumer,
        Self::Held,
        Self::Audit,
        Self::Operation,
        Self::Running,
        Self::Begun,
        Self::HoldEnds,
    ];

    /// True where all rows stay in RAM, whatever the backlog: their number grows with queues, streams
    /// and keys, not with events.
    pub(crate) fn is_resident(self) -> bool {
        matches!(
            self,
            Self::Numbers
                | Self::Stream
                | Self::Head
                | Self::Member
                | Self::Queue
                | Self::Progress
                | Self::Name
                | Self::QueueId
                | Self::Key
                | Self::Closing
                | Self::Operation
                | Self::Running
                | Self::Begun
        )
    }
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Smallest key first.
    Rising,
    /// Largest key first.
    Falling,
}

/// What a scan calls for each row: key, then value.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &Bytes) -> ControlFlow<()> + 'a;

/// What a survey calls for each row.
pub(crate) type Survey<'a> = dyn FnMut(&[u8], Kept) -> ControlFlow<()> + 'a;

/// Tables of bytes in key order. The engine is one; the tables behind it can be swapped.
pub(crate) trait Tables {
    /// The row under `key`.
    fn get(&self, table: Table, key: &[u8]) -> Option<Bytes>;

    /// The row under `key`, as it was written or not: for whoever can go on without it.
    fn find(&self, table: Table, key: &[u8]) -> Option<Kept> {
        self.get(table, key).map(Kept::Whole)
    }

    /// Gives up, because a row that must be there is not: what the disk holds is not what was written.
    fn miss(&self, table: Table, key: &[u8]) -> ! {
        panic!("table {table:?} has no row {key:?}")
    }

    /// Stores a row, over the one that was there.
    fn put(&mut self, table: Table, key: &[u8], value: Bytes);

    /// Removes a row, if it is there.
    fn delete(&mut self, table: Table, key: &[u8]);

    /// Visits the rows whose key is at least `from` and below `to`, until told to stop.
    fn scan(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Visit<'_>);

    /// As [`Self::scan`], over rows that are as they were written or not: for whoever can go on without one.
    fn survey(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Survey<'_>) {
        self.scan(table, from, to, order, &mut |key, value| visit(key, Kept::Whole(value.clone())));
    }

    /// What [`Self::take_back`] needs to undo the next change of this row.
    fn before(&self, table: Table, key: &[u8]) -> Before;

    /// The row is again as it was.
    fn take_back(&mut self, table: Table, key: &[u8], before: Before);
}

/// A row, and whether it is what was written.
#[derive(Debug)]
pub(crate) enum Kept {
    /// It is.
    Whole(Bytes),
    /// The disk holds something else.
    Damaged(Bytes),
}

/// How a row was before a change, as these tables keep it.
#[derive(Debug)]
pub(crate) struct Before {
    /// What the newest layer said of it; none: nothing.
    pub(crate) newest: Option<Option<Bytes>>,
    /// The row in RAM, where it is kept there.
    pub(crate) resident: Option<Bytes>,
}

/// Rows in RAM.
#[derive(Debug, Clone)]
pub(crate) struct RamTables {
    tables: [BTreeMap<Box<[u8]>, Bytes>; Table::ALL.len()],
}

impl Default for RamTables {
    fn default() -> Self {
        Self { tables: std::array::from_fn(|_| BTreeMap::new()) }
    }
}

impl Tables for RamTables {
    fn get(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        self.tables[table as usize].get(key).cloned()
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) {
        self.tables[table as usize].insert(key.into(), value);
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.tables[table as usize].remove(key);
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Visit<'_>) {
        if from >= to {
            return;
        }
        let range = (Bound::Included(from), Bound::Excluded(to));
        let mut rows = self.tables[table as usize].range::<[u8], _>(range);
        loop {
            let next = match order {
                Order::Rising => rows.next(),
                Order::Falling => rows.next_back(),
            };
            match next {
                Some((key, value)) if visit(key, value).is_continue() => {}
                _ => return,
            }
        }
    }

    fn before(&self, table: Table, key: &[u8]) -> Before {
        Before { newest: None, resident: self.get(table, key) }
    }

    fn take_back(&mut self, table: Table, key: &[u8], before: Before) {
        match before.resident {
            Some(value) => self.put(table, key, value),
            None => self.delete(table, key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(tables: &impl Tables, from: &[u8], to: &[u8], order: Order) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        tables.scan(Table::Body, from, to, order, &mut |key, _| {
            found.push(key.to_vec());
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn a_scan_is_in_order_and_bounded_on_both_sides() {
        let mut tables = RamTables::default();
        for key in [b"a", b"b", b"c", b"d"] {
            tables.put(Table::Body, key, Bytes::new());
        }
        assert_eq!(keys(&tables, b"b", b"d", Order::Rising), [b"b", b"c"]);
        assert_eq!(keys(&tables, b"b", b"d", Order::Falling), [b"c", b"b"]);
        assert_eq!(keys(&tables, b"d", b"b", Order::Rising), Vec::<Vec<u8>>::new());
    }
}
