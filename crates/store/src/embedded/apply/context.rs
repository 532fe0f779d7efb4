//! The tables as typed rows, and the instant at which a transaction is applied.
//!
//! Lives here: finding and saving rows. Not here: any rule, and how a queue stands to an event
//! (`dealing.rs`).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::{EventId, QueueId, Timestamp};
use naven_core::Now;

use super::telling::Telling;
use crate::embedded::rows::body::{BodyRow, Placed};
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{EntryRow, Head, StreamRow};
use crate::embedded::tables::{Kept, Order, Table, Tables};
use crate::queue::{QueueRef, group_queue_name};
use crate::reply::{OpError, Refused};
use crate::token::TokenKey;
use crate::txn::StreamRef;

/// What a row that cannot be read means: it was written by this version, and its checksum was right.
pub(super) const READABLE: &str = "rows are written by this version and checked when they are loaded";

/// One transaction's view of the tables.
#[derive(Debug)]
pub(crate) struct Context<'a, T> {
    pub(super) tables: &'a mut T,
    pub(super) now: Now,
    /// None at replay: no token is made for an answer that nobody waits for.
    pub(super) tokens: Option<&'a TokenKey>,
    /// Queues in which something may have become claimable.
    hinted_queues: BTreeSet<QueueId>,
    /// Streams in all of whose queues something may have become claimable.
    hinted_streams: BTreeSet<StreamNo>,
    /// What became of deliveries; none where nobody listens.
    pub(super) told: Option<Telling>,
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
        Self {
            tables,
            now,
            tokens,
            hinted_queues: BTreeSet::new(),
            hinted_streams: BTreeSet::new(),
            told: None,
        }
    }

    /// True where a command is applied again, at a start. Only a planted bug may ask: commands do the same.
    pub(super) fn is_replay(&self) -> bool {
        self.tokens.is_none()
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
            QueueRef::Name(name) => self.tables.get(Table::Name, &key::queue_name(name)),
            QueueRef::Group { stream, group } => return self.group_on(stream, group),
        };
        let no = QueueNo(number_of(number.ok_or(Refused::QueueNotFound)?));
        Ok((no, self.named_queue(no)))
    }

    /// The open queue that is called `group` among those of `stream`.
    pub(super) fn group_on(&self, stream: &Bytes, group: &Bytes) -> Result<(QueueNo, QueueRow), OpError> {
        let (on, _) = self.open_stream(&StreamRef(stream.clone()))?;
        let named = |name: &str| {
            let no = QueueNo(number_of(self.tables.get(Table::Name, &key::queue_name(name))?));
            let row = self.named_queue(no);
            (row.stream == on).then_some((no, row))
        };
        let found = named(&group_queue_name(stream, group));
        let found = found.or_else(|| named(std::str::from_utf8(group).ok()?));
        found.ok_or(Refused::QueueNotFound.into())
    }

    /// The open stream of this name.
    pub(super) fn open_stream(&self, stream: &StreamRef) -> Result<(StreamNo, StreamRow), OpError> {
        let number = self.tables.get(Table::Name, &key::stream_name(&stream.0));
        let no = StreamNo(number_of(number.ok_or(Refused::StreamNotFound)?));
        Ok((no, self.stream(no)))
    }

    /// Whoever waits on this queue is to look.
    pub(super) fn hint(&mut self, queue: QueueId) {
        self.hinted_queues.insert(queue);
    }

    /// Whoever waits on any queue of this stream is to look. The queues are found once for a
    /// transaction, however much it publishes.
    pub(super) fn hint_stream(&mut self, stream: StreamNo) {
        self.hinted_streams.insert(stream);
    }

    /// The queues to look at, and the names of the streams.
    pub(super) fn take_hints(&mut self) -> (Vec<QueueId>, Vec<Bytes>) {
        let mut names = Vec::new();
        let mut queues = std::mem::take(&mut self.hinted_queues);
        for stream in std::mem::take(&mut self.hinted_streams) {
            // A stream may have ended after it was given something.
            let row = self.tables.get(Table::Stream, &key::number(stream.0));
            names.extend(row.map(|bytes| StreamRow::decode(bytes).expect(READABLE).name));
            self.scan_members(stream, &mut |_, id| {
                queues.extend(id);
                ControlFlow::Continue(())
            });
        }
        (queues.into_iter().collect(), names)
    }

    pub(super) fn queue(&self, no: QueueNo) -> Option<QueueRow> {
        let bytes = self.tables.get(Table::Queue, &key::number(no.0))?;
        Some(QueueRow::decode(bytes).expect(READABLE))
    }

    /// The row of a queue that another row leads to.
    pub(super) fn named_queue(&self, no: QueueNo) -> QueueRow {
        self.queue(no).unwrap_or_else(|| self.tables.miss(Table::Queue, &key::number(no.0)))
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

    pub(super) fn change_progress(&mut self, no: QueueNo, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress(no);
        change(&mut progress);
        self.put_progress(no, &progress);
    }

    pub(super) fn stream(&self, no: StreamNo) -> StreamRow {
        let key = key::number(no.0);
        let bytes =
            self.tables.get(Table::Stream, &key).unwrap_or_else(|| self.tables.miss(Table::Stream, &key));
        StreamRow::decode(bytes).expect(READABLE)
    }

    pub(super) fn put_stream(&mut self, no: StreamNo, row: &StreamRow) {
        self.tables.put(Table::Stream, &key::number(no.0), row.encode());
    }

    pub(super) fn head(&self, no: StreamNo) -> Head {
        self.tables
            .get(Table::Head, &key::number(no.0))
            .map_or_else(|| Head::new(no), |bytes| Head::decode(bytes).expect(READABLE))
    }

    pub(super) fn put_head(&mut self, no: StreamNo, head: &Head) {
        self.tables.put(Table::Head, &key::number(no.0), head.encode());
    }

    /// Something of a stream changed that a watcher would see.
    pub(super) fn raise_version(&mut self, stream: StreamNo) {
        let mut head = self.head(stream);
        head.version += 1;
        self.put_head(stream, &head);
    }

    pub(super) fn body(&self, stream: StreamNo, arrival: Arrival) -> Option<BodyRow> {
        let key = key::counted(stream.0, arrival.0);
        let kept = self.tables.find(Table::Body, &key)?;
        match self.legible(stream, arrival, kept) {
            Some(row) => Some(row),
            // Not even where it stands: asked for once more, whole or not at all.
            None => self.tables.get(Table::Body, &key).and_then(BodyRow::decode),
        }
    }

    /// An event's row, or what can be told of it; none where not even that is borne out by another row.
    pub(super) fn legible(&self, stream: StreamNo, arrival: Arrival, kept: Kept) -> Option<BodyRow> {
        match kept {
            Kept::Whole(bytes) => Some(BodyRow::decode(bytes).expect(READABLE)),
            Kept::Damaged(bytes) => {
                BodyRow::of_damaged(bytes).and_then(|row| self.borne_out(stream, arrival, row))
            }
        }
    }

    /// An event that another row points to.
    pub(super) fn pointed_body(&self, stream: StreamNo, arrival: Arrival) -> BodyRow {
        let missing = || self.tables.miss(Table::Body, &key::counted(stream.0, arrival.0));
        self.body(stream, arrival).unwrap_or_else(missing)
    }

    /// What is left of a damaged row, where another one bears it out.
    fn borne_out(&self, stream: StreamNo, arrival: Arrival, row: BodyRow) -> Option<BodyRow> {
        let Some(Placed { n, place }) = row.placed else {
            let waits = key::at_wall(stream.0, row.due, arrival);
            return self.tables.get(Table::Waiting, &waits).map(|_| row);
        };
        let entry = self.tables.get(Table::Entry, &key::counted(stream.0, n.0)).and_then(EntryRow::decode);
        if let Some(EntryRow { created_at, .. }) = entry {
            let is_its = entry == Some(EntryRow { place, arrival, created_at });
            return is_its.then_some(BodyRow { created_at, ..row });
        }
        let is_known = self.members(stream).into_iter().any(|no| {
            let is_its = |found: Option<(Arrival, _)>| found.is_some_and(|(of, _)| of == arrival);
            is_its(self.delivery(no, n)) || is_its(self.outcome(no, n)) || self.has(Table::Lane, no.0, n)
        });
        is_known.then_some(row)
    }

    pub(super) fn put_body(&mut self, stream: StreamNo, arrival: Arrival, row: &BodyRow) {
        self.tables.put(Table::Body, &key::counted(stream.0, arrival.0), row.encode());
    }

    /// True where a row of `table` stands under this number.
    pub(super) fn has(&self, table: Table, owner: u32, n: EntryNo) -> bool {
        self.tables.get(table, &key::counted(owner, n.0)).is_some()
    }

    /// The event of this id: all 128 bits must be its own.
    pub(super) fn event(&self, id: EventId) -> Result<Found, OpError> {
        let (stream, arrival) = key::from_locator(id.locator());
        match self.body(stream, arrival) {
            Some(row) if event_id(&row, stream, arrival) == id => Ok(Found { stream, arrival, row }),
            // Its publish time may be what was damaged: the caller's word for it is as good.
            Some(row) if row.damaged => {
                let created_at = Timestamp::from_ms(id.published_ms());
                Ok(Found { stream, arrival, row: BodyRow { created_at, ..row } })
            }
            Some(_) | None => Err(Refused::EventNotFound.into()),
        }
    }

    /// The queues of a stream, closed ones too, in the order in which they were made.
    pub(super) fn members(&self, stream: StreamNo) -> Vec<QueueNo> {
        let mut queues = Vec::new();
        self.scan_members(stream, &mut |no, _| {
            queues.push(no);
            ControlFlow::Continue(())
        });
        queues
    }

    /// The open queues of a stream, in the order in which they were made.
    pub(super) fn open_members(&self, stream: StreamNo) -> Vec<QueueNo> {
        let mut queues = Vec::new();
        self.scan_members(stream, &mut |no, id| {
            queues.extend(id.map(|_| no));
            ControlFlow::Continue(())
        });
        queues
    }

    /// The first open queue of a stream.
    pub(super) fn first_open_member(&self, stream: StreamNo) -> Option<QueueNo> {
        let mut first = None;
        self.scan_members(stream, &mut |no, id| {
            first = id.map(|_| no);
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first
    }

    /// Visits the queues of a stream, each with its id while it is open.
    pub(super) fn scan_members(
        &self,
        stream: StreamNo,
        visit: &mut dyn FnMut(QueueNo, Option<QueueId>) -> ControlFlow<()>,
    ) {
        let (from, to) = (key::number(stream.0), key::past_number(stream.0));
        self.tables.scan(Table::Member, &from, &to, Order::Rising, &mut |key, value| {
            let no = QueueNo(u32::from_be_bytes(key[4..8].try_into().expect("member keys have 8 bytes")));
            let bits: Result<[u8; 16], _> = value.as_ref().try_into();
            visit(no, bits.ok().map(|bits| QueueId::from_bits(u128::from_be_bytes(bits))))
        });
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

    /// The smallest key of a table that begins with `owner` and is at least `from`, as a number, and
    /// its row.
    pub(super) fn next_row(&self, table: Table, owner: u32, from: u64) -> Option<(EntryNo, Bytes)> {
        let mut next = None;
        let (from, to) = (key::counted(owner, from), key::past_number(owner));
        self.tables.scan(table, &from, &to, Order::Rising, &mut |key, value| {
            next = Some((EntryNo(key::count_of(key)), value.clone()));
            ControlFlow::Break(())
        });
        next
    }

    /// The first entry of a stream whose number is at least `from`.
    pub(super) fn next_entry(&self, stream: StreamNo, from: u64) -> Option<(EntryNo, EntryRow)> {
        let (n, bytes) = self.next_row(Table::Entry, stream.0, from)?;
        Some((n, EntryRow::decode(bytes).expect(READABLE)))
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
