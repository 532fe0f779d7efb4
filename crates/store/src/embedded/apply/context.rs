//! The tables as typed rows, and the instant at which a transaction is applied.
//!
//! Lives here: finding and saving rows, and the one function that keeps every index of deliveries
//! in step with them. Not here: any rule.

use bytes::Bytes;
use naven_api::{EventId, QueueId};
use naven_core::{Delivery, Now, Policy, State, View};

use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{EntryRow, Head, StreamRow};
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{OpError, Refused};
use crate::token::TokenKey;

/// What a row that cannot be read means: it was written by this version, and its checksum was right.
const READABLE: &str = "rows are written by this version and checked when they are loaded";

/// One transaction's view of the tables.
#[derive(Debug)]
pub(crate) struct Context<'a, T> {
    pub(super) tables: &'a mut T,
    pub(super) now: Now,
    /// None at replay: no token is made for an answer that nobody waits for.
    pub(super) tokens: Option<&'a TokenKey>,
    /// Queues in which something may have become claimable.
    pub(super) hints: Vec<QueueId>,
}

/// An event and where it is kept.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) stream: StreamNo,
    pub(super) arrival: Arrival,
    pub(super) row: BodyRow,
}

impl<'a, T: Tables> Context<'a, T> {
    /// The tables at `now`.
    pub(crate) fn new(tables: &'a mut T, now: Now, tokens: Option<&'a TokenKey>) -> Self {
        Self { tables, now, tokens, hints: Vec::new() }
    }

    /// The open queue that `queue` names.
    pub(super) fn open_queue(&self, queue: &QueueRef) -> Result<(QueueNo, QueueRow), OpError> {
        let (no, row) = self.any_queue(queue)?;
        if row.closed.is_some() { Err(Refused::QueueNotFound.into()) } else { Ok((no, row)) }
    }

    /// The queue that `queue` names, closed or not. A closed one has no name any more.
    pub(super) fn any_queue(&self, queue: &QueueRef) -> Result<(QueueNo, QueueRow), OpError> {
        let number = match queue {
            QueueRef::Id(id) => self.tables.get(Table::QueueId, &id.bits().to_be_bytes()),
            QueueRef::Name(name) => self.tables.get(Table::Name, name.as_bytes()),
        };
        let no = QueueNo(number_of(number.ok_or(Refused::QueueNotFound)?));
        Ok((no, self.queue(no).expect("a named queue has a row")))
    }

    pub(super) fn queue(&self, no: QueueNo) -> Option<QueueRow> {
        let bytes = self.tables.get(Table::Queue, &key::number(no.0))?;
        Some(QueueRow::decode(bytes).expect(READABLE))
    }

    pub(super) fn put_queue(&mut self, no: QueueNo, row: &QueueRow) {
        self.tables.put(Table::Queue, &key::number(no.0), row.encode());
    }

    pub(super) fn progress(&self, no: QueueNo) -> Progress {
        self.tables
            .get(Table::Progress, &key::number(no.0))
            .map_or_else(Progress::default, |bytes| Progress::decode(bytes).expect(READABLE))
    }

    pub(super) fn put_progress(&mut self, no: QueueNo, progress: &Progress) {
        self.tables.put(Table::Progress, &key::number(no.0), progress.encode());
    }

    pub(super) fn stream(&self, no: StreamNo) -> StreamRow {
        let bytes = self.tables.get(Table::Stream, &key::number(no.0)).expect("a numbered stream has a row");
        StreamRow::decode(bytes).expect(READABLE)
    }

    pub(super) fn put_stream(&mut self, no: StreamNo, row: &StreamRow) {
        self.tables.put(Table::Stream, &key::number(no.0), row.encode());
    }

    pub(super) fn head(&self, no: StreamNo) -> Head {
        self.tables
            .get(Table::Head, &key::number(no.0))
            .map_or_else(Head::default, |bytes| Head::decode(bytes).expect(READABLE))
    }

    pub(super) fn put_head(&mut self, no: StreamNo, head: &Head) {
        self.tables.put(Table::Head, &key::number(no.0), head.encode());
    }

    pub(super) fn body(&self, stream: StreamNo, arrival: Arrival) -> Option<BodyRow> {
        let bytes = self.tables.get(Table::Body, &key::counted(stream.0, arrival.0))?;
        Some(BodyRow::decode(bytes).expect(READABLE))
    }

    pub(super) fn put_body(&mut self, stream: StreamNo, arrival: Arrival, row: &BodyRow) {
        self.tables.put(Table::Body, &key::counted(stream.0, arrival.0), row.encode());
    }

    pub(super) fn entry(&self, stream: StreamNo, n: EntryNo) -> Option<EntryRow> {
        let bytes = self.tables.get(Table::Entry, &key::counted(stream.0, n.0))?;
        Some(EntryRow::decode(bytes).expect(READABLE))
    }

