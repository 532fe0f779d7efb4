//! Events and their places: bodies, entries, and those that wait for a place.
//!
//! Lives here: which of them belong together, and what is left of an event whose content is lost. Not here:
//! what queues do with them (`dealings.rs`).
//!
//! Nothing is made up about the content of an event. Where only the content is lost, and another row tells
//! which event it was, the event stays, marked as damaged: each queue that comes to it makes a dead letter
//! of it, as a running engine does.

use bytes::Bytes;
use naven_api::Timestamp;

use super::copy::Copied;
use super::owners::{Owners, QueueState};
use super::report::Salvaged;
use super::rows::Rows;
use super::seen::{number, owner};
use crate::embedded::finding::Finding;
use crate::embedded::rows::body::{BodyRow, Placed};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::stream::EntryRow;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;

/// What the mending goes by, and where it says what it did.
pub(super) struct Mend<'a> {
    pub(super) owners: &'a mut Owners,
    pub(super) copied: &'a Copied,
    pub(super) report: &'a mut Salvaged,
}

/// The event under this number.
pub(super) fn body_of(rows: &Rows, stream: u32, arrival: Arrival) -> Option<BodyRow> {
    rows.get(Table::Body, &key::counted(stream, arrival.0)).and_then(BodyRow::decode)
}

/// The event of a row of a lane.
pub(super) fn lane_arrival(row: &[u8]) -> Arrival {
    Arrival(row.try_into().map_or(0, u64::from_be_bytes))
}

/// An event of which only this is known.
pub(super) fn lost_body(placed: Option<Placed>, due: Timestamp) -> BodyRow {
    BodyRow {
        created_at: due,
        scheduled_at: due,
        due,
        placed,
        only: None,
        expires_at: None,
        dedupe_key: None,
        trace: None,
        max_attempts: None,
        headers: Vec::new(),
        body: None,
        damaged: true,
    }
}

