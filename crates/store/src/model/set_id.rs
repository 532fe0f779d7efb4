//! A stream's last place in the model, as a reader of the stream sets it, and the stream in detail.
//!
//! Lives here: `XSETID` and what `XINFO STREAM` shows. Not here: the giving of places (`publish.rs`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::Now;

use super::event::Stand;
use super::world::{Answer, World};
use crate::read::{EntryView, FULL_ROWS_MAX, FullStream, Page, StreamDetail};
use crate::reply::{OpReply, Refused};
use crate::txn::{Place, SetId, StreamRef};

const LAST: Place = Place { ms: u64::MAX, seq: u64::MAX };

impl World {
    pub(super) fn set_id(&mut self, set: &SetId, now: Now) -> Answer {
        let at = self.open_stream(&set.stream)?;
        self.place_due(at, now, PLACES_PER_OP_MAX);
        let places: Vec<_> =
            self.entries_of(at).into_iter().filter_map(|at| self.events[at].placed).collect();
        let is_pending = |event: &&super::event::Event| {
            let lives = |one: &super::event::Dealing| match one.stand {
                Stand::Live(_) => true,
                Stand::Unread => !event.in_stream,
                Stand::Over(_) => false,
            };
            event.stream == at && event.dealings.iter().any(lives)
        };
        let pending = self.events.iter().filter(is_pending).filter_map(|event| event.placed).max();
        let stream = &mut self.streams[at];
        if set.max_deleted > Some(set.last) {
            return Err(Refused::FactsWrong.into());
        }
        if set.last < stream.max_deleted {
            return Err(Refused::BeforeDeleted.into());
        }
        if places.last().is_some_and(|&(_, top)| set.last < top) {
            return Err(Refused::PlaceBehind.into());
        }
        if set.added.is_some_and(|added| !places.is_empty() && added < places.len() as u64) {
            return Err(Refused::FactsWrong.into());
        }
        if set.last < stream.last_place && pending.is_some_and(|(_, place)| place > set.last) {
            return Err(Refused::PlaceBehind.into());
        }
        stream.last_place = set.last;
        stream.added_told = set.added.unwrap_or(stream.added_told);
        let deleted = set.max_deleted.filter(|place| *place != Place::default());
        stream.max_deleted = deleted.unwrap_or(stream.max_deleted);
        stream.version += 1;
        Ok(OpReply::Done)
    }

    /// The version of the open stream of this name; 0 where there is none.
    pub(super) fn version_of(&self, stream: &StreamRef) -> u64 {
        self.open_stream(stream).map_or(0, |at| self.streams[at].version)
    }

    pub(super) fn stream_detail(&self, at: usize, full: Option<u64>, now: Now) -> Page {
        let some = |reverse: bool, most: usize| -> Vec<EntryView> {
            match self.entries(at, (Place::default(), LAST), reverse, (most, u64::MAX, true)) {
                Page::Entries(items, _) => items,
                _ => Vec::new(),
            }
        };
        let full = full.map(|count| FullStream {
            entries: some(false, if count == 0 { FULL_ROWS_MAX } else { FULL_ROWS_MAX.min(count as usize) }),
            groups: self.full_groups(at, count, now),
        });
        let (first, last) = (some(false, 1).into_iter().next(), some(true, 1).into_iter().next());
        Page::StreamDetail(Box::new(StreamDetail { view: self.stream_view(at), first, last, full }))
    }
}
