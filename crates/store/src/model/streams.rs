//! How the model's streams look from outside.
//!
//! Lives here: streams, their entries, and how far their queues have come. Not here: queues and events
//! (`views.rs`).

use naven_core::{Now, View};

use super::event::Event;
use super::world::World;
use crate::lag::Facts;
use crate::queue::group_name;
use crate::read::{EntryView, GroupView, PENDING_HTTP, PENDING_NOBODY, Page, StreamView};
use crate::txn::Place;

impl World {
    /// What is in a stream, in the order of places.
    pub(super) fn entries_of(&self, stream: usize) -> Vec<usize> {
        let is_in = |&at: &usize| self.events[at].stream == stream && self.events[at].in_stream;
        let mut entries: Vec<usize> = (0..self.events.len()).filter(is_in).collect();
        entries.sort_by_key(|&at| self.events[at].placed);
        entries
    }

    pub(super) fn stream_view(&self, stream: usize) -> StreamView {
        let of = &self.streams[stream];
        let entries = self.entries_of(stream);
        let place = |at: &usize| self.events[*at].placed.map(|(_, place)| place);
        let waits = |event: &&Event| event.stream == stream && event.waits_for_all();
        StreamView {
            name: of.name.clone(),
            settings: of.settings,
            length: entries.len() as u64,
            first: entries.first().and_then(place),
            last: of.last_place,
            added: of.added,
            added_told: of.added_told,
            max_deleted: of.max_deleted,
            scheduled: self.events.iter().filter(waits).count() as u64,
            queues: self.readers(stream).len() as u64,
            version: of.version,
            created_at: of.created_at,
        }
    }

    pub(super) fn entries(
        &self,
        stream: usize,
        (start, end): (Place, Place),
        reverse: bool,
        (limit, max_bytes, payload): (usize, u64, bool),
    ) -> Page {
        let view = |at: usize| {
            let event = &self.events[at];
            let (_, place) = event.placed.filter(|(_, place)| (start..=end).contains(place))?;
            let body = event.body.clone().filter(|_| payload);
            let (headers, created_at) = (event.headers.clone(), event.created_at);
            Some(EntryView { place, event: event.id, body, headers, created_at })
        };
        let mut found: Vec<_> = self.entries_of(stream).into_iter().filter_map(view).collect();
        if reverse {
            found.reverse();
        }
        let size = |entry: &EntryView| entry.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        let fits = |upto: &usize| found[..=*upto].iter().map(size).sum::<u64>() <= max_bytes;
        let fitting = (0..found.len()).take_while(|upto| *upto == 0 || fits(upto)).count().min(limit);
        let more = found.len() > fitting;
        found.truncate(fitting);
        Page::Entries(found, more)
    }

    /// What is known of a stream to those who tell how far its readers have come.
    pub(super) fn facts(&self, stream: usize) -> Facts {
        let (of, entries) = (&self.streams[stream], self.entries_of(stream));
        Facts {
            length: entries.len() as u64,
            added: of.added_told,
            first: entries.first().and_then(|&at| self.events[at].placed).map(|(_, place)| place),
            last: of.last_place,
            max_deleted: of.max_deleted,
        }
    }

    /// A queue was handed out the entry at this place, which is behind what it was handed out before.
    pub(super) fn note_read(&mut self, queue: usize, facts: &Facts, place: Place) {
        let row = &mut self.queues[queue];
        row.entries_read = facts.read_on(row.entries_read, row.last_taken, place);
        row.last_taken = row.last_taken.max(place);
    }

    pub(super) fn group_view(&self, queue: usize, now: Now) -> GroupView {
        let is_pending = |event: &&Event| event.live(queue).is_some_and(|live| !live.is_over());
        let mut pending: Vec<&Event> = self.events.iter().filter(is_pending).collect();
        pending.sort_by_key(|event| event.placed);
        let first_hold = |event: &&Event| Some(event.live(queue)?.log.first()?.leased_at);
        let lags = |event: &&Event| event.in_stream && event.is_unread(queue);
        let row = &self.queues[queue];
        let is_one = |name: &[u8], views: &[View]| {
            let stands =
                |event: &Event| event.live(queue).is_some_and(|live| views.contains(&live.state.view()));
            let is_named = row.consumers.iter().any(|one| one.name == *name);
            u64::from(self.events.iter().any(stands) && !is_named)
        };
        let others =
            is_one(PENDING_HTTP, &[View::Leased]) + is_one(PENDING_NOBODY, &[View::Ready, View::Retrying]);
        GroupView {
            queue: self.queue_view(queue, now),
            last_delivered: self.queues[queue].last_taken,
            lag: self.events.iter().filter(lags).count() as u64,
            pending: pending.len() as u64,
            oldest_pending: pending.iter().find_map(first_hold),
            trimmed_unread: self.queues[queue].trimmed_unread,
            name: group_name(&self.queues[queue].name),
            consumers: self.queues[queue].consumers.len() as u64 + others,
            entries_read: row.entries_read,
            entries_lag: self.facts(row.stream).lag(row.entries_read, row.last_taken),
        }
    }
}
