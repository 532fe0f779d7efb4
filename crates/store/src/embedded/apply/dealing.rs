//! How a queue stands to an event: whether it deals with it, and in which row.
//!
//! Lives here: the one answer to that, what a queue still needs, and the one function that keeps every
//! index of deliveries in step with them. Not here: any rule.
//!
//! An event that a queue deals with is in exactly one of these places: its delivery has a row, while
//! something may still become of it; or an outcome, once it is done with; or the event stands in the
//! queue's own lane; or its entry stands above the queue's cursor; or it has no place yet.

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_core::planted::{Bug, has};
use naven_core::{Delivery, State};

use super::context::{Context, READABLE};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};

/// How one queue stands to one event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dealing {
    /// It has no place yet.
    Waiting,
    /// It waits above the cursor, nobody held it in this round.
    Unread,
    /// The same, in the queue's own lane.
    InLane,
    /// Somebody has or had it, and something may still become of it.
    Live(Delivery),
    /// It is done with.
    Over(Delivery),
}

impl<T: Tables> Context<'_, T> {
    /// How this queue stands to this event; none where it does not deal with it.
    pub(super) fn dealing(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        arrival: Arrival,
        row: &BodyRow,
    ) -> Option<Dealing> {
        if row.only.is_some_and(|only| only != no) {
            return None;
        }
        let Some(placed) = row.placed else {
            let came_later = queue.closed.is_some_and(|closed| arrival.0 > closed.arrivals);
            return (!came_later).then_some(Dealing::Waiting);
        };
        if let Some((_, delivery)) = self.delivery(no, placed.n) {
            return Some(Dealing::Live(delivery));
        }
        if let Some((_, delivery)) = self.outcome(no, placed.n) {
            return Some(Dealing::Over(delivery));
        }
        if self.has(Table::Lane, no.0, placed.n) {
            return Some(Dealing::InLane);
        }
        let is_unread = self.is_above_cursor(no, queue, placed.n)
            && self.has(Table::Entry, queue.stream.0, placed.n)
            && !self.has(Table::Aside, no.0, placed.n);
        is_unread.then_some(Dealing::Unread)
    }

    /// Every queue that deals with an event, and how, in the order in which they were made.
    pub(super) fn dealings(
        &self,
        stream: StreamNo,
        arrival: Arrival,
        row: &BodyRow,
    ) -> Vec<(QueueNo, QueueRow, Dealing)> {
        let members = row.only.map_or_else(|| self.members(stream), |only| vec![only]);
        let dealing = |no| {
            let queue = self.queue(no)?;
            let dealing = self.dealing(no, &queue, arrival, row)?;
            Some((no, queue, dealing))
        };
        members.into_iter().filter_map(dealing).collect()
    }

    /// True where any queue still needs this placed event. `in_stream` says whether its entry is there, and
    /// `by_holds` whether what Redis consumers hold counts: it keeps an entry of consumed events, and what was
    /// published to one queue alone, but not the content of what left its stream.
    pub(super) fn is_pinned(
        &self,
        stream: StreamNo,
        n: EntryNo,
        (in_stream, by_holds): (bool, bool),
    ) -> bool {
        let mut pinned = false;
        self.scan_members(stream, &mut |no, id| {
            let is_unread = || match id {
                Some(_) => n.0 > self.progress(no).cursor,
                None => self.queue(no).is_some_and(|queue| self.is_above_cursor(no, &queue, n)),
            };
            pinned = self.pins(no, n, by_holds)
                || self.has(Table::Lane, no.0, n)
                || (in_stream && is_unread() && !self.has(Table::Aside, no.0, n));
            if pinned { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        pinned
    }

    /// True where the queue's delivery keeps an event's content.
    fn pins(&self, no: QueueNo, n: EntryNo, by_holds: bool) -> bool {
        let is_held = |delivery: &Delivery| {
            matches!(delivery.state, State::Held { .. })
                || (has(Bug::TrimTakesLeased) && matches!(delivery.state, State::Leased(_)))
        };
        let Some(bytes) = self.tables.get(Table::Delivery, &key::counted(no.0, n.0)) else { return false };
        by_holds || !is_held(&delivery::decode(bytes).expect(READABLE).1)
    }

    /// True where an entry of this number is one that the queue reads and has not taken in.
    pub(super) fn is_above_cursor(&self, no: QueueNo, queue: &QueueRow, n: EntryNo) -> bool {
        queue.closed.is_none_or(|closed| n.0 <= closed.upto) && n.0 > self.progress(no).cursor
    }

    /// The row of a delivery that something may still become of, and its event.
    pub(super) fn delivery(&self, queue: QueueNo, n: EntryNo) -> Option<(Arrival, Delivery)> {
        let bytes = self.tables.get(Table::Delivery, &key::counted(queue.0, n.0))?;
        Some(delivery::decode(bytes).expect(READABLE))
    }

    /// A delivery that another row points to.
    pub(super) fn pointed_delivery(&self, queue: QueueNo, n: EntryNo) -> Delivery {
        let missing = || self.tables.miss(Table::Delivery, &key::counted(queue.0, n.0));
        self.delivery(queue, n).unwrap_or_else(missing).1
    }

    /// The outcome of a delivery that is done with, and its event.
    pub(super) fn outcome(&self, queue: QueueNo, n: EntryNo) -> Option<(Arrival, Delivery)> {
        let bytes = self.tables.get(Table::Outcome, &key::counted(queue.0, n.0))?;
        Some(delivery::decode(bytes).expect(READABLE))
    }

    /// Saves a delivery, every index and count in step. `before` is none for the first row of an
    /// event that nobody held in this round.
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
                let mark = if table == Table::Dead { self.death_mark(queue) } else { Bytes::new() };
                self.tables.put(table, &key, mark);
            }
        }
        self.move_hold(queue, n, before, Some(after));
        if let Some(before) = before {
            take_one(progress, before);
        }
        *progress.counts.of_mut(after.state.view()) += 1;
        if !(has(Bug::FenceNotKept) && self.is_replay()) {
            progress.fence = progress.fence.max(after.fence);
        }
        let (key, bytes) = (key::counted(queue.0, n.0), delivery::encode(arrival, after));
        if matches!(after.state, State::Done | State::Cancelled) {
            if before.is_some() {
                self.tables.delete(Table::Delivery, &key);
            }
            self.tables.put(Table::Outcome, &key, bytes);
        } else {
            self.tables.put(Table::Delivery, &key, bytes);
        }
    }

    /// Removes the row of a delivery, every index and count in step.
    pub(super) fn forget(
        &mut self,
        queue: QueueNo,
        (n, arrival): (EntryNo, Arrival),
        before: &Delivery,
        progress: &mut Progress,
    ) {
        if let Some((table, key)) = index_key(queue, arrival, before) {
            self.tables.delete(table, &key);
        }
        self.move_hold(queue, n, Some(before), None);
        take_one(progress, before);
        self.tables.delete(Table::Delivery, &key::counted(queue.0, n.0));
    }
}

/// Counts one delivery less in the state in which it was.
pub(super) fn take_one(progress: &mut Progress, before: &Delivery) {
    let counted = progress.counts.of_mut(before.state.view());
    *counted = counted.saturating_sub(1);
}

/// Under which key a delivery is found by time, where it is.
fn index_key(queue: QueueNo, arrival: Arrival, delivery: &Delivery) -> Option<(Table, [u8; 20])> {
    let over = delivery.over_at.unwrap_or_default();
    match delivery.state {
        State::Ready => Some((Table::Again, key::at_wall(queue.0, delivery.due, arrival))),
        State::Retrying => Some((Table::Retry, key::at_wall(queue.0, delivery.due, arrival))),
        State::Leased(lease) => Some((Table::Ends, key::at_lease(queue.0, lease.until, arrival))),
        State::Dead(_) => Some((Table::Dead, key::at_wall(queue.0, over, arrival))),
        State::Done | State::Cancelled => Some((Table::Over, key::at_wall(queue.0, over, arrival))),
        // It is found by its holder (`consumer.rs`) too.
        State::Held { until, .. } => {
            until.map(|until| (Table::HoldEnds, key::at_lease(queue.0, until, arrival)))
        }
    }
}
