//! Queues and streams of the model: made, changed, sent back, deleted.
//!
//! Lives here: these ops. Not here: what time does to what was deleted (`keep.rs`).

use bytes::Bytes;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_api::{QueueId, id::uuid_v7_bits};
use naven_core::{DeadReason, Now};

use super::event::{Queue, Stand, Stream};
use super::world::{Answer, World};
use crate::queue::{QueueRef, QueueSettings, Retention, StreamChanges, StreamSettings};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{From, GroupOp, Place, Reading, StreamRef};

impl World {
    pub(super) fn group(&mut self, op: &GroupOp, draw: u128, now: Now) -> Answer {
        let at = match op {
            GroupOp::Create { name, settings, on, stream } => {
                let id = QueueId::from_bits(uuid_v7_bits(now.wall.as_ms(), draw));
                self.create((id, name), settings, on.as_ref(), *stream, now)?
            }
            GroupOp::Patch { queue, changes, stream, revision } => {
                let at = self.at_revision(queue, *revision)?;
                let row = &mut self.queues[at];
                row.revision += 1;
                row.settings = changes.as_ref().clone().made_to(&row.settings);
                row.updated_at = now.wall;
                let of = &mut self.streams[row.stream];
                of.settings = stream.made_to(of.settings);
                at
            }
            GroupOp::CreateGroup { stream, group, make_stream, start, entries_read } => {
                let id = QueueId::from_bits(uuid_v7_bits(now.wall.as_ms(), draw));
                self.create_group(id, (stream, group), *make_stream, (*start, *entries_read), now)?
            }
            GroupOp::SetPlace { queue, start, entries_read } => {
                self.set_place(queue, *start, *entries_read, now)?
            }
            GroupOp::MakeConsumer { .. } => return Err(OpError::Unsupported),
            GroupOp::Reset { queue, from } => self.reset(queue, *from, now)?,
            GroupOp::Pause { queue, reason } => {
                let at = self.open(queue)?;
                self.queues[at].paused = Some(reason.clone().unwrap_or_default());
                self.queues[at].revision += 1;
                at
            }
            GroupOp::Resume { queue } => {
                let at = self.open(queue)?;
                let was_paused = self.queues[at].paused.take().is_some();
                self.queues[at].revision += u64::from(was_paused);
                at
            }
        };
        self.woken.push(self.queues[at].id);
        Ok(OpReply::Queue(Box::new(self.queue_view(at, now))))
    }

    /// The open queue, where it is at the revision that a change expects.
    fn at_revision(&self, queue: &QueueRef, revision: Option<u64>) -> Result<usize, OpError> {
        let at = self.open(queue)?;
        let is_it = revision.is_none_or(|revision| revision == self.queues[at].revision);
        if is_it { Ok(at) } else { Err(Refused::Stale.into()) }
    }

    fn create(
        &mut self,
        (id, name): (QueueId, &str),
        settings: &QueueSettings,
        on: Option<&Reading>,
        changes: StreamChanges,
        now: Now,
    ) -> Result<usize, Refused> {
        if self.open(&QueueRef::Name(name.to_owned())).is_ok() {
            return Err(Refused::NameTaken);
        }
        let own = StreamRef(Bytes::copy_from_slice(name.as_bytes()));
        let (stream, from) = match on {
            None if self.open_stream(&own).is_ok() => return Err(Refused::NameTaken),
            None => (self.new_stream(&own, StreamSettings::default(), now), From::Start),
            Some(Reading { stream, from }) => {
                if self.any(&QueueRef::Group { stream: stream.0.clone(), group: own.0 }).is_ok() {
                    return Err(Refused::NameTaken);
                }
                let trims = StreamSettings { retention: Retention::Trim, ..StreamSettings::default() };
                let found = self.open_stream(stream).ok();
                (found.unwrap_or_else(|| self.new_stream(stream, trims, now)), *from)
            }
        };
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        self.streams[stream].settings = changes.made_to(self.streams[stream].settings);
        let start = self.start(stream, from);
        Ok(self.new_queue((id, name.to_owned()), settings.clone(), stream, (start, None), now))
    }

