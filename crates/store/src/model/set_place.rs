//! The model's groups as readers of a stream make them and send them about.
//!
//! Lives here: these ops, and what lies ahead of a queue though somebody has or had it. Not here: queues
//! otherwise (`group.rs`).

use bytes::Bytes;
use naven_api::QueueId;
use naven_api::limits::PLACES_PER_OP_MAX;
use naven_core::Now;

use super::event::Stand;
use super::world::World;
use crate::queue::{QueueRef, QueueSettings, Retention, StreamSettings, group_queue_name};
use crate::reply::{OpError, Refused};
use crate::txn::{From, GroupStart, Place, StreamRef};

impl World {
    pub(super) fn create_group(
        &mut self,
        id: QueueId,
        (stream, group): (&StreamRef, &Bytes),
        make_stream: bool,
        (start, entries_read): (GroupStart, Option<u64>),
        now: Now,
    ) -> Result<usize, OpError> {
        let name = group_queue_name(&stream.0, group);
        let known = self.open_stream(stream);
        if !make_stream {
            known.clone()?;
        }
        let named = QueueRef::Group { stream: stream.0.clone(), group: group.clone() };
        if self.any(&named).is_ok() || self.open(&QueueRef::Name(name.clone())).is_ok() {
            return Err(Refused::NameTaken.into());
        }
        let trims = StreamSettings { retention: Retention::Trim, ..StreamSettings::default() };
        let on = known.unwrap_or_else(|_| self.new_stream(stream, trims, now));
        self.place_due(on, now, PLACES_PER_OP_MAX);
        let settings =
            QueueSettings { max_attempts: None, protect_unread: false, ..QueueSettings::default() };
        let start = self.group_start(on, start);
        Ok(self.new_queue((id, name), settings, on, (start, entries_read), now))
    }

    pub(super) fn set_place(
        &mut self,
        queue: &QueueRef,
        start: GroupStart,
        entries_read: Option<u64>,
        now: Now,
    ) -> Result<usize, OpError> {
        let at = self.open(queue)?;
        let stream = self.queues[at].stream;
        self.place_due(stream, now, PLACES_PER_OP_MAX);
        self.pass_ahead(at);
        let (first, last_taken) = self.group_start(stream, start);
        let unread = self.first_unread(at);
        let (mut goes_back, mut passed) = (false, Vec::new());
        for event in self.events.iter_mut().filter(|event| event.stream == stream && event.in_stream) {
            let n = event.n().expect("what is in a stream has a place");
            if (first..unread).contains(&n) {
                goes_back = true;
                match event.live(at).filter(|live| !live.is_over()) {
                    Some(_) => event.set_ahead(at, true),
                    None => event.put(at, Stand::Unread),
                }
            } else if n < first {
                event.set_ahead(at, false);
                if event.is_unread(at) {
                    event.drop_dealing(at);
                    passed.push(event.id);
                }
            }
        }
        if goes_back {
            self.new_round(at);
        }
        (self.queues[at].last_taken, self.queues[at].entries_read) = (last_taken, entries_read);
        passed.into_iter().for_each(|event| self.release(event));
        Ok(at)
    }

    /// What is handed out for the first time from now on begins in another round, behind every fence.
    pub(super) fn new_round(&mut self, queue: usize) {
        let row = &mut self.queues[queue];
        row.round += 1;
        row.fence = row.highest;
        self.woken.push(row.id);
    }

    /// What was dealt with already is passed up to the first entry that was not.
    pub(super) fn pass_ahead(&mut self, queue: usize) {
        let unread = self.first_unread(queue);
        for event in self.events.iter_mut().filter(|event| event.n() < Some(unread)) {
            event.set_ahead(queue, false);
        }
    }

    /// The number of the first entry of its stream that the queue has not dealt with.
    fn first_unread(&self, queue: usize) -> u64 {
        let unread = self.events.iter().filter(|event| event.in_stream && event.is_unread(queue));
        unread.filter_map(|event| event.n()).min().unwrap_or(u64::MAX)
    }

    fn group_start(&self, stream: usize, start: GroupStart) -> (u64, Place) {
        match start {
            GroupStart::Last => self.start(stream, From::New),
            GroupStart::At(place) => (self.start(stream, From::After(place)).0, place),
        }
    }
}
