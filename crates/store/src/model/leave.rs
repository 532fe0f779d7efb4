//! How entries leave a stream of the model, and events their queues, before anybody had them.
//!
//! Lives here: trimming, the deletion of entries, expiry. Not here: what every queue is done with
//! (`keep.rs`).

use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::{DeadReason, Now, State, Step};

use super::event::{Event, Stand};
use super::world::{Answer, World};
use crate::feed::Change;
use crate::reply::OpReply;
use crate::txn::{DeleteEntries, Keep, Trim, Trimming};

impl World {
    pub(super) fn trim(&mut self, trim: &Trim, now: Now) -> Answer {
        let stream = self.open_stream(&trim.stream)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        Ok(OpReply::Removed(self.trim_stream(stream, trim.how)))
    }

    pub(super) fn trim_stream(&mut self, stream: usize, how: Trimming) -> u64 {
        let entries = self.entries_of(stream);
        let goes = |(nth, at): &(usize, &usize)| match how.keep {
            Keep::Newest(newest) => (entries.len() - nth) as u64 > newest,
            Keep::From(place) => self.events[**at].placed.is_some_and(|(_, own)| own < place),
        };
        let going = entries.iter().enumerate().filter(goes).map(|(_, &at)| self.events[at].id);
        let going: Vec<_> = going.take(how.limit.unwrap_or(u64::MAX) as usize).collect();
        going.iter().for_each(|&event| self.take_out(event));
        going.len() as u64
    }

    pub(super) fn delete_entries(&mut self, delete: &DeleteEntries, now: Now) -> Answer {
        let stream = self.open_stream(&delete.stream)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        let is_named = |event: &Event| event.placed.is_some_and(|(_, place)| delete.places.contains(&place));
        let named = self.entries_of(stream).into_iter().filter(|&at| is_named(&self.events[at]));
        let going: Vec<_> = named.map(|at| self.events[at].id).collect();
        for &event in &going {
            let place = self.find(event).ok().and_then(|at| self.events[at].placed);
            let highest = &mut self.streams[stream].max_deleted;
            *highest = place.map_or(*highest, |(_, place)| place.max(*highest));
            self.take_out(event);
        }
        Ok(OpReply::Removed(going.len() as u64))
    }

    /// An entry leaves. Who has not read it and asked to have such kept still gets it; for others it
    /// is lost.
    fn take_out(&mut self, event: naven_api::EventId) {
        let Ok(at) = self.find(event) else { return };
        let event = &mut self.events[at];
        event.in_stream = false;
        self.streams[event.stream].version += 1;
        for (queue, row) in self.queues.iter_mut().enumerate() {
            if event.is_unread(queue) && row.is_open() && !row.settings.protect_unread {
                event.drop_dealing(queue);
                row.trimmed_unread += 1;
            }
        }
        if !event.is_pinned() {
            self.drop_content(at);
        }
    }

    /// Ends what nobody holds of events past their `expires_at`; how many events.
    pub(super) fn expire_events(&mut self, now: Now, limit: usize) -> usize {
        let mut expired = 0;
        for event in &mut self.events {
            let ends = event.expires_at.map(|at| at.max(event.due)).is_some_and(|end| end <= now.wall);
            let is_open = self.streams[event.stream].closed_at.is_none();
            if !(event.may_expire && ends && is_open && event.placed.is_some() && expired < limit) {
                continue;
            }
            event.may_expire = false;
            expired += 1;
            for (queue, row) in self.queues.iter().enumerate().filter(|(_, row)| row.is_open()) {
                let live = event.live(queue).cloned();
                let before = match event.dealing(queue).map(|one| &one.stand) {
                    Some(Stand::Unread) => row.fresh(event),
                    Some(Stand::Live(live)) if matches!(live.state, State::Ready | State::Retrying) => {
                        live.clone()
                    }
                    Some(Stand::Live(_) | Stand::Over(_)) | None => continue,
                };
                let step = Step::Bury(DeadReason::EventExpired);
                let dead = before.apply(&step, now, &row.policy(event)).expect("nobody holds it");
                self.told.extend(Change::between((row.id, event.id), live.as_ref(), &dead, now));
                event.put(queue, Stand::Live(dead));
            }
        }
        expired
    }
}