    /// A queue of `stream`, which begins at this number, behind this place.
    pub(super) fn new_queue(
        &mut self,
        (id, name): (QueueId, String),
        settings: QueueSettings,
        stream: usize,
        ((first, last_taken), entries_read): ((u64, Place), Option<u64>),
        now: Now,
    ) -> usize {
        self.queues.push(Queue {
            id,
            name,
            stream,
            settings,
            paused: None,
            created_at: now.wall,
            updated_at: now.wall,
            revision: 1,
            closed: None,
            is_gone: false,
            round: 0,
            fence: 0,
            highest: 0,
            last_taken,
            entries_read,
            trimmed_unread: 0,
            consumers: Vec::new(),
            consumers_made: 0,
        });
        let queue = self.queues.len() - 1;
        self.streams[stream].version += 1;
        for event in self.events.iter_mut().filter(|event| event.stream == stream) {
            if event.waits_for_all() || (event.in_stream && event.n() >= Some(first)) {
                event.put(queue, Stand::Unread);
            }
        }
        queue
    }

    pub(super) fn new_stream(&mut self, stream: &StreamRef, settings: StreamSettings, now: Now) -> usize {
        self.streams.push(Stream {
            name: stream.0.clone(),
            settings,
            created_at: now.wall,
            closed_at: None,
            is_gone: false,
            last_place: Place::default(),
            last_n: 0,
            arrivals: 0,
            added: 0,
            added_told: 0,
            max_deleted: Place::default(),
            version: (self.streams.len() as u64 + 1) << 32,
        });
        self.streams.len() - 1
    }

    /// The number of the first entry to be read from there on, and the place before it.
    pub(super) fn start(&self, stream: usize, from: From) -> (u64, Place) {
        let of = &self.streams[stream];
        let entries = || self.entries_of(stream).into_iter().filter_map(|at| self.events[at].placed);
        let first_of = |reached: &dyn Fn(Place) -> bool| {
            entries().find(|(_, place)| reached(*place)).map_or(of.last_n + 1, |(n, _)| n)
        };
        match from {
            From::New => (of.last_n + 1, of.last_place),
            From::Start => (first_of(&|_| true), Place::default()),
            From::Time(at) => {
                let first = first_of(&|place| i128::from(place.ms) >= i128::from(at.as_ms()));
                let before = entries().rfind(|(n, _)| *n < first);
                (first, before.map_or(Place::default(), |(_, place)| place))
            }
            From::After(after) => (first_of(&|place| place > after), after.min(of.last_place)),
        }
    }

    fn reset(&mut self, queue: &QueueRef, from: From, now: Now) -> Result<usize, OpError> {
        let at = self.open(queue)?;
        let stream = self.queues[at].stream;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        let (first, last_taken) = self.start(stream, from);
        let mut passed = Vec::new();
        for event in self.events.iter_mut().filter(|event| event.stream == stream) {
            let Some(n) = event.n() else { continue };
            if event.in_stream && n >= first {
                event.put(at, Stand::Unread);
            } else if event.in_stream && event.is_unread(at) {
                event.drop_dealing(at);
                passed.push(event.id);
            } else if n >= first && event.live(at).is_some() {
                if event.body.is_some() {
                    event.put(at, Stand::Unread);
                } else {
                    event.drop_dealing(at);
                    passed.push(event.id);
                }
            }
            event.set_ahead(at, false);
        }
        passed.into_iter().for_each(|event| self.release(event));
        self.new_round(at);
        (self.queues[at].last_taken, self.queues[at].entries_read) = (last_taken, None);
        self.streams[stream].version += 1;
        Ok(at)
    }

    pub(super) fn delete_queue(
        &mut self,
        queue: &QueueRef,
        force: bool,
        (reason, revision): (DeadReason, Option<u64>),
        now: Now,
    ) -> Answer {
        let at = self.at_revision(queue, revision)?;
        if !force && self.counts(at).unfinished() > 0 {
            return Err(Refused::NotEmpty.into());
        }
        self.close(at, reason, now);
        let stream = self.queues[at].stream;
        if self.readers(stream).is_empty() && self.streams[stream].settings.retention == Retention::Consumed {
            self.streams[stream].closed_at = Some(now.wall);
        }
        Ok(OpReply::Done)
    }

    pub(super) fn delete_stream(&mut self, stream: &StreamRef, force: bool, now: Now) -> Answer {
        let at = self.open_stream(stream)?;
        let readers = self.readers(at);
        if !force && readers.iter().any(|&queue| self.counts(queue).unfinished() > 0) {
            return Err(Refused::NotEmpty.into());
        }
        readers.into_iter().for_each(|queue| self.close(queue, DeadReason::StreamDeleted, now));
        self.streams[at].closed_at = Some(now.wall);
        Ok(OpReply::Done)
    }

    fn close(&mut self, queue: usize, reason: DeadReason, now: Now) {
        let row = &mut self.queues[queue];
        row.closed = Some((now.wall, reason));
        self.woken.push(row.id);
        self.streams[row.stream].version += 1;
    }
}
