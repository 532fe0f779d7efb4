//! What a row leads to, and under which key it is found.
//!
//! Lives here: the links between tables, for those who check them. Not here: keeping them (`apply/`),
//! which a test holds this to, and those of Redis consumers (`holder.rs`).
//!
//! Only what always holds is asked for, in every queue and stream, open or closed.

use bytes::Bytes;
use naven_api::limits::AUDIT_ROWS_MAX;
use naven_core::{Delivery, State};

use super::row::closing_kind;
use crate::embedded::rows::answer::AnswerRow;
use crate::embedded::rows::audit;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::consumer::{self, holder};
use crate::embedded::rows::dedupe::DedupeRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::operation::{self, OperationRow};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::EntryRow;
use crate::embedded::tables::Table;

/// A row is there, and cannot be read.
#[derive(Debug)]
pub(in crate::embedded) struct Unreadable;

/// Looks a row up.
pub(in crate::embedded) type Get<'a> = dyn Fn(Table, &[u8]) -> Result<Option<Bytes>, Unreadable> + 'a;

/// Why a link is not well.
pub(super) enum Broken {
    /// The row to which it leads is not there.
    Missing(Table, Vec<u8>),
    /// It is there, and does not belong to the one that leads to it.
    Other(Table, Vec<u8>),
    /// It cannot be read, of which there is a finding of its own.
    Unknown,
}

pub(super) type Linked<T = ()> = Result<T, Broken>;

/// What is wrong with the rows to which this one, which must be one of its table, leads.
pub(in crate::embedded) fn wrong(table: Table, key: &[u8], row: &Bytes, get: &Get<'_>) -> Option<String> {
    let named = |table: Table, key: &[u8]| {
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{table:?} {key}, to which it leads, ")
    };
    match (Links { get }).of(table, key, row) {
        Ok(()) | Err(Broken::Unknown) => None,
        Err(Broken::Missing(table, key)) => Some(named(table, &key) + "is missing"),
        Err(Broken::Other(table, key)) => Some(named(table, &key) + "does not lead back to it"),
    }
}

pub(super) struct Links<'a> {
    get: &'a Get<'a>,
}