    pub(super) fn delivery(&self, queue: QueueNo, n: EntryNo) -> Option<Delivery> {
        let bytes = self.tables.get(Table::Delivery, &key::counted(queue.0, n.0))?;
        Some(delivery::decode(bytes).expect(READABLE))
    }

    /// The event of this id: all 128 bits must be its own.
    pub(super) fn event(&self, id: EventId) -> Result<Found, OpError> {
        let (stream, arrival) = key::from_locator(id.locator());
        match self.body(stream, arrival) {
            Some(row) if event_id(&row, stream, arrival) == id => Ok(Found { stream, arrival, row }),
            Some(_) | None => Err(Refused::EventNotFound.into()),
        }
    }

    /// The queues of a stream, in the order in which they were made.
    pub(super) fn members(&self, stream: StreamNo) -> Vec<QueueNo> {
        let mut queues = Vec::new();
        let (from, to) = (key::number(stream.0), key::past_number(stream.0));
        self.tables.scan(Table::Member, &from, &to, Order::Rising, &mut |key, _| {
            queues.push(QueueNo(u32::from_be_bytes(key[4..8].try_into().expect("member keys have 8 bytes"))));
            std::ops::ControlFlow::Continue(())
        });
        queues
    }

    /// The smallest key of a table that begins with `owner`, as instant and arrival.
    pub(super) fn first(&self, table: Table, owner: u32) -> Option<(i64, Arrival)> {
        let mut first = None;
        let (from, to) = (key::number(owner), key::past_number(owner));
        self.tables.scan(table, &from, &to, Order::Rising, &mut |key, _| {
            first = Some(key::time_of(key));
            std::ops::ControlFlow::Break(())
        });
        first
    }

    /// What the rules are asked to heed for this event in this queue.
    pub(super) fn policy(queue: &QueueRow, event: &BodyRow) -> Policy {
        queue.policy(event.max_attempts)
    }

    /// Saves a delivery, every index and count in step. `before` is none for the first row of an
    /// entry that stood above the queue's cursor.
    pub(super) fn save(
        &mut self,
        queue: QueueNo,
        (n, arrival): (EntryNo, Arrival),
        before: Option<&Delivery>,
        after: &Delivery,
        progress: &mut Progress,
    ) {
        let old = before.and_then(|delivery| index_key(queue, arrival, delivery));
        let new = index_key(queue, arrival, after);
        if old != new {
            if let Some((table, key)) = old {
                self.tables.delete(table, &key);
            }
            if let Some((table, key)) = new {
                self.tables.put(table, &key, Bytes::new());
            }
        }
        let counted = before.map_or(View::Ready, |delivery| recorded_view(delivery.state));
        *progress.counts.of_mut(counted) = progress.counts.of(counted).saturating_sub(1);
        *progress.counts.of_mut(recorded_view(after.state)) += 1;
        self.tables.put(Table::Delivery, &key::counted(queue.0, n.0), delivery::encode(after));
    }
}

/// The state that counts are kept by: as recorded, whatever the clock says by now.
pub(super) fn recorded_view(state: State) -> View {
    match state {
        State::Ready => View::Ready,
        State::Retrying => View::Retrying,
        State::Leased(_) => View::Leased,
        State::Held { .. } => View::Held,
        State::Done => View::Done,
        State::Dead(_) => View::Dead,
        State::Cancelled => View::Cancelled,
    }
}

/// Under which key a delivery is found by time, where it is.
fn index_key(queue: QueueNo, arrival: Arrival, delivery: &Delivery) -> Option<(Table, [u8; 20])> {
    match delivery.state {
        State::Ready => Some((Table::Again, key::at_wall(queue.0, delivery.due, arrival))),
        State::Retrying => Some((Table::Retry, key::at_wall(queue.0, delivery.due, arrival))),
        State::Leased(lease) => Some((Table::Ends, key::at_lease(queue.0, lease.until, arrival))),
        State::Dead(_) => {
            let died = delivery.over_at.unwrap_or_default();
            Some((Table::Dead, key::at_wall(queue.0, died, arrival)))
        }
        // Redis holds come with their door, and with it the table that finds them.
        State::Held { .. } | State::Done | State::Cancelled => None,
    }
}

/// The id of an event: its publish time and where it is kept.
pub(super) fn event_id(row: &BodyRow, stream: StreamNo, arrival: Arrival) -> EventId {
    EventId::new(row.created_at.as_ms(), key::locator(stream, arrival))
}

/// A number as rows hold it.
pub(super) fn number_of(bytes: Bytes) -> u32 {
    u32::from_be_bytes(bytes.as_ref().try_into().expect(READABLE))
}
