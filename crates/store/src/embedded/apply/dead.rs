//! Dead letters of an open queue, by what they died of.
//!
//! Lives here: questions on them, in bounded steps. Not here: the plain list of any queue's (`read.rs`),
//! and what is done to them (`settle.rs`).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use naven_api::{EventId, Timestamp};
use naven_core::{DeadReason, Delivery, State};

use super::context::{Context, event_id};
use super::dealing::Dealing;
use super::read::{DeadAt, dead_at};
use crate::embedded::rows::key::{self, Arrival, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{Cursor, DeadFilter, DeadRead, Grouping, Matched, Page, SCANS_MAX};
use crate::reply::OpError;

/// A dead delivery and where it is kept.
pub(super) struct Died {
    pub(super) at: DeadAt,
    pub(super) reason: DeadReason,
    pub(super) delivery: Delivery,
}

impl Died {
    pub(super) fn error(&self) -> Option<&str> {
        self.delivery.last_error.as_ref().map(|error| error.as_str())
    }
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn dead_page(&self, read: &DeadRead) -> Result<Page, OpError> {
        match read {
            DeadRead::List { queue, filter, cursor, limit, payload } => {
                let (no, row) = self.open_queue(queue)?;
                self.filtered((no, &row), filter, cursor.as_ref(), (*limit as usize, *payload))
            }
            DeadRead::Groups { queue, filter, limit } => {
                let (no, row) = self.open_queue(queue)?;
                let mut groups = Grouping::default();
                let truncated = self.scan_dead((no, &row), filter, &mut |died| {
                    let (at, arrival) = died.at;
                    let body = self.pointed_body(row.stream, arrival);
                    let event = event_id(&body, row.stream, arrival);
                    groups.add(event, died.reason, died.error(), Timestamp::from_ms(at));
                });
                Ok(Page::DeadGroups(groups.into_groups(*limit, truncated)))
            }
            DeadRead::Among { queue, events } => {
                let (no, row) = self.open_queue(queue)?;
                let events: BTreeSet<_> = events.iter().collect();
                let is_dead = |event: &&EventId| {
                    let Ok(found) = self.event(**event) else { return false };
                    let is_its = found.stream == row.stream;
                    let dealing =
                        if is_its { self.dealing(no, &row, found.arrival, &found.row) } else { None };
                    matches!(dealing, Some(Dealing::Live(live)) if live.is_over())
                };
                let count = events.into_iter().filter(is_dead).count() as u64;
                Ok(Page::Matched(Matched { count, truncated: false }))
            }
            DeadRead::Count { queue, filter } => {
                let (no, row) = self.open_queue(queue)?;
                let mut count = 0;
                let truncated = self.scan_dead((no, &row), filter, &mut |_| count += 1);
                Ok(Page::Matched(Matched { count, truncated }))
            }
        }
    }

    fn filtered(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        filter: &DeadFilter,
        cursor: Option<&Cursor>,
        (limit, payload): (usize, bool),
    ) -> Result<Page, OpError> {
        let after = cursor.map(dead_at).transpose()?;
        let (from, before) = filter.died();
        let highest = after.unwrap_or((before, Arrival(0))).min((before, Arrival(0)));
        let (mut found, mut scans, mut last, mut more) = (Vec::new(), 0, highest, false);
        self.visit_dead(no, ((from, Arrival(0)), highest), Order::Falling, &mut |at| {
            more = found.len() >= limit || scans >= SCANS_MAX;
            if more {
                return ControlFlow::Break(());
            }
            (scans, last) = (scans + 1, at);
            let died = self.died((no, queue), at);
            found.extend(filter.takes(died.reason, died.error()).then_some(at.1));
            ControlFlow::Continue(())
        });
        let items = found.into_iter().map(|arrival| self.dead_letter((no, queue), arrival, payload));
        let next = more.then(|| Cursor(key::timed(no.0, last.0, last.1).to_vec()));
        Ok(Page::DeadLetters(items.collect::<Result<_, _>>()?, next))
    }

    /// Visits those that are meant, newest death first. True where the bound came before the end.
    fn scan_dead(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        filter: &DeadFilter,
        visit: &mut dyn FnMut(Died),
    ) -> bool {
        let (from, before) = filter.died();
        let (mut scans, mut truncated) = (0, false);
        let span = ((from, Arrival(0)), (before, Arrival(0)));
        self.visit_dead(no, span, Order::Falling, &mut |at| {
            truncated = scans >= SCANS_MAX;
            if truncated {
                return ControlFlow::Break(());
            }
            scans += 1;
            let died = self.died((no, queue), at);
            if filter.takes(died.reason, died.error()) {
                visit(died);
            }
            ControlFlow::Continue(())
        });
        truncated
    }

    /// Visits the recorded deaths from the first of `span` on, up to the second, which is left out.
    pub(super) fn visit_dead(
        &self,
        no: QueueNo,
        (from, to): (DeadAt, DeadAt),
        order: Order,
        visit: &mut dyn FnMut(DeadAt) -> ControlFlow<()>,
    ) {
        let (low, high) = (key::timed(no.0, from.0, from.1), key::timed(no.0, to.0, to.1));
        if low < high {
            self.tables.scan(Table::Dead, &low, &high, order, &mut |key, _| visit(key::time_of(key)));
        }
    }

    /// The delivery of a recorded death.
    pub(super) fn died(&self, (no, queue): (QueueNo, &QueueRow), at: DeadAt) -> Died {
        let row = self.pointed_body(queue.stream, at.1);
        let n = row.placed.expect("an indexed delivery has a place").n;
        let delivery = self.pointed_delivery(no, n);
        let State::Dead(reason) = delivery.state else {
            self.tables.miss(Table::Delivery, &key::counted(no.0, n.0))
        };
        Died { at, reason, delivery }
    }
}
