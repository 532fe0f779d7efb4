//! Counting streams and queues anew.
//!
//! Lives here: the counts that `apply/` keeps, from the rows themselves, which a test holds to each other.
//! Not here: the rows.

use std::collections::BTreeMap;

use naven_core::State;

use super::events::Mend;
use super::owners::{JUMP, QueueState};
use super::rows::Rows;
use super::seen::{number, owner};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::read::Counts;
use crate::txn::Place;

/// What is there of one stream.
#[derive(Debug, Default)]
struct InStream {
    length: u64,
    waiting: u64,
    pub(super) events: u64,
    damaged: u64,
    /// Cursors of its queues, the lowest first, and of how many the walk has come past.
    cursors: Vec<(u64, u32)>,
    passed: usize,
}

/// What is there of one queue.
#[derive(Debug, Default)]
struct InQueue {
    /// Entries up to its cursor.
    up_to_cursor: u64,
    lane: u64,
    lane_waiting: u64,
    aside: u64,
    counts: Counts,
    deliveries: u64,
    outcomes: u64,
    fence: u64,
}

#[derive(Debug, Default)]
struct Tally {
    streams: BTreeMap<u32, InStream>,
    queues: BTreeMap<u32, InQueue>,
}

impl Mend<'_> {
    /// Sets all counts to what is there, and says how much that is.
    pub(super) fn count(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let tally = self.tally(rows)?;
        for (no, stream) in &mut self.owners.streams {
            let Some(found) = tally.streams.get(no) else { continue };
            let head = &mut stream.head;
            (head.length, head.waiting) = (found.length, found.waiting);
            head.added = head.added.max(found.length);
            if stream.is_head_lost {
                head.version = head.version.saturating_add(head.entry.saturating_mul(2) + JUMP);
                let queues = self.owners.queues.iter().filter(|(_, queue)| queue.row.stream.0 == *no);
                let read = queues.map(|(queue, state)| {
                    state.progress.read + found.length
                        - tally.queues.get(queue).map_or(0, |queue| queue.up_to_cursor)
                });
                head.added = read.max().unwrap_or(0).max(head.added);
                head.added_told = head.added;
                let last = queues_last(&self.owners.queues, *no);
                head.furthest = last.filter(|last| *last > head.last).unwrap_or_default();
            }
        }
        for (no, queue) in &mut self.owners.queues {
            let (Some(found), Some(stream)) =
                (tally.queues.get(no), self.owners.streams.get(&queue.row.stream.0))
            else {
                continue;
            };
            let unread = (stream.head.length - found.up_to_cursor).saturating_sub(found.aside);
            set(queue, found, stream.head.added - unread);
        }
        self.tell(&tally);
        Ok(())
    }

    fn tally(&self, rows: &mut Rows) -> Result<Tally, StorageError> {
        let mut tally = Tally::default();
        for no in self.owners.streams.keys() {
            tally.streams.insert(*no, InStream::default());
        }
        for (no, queue) in &self.owners.queues {
            tally.queues.insert(*no, InQueue::default());
            let stream = tally.streams.entry(queue.row.stream.0).or_default();
            stream.cursors.push((queue.progress.cursor, *no));
        }
        tally.streams.values_mut().for_each(|stream| stream.cursors.sort_unstable());
        tally.events(rows)?;
        tally.dealings(rows)?;
        Ok(tally)
    }

    /// Puts what there is into the report.
    fn tell(&mut self, tally: &Tally) {
        use naven_api::limits::FINDINGS_MAX;
        let report = &mut *self.report;
        report.streams_found = self.owners.streams.len() as u64;
        report.queues_found = self.owners.queues.len() as u64;
        let (mut streams, mut queues) = (Vec::new(), Vec::new());
        for (no, stream) in self.owners.streams.iter().take(FINDINGS_MAX) {
            let lost_rows = self.copied.seen.streams.get(no).map_or(0, |seen| seen.saved.lost_rows);
            let (events, damaged) =
                tally.streams.get(no).map_or((0, 0), |found| (found.events, found.damaged));
            let name = Some(String::from_utf8_lossy(&stream.row.name).into_owned());
            streams.push(super::report::StreamSaved { name, events, damaged, lost_rows });
        }
        for (no, queue) in self.owners.queues.iter().take(FINDINGS_MAX) {
            let lost_rows = self.copied.seen.queues.get(no).map_or(0, |seen| seen.saved.lost_rows);
            let (deliveries, outcomes) =
                tally.queues.get(no).map_or((0, 0), |found| (found.deliveries, found.outcomes));
            let (name, again) = (Some(queue.row.name.clone()), queue.again);
            queues.push(super::report::QueueSaved { name, deliveries, outcomes, again, lost_rows });
        }
        (report.streams, report.queues) = (streams, queues);
    }
}

