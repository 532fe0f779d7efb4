//! The model's list of a queue's events.
//!
//! Lives here: going through all of them. Not here: dead letters (`dead.rs`), and how an event looks
//! (`views.rs`).

use naven_core::{Now, State, View};

use super::event::{Event, Stand};
use super::world::World;
use crate::read::{Cursor, EventPage, EventRead, Page, Wanted};
use crate::reply::{OpError, Refused};

impl World {
    pub(super) fn events_page(&self, read: &EventRead, now: Now) -> Result<Page, OpError> {
        let queue = self.open(&read.queue)?;
        let below = match &read.cursor {
            Some(cursor) => {
                u64::from_be_bytes(cursor.0.as_slice().try_into().map_err(|_| Refused::BadCursor)?)
            }
            None => u64::MAX,
        };
        let mut page = EventPage::default();
        if read.wanted == Wanted::Count && read.filter.is_of_states() {
            let counts = self.counts(queue);
            let states = if read.filter.states.is_empty() { &View::ALL[..] } else { &read.filter.states };
            page.found = states.iter().map(|state| counts.of(*state)).sum();
            return Ok(Page::Events(page));
        }
        let mut last = below;
        for event in self.to_look_at(queue, read).into_iter().filter(|event| event.arrival < below) {
            let is_full = match read.wanted {
                Wanted::Items { limit, .. } => page.found >= u64::from(limit),
                Wanted::Count => false,
            };
            let is_far =
                page.looked.rows >= read.bound.rows || page.looked.payload_bytes >= read.bound.payload_bytes;
            if is_full || is_far {
                page.next = Some(Cursor(last.to_be_bytes().to_vec()));
                page.truncated = !is_full;
                break;
            }
            last = event.arrival;
            page.looked.rows += 1;
            page.looked.payload_bytes += event.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            let Some(delivery) = self.dealt(queue, event, now) else { continue };
            let is_meant = read.filter.takes_created(event.created_at)
                && read.filter.takes_delivery(&delivery)
                && read.filter.takes_body(event.body.as_ref());
            page.found += u64::from(is_meant);
            if let (true, Wanted::Items { payload, .. }) = (is_meant, read.wanted) {
                let mut view = self.event_view(event, payload, now);
                view.deliveries = vec![delivery];
                page.items.push(view);
            }
        }
        Ok(Page::Events(page))
    }

    /// How a queue stands to an event, where it deals or dealt with it.
    fn dealt(&self, queue: usize, event: &Event, now: Now) -> Option<crate::read::DeliveryView> {
        match &event.dealing(queue)?.stand {
            Stand::Over(over) if matches!(over.state, State::Dead(_)) => None,
            Stand::Unread | Stand::Live(_) | Stand::Over(_) => {
                Some(self.queues[queue].delivery_view(event, queue, now))
            }
        }
    }

    /// The events that the answer is looked for among, the last first: those that stand as is wanted,
    /// where these can be told apart and are few, else all of the stream.
    fn to_look_at(&self, queue: usize, read: &EventRead) -> Vec<&Event> {
        let mut all: Vec<_> =
            self.events.iter().filter(|event| event.stream == self.queues[queue].stream).collect();
        all.sort_by_key(|event| std::cmp::Reverse(event.arrival));
        let stands = |event: &Event, state: View| match (state, event.live(queue).map(|live| live.state)) {
            (View::Scheduled, _) => event.placed.is_none(),
            (View::Leased, Some(State::Leased(_))) => true,
            (View::Held, Some(State::Held { .. })) => true,
            (View::Retrying, Some(State::Retrying)) => true,
            (View::Dead, Some(State::Dead(_))) => true,
            _ => false,
        };
        let few: Vec<_> = all
            .iter()
            .copied()
            .filter(|event| read.filter.states.iter().any(|state| stands(event, *state)))
            .collect();
        let is_told_apart = read.filter.is_found_by_state() && few.len() <= read.bound.by_state as usize;
        if is_told_apart { few } else { all }
    }
}
