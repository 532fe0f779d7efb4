//! What is found by time: deliveries, outcomes, ends of events and of keys.
//!
//! Lives here: holding these tables to the rows that they lead to. Not here: those rows.

use bytes::Bytes;
use naven_api::{EventId, Timestamp};

use super::events::{Mend, body_of};
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::rows::answer::AnswerRow;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::dedupe::DedupeRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, StreamNo};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::embedded::verify::link;

impl Mend<'_> {
    /// Rows that lead nowhere go, unless they tell of a delivery that is lost.
    pub(super) fn indexes(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let by_time = [Table::Dead, Table::Retry, Table::Again, Table::Ends, Table::HoldEnds, Table::Over];
        for table in by_time {
            rows.for_each(table, &mut |rows, key, _| self.index(rows, table, key))?;
        }
        Ok(())
    }

    fn index(&mut self, rows: &mut Rows, table: Table, key: &[u8]) -> Result<(), StorageError> {
        let (no, (instant, arrival)) = (owner(key), key::time_of(key));
        let stream = self.queue(no).map(|queue| queue.row.stream.0);
        let body = stream.and_then(|stream| body_of(rows, stream, arrival));
        let placed = body.as_ref().and_then(|body| body.placed);
        let (Some(body), Some(placed)) = (body, placed) else { return rows.remove(table, key) };
        let own = key::counted(no, placed.n.0);
        let of = if table == Table::Over { Table::Outcome } else { Table::Delivery };
        if let Some((_, found)) = rows.get(of, &own).and_then(delivery::decode) {
            let is_its =
                link::index(of, no, arrival, &found).is_some_and(|(at, right)| at == table && right == key);
            return if is_its { Ok(()) } else { rows.remove(table, key) };
        }
        rows.remove(table, key)?;
        let is_its = body.only.is_none_or(|only| only.0 == no);
        if of == Table::Outcome || !is_its || rows.has(Table::Outcome, &own) || rows.has(Table::Lane, &own) {
            return Ok(());
        }
        let died = (table == Table::Dead).then(|| Timestamp::from_ms(instant));
        self.again(rows, no, (placed.n.0, arrival), (&body, died))
    }

    /// Events are looked at when they are of no use any more, and no others.
    pub(super) fn expiries(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        rows.for_each(Table::Expire, &mut |rows, key, _| {
            let (at, arrival) = key::time_of(key);
            let body = body_of(rows, owner(key), arrival);
            let is_its = body.and_then(|body| body.expiry()).is_some_and(|expiry| expiry.as_ms() == at);
            if is_its { Ok(()) } else { rows.remove(Table::Expire, key) }
        })?;
        if self.copied.lost.has_none(Table::Expire) {
            return Ok(());
        }
        let lost = &self.copied.lost;
        rows.for_each(Table::Body, &mut |rows, key, row| {
            let Some(at) = BodyRow::decode(row).and_then(|body| body.expiry()) else { return Ok(()) };
            let expire = key::at_wall(owner(key), at, Arrival(key::count_of(key)));
            if lost.is_lost(Table::Expire, &expire) {
                rows.put(Table::Expire, &expire, Bytes::new())
            } else {
                Ok(())
            }
        })
    }

    /// Dedupe keys and idempotency keys are forgotten in their time.
    pub(super) fn keys(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        rows.for_each(Table::Dedupe, &mut |rows, key, row| match DedupeRow::decode(row) {
            Some(row) => rows.put(Table::DedupeUntil, &row.until_key(), Bytes::copy_from_slice(key)),
            None => rows.remove(Table::Dedupe, key),
        })?;
        rows.for_each(Table::DedupeUntil, &mut |rows, key, row| match rows
            .get(Table::Dedupe, &row)
            .and_then(DedupeRow::decode)
        {
            Some(found) if found.until_key() == key => Ok(()),
            Some(_) => rows.remove(Table::DedupeUntil, key),
            None => dedupe_again(rows, key, &row),
        })?;
        rows.for_each(Table::Idem, &mut |rows, key, row| match AnswerRow::decode(row) {
            Some(row) => rows.put(Table::IdemUntil, &key::idem_until(row.until, key), Bytes::new()),
            None => rows.remove(Table::Idem, key),
        })?;
        rows.for_each(Table::IdemUntil, &mut |rows, key, _| {
            let idem = key.get(8..).unwrap_or_default();
            let answer = rows.get(Table::Idem, idem).and_then(AnswerRow::decode);
            let is_its = answer.is_some_and(|row| key::idem_until(row.until, idem) == key);
            if is_its { Ok(()) } else { rows.remove(Table::IdemUntil, key) }
        })
    }
}

/// The row of a dedupe key is lost, and its event may be there: a second one is still told of the first.
fn dedupe_again(rows: &mut Rows, until_key: &[u8], dedupe_key: &[u8]) -> Result<(), StorageError> {
    let (stream, (until, arrival)) = (owner(until_key), key::time_of(until_key));
    match body_of(rows, stream, arrival) {
        Some(body) => {
            let event = EventId::new(body.created_at.as_ms(), key::locator(StreamNo(stream), arrival));
            let place = body.placed.filter(|_| body.only.is_none()).map(|placed| placed.place);
            let until = Timestamp::from_ms(until);
            let row = DedupeRow { event, scheduled_at: body.scheduled_at, place, until };
            rows.put(Table::Dedupe, dedupe_key, row.encode())
        }
        None => rows.remove(Table::DedupeUntil, until_key),
    }
}
