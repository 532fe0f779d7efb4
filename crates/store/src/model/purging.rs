//! Throwing away what waits in a queue of the model, or is dead there.
//!
//! Lives here: what a purge means, and its chunks. Not here: operations as such (`operation.rs`).

use naven_api::{EventId, Timestamp};
use naven_core::{Delivery, Now, State, Step, View};

use super::event::Event;
use super::operation::Operation;
use super::world::World;
use crate::queue::QueueRef;
use crate::read::{Matched, Page, SCANS_MAX};
use crate::reply::OpError;
use crate::txn::PurgeFilter;

/// What was there when a purge began, and through which of its parts it goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PurgeAt {
    part: usize,
    entries: u64,
    arrivals: u64,
}

/// Something that a purge may mean: its part and place there, and which event.
type Candidate = (usize, (Timestamp, u64), EventId);

/// A purge, as far as it says what it means.
struct Meaning<'a> {
    queue: usize,
    filter: &'a PurgeFilter,
    began: Timestamp,
    at: PurgeAt,
    /// Those that were dead.
    dead: &'a [(EventId, Delivery)],
}

impl World {
    pub(super) fn purge_from(&self, queue: usize) -> PurgeAt {
        let stream = &self.streams[self.queues[queue].stream];
        PurgeAt { part: 0, entries: stream.last_n, arrivals: stream.arrivals }
    }

    pub(super) fn purgeable(
        &self,
        queue: &QueueRef,
        filter: &PurgeFilter,
        now: Now,
    ) -> Result<Page, OpError> {
        let queue = self.open(queue)?;
        if let Some(count) = filter.counted(&self.counts(queue)) {
            return Ok(Page::Matched(Matched { count, truncated: false }));
        }
        let dead: Vec<_> = self.deaths(queue).into_iter().map(|(_, event, dead)| (event, dead)).collect();
        let at = self.purge_from(queue);
        let meaning = Meaning { queue, filter, began: now.wall, at, dead: &dead };
        let mut found = self.candidates(queue, filter, 0);
        let truncated = found.len() > SCANS_MAX;
        found.truncate(SCANS_MAX);
        let count = found.iter().filter(|one| self.is_meant(&meaning, one)).count() as u64;
        Ok(Page::Matched(Matched { count, truncated }))
    }

    /// One chunk: how many were looked at, and whether that was all.
    pub(super) fn run_purge(
        &mut self,
        one: &mut Operation,
        filter: &PurgeFilter,
        chunk: usize,
        now: Now,
    ) -> (usize, bool) {
        self.pass_ahead(one.queue);
        let mut found = self.candidates(one.queue, filter, one.purge.part);
        found.retain(|(part, key, _)| *part > one.purge.part || *key >= one.next);
        found.retain(|(part, key, _)| *part > 0 || *key <= one.upto);
        found.truncate(chunk);
        let (queue, began, at) = (one.queue, one.view.created_at, one.purge);
        let dead = one.meant.clone();
        for candidate in &found {
            if self.is_meant(&Meaning { queue, filter, began, at, dead: &dead }, candidate) {
                let event = self.find(candidate.2).expect("it was found a moment ago");
                one.view.count(self.call_off(queue, event, &Step::Purge, now).is_ok());
            }
        }
        if let Some((part, (at, last), _)) = found.last() {
            (one.purge.part, one.next) = (*part, (*at, last + 1));
        }
        (found.len().max(1), found.len() < chunk)
    }

    /// What is to be looked at, from this part on.
    fn candidates(&self, queue: usize, filter: &PurgeFilter, from: usize) -> Vec<Candidate> {
        let has = |views: &[View]| views.iter().any(|view| filter.states.contains(view));
        let asked = [
            has(&[View::Dead]),
            has(&[View::Scheduled, View::Ready]),
            has(&[View::Ready, View::Retrying]),
            has(&[View::Ready, View::Retrying]),
            has(&[View::Scheduled, View::Ready]),
            has(&[View::Scheduled, View::Ready]),
        ];
        let place = |event: &Event| {
            let counted = |part| Some((part, (Timestamp::from_ms(0), event.n()?)));
            if event.placed.is_none() {
                return Some((1, (event.due, event.arrival)));
            }
            if event.is_unread(queue) {
                return counted(if event.in_stream { 5 } else { 4 });
            }
            let live = event.live(queue)?;
            match live.state {
                State::Dead(_) => Some((0, (live.over_at?, event.arrival))),
                State::Retrying => Some((2, (live.due, event.arrival))),
                State::Ready => Some((3, (live.due, event.arrival))),
                _ => None,
            }
        };
        let of_stream = self.events.iter().filter(|event| event.stream == self.queues[queue].stream);
        let mut found: Vec<Candidate> =
            of_stream.filter_map(|event| place(event).map(|(part, key)| (part, key, event.id))).collect();
        found.retain(|(part, ..)| *part >= from && asked[*part]);
        found.sort_unstable_by_key(|(part, key, _)| (*part, *key));
        found
    }

    fn is_meant(&self, meaning: &Meaning<'_>, (part, _, event): &Candidate) -> bool {
        let Ok(at) = self.find(*event) else { return false };
        let event = &self.events[at];
        if event.arrival > meaning.at.arrivals
            || !meaning.filter.takes(event.created_at)
            || event.dealing(meaning.queue).is_none()
        {
            return false;
        }
        let was_due = |due: Timestamp| due <= meaning.began;
        let live = event.live(meaning.queue);
        let state = match part {
            0 if live.is_some_and(|live| meaning.dead.contains(&(event.id, live.clone()))) => View::Dead,
            0 => return false,
            2 | 3 if !live.is_some_and(|live| PurgeFilter::stood(live, meaning.began)) => return false,
            2 | 3 if live.is_some_and(|live| was_due(live.due)) => View::Ready,
            2 | 3 => View::Retrying,
            _ if was_due(event.due) || event.n().is_some_and(|n| n <= meaning.at.entries) => View::Ready,
            _ => View::Scheduled,
        };
        meaning.filter.states.contains(&state)
    }
}