/// The furthest place that an open queue of this stream counts as handed out.
fn queues_last(queues: &BTreeMap<u32, QueueState>, stream: u32) -> Option<Place> {
    let is_its = |queue: &&QueueState| queue.row.stream.0 == stream && queue.row.closed.is_none();
    queues.values().filter(is_its).map(|queue| queue.progress.last).max()
}

/// Sets the counts of one queue. Of a queue that is deleted most are not kept any more.
fn set(queue: &mut QueueState, found: &InQueue, read: u64) {
    let progress = &mut queue.progress;
    progress.fence = progress.fence.max(found.fence);
    progress.lane_waiting = found.lane_waiting;
    if queue.row.closed.is_some() && !queue.is_progress_lost {
        progress.aside = progress.aside.max(found.aside);
        return;
    }
    (progress.read, progress.aside, progress.lane_ready) = (read, found.aside, found.lane);
    progress.counts = found.counts;
}

impl Tally {
    fn events(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        rows.for_each(Table::Body, &mut |_, key, row| {
            let is_damaged = BodyRow::decode(row).is_some_and(|body| body.damaged);
            if let Some(stream) = self.streams.get_mut(&owner(key)) {
                stream.events += 1;
                stream.damaged += u64::from(is_damaged);
            }
            Ok(())
        })?;
        rows.for_each(Table::Entry, &mut |_, key, _| {
            let Some(stream) = self.streams.get_mut(&owner(key)) else { return Ok(()) };
            while let Some((_, queue)) =
                stream.cursors.get(stream.passed).filter(|(cursor, _)| *cursor < key::count_of(key))
            {
                self.queues.entry(*queue).or_default().up_to_cursor = stream.length;
                stream.passed += 1;
            }
            stream.length += 1;
            Ok(())
        })?;
        for stream in self.streams.values() {
            for (_, queue) in &stream.cursors[stream.passed..] {
                self.queues.entry(*queue).or_default().up_to_cursor = stream.length;
            }
        }
        rows.for_each(Table::Waiting, &mut |_, key, row| {
            if !row.is_empty() {
                self.queues.entry(number(&row)).or_default().lane_waiting += 1;
            } else if let Some(stream) = self.streams.get_mut(&owner(key)) {
                stream.waiting += 1;
            }
            Ok(())
        })
    }

    fn dealings(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        for table in [Table::Delivery, Table::Outcome] {
            rows.for_each(table, &mut |_, key, row| {
                let Some((_, delivery)) = delivery::decode(row) else { return Ok(()) };
                let queue = self.queues.entry(owner(key)).or_default();
                queue.fence = queue.fence.max(delivery.fence);
                let is_given_up = table == Table::Outcome && matches!(delivery.state, State::Dead(_));
                *queue.counts.of_mut(delivery.state.view()) += u64::from(!is_given_up);
                let count =
                    if table == Table::Delivery { &mut queue.deliveries } else { &mut queue.outcomes };
                *count += 1;
                Ok(())
            })?;
        }
        rows.for_each(Table::Lane, &mut |_, key, _| {
            self.queues.entry(owner(key)).or_default().lane += 1;
            Ok(())
        })?;
        rows.for_each(Table::Aside, &mut |_, key, _| {
            self.queues.entry(owner(key)).or_default().aside += 1;
            Ok(())
        })
    }
}