impl Links<'_> {
    fn of(&self, table: Table, key: &[u8], row: &Bytes) -> Linked {
        match table {
            Table::Numbers | Table::Stream | Table::Key => Ok(()),
            Table::Head | Table::Body => self.needs(Table::Stream, &key[..4]),
            Table::Member => {
                self.needs(Table::Stream, &key[..4])?;
                self.needs(Table::Queue, &key[4..])
            }
            Table::Queue => {
                let queue = QueueRow::decode(row.clone()).ok_or(Broken::Unknown)?;
                self.needs(Table::Progress, key)?;
                self.needs(Table::Stream, &key::number(queue.stream.0))?;
                self.needs(Table::Member, &[&key::number(queue.stream.0)[..], key].concat())
            }
            Table::Progress | Table::Begun => self.needs(Table::Queue, key),
            Table::Name if key.starts_with(b"s") => self.needs(Table::Stream, row),
            Table::Name | Table::QueueId => self.needs(Table::Queue, row),
            Table::Entry => {
                let entry = EntryRow::decode(row.clone()).ok_or(Broken::Unknown)?;
                self.placed(owner(key), entry.arrival, key::count_of(key))
            }
            Table::Waiting | Table::Expire => self.by_time(table, key),
            Table::Delivery | Table::Outcome => self.dealing(table, key, row),
            Table::Retry | Table::Again | Table::Ends => self.indexed(Table::Delivery, key),
            Table::HoldEnds | Table::Dead => self.indexed(Table::Delivery, key),
            Table::Over => self.indexed(Table::Outcome, key),
            Table::Lane => {
                let arrival = Arrival(u64::from_be_bytes(row[..].try_into().map_err(|_| Broken::Unknown)?));
                self.placed(self.stream_of(owner(key))?, arrival, key::count_of(key))
            }
            Table::Aside => {
                let stream = self.stream_of(owner(key))?;
                self.needs(Table::Entry, &key::counted(stream, key::count_of(key)))
            }
            Table::Dedupe => {
                let dedupe = DedupeRow::decode(row.clone()).ok_or(Broken::Unknown)?;
                self.needs(Table::DedupeUntil, &dedupe.until_key())
            }
            Table::DedupeUntil => self.needs(Table::Dedupe, row),
            Table::Idem => {
                let answer = AnswerRow::decode(row.clone()).ok_or(Broken::Unknown)?;
                self.needs(Table::IdemUntil, &key::idem_until(answer.until, key))
            }
            Table::IdemUntil => self.needs(Table::Idem, &key[8..]),
            Table::ConsumerName => self.consumer_name(key, row),
            Table::Consumer => self.consumer(key, row),
            Table::Held => self.held(key),
            Table::Audit => self.chained(key, row),
            Table::Operation => {
                let row = OperationRow::decode(row.clone()).ok_or(Broken::Unknown)?;
                let running = operation::running(row.queue, row.view.kind);
                if row.view.state.is_over() { Ok(()) } else { self.leads(Table::Running, &running, key) }
            }
            Table::Running => self.needs(Table::Operation, row),
            Table::Closing => {
                let (table, key) = closing_kind(key).ok_or(Broken::Unknown)?;
                self.needs(table, &key)
            }
        }
    }

    /// An entry of the audit log follows the one before it, unless that one was the oldest of too many, or is
    /// known to be lost.
    fn chained(&self, key: &[u8], row: &Bytes) -> Linked {
        if audit::is_start(key) {
            return Ok(());
        }
        let entry = audit::decode(key, row.clone()).ok_or(Broken::Unknown)?;
        let Some(before) = entry.number.checked_sub(1).filter(|before| *before > 0) else { return Ok(()) };
        let key = before.to_be_bytes();
        match self.row(Table::Audit, &key) {
            Ok(row) => {
                let before = audit::decode(&key, row).ok_or(Broken::Unknown)?;
                let is_its = before.hash == entry.previous;
                if is_its { Ok(()) } else { Err(Broken::Other(Table::Audit, key.to_vec())) }
            }
            Err(missing @ Broken::Missing(..)) => {
                if self
                    .row(Table::Audit, &audit::START)
                    .is_ok_and(|first| first == audit::start(entry.number))
                {
                    return Ok(());
                }
                let newest = before + AUDIT_ROWS_MAX;
                self.row(Table::Audit, &newest.to_be_bytes()).map(drop).map_err(|_| missing)
            }
            Err(other) => Err(other),
        }
    }

    pub(super) fn row(&self, table: Table, key: &[u8]) -> Linked<Bytes> {
        let found = (self.get)(table, key).map_err(|Unreadable| Broken::Unknown)?;
        found.ok_or_else(|| Broken::Missing(table, key.to_vec()))
    }

    pub(super) fn needs(&self, table: Table, key: &[u8]) -> Linked {
        self.row(table, key).map(drop)
    }

    fn body(&self, stream: u32, arrival: Arrival) -> Linked<BodyRow> {
        let row = self.row(Table::Body, &key::counted(stream, arrival.0))?;
        BodyRow::decode(row).ok_or(Broken::Unknown)
    }

    /// The row is there, and leads back to `to`.
    fn leads(&self, table: Table, key: &[u8], to: &[u8]) -> Linked {
        let row = self.row(table, key)?;
        if row == to { Ok(()) } else { Err(Broken::Other(table, key.to_vec())) }
    }

    /// The stream of a queue.
    fn stream_of(&self, queue: u32) -> Linked<u32> {
        let row = self.row(Table::Queue, &key::number(queue))?;
        QueueRow::decode(row).map(|queue| queue.stream.0).ok_or(Broken::Unknown)
    }

    /// The event is there, and has this place.
    fn placed(&self, stream: u32, arrival: Arrival, n: u64) -> Linked {
        let body = self.body(stream, arrival)?;
        let is_its = body.placed.is_some_and(|placed| placed.n.0 == n);
        if is_its { Ok(()) } else { Err(other(stream, arrival)) }
    }

    /// The event waits for its place, or is to expire, at the time under which it is found.
    fn by_time(&self, table: Table, key: &[u8]) -> Linked {
        let (at, arrival) = key::time_of(key);
        let body = self.body(owner(key), arrival)?;
        // Of a lost event nothing but its place can be told.
        let is_its = match table {
            Table::Waiting => body.placed.is_none() && body.due.as_ms() == at,
            _ => body.damaged || body.expiry().is_some_and(|expiry| expiry.as_ms() == at),
        };
        if is_its { Ok(()) } else { Err(other(owner(key), arrival)) }
    }

    /// A delivery or outcome has its event, and is found by time.
    fn dealing(&self, table: Table, key: &[u8], row: &Bytes) -> Linked {
        let (arrival, delivery) = delivery::decode(row.clone()).ok_or(Broken::Unknown)?;
        self.placed(self.stream_of(owner(key))?, arrival, key::count_of(key))?;
        self.aside(key)?;
        if let Some(by) = holder(&delivery) {
            let n = EntryNo(key::count_of(key));
            self.needs(Table::Held, &consumer::held(QueueNo(owner(key)), by, n))?;
        }
        match index(table, owner(key), arrival, &delivery) {
            Some((table, key)) => self.needs(table, &key),
            None => Ok(()),
        }
    }

    /// What an open queue deals with, and whose entry lies above the cursor, is set aside.
    fn aside(&self, key: &[u8]) -> Linked {
        let queue = QueueRow::decode(self.row(Table::Queue, &key[..4])?).ok_or(Broken::Unknown)?;
        let progress = Progress::decode(self.row(Table::Progress, &key[..4])?).ok_or(Broken::Unknown)?;
        let entry = key::counted(queue.stream.0, key::count_of(key));
        let in_stream = (self.get)(Table::Entry, &entry).map_err(|Unreadable| Broken::Unknown)?.is_some();
        let is_above = queue.closed.is_none() && key::count_of(key) > progress.cursor;
        if is_above && in_stream { self.needs(Table::Aside, key) } else { Ok(()) }
    }

    /// What is found by time is there, under the number of its event.
    fn indexed(&self, table: Table, key: &[u8]) -> Linked {
        let (_, arrival) = key::time_of(key);
        let stream = self.stream_of(owner(key))?;
        let body = self.body(stream, arrival)?;
        let placed = body.placed.ok_or_else(|| other(stream, arrival))?;
        self.needs(table, &key::counted(owner(key), placed.n.0))
    }
}

