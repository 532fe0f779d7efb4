//! Throwing away what waits in a queue, or is dead there.
//!
//! Lives here: what a purge means, and its chunks. Not here: operations as such (`operation.rs`), what becomes of one
//! delivery (`naven-core`), and the end of closed queues (`purge.rs`).
//!
//! What a queue has is found in several tables. They are gone through in an order in which what becomes due
//! meanwhile is met further on. How it stood when the purge began is told by its due time and its number.

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{Step, View};

use super::claim::lane_arrival;
use super::context::{Context, Found, READABLE};
use super::dealing::Dealing;
use super::read::DeadAt;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::operation::{OperationRow, PurgeAt};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::rows::stream::EntryRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::read::{Matched, Page, SCANS_MAX};
use crate::reply::OpError;
use crate::txn::PurgeFilter;

/// The tables, in the order in which they are gone through. Their places are on disk.
const PARTS: [Table; 6] =
    [Table::Dead, Table::Waiting, Table::Retry, Table::Again, Table::Lane, Table::Entry];

/// The position before all others of a table.
const FIRST: (i64, Arrival) = (i64::MIN, Arrival(0));

/// Something that a purge may mean.
struct Candidate {
    part: u8,
    /// Where it is found: by time, or by its number alone.
    at: (i64, Arrival),
    arrival: Arrival,
    /// Of a dead letter, how many operations its queue had begun when it died.
    mark: u64,
}

/// What was there when a purge began.
struct Then {
    at: Timestamp,
    there: PurgeAt,
    /// Its own number: what died since bears it or a higher one.
    number: u64,
    last_death: Option<DeadAt>,
}

