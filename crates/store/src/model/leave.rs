//! How entries leave a stream of the model, and events their queues, before anybody had them.
//!
//! Lives here: trimming, the deletion of entries, expiry. Not here: what every queue is done with
//! (`keep.rs`).

use naven_api::EventId;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::{DeadReason, Now, State, Step};

use super::event::{Dealing, Event, Stand};
use super::world::{Answer, World};
use crate::feed::Change;
use crate::read::SCANS_MAX;
use crate::reply::{Fate, OpReply};
use crate::txn::{DeleteEntries, Keep, Place, References, Trim, Trimming};

impl World {
    pub(super) fn trim(&mut self, trim: &Trim, now: Now) -> Answer {
        let stream = self.open_stream(&trim.stream)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        Ok(OpReply::Removed(self.trim_stream(stream, trim.how)))
    }

    pub(super) fn trim_stream(&mut self, stream: usize, how: Trimming) -> u64 {
        let entries: Vec<_> = self.entries_of(stream).into_iter().map(|at| self.events[at].id).collect();
        let (mut gone, mut kept) = (0, 0);
        for group in entries.chunks(usize::try_from(how.step.max(1)).unwrap_or(usize::MAX)) {
            let (length, size) = (entries.len() as u64 - gone, group.len() as u64);
            let last = group.last().and_then(|&event| self.find(event).ok());
            let last = last.and_then(|at| self.events[at].placed).map(|(_, place)| place);
            let goes = match how.keep {
                Keep::Newest(newest) => length - size >= newest,
                Keep::From(from) => last < Some(from),
            };
            if !goes || gone + size > how.limit.unwrap_or(u64::MAX) || kept >= SCANS_MAX {
                break;
            }
            for &event in group {
                if self.let_leave(event, how.references) { gone += 1 } else { kept += 1 }
            }
        }
        gone
    }

    pub(super) fn delete_entries(&mut self, delete: &DeleteEntries, now: Now) -> Answer {
        let stream = self.open_stream(&delete.stream)?;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        let delete_one = |place: &Place| self.delete_one(stream, *place, delete.references);
        Ok(OpReply::Fates(delete.places.iter().map(delete_one).collect()))
    }

    pub(super) fn delete_one(&mut self, stream: usize, place: Place, references: References) -> Fate {
        let is_it =
            |event: &&Event| event.stream == stream && event.placed.is_some_and(|(_, own)| own == place);
        let found: Vec<_> =
            self.events.iter().filter(is_it).map(|event| (event.in_stream, event.id)).collect();
        let Some(&(_, entry)) = found.iter().find(|(in_stream, _)| *in_stream) else {
            for (_, event) in found.into_iter().filter(|_| references == References::Drop) {
                if self.drop_references(event) {
                    self.release(event);
                }
            }
            return Fate::Missing;
        };
        if !self.let_leave(entry, references) {
            return Fate::Kept;
        }
        let of = &mut self.streams[stream];
        of.max_deleted = of.max_deleted.max(place);
        Fate::Done
    }

    fn let_leave(&mut self, event: EventId, references: References) -> bool {
        let Ok(at) = self.find(event) else { return false };
        let row = &self.events[at];
        let is_awaited = |one: &&Dealing| match &one.stand {
            Stand::Unread => true,
            Stand::Live(live) => !live.is_over(),
            Stand::Over(_) => false,
        };
        let mut open = row.dealings.iter().filter(|one| self.queues[one.queue].is_open());
        if references == References::Acked && open.any(|one| is_awaited(&one)) {
            return false;
        }
        self.take_out(event, references);
        true
    }

    /// What Redis consumers hold of it, or nobody, is forgotten. True where there was such.
    fn drop_references(&mut self, event: EventId) -> bool {
        let Ok(at) = self.find(event) else { return false };
        let (queues, dealings) = (&self.queues, &mut self.events[at].dealings);
        let before = dealings.len();
        dealings.retain(|one| match &one.stand {
            Stand::Live(live) if queues[one.queue].is_open() => {
                !matches!(live.state, State::Held { .. } | State::Ready | State::Retrying)
            }
            _ => true,
        });
        dealings.len() < before
    }

    /// An entry leaves. Who has not read it and asked to have such kept still gets it; for others it
    /// is lost.
    fn take_out(&mut self, event: EventId, references: References) {
        let Ok(at) = self.find(event) else { return };
        let row = &mut self.events[at];
        row.in_stream = false;
        self.streams[row.stream].version += 1;
        for (queue, reader) in self.queues.iter_mut().enumerate() {
            if row.is_unread(queue) && reader.is_open() && !reader.settings.protect_unread {
                row.drop_dealing(queue);
                reader.trimmed_unread += 1;
            }
        }
        if references == References::Drop {
            self.drop_references(event);
        }
        if !self.events[at].is_pinned() {
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
