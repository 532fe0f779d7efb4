//! What a transaction tells of the deliveries that it changed.
//!
//! Lives here: the collecting, which costs nothing where nobody listens. Not here: what a change is
//! called (`feed.rs`), and when it may be told (`request.rs`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use naven_api::EventId;
use naven_core::{Delivery, View};

use super::context::{Context, event_id};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{Arrival, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::Tables;
use crate::feed::{Change, InQueues};

/// What is to be told.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    changes: Vec<Change>,
    /// The open queues of streams: found once for a transaction, however much it publishes, unless it
    /// makes or closes one of them.
    readers: BTreeMap<StreamNo, InQueues>,
}

/// In which queue or queues an event is published or comes due.
#[derive(Clone, Copy)]
pub(super) enum For<'a> {
    /// This one.
    Queue(&'a QueueRow),
    /// The one of this number.
    No(QueueNo),
    /// All that read the stream.
    Readers,
}

impl<T: Tables> Context<'_, T> {
    /// A step of a queue changed a delivery. `before` is none for one that nobody had in this round.
    pub(super) fn tell(
        &mut self,
        queue: &QueueRow,
        (arrival, row): (Arrival, &BodyRow),
        before: Option<&Delivery>,
        after: &Delivery,
    ) {
        if let Some(told) = &mut self.told {
            let event = event_id(row, queue.stream, arrival);
            told.changes.extend(Change::between((queue.id, event), before, after, self.now));
        }
    }

    /// An event was published.
    pub(super) fn tell_published(&mut self, stream: StreamNo, to: For<'_>, event: EventId, row: &BodyRow) {
        let view = if row.due > self.now.wall { View::Scheduled } else { View::Ready };
        let now = self.now;
        self.tell_all(stream, to, |queues| Change::published(queues, event, view, now));
    }

    /// An event that waited for its time has its place.
    pub(super) fn tell_due(&mut self, stream: StreamNo, arrival: Arrival, row: &BodyRow) {
        // One that was due when it was published only waited for those before it.
        if row.due <= row.created_at {
            return;
        }
        let (event, now) = (event_id(row, stream, arrival), self.now);
        let to = row.only.map_or(For::Readers, For::No);
        self.tell_all(stream, to, |queues| Change::came_due(queues, event, now));
    }

    fn tell_all(&mut self, stream: StreamNo, to: For<'_>, change: impl FnOnce(InQueues) -> Change) {
        if self.told.is_none() {
            return;
        }
        let queues = match to {
            For::Queue(queue) => Some(InQueues::One(queue.id)),
            For::No(no) => match self.queue(no).filter(|queue| queue.closed.is_none()) {
                Some(queue) => Some(InQueues::One(queue.id)),
                None => return,
            },
            For::Readers => self.told.as_ref().and_then(|told| told.readers.get(&stream).cloned()),
        };
        let queues = queues.unwrap_or_else(|| self.open_readers(stream));
        let Some(told) = &mut self.told else { return };
        if matches!(to, For::Readers) {
            told.readers.entry(stream).or_insert_with(|| queues.clone());
        }
        if !queues.as_slice().is_empty() {
            told.changes.push(change(queues));
        }
    }

    /// A queue of this stream was made or closed.
    pub(super) fn readers_changed(&mut self, stream: StreamNo) {
        self.raise_version(stream);
        if let Some(told) = &mut self.told {
            told.readers.remove(&stream);
        }
    }

    /// What is to be told, in order.
    pub(super) fn take_told(&mut self) -> Vec<Change> {
        self.told.take().map_or_else(Vec::new, |told| told.changes)
    }

    fn open_readers(&self, stream: StreamNo) -> InQueues {
        let mut queues = Vec::new();
        self.scan_members(stream, &mut |_, id| {
            queues.extend(id);
            ControlFlow::Continue(())
        });
        match queues.as_slice() {
            [one] => InQueues::One(*one),
            _ => InQueues::Each(queues.into()),
        }
    }
}