fn other(stream: u32, arrival: Arrival) -> Broken {
    Broken::Other(Table::Body, key::counted(stream, arrival.0).to_vec())
}

/// The number that a key begins with.
pub(super) fn owner(key: &[u8]) -> u32 {
    u32::from_be_bytes([key[0], key[1], key[2], key[3]])
}

/// Under which key a delivery or outcome is found by time, where it is.
pub(in crate::embedded) fn index(
    table: Table,
    queue: u32,
    arrival: Arrival,
    delivery: &Delivery,
) -> Option<(Table, [u8; 20])> {
    let over = key::at_wall(queue, delivery.over_at.unwrap_or_default(), arrival);
    if table == Table::Outcome {
        return Some((Table::Over, over));
    }
    match delivery.state {
        State::Ready => Some((Table::Again, key::at_wall(queue, delivery.due, arrival))),
        State::Retrying => Some((Table::Retry, key::at_wall(queue, delivery.due, arrival))),
        State::Leased(lease) => Some((Table::Ends, key::at_lease(queue, lease.until, arrival))),
        State::Dead(_) => Some((Table::Dead, over)),
        State::Held { until, .. } => until.map(|end| (Table::HoldEnds, key::at_lease(queue, end, arrival))),
        State::Done | State::Cancelled => None,
    }
}
