//! Reads: pages of queues, events, dead letters and keys.
//!
//! Lives here: finding what was asked for, in bounded steps. Not here: how it looks (`view.rs`).

use std::ops::ControlFlow;

use super::context::{Context, READABLE};
use super::dealing::Dealing;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{Cursor, DeliveryView, EventView, Page, QueueView, Read, SCANS_MAX, SystemView};
use crate::reply::{OpError, Refused};

/// Where a list of dead letters stands: newest death first, then newest arrival.
pub(super) type DeadAt = (i64, Arrival);

/// Where the last page of dead letters ended.
pub(super) fn dead_at(cursor: &Cursor) -> Result<DeadAt, OpError> {
    if cursor.0.len() == 20 { Ok(key::time_of(&cursor.0)) } else { Err(Refused::BadCursor.into()) }
}

impl<T: Tables> Context<'_, T> {
    /// What `read` asks for, as the tables stand.
    ///
    /// # Errors
    /// `Refused` where it is not there.
    pub(crate) fn page(&self, read: &Read) -> Result<Page, OpError> {
        match read {
            Read::Queue(queue) => {
                let (no, row) = self.open_queue(queue)?;
                Ok(Page::Queue(Box::new(self.queue_view(no, &row))))
            }
            Read::Queues { name_prefix, cursor, limit } => self.queues(name_prefix, cursor.as_ref(), *limit),
            Read::Event { event, payload } => {
                let found = self.event(*event)?;
                let view = self.event_view(found.stream, found.arrival, &found.row, *payload);
                Ok(Page::Event(Box::new(view)))
            }
            Read::DeadLetters { queue, cursor, limit, payload } => {
                let (no, row) = self.any_queue(queue)?;
                self.dead_letters(no, &row, cursor.as_ref(), (*limit as usize, *payload))
            }
            Read::Dead(read) => self.dead_page(read),
            Read::Holders(queue) => {
                let (no, row) = self.open_queue(queue)?;
                Ok(Page::Holders(self.holders(no, &row)))
            }
            Read::Events(read) => self.events_page(read),
            Read::Purgeable { queue, filter } => self.purgeable(queue, filter),
            Read::Stream(stream) => {
                let (no, row) = self.open_stream(stream)?;
                Ok(Page::Stream(Box::new(self.stream_view(no, &row))))
            }
            Read::Streams { name_prefix, cursor, limit } => {
                self.streams(name_prefix, cursor.as_ref(), *limit as usize)
            }
            Read::Entries { stream, start, end, reverse, limit, max_bytes, payload } => {
                let (no, _) = self.open_stream(stream)?;
                let order = if *reverse { Order::Falling } else { Order::Rising };
                Ok(self.entries(no, (*start, *end), order, (*limit as usize, *max_bytes, *payload)))
            }
            Read::Consumers(queue) => Ok(Page::Consumers(self.consumers(queue)?)),
            Read::StreamDetail { stream, full } => {
                let (no, row) = self.open_stream(stream)?;
                Ok(self.stream_detail(no, &row, *full))
            }
            Read::Pending(read) => self.pending(read),
            Read::PendingSummary(queue) => self.pending_summary(queue),
            Read::Groups(stream) => {
                let (no, _) = self.open_stream(stream)?;
                Ok(Page::Groups(self.groups(no)))
            }
            Read::Operation(id) => self.operation_page(*id),
            Read::Operations { cursor, limit } => self.operations(cursor.as_ref(), *limit),
            Read::Keys => Ok(Page::Keys(self.keys())),
            Read::Audit { cursor, limit } => self.audit_log(cursor.as_ref(), *limit as usize),
            Read::System => {
                // Every name of what is not deleted: of queues under `q`, of streams under `s`.
                let (queues, streams) = (self.count_names(b"q", b"r"), self.count_names(b"s", b"t"));
                Ok(Page::System(SystemView { queues, streams, ..SystemView::default() }))
            }
        }
    }

    fn queues(&self, prefix: &str, cursor: Option<&Cursor>, limit: u32) -> Result<Page, OpError> {
        if cursor.is_some_and(|cursor| cursor.0.len() != 4) {
            return Err(Refused::BadCursor.into());
        }
        // Numbers rise with creation; ids do not within one millisecond, nor where the clock steps back.
        let to = cursor.map_or(&[0xff; 5][..], |cursor| cursor.0.as_slice());
        let (mut items, mut last, mut more, mut scans) = (Vec::<QueueView>::new(), Vec::new(), false, 0);
        self.tables.scan(Table::Queue, &[], to, Order::Falling, &mut |key, value| {
            more = items.len() >= limit as usize || scans >= SCANS_MAX;
            if more {
                return ControlFlow::Break(());
            }
            scans += 1;
            last = key.to_vec();
            let no = QueueNo(u32::from_be_bytes(key.try_into().expect(READABLE)));
            let row = QueueRow::decode(value.clone()).expect(READABLE);
            if row.closed.is_none() && row.name.starts_with(prefix) {
                items.push(self.queue_view(no, &row));
            }
            ControlFlow::Continue(())
        });
        Ok(Page::Queues(items, more.then_some(Cursor(last))))
    }

    fn dead_letters(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        cursor: Option<&Cursor>,
        (limit, payload): (usize, bool),
    ) -> Result<Page, OpError> {
        let after = cursor.map(dead_at).transpose()?;
        let (found, more) = self.dead_places(no, queue, after, limit);
        let mut items = Vec::with_capacity(found.len());
        for &(_, arrival) in found.iter().take(limit) {
            items.push(self.dead_letter((no, queue), arrival, payload)?);
        }
        let next = more.map(|(died, arrival)| Cursor(key::timed(no.0, died, arrival).to_vec()));
        Ok(Page::DeadLetters(items, next))
    }

    /// At most `limit` dead deliveries behind `after`, and where to go on if there may be more.
    ///
    /// In a closed queue all that was not over died when it closed. Those have no row that says so:
    /// they are found among the stream's events, between the deaths after and before the closing.
    fn dead_places(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        after: Option<DeadAt>,
        limit: usize,
    ) -> (Vec<DeadAt>, Option<DeadAt>) {
        let mut found = Vec::new();
        let lowest = (i64::MIN, Arrival(0));
        let highest = after.unwrap_or((i64::MAX, Arrival(u64::MAX)));
        let Some((closed, arrivals)) = queue.closed.map(|closed| (closed.at.as_ms(), closed.arrivals)) else {
            let more = self.recorded_deaths(no, highest, lowest, limit, &mut found);
            return (found, more);
        };
        let end_of_closing = (closed, Arrival(u64::MAX));
        if highest > end_of_closing {
            let more = self.recorded_deaths(no, highest, end_of_closing, limit, &mut found);
            if more.is_some() {
                return (found, more);
            }
        }
        if highest > (closed, Arrival(0)) {
            // What came after the closing is none of this queue's.
            let newest = Arrival(arrivals + 1);
            let below = if highest.0 == closed { highest.1.min(newest) } else { newest };
            let more = self.deaths_by_closing(no, queue, closed, below, limit, &mut found);
            if more.is_some() {
                return (found, more);
            }
        }
        let more = self.recorded_deaths(no, highest.min((closed, Arrival(0))), lowest, limit, &mut found);
        (found, more)
    }

    /// Deaths that have a row, strictly below `from` and at least `to`.
    fn recorded_deaths(
        &self,
        no: QueueNo,
        from: DeadAt,
        to: DeadAt,
        limit: usize,
        found: &mut Vec<DeadAt>,
    ) -> Option<DeadAt> {
        let (low, high) = (key::timed(no.0, to.0, to.1), key::timed(no.0, from.0, from.1));
        let mut more = None;
        self.tables.scan(Table::Dead, &low, &high, Order::Falling, &mut |key, _| {
            if found.len() >= limit {
                more = found.last().copied();
                return ControlFlow::Break(());
            }
            found.push(key::time_of(key));
            ControlFlow::Continue(())
        });
        more
    }

    /// Deliveries that died with their queue, and those whose recorded death is of the same instant.
    fn deaths_by_closing(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        closed: i64,
        below: Arrival,
        limit: usize,
        found: &mut Vec<DeadAt>,
    ) -> Option<DeadAt> {
        let (low, high) = (key::counted(queue.stream.0, 0), key::counted(queue.stream.0, below.0));
        let (mut more, mut scans, mut last) = (None, 0, below);
        self.tables.survey(Table::Body, &low, &high, Order::Falling, &mut |key, kept| {
            if found.len() >= limit || scans >= SCANS_MAX {
                more = Some((closed, last));
                return ControlFlow::Break(());
            }
            scans += 1;
            last = Arrival(key::count_of(key));
            // Of a damaged row that nothing bears out nobody can say whose it is.
            let row = self.legible(queue.stream, last, kept);
            let view = row.and_then(|row| self.listed((no, queue), last, &row));
            let died_then = |view: &DeliveryView| view.dead.is_some() && died_at(view) == closed;
            found.extend(view.filter(died_then).map(|_| (closed, last)));
            ControlFlow::Continue(())
        });
        more
    }

    pub(super) fn dead_letter(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        arrival: Arrival,
        payload: bool,
    ) -> Result<EventView, OpError> {
        let row = self.body(queue.stream, arrival).ok_or(Refused::EventNotFound)?;
        let mut view = self.bare_event_view(queue.stream, &self.stream(queue.stream), arrival, &row);
        view.body = row.body.clone().filter(|_| payload);
        view.deliveries = self.listed((no, queue), arrival, &row).into_iter().collect();
        Ok(view)
    }

    /// How this queue deals with an event that is not one that it only remembers.
    pub(super) fn listed(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        arrival: Arrival,
        row: &BodyRow,
    ) -> Option<DeliveryView> {
        let dealing = self.dealing(no, queue, arrival, row);
        let dealing = dealing.filter(|dealing| !matches!(dealing, Dealing::Over(_)))?;
        Some(self.delivery_view(queue, row, dealing))
    }

    fn count_names(&self, from: &[u8], to: &[u8]) -> u64 {
        let mut names = 0;
        self.tables.scan(Table::Name, from, to, Order::Rising, &mut |_, _| {
            names += 1;
            ControlFlow::Continue(())
        });
        names
    }
}

fn died_at(view: &DeliveryView) -> i64 {
    view.settled_at.unwrap_or_default().as_ms()
}
