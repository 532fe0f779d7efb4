//! The events of an open queue: all of them, those done with too.
//!
//! Lives here: finding them in bounded steps, by their states or one after the other. Not here: how they
//! look (`view.rs`), and dead letters (`dead.rs`, `read.rs`).
//!
//! The rows of a stream's events lie in the order in which they were published, so the last one first is
//! a walk backwards over them. Events that are not this queue's lie between them, and are looked at too.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use naven_core::{State, View};

use super::context::Context;
use super::dealing::Dealing;
use crate::embedded::rows::consumer;
use crate::embedded::rows::key::{self, Arrival, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Kept, Order, Table, Tables};
use crate::read::{Cursor, EventPage, EventRead, EventView, Page, Wanted};
use crate::reply::{OpError, Refused};

/// A page while it is being filled.
struct Filling<'a> {
    no: QueueNo,
    queue: &'a QueueRow,
    read: &'a EventRead,
    page: EventPage,
    last: Arrival,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn events_page(&self, read: &EventRead) -> Result<Page, OpError> {
        let (no, queue) = self.open_queue(&read.queue)?;
        let below = read.cursor.as_ref().map_or(Ok(Arrival(u64::MAX)), arrival_of)?;
        if read.wanted == Wanted::Count && read.filter.is_of_states() {
            return Ok(Page::Events(EventPage {
                found: self.counted(no, &queue, read),
                ..EventPage::default()
            }));
        }
        let mut filling = Filling { no, queue: &queue, read, page: EventPage::default(), last: below };
        match self.found_by_state(no, &queue, read) {
            Some(arrivals) => {
                for arrival in arrivals.range(..below).rev() {
                    let key = key::counted(queue.stream.0, arrival.0);
                    let Some(kept) = self.tables.find(Table::Body, &key) else { continue };
                    if self.fill(&mut filling, *arrival, kept).is_break() {
                        break;
                    }
                }
            }
            None => {
                let (from, to) = (key::number(queue.stream.0), key::counted(queue.stream.0, below.0));
                self.tables.survey(Table::Body, &from, &to, Order::Falling, &mut |key, kept| {
                    self.fill(&mut filling, Arrival(key::count_of(key)), kept)
                });
            }
        }
        Ok(Page::Events(filling.page))
    }

    /// What the queue counts of the wanted states.
    fn counted(&self, no: QueueNo, queue: &QueueRow, read: &EventRead) -> u64 {
        let counts = self.counts(no, queue);
        let is_wanted = |view: &View| read.filter.states.is_empty() || read.filter.states.contains(view);
        View::ALL.into_iter().filter(is_wanted).map(|view| counts.of(view)).sum()
    }

    /// Looks at one more event, unless the page is full or has looked far enough.
    fn fill(&self, filling: &mut Filling<'_>, arrival: Arrival, kept: Kept) -> ControlFlow<()> {
        let (read, page) = (filling.read, &mut filling.page);
        let is_full =
            matches!(read.wanted, Wanted::Items { limit, .. } if page.items.len() >= limit as usize);
        page.truncated = !is_full
            && (page.looked.rows >= read.bound.rows || page.looked.payload_bytes >= read.bound.payload_bytes);
        if is_full || page.truncated {
            page.next = Some(Cursor(filling.last.0.to_be_bytes().to_vec()));
            return ControlFlow::Break(());
        }
        filling.last = arrival;
        page.looked.rows += 1;
        let Some(row) = self.legible(filling.queue.stream, arrival, kept) else {
            return ControlFlow::Continue(());
        };
        page.looked.payload_bytes += row.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        if !read.filter.takes_created(row.created_at) {
            return ControlFlow::Continue(());
        }
        let dealing = self.dealing(filling.no, filling.queue, arrival, &row);
        // A dead letter that was given up is remembered for late calls only.
        let is_given_up = |dealing: &Dealing| matches!(dealing, Dealing::Over(over) if matches!(over.state, State::Dead(_)));
        let Some(dealing) = dealing.filter(|dealing| !is_given_up(dealing)) else {
            return ControlFlow::Continue(());
        };
        let delivery = self.delivery_view(filling.queue, &row, dealing);
        if read.filter.takes_delivery(&delivery) && read.filter.takes_body(row.body.as_ref()) {
            page.found += 1;
            if let Wanted::Items { payload, .. } = read.wanted {
                let stream = self.stream(filling.queue.stream);
                let bare = self.bare_event_view(filling.queue.stream, &stream, arrival, &row);
                let body = row.body.filter(|_| payload);
                page.items.push(EventView { body, deliveries: vec![delivery], ..bare });
            }
        }
        ControlFlow::Continue(())
    }

    /// The events in the states that are wanted, where each of these has an index and they are few.
    fn found_by_state(&self, no: QueueNo, queue: &QueueRow, read: &EventRead) -> Option<BTreeSet<Arrival>> {
        if !read.filter.is_found_by_state() {
            return None;
        }
        let most = read.bound.by_state as usize;
        let counts = self.counts(no, queue);
        let states = || read.filter.states.iter().copied();
        // Of what waits for its time the queue counts its own only, and the index has that of others too.
        let own = states().filter(|state| *state != View::Scheduled).map(|state| counts.of(state));
        if own.sum::<u64>() > most as u64 {
            return None;
        }
        let mut arrivals = BTreeSet::new();
        for state in states() {
            let (table, owner) = match state {
                View::Scheduled => (Table::Waiting, queue.stream.0),
                View::Leased => (Table::Ends, no.0),
                View::Held => (Table::Held, no.0),
                View::Retrying => (Table::Retry, no.0),
                View::Dead => (Table::Dead, no.0),
                View::Ready | View::Done | View::Cancelled => return None,
            };
            let (from, to) = (key::number(owner), key::past_number(owner));
            self.tables.scan(table, &from, &to, Order::Rising, &mut |key, _| {
                arrivals.extend(match state {
                    View::Held => self.delivery(no, consumer::entry_of(key)).map(|(arrival, _)| arrival),
                    _ => Some(key::time_of(key).1),
                });
                if arrivals.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        (arrivals.len() <= most).then_some(arrivals)
    }
}

/// The event at which the last page ended.
fn arrival_of(cursor: &Cursor) -> Result<Arrival, OpError> {
    let bytes = cursor.0.as_slice().try_into().map_err(|_| Refused::BadCursor)?;
    Ok(Arrival(u64::from_be_bytes(bytes)))
}
