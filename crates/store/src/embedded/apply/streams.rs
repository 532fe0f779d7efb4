//! Reads of streams: what they are, their entries, and how far their queues have come.
//!
//! Lives here: these pages. Not here: queues and events (`read.rs`, `view.rs`).

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{State, View};

use super::context::{Context, READABLE, event_id};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::Progress;
use crate::embedded::rows::stream::{EntryRow, StreamRow};
use crate::embedded::tables::{Order, Table, Tables};
use crate::lag::Facts;
use crate::queue::group_name;
use crate::read::{
    Counts, Cursor, EntryView, GroupView, PENDING_HTTP, PENDING_NOBODY, Page, SCANS_MAX, StreamView,
};
use crate::reply::{OpError, Refused};
use crate::txn::Place;

impl<T: Tables> Context<'_, T> {
    pub(super) fn stream_view(&self, no: StreamNo, row: &StreamRow) -> StreamView {
        let head = self.head(no);
        StreamView {
            name: row.name.clone(),
            settings: row.settings,
            length: head.length,
            first: self.next_entry(no, 0).map(|(_, entry)| entry.place),
            last: head.last,
            added: head.added,
            added_told: head.added_told,
            max_deleted: head.max_deleted,
            scheduled: head.waiting,
            queues: row.queues.into(),
            version: head.version,
            created_at: row.created_at,
        }
    }

    /// Open streams, newest first: their numbers rise with creation.
    pub(super) fn streams(
        &self,
        prefix: &[u8],
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page, OpError> {
        if cursor.is_some_and(|cursor| cursor.0.len() != 4) {
            return Err(Refused::BadCursor.into());
        }
        let to = cursor.map_or(&[0xff; 5][..], |cursor| cursor.0.as_slice());
        let (mut items, mut last, mut more, mut scans) = (Vec::new(), Vec::new(), false, 0);
        self.tables.scan(Table::Stream, &[], to, Order::Falling, &mut |key, value| {
            more = items.len() >= limit || scans >= SCANS_MAX;
            if more {
                return ControlFlow::Break(());
            }
            scans += 1;
            last = key.to_vec();
            let no = StreamNo(u32::from_be_bytes(key.try_into().expect(READABLE)));
            let row = StreamRow::decode(value.clone()).expect(READABLE);
            if row.closed.is_none() && row.name.starts_with(prefix) {
                items.push(self.stream_view(no, &row));
            }
            ControlFlow::Continue(())
        });
        Ok(Page::Streams(items, more.then_some(Cursor(last))))
    }

    /// At most `limit` entries, and `max_bytes` of their content, whose places lie between two, both included.
    pub(super) fn entries(
        &self,
        no: StreamNo,
        (start, end): (Place, Place),
        order: Order,
        (limit, max_bytes, payload): (usize, u64, bool),
    ) -> Page {
        let last = self.head(no).entry;
        let from = self.first_from(no, last, start).map_or(last + 1, |(n, _)| n.0);
        let past_end = end.after().and_then(|past| self.first_from(no, last, past));
        let to = past_end.map_or(last + 1, |(n, _)| n.0);
        let (mut items, mut more, mut bytes) = (Vec::new(), false, 0);
        let (from, to) = (key::counted(no.0, from), key::counted(no.0, to));
        self.tables.scan(Table::Entry, &from, &to, order, &mut |_, value| {
            more = items.len() >= limit;
            if more {
                return ControlFlow::Break(());
            }
            let entry = self.entry_view(no, value.clone(), payload);
            bytes += entry.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            more = bytes > max_bytes && !items.is_empty();
            if more {
                return ControlFlow::Break(());
            }
            items.push(entry);
            ControlFlow::Continue(())
        });
        Page::Entries(items, more)
    }

    fn entry_view(&self, no: StreamNo, value: Bytes, payload: bool) -> EntryView {
        let entry = EntryRow::decode(value).expect(READABLE);
        let row = self.pointed_body(no, entry.arrival);
        EntryView {
            place: entry.place,
            event: event_id(&row, no, entry.arrival),
            body: row.body.filter(|_| payload),
            headers: row.headers,
            created_at: row.created_at,
        }
    }

    /// What is known of a stream to those who tell how far its readers have come.
    pub(super) fn facts(&self, stream: StreamNo) -> Facts {
        let head = self.head(stream);
        Facts {
            length: head.length,
            added: head.added_told,
            first: self.next_entry(stream, 0).map(|(_, entry)| entry.place),
            last: head.last,
            max_deleted: head.max_deleted,
        }
    }

    /// A queue was handed out the entry at this place, which is behind what it was handed out before: how many
    /// it has read, and where it stands.
    pub(super) fn note_read(&self, progress: &mut Progress, facts: &Facts, place: Place) {
        progress.entries_read = facts.read_on(progress.entries_read, progress.last, place);
        progress.last = progress.last.max(place);
    }

    /// The open queues of a stream.
    pub(super) fn groups(&self, stream: StreamNo) -> Vec<GroupView> {
        let (added, facts) = (self.head(stream).added, self.facts(stream));
        let group = |no: QueueNo| {
            let row = self.queue(no)?;
            let progress = self.progress(no);
            let pending = [View::Ready, View::Retrying, View::Leased, View::Held];
            Some(GroupView {
                queue: self.queue_view(no, &row),
                last_delivered: progress.last,
                lag: added - progress.read,
                pending: pending.into_iter().map(|view| progress.counts.of(view)).sum(),
                oldest_pending: self.oldest_pending(no),
                trimmed_unread: progress.trimmed_unread,
                name: group_name(&row.name),
                consumers: self.count_consumers(no) + self.count_others(no, &progress.counts),
                entries_read: progress.entries_read,
                entries_lag: facts.lag(progress.entries_read, progress.last),
            })
        };
        self.open_members(stream).into_iter().filter_map(group).collect()
    }

    /// When the first pending delivery in the order of places was handed out first in its round.
    /// Looked for among a bounded number of deliveries.
    fn oldest_pending(&self, no: QueueNo) -> Option<Timestamp> {
        let (mut oldest, mut from) = (None, 0);
        for _ in 0..SCANS_MAX {
            let Some((EntryNo(n), value)) = self.next_row(Table::Delivery, no.0, from) else { break };
            let (_, delivery) = delivery::decode(value).expect(READABLE);
            let first = delivery.log.first().filter(|_| !matches!(delivery.state, State::Dead(_)));
            oldest = first.map(|past| past.leased_at);
            if oldest.is_some() {
                break;
            }
            from = n + 1;
        }
        oldest
    }

    /// Who has pending deliveries beside consumers: leases of the HTTP door, and nobody, where no consumer is
    /// called the same.
    fn count_others(&self, no: QueueNo, counts: &Counts) -> u64 {
        let is_one = |name: &[u8], views: &[View]| {
            let has_any = views.iter().any(|view| counts.of(*view) > 0);
            u64::from(has_any && self.consumer_named(no, name).is_none())
        };
        is_one(PENDING_HTTP, &[View::Leased]) + is_one(PENDING_NOBODY, &[View::Ready, View::Retrying])
    }
}