impl<T: Tables> Context<'_, T> {
    /// How many a purge would mean that began now.
    pub(super) fn purgeable(&self, queue: &QueueRef, filter: &PurgeFilter) -> Result<Page, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        if let Some(count) = filter.counted(&self.counts(no, &queue)) {
            return Ok(Page::Matched(Matched { count, truncated: false }));
        }
        let head = self.head(queue.stream);
        let there = PurgeAt { part: 0, entries: head.entry, arrivals: head.arrival };
        let last_death = self.last_death(no, i64::MAX);
        let then = Then { at: self.now.wall, there, number: u64::MAX, last_death };
        let found = self.candidates((no, &queue), filter, &then, FIRST, SCANS_MAX + 1);
        let truncated = found.len() > SCANS_MAX;
        let is_meant = |one: &&Candidate| self.meant((no, &queue), filter, &then, one).is_some();
        let count = found.iter().take(SCANS_MAX).filter(is_meant).count() as u64;
        Ok(Page::Matched(Matched { count, truncated }))
    }

    /// One chunk. Answers how many rows were looked at, and whether that was all.
    pub(super) fn run_purge(
        &mut self,
        row: &mut OperationRow,
        (no, queue): (QueueNo, &QueueRow),
        filter: &PurgeFilter,
        chunk: usize,
    ) -> (u64, bool) {
        // The front of the stream is left entry by entry, without a row for each that was dealt with.
        let before = self.progress(no);
        let mut progress = before;
        self.pass_aside(no, queue.stream, &mut progress);
        if progress != before {
            self.put_progress(no, &progress);
        }
        let began = row.view.created_at;
        let then = Then { at: began, there: row.purge, number: row.number, last_death: row.upto };
        let candidates = self.candidates((no, queue), filter, &then, row.next, chunk);
        for candidate in &candidates {
            let Some((found, dealing)) = self.meant((no, queue), filter, &then, candidate) else { continue };
            let was_done = match dealing {
                Dealing::Live(before) | Dealing::Over(before) => {
                    self.change(&found, (no, queue), &before, &Step::Purge).is_ok()
                }
                Dealing::Waiting | Dealing::Unread | Dealing::InLane => {
                    self.cancel_unheld(found, (no, queue), &dealing, &Step::Purge).is_ok()
                }
            };
            row.view.count(was_done);
        }
        if let Some(&Candidate { part, at: (at, Arrival(last)), .. }) = candidates.last() {
            (row.purge.part, row.next) = (part, (at, Arrival(last + 1)));
        }
        ((candidates.len() as u64).max(1), candidates.len() < chunk)
    }

    /// What is to be looked at next, at most so many.
    fn candidates(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        filter: &PurgeFilter,
        then: &Then,
        next: (i64, Arrival),
        most: usize,
    ) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (part, table) in (0_u8..).zip(PARTS).skip(usize::from(then.there.part)) {
            let states: &[View] = match table {
                Table::Dead => &[View::Dead],
                Table::Retry | Table::Again => &[View::Ready, View::Retrying],
                _ => &[View::Scheduled, View::Ready],
            };
            if found.len() < most && states.iter().any(|state| filter.states.contains(state)) {
                let from = if part == then.there.part { next } else { FIRST };
                self.part((no, queue), (part, table), from, then, &mut |candidate| {
                    found.push(candidate);
                    if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
            }
        }
        found
    }

    /// Visits one table from this position on.
    fn part(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        (part, table): (u8, Table),
        from: (i64, Arrival),
        then: &Then,
        visit: &mut dyn FnMut(Candidate) -> ControlFlow<()>,
    ) {
        let progress = self.progress(no);
        let owner = if matches!(table, Table::Waiting | Table::Entry) { queue.stream.0 } else { no.0 };
        let n = match table {
            Table::Entry => from.1.0.max(progress.cursor + 1),
            _ => from.1.0,
        };
        let is_counted = matches!(table, Table::Lane | Table::Entry);
        let low = if is_counted {
            key::counted(owner, n).to_vec()
        } else {
            key::timed(owner, from.0, from.1).to_vec()
        };
        let high = match (table, then.last_death) {
            (Table::Dead, None) => return,
            (Table::Dead, Some((at, Arrival(last)))) => key::timed(owner, at, Arrival(last + 1)).to_vec(),
            _ => key::past_number(owner).to_vec(),
        };
        if low >= high {
            return;
        }
        self.tables.scan(table, &low, &high, Order::Rising, &mut |key, value| {
            let at = if is_counted { (0, Arrival(key::count_of(key))) } else { key::time_of(key) };
            let arrival = match table {
                Table::Lane => lane_arrival(value),
                Table::Entry => EntryRow::decode(value.clone()).expect(READABLE).arrival,
                _ => at.1,
            };
            if table == Table::Entry && progress.aside > 0 && self.has(Table::Aside, no.0, EntryNo(at.1.0)) {
                return ControlFlow::Continue(());
            }
            visit(Candidate { part, at, arrival, mark: if table == Table::Dead { mark(value) } else { 0 } })
        });
    }

    /// The event of a candidate and how the queue deals with it, where it is meant.
    fn meant(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        filter: &PurgeFilter,
        then: &Then,
        candidate: &Candidate,
    ) -> Option<(Found, Dealing)> {
        if candidate.arrival.0 > then.there.arrivals {
            return None;
        }
        let row = self.body(queue.stream, candidate.arrival)?;
        if !filter.takes(row.created_at) {
            return None;
        }
        let was_due = |due: Timestamp| due <= then.at;
        let live = || Some(self.pointed_delivery(no, row.placed?.n));
        let (state, dealing) = match PARTS[usize::from(candidate.part)] {
            Table::Dead if candidate.mark < then.number => (View::Dead, Dealing::Live(live()?)),
            Table::Dead => return None,
            Table::Retry | Table::Again => {
                let live = live().filter(|live| PurgeFilter::stood(live, then.at))?;
                let state = if was_due(live.due) { View::Ready } else { View::Retrying };
                (state, Dealing::Live(live))
            }
            table => {
                if row.only.is_some_and(|only| only != no) {
                    return None;
                }
                let was_there = row.placed.is_some_and(|placed| placed.n.0 <= then.there.entries);
                let state = if was_there || was_due(row.due) { View::Ready } else { View::Scheduled };
                let dealing = match table {
                    Table::Waiting => Dealing::Waiting,
                    Table::Lane => Dealing::InLane,
                    _ => Dealing::Unread,
                };
                (state, dealing)
            }
        };
        let found = Found { stream: queue.stream, arrival: candidate.arrival, row };
        filter.states.contains(&state).then_some((found, dealing))
    }
}

/// How many operations a queue had begun when somebody died there.
pub(super) fn mark(value: &Bytes) -> u64 {
    let mark: Result<[u8; 8], _> = value.as_ref().try_into();
    mark.map_or(0, u64::from_be_bytes)
}
