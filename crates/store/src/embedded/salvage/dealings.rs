//! What queues do with events: deliveries, outcomes, lanes, and how far each queue has come.
//!
//! Lives here: which of these rows belong to an event that is there. Not here: those that are lost
//! (`again.rs`), and what finds them by time (`by_time.rs`).

use std::collections::BTreeMap;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::State;

use super::events::{Mend, lane_arrival, lost_body};
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::rows::body::{BodyRow, Placed};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo};
use crate::embedded::rows::stream::EntryRow;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::embedded::verify::link;
use crate::txn::Place;

impl Mend<'_> {
    /// Makes rows of queues fit events, and finds cursors that are lost.
    pub(super) fn dealings(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        for table in [Table::Outcome, Table::Delivery] {
            rows.for_each(table, &mut |rows, key, row| self.dealing(rows, table, key, row))?;
        }
        rows.for_each(Table::Lane, &mut |rows, key, row| {
            let arrival = lane_arrival(&row);
            let is_over = [Table::Outcome, Table::Delivery].iter().any(|&table| rows.has(table, key));
            if is_over || !self.belongs(rows, (Table::Lane, key), arrival, Timestamp::default())? {
                return rows.remove(Table::Lane, key);
            }
            Ok(())
        })?;
        self.cursors(rows)?;
        rows.for_each(Table::Aside, &mut |rows, key, _| {
            let n = key::count_of(key);
            let stands = self.queue(owner(key)).is_some_and(|queue| {
                n > queue.progress.cursor && rows.has(Table::Entry, &key::counted(queue.row.stream.0, n))
            });
            if stands { Ok(()) } else { rows.remove(Table::Aside, key) }
        })
    }

    fn dealing(&mut self, rows: &mut Rows, table: Table, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        let Some((arrival, delivery)) = delivery::decode(row) else { return rows.remove(table, key) };
        // What is done stays done.
        let is_older = table == Table::Delivery && rows.has(Table::Outcome, key);
        let first = delivery.log.first().map_or(delivery.due, |past| past.leased_at);
        if is_older || !self.belongs(rows, (table, key), arrival, first)? {
            return rows.remove(table, key);
        }
        if let Some((index, at)) = link::index(table, owner(key), arrival, &delivery) {
            // A death's row says more than that it is there: what was begun before it. Where that is lost,
            // no operation that was under way is to touch it.
            if index != Table::Dead {
                rows.put(index, &at, Bytes::new())?;
            } else if !rows.has(index, &at) {
                let begun = rows.get(Table::Begun, &key::number(owner(key))).unwrap_or_default();
                rows.put(index, &at, begun)?;
            }
        }
        if table == Table::Delivery && matches!(delivery.state, State::Done | State::Cancelled) {
            rows.remove(table, key)?;
            let over = key::at_wall(owner(key), delivery.over_at.unwrap_or_default(), arrival);
            rows.put(Table::Over, &over, Bytes::new())?;
            rows.put(Table::Outcome, key, delivery::encode(arrival, &delivery))?;
        }
        // Where the cursor is lost it is found only when all these rows are known.
        let has_cursor = self.queue(owner(key)).is_some_and(|queue| !queue.is_progress_lost);
        if has_cursor { self.set_aside(rows, key) } else { Ok(()) }
    }

    /// What a queue deals with does not come to it once more when its cursor does.
    pub(super) fn set_aside(&self, rows: &mut Rows, key: &[u8]) -> Result<(), StorageError> {
        let Some(queue) = self.queue(owner(key)) else { return Ok(()) };
        let n = key::count_of(key);
        let is_above = n > queue.progress.cursor && queue.row.closed.is_none_or(|closed| n <= closed.upto);
        let in_stream = || rows.has(Table::Entry, &key::counted(queue.row.stream.0, n));
        if is_above && in_stream() && !rows.has(Table::Aside, key) {
            rows.put(Table::Aside, key, Bytes::new())?;
        }
        Ok(())
    }

    /// True where queue and event of a row are there. Of an event that is lost a mark is made.
    fn belongs(
        &mut self,
        rows: &mut Rows,
        (table, key): (Table, &[u8]),
        arrival: Arrival,
        created_at: Timestamp,
    ) -> Result<bool, StorageError> {
        let (no, n) = (owner(key), EntryNo(key::count_of(key)));
        let Some(stream) = self.queue(no).map(|queue| queue.row.stream.0) else {
            self.say(table, key, "left out: its queue is lost");
            return Ok(false);
        };
        let found = rows.get(Table::Body, &key::counted(stream, arrival.0)).and_then(BodyRow::decode);
        let Some(body) = found else {
            let placed = Placed { n, place: Place { ms: 0, seq: n.0 } };
            self.lose(rows, (stream, arrival), &lost_body(Some(placed), created_at))?;
            return Ok(true);
        };
        let is_its =
            body.placed.is_some_and(|placed| placed.n == n) && body.only.is_none_or(|only| only.0 == no);
        if !is_its {
            self.say(table, key, "left out: it is not of the event that it names");
        }
        Ok(is_its)
    }

    /// Queues whose progress is lost go on with the first entry that they are not known to have dealt
    /// with.
    fn cursors(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let mut lost: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (no, queue) in self.owners.queues.iter().filter(|(_, queue)| queue.is_progress_lost) {
            lost.entry(queue.row.stream.0).or_default().push(*no);
        }
        if lost.is_empty() {
            return Ok(());
        }
        let mut stopped = std::collections::BTreeSet::new();
        let copied = self.copied;
        let owners = &mut *self.owners;
        rows.for_each(Table::Entry, &mut |rows, key, row| {
            let (n, Some(entry)) = (key::count_of(key), EntryRow::decode(row)) else { return Ok(()) };
            for no in lost.get(&owner(key)).into_iter().flatten() {
                let own = key::counted(*no, n);
                let is_dealt_with = rows.has(Table::Delivery, &own)
                    || rows.has(Table::Outcome, &own)
                    || copied.lost.is_named(Table::Outcome, &own);
                let queue = owners.queues.get_mut(no).expect("it was found among them");
                if stopped.contains(no) {
                    if is_dealt_with {
                        rows.put(Table::Aside, &own, Bytes::new())?;
                    }
                } else if is_dealt_with {
                    (queue.progress.cursor, queue.progress.last) = (n, entry.place);
                } else {
                    stopped.insert(*no);
                }
            }
            Ok(())
        })?;
        for no in lost.values().flatten().filter(|no| !stopped.contains(no)) {
            let queue = owners.queues.get_mut(no).expect("it was found among them");
            let head = owners.streams.get(&queue.row.stream.0).map(|stream| stream.head);
            queue.progress.cursor = head.map_or(0, |head| head.entry);
        }
        Ok(())
    }
}