impl Mend<'_> {
    /// Makes events, entries and waiting events fit each other.
    pub(super) fn events(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        if !self.copied.lost.has_none(Table::Body) {
            rows.for_each(Table::Body, &mut |rows, key, row| self.doubtful(rows, key, row))?;
        }
        rows.for_each(Table::Entry, &mut |rows, key, row| self.entry(rows, key, row))?;
        rows.for_each(Table::Waiting, &mut |rows, key, row| self.waiting(rows, key, &row))?;
        rows.for_each(Table::Body, &mut |rows, key, row| self.body(rows, key, row))
    }

    pub(super) fn queue(&self, no: u32) -> Option<&QueueState> {
        self.owners.queues.get(&no)
    }

    pub(super) fn say(&mut self, table: Table, key: &[u8], what: impl Into<String>) {
        self.report.add(Finding::row(table, key, what));
    }

    /// What is left of an event whose row cannot be read stays where another row bears it out.
    fn doubtful(&mut self, rows: &mut Rows, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        let Some(body) = BodyRow::decode(row).filter(|body| body.damaged) else { return Ok(()) };
        if !self.copied.lost.is_named(Table::Body, key) {
            return Ok(());
        }
        let (stream, arrival) = (owner(key), Arrival(key::count_of(key)));
        match self.borne_out(rows, stream, arrival, body) {
            Some(mut body) => {
                let expires = body.expiry().map(|at| key::at_wall(stream, at, arrival));
                if expires.is_none_or(|key| !rows.has(Table::Expire, &key)) {
                    body.expires_at = None;
                }
                rows.put(Table::Body, key, body.encode())
            }
            None => rows.remove(Table::Body, key),
        }
    }

    fn borne_out(&self, rows: &Rows, stream: u32, arrival: Arrival, body: BodyRow) -> Option<BodyRow> {
        let Some(Placed { n, place }) = body.placed else {
            let only = rows.get(Table::Waiting, &key::at_wall(stream, body.due, arrival))?;
            let only = (!only.is_empty()).then(|| QueueNo(number(&only)));
            return Some(BodyRow { only, ..body });
        };
        if let Some(entry) = rows.get(Table::Entry, &key::counted(stream, n.0)).and_then(EntryRow::decode) {
            let is_its = entry.arrival == arrival && entry.place == place;
            return is_its.then_some(BodyRow { created_at: entry.created_at, only: None, ..body });
        }
        let deals = |no: &u32| {
            let key = key::counted(*no, n.0);
            let in_row = |table| rows.get(table, &key).and_then(delivery::decode).map(|(of, _)| of);
            let in_lane = rows.get(Table::Lane, &key).map(|row| lane_arrival(&row));
            let of = in_row(Table::Delivery).or_else(|| in_row(Table::Outcome)).or(in_lane);
            of == Some(arrival)
        };
        let dealing: Vec<u32> = self.owners.members(stream).into_iter().filter(deals).collect();
        let only = body.only.filter(|only| dealing == [only.0]);
        (!dealing.is_empty()).then_some(BodyRow { only, ..body })
    }

    fn entry(&mut self, rows: &mut Rows, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        let Some(entry) = EntryRow::decode(row) else { return rows.remove(Table::Entry, key) };
        let (stream, n) = (owner(key), EntryNo(key::count_of(key)));
        match body_of(rows, stream, entry.arrival) {
            Some(body) if body.only.is_none() && body.placed.is_some_and(|placed| placed.n == n) => Ok(()),
            Some(_) => {
                self.say(Table::Entry, key, "left out: it is not the place of its event");
                rows.remove(Table::Entry, key)
            }
            None => {
                let placed = Placed { n, place: entry.place };
                let due = Timestamp::from_ms(i64::try_from(entry.place.ms).unwrap_or(i64::MAX));
                let body = BodyRow { created_at: entry.created_at, ..lost_body(Some(placed), due) };
                self.lose(rows, (stream, entry.arrival), &body)
            }
        }
    }

    /// An event of which there is only what leads to it.
    pub(super) fn lose(
        &mut self,
        rows: &mut Rows,
        (stream, arrival): (u32, Arrival),
        body: &BodyRow,
    ) -> Result<(), StorageError> {
        let key = key::counted(stream, arrival.0);
        let what =
            format!("the content of event {} of stream {stream} is lost: only its place is left", arrival.0);
        self.say(Table::Body, &key, what);
        rows.put(Table::Body, &key, body.encode())
    }

    fn waiting(&mut self, rows: &mut Rows, key: &[u8], row: &Bytes) -> Result<(), StorageError> {
        let (stream, (due, arrival)) = (owner(key), key::time_of(key));
        let only = (!row.is_empty()).then(|| QueueNo(number(row)));
        match body_of(rows, stream, arrival) {
            None => {
                let body = BodyRow { only, ..lost_body(None, Timestamp::from_ms(due)) };
                self.lose(rows, (stream, arrival), &body)
            }
            Some(body) if body.placed.is_none() && body.due.as_ms() == due && body.only == only => Ok(()),
            Some(_) => rows.remove(Table::Waiting, key),
        }
    }

    /// An event is found by its place, or by the time at which it gets one.
    fn body(&mut self, rows: &mut Rows, key: &[u8], row: Bytes) -> Result<(), StorageError> {
        let Some(body) = BodyRow::decode(row) else { return rows.remove(Table::Body, key) };
        let (stream, arrival) = (owner(key), Arrival(key::count_of(key)));
        let Some(Placed { n, place }) = body.placed else {
            let waiting = key::at_wall(stream, body.due, arrival);
            if body.only.is_some_and(|only| self.queue(only.0).is_none()) {
                self.say(Table::Body, key, "left out: the one queue that it is for is lost");
                rows.remove(Table::Waiting, &waiting)?;
                return rows.remove(Table::Body, key);
            }
            let only = body.only.map_or_else(Bytes::new, |no| Bytes::copy_from_slice(&key::number(no.0)));
            return rows.put(Table::Waiting, &waiting, only);
        };
        let entry = key::counted(stream, n.0);
        let was_there = body.only.is_none() && self.copied.lost.is_lost(Table::Entry, &entry);
        if !was_there || rows.has(Table::Entry, &entry) {
            return Ok(());
        }
        // What was trimmed away lives on in lanes, and what all are done with has no content.
        let in_lane = |no: &u32| rows.has(Table::Lane, &key::counted(*no, n.0));
        let is_known = self.copied.lost.is_named(Table::Entry, &entry);
        let has_content = body.body.is_some() || body.damaged;
        if is_known || (has_content && !self.owners.members(stream).iter().any(in_lane)) {
            let row = EntryRow { place, arrival, created_at: body.created_at };
            return rows.put(Table::Entry, &entry, row.encode());
        }
        Ok(())
    }
}
