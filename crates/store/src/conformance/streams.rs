//! What cases about shared streams ask for, made plain.
//!
//! Lives here: ops on streams and reads of them. Not here: cases (one file per theme), and what every
//! case needs (`bench.rs`).

use bytes::Bytes;
use naven_api::{EventId, QueueId};

use super::bench::{Bench, json, named};
use crate::queue::{QueueSettings, Retention, StreamChanges};
use crate::read::{EntryView, EventView, GroupView, Page, Read, StreamView};
use crate::reply::{Grant, OpError, OpReply};
use crate::txn::{
    Append, DeleteEntries, DeleteOp, Due, From, GroupOp, IdempotencySlot, Keep, Op, OpKind, Place, Reading,
    References, StreamRef, Target, Trim, Trimming, Txn,
};

/// A stream, by its name.
pub fn stream(name: &str) -> StreamRef {
    StreamRef(Bytes::copy_from_slice(name.as_bytes()))
}

/// Making a queue on a stream.
pub fn create_on(name: &str, on: &str, from: From, settings: QueueSettings) -> OpKind {
    OpKind::Group(GroupOp::Create {
        name: name.to_owned(),
        settings: Box::new(settings),
        on: Some(Reading { stream: stream(on), from }),
        stream: StreamChanges::default(),
    })
}

/// An event for all queues of a stream, due now.
pub fn to_stream(name: &str, text: &str) -> Append {
    Append {
        to: Target::Stream(stream(name)),
        body: json(text),
        due: Due::Now,
        headers: Vec::new(),
        max_attempts: None,
        dedupe: None,
        expires_at: None,
        trace: None,
        entry: None,
    }
}

/// An event for one queue, due now.
pub fn to_queue(name: &str, text: &str) -> Append {
    Append { to: Target::Queue(named(name)), ..to_stream("", text) }
}

/// Leaving the newest entries.
pub fn trim_to(name: &str, newest: u64) -> OpKind {
    OpKind::Trim(Trim { stream: stream(name), how: Trimming::to(Keep::Newest(newest)) })
}

/// Dropping one entry.
pub fn delete_entry(name: &str, place: Place) -> OpKind {
    let (stream, places) = (stream(name), vec![place]);
    OpKind::DeleteEntries(DeleteEntries { stream, places, references: References::Keep })
}

/// Deleting a stream.
pub fn delete_stream(name: &str, force: bool) -> OpKind {
    OpKind::Delete(DeleteOp::Stream { stream: stream(name), force })
}

/// Sending a queue elsewhere.
pub fn reset(queue: &str, from: From) -> OpKind {
    OpKind::Group(GroupOp::Reset { queue: named(queue), from })
}

/// What entries of a stream do: leave when all are done with them, or stay until they are trimmed.
pub fn retention(queue: &str, retention: Retention) -> OpKind {
    let stream = StreamChanges { retention: Some(retention), ..StreamChanges::default() };
    OpKind::Group(GroupOp::Patch { queue: named(queue), changes: Box::default(), stream, revision: None })
}

/// An op under an idempotency key.
pub fn once(key: &str, kind: OpKind) -> Op {
    let (scope, key) = (Bytes::from_static(b"key_1 POST /x"), Bytes::copy_from_slice(key.as_bytes()));
    let slot = IdempotencySlot { scope, key, fingerprint: [1; 32] };
    Op { idempotency: Some(slot), ..Op::plain(kind) }
}

impl Bench {
    /// A new queue on a stream, which is made where it is missing.
    #[track_caller]
    pub fn queue_on(&self, name: &str, on: &str, from: From) -> QueueId {
        self.queue_on_with(name, on, from, |_| {})
    }

    /// The same, whatever else it sets.
    #[track_caller]
    pub fn queue_on_with(
        &self,
        name: &str,
        on: &str,
        from: From,
        set: impl FnOnce(&mut QueueSettings),
    ) -> QueueId {
        let mut settings = QueueSettings::default();
        settings.backoff.jitter_milli = 0;
        set(&mut settings);
        match self.ask(create_on(name, on, from, settings)) {
            Ok(OpReply::Queue(view)) => view.id,
            other => panic!("creating {name}: {other:?}"),
        }
    }

    /// Publishes as asked.
    #[track_caller]
    pub fn append(&self, append: Append) -> EventView {
        match self.ask(OpKind::Append(append)) {
            Ok(OpReply::Event(view)) => *view,
            other => panic!("publishing: {other:?}"),
        }
    }

    /// Publishes `{"n":n}` to all queues of a stream.
    #[track_caller]
    pub fn spread(&self, stream: &str, n: u32) -> EventId {
        self.append(to_stream(stream, &format!("{{\"n\":{n}}}"))).id
    }

    /// What was claimed, as events.
    #[track_caller]
    pub fn take(&self, queue: &str, max: u32) -> Vec<EventId> {
        self.claim_up_to(queue, max).iter().map(|grant| grant.event).collect()
    }

    /// An op under an idempotency key.
    ///
    /// # Errors
    /// What the engine answers.
    pub fn ask_once(&self, op: Op) -> Result<OpReply, OpError> {
        self.submit(Txn { ops: vec![op], ..Txn::each([]) }).remove(0)
    }

    /// A stream.
    #[track_caller]
    pub fn stream(&self, name: &str) -> StreamView {
        match self.read(Read::Stream(stream(name))) {
            Ok(Page::Stream(view)) => *view,
            other => panic!("reading {name}: {other:?}"),
        }
    }

    /// All entries of a stream, at most 500.
    #[track_caller]
    pub fn entries(&self, name: &str) -> Vec<EntryView> {
        let (start, end) = (Place::default(), Place { ms: u64::MAX, seq: u64::MAX });
        let (reverse, limit, payload) = (false, 500, true);
        match self.read(Read::Entries {
            stream: stream(name),
            start,
            end,
            reverse,
            limit,
            max_bytes: u64::MAX,
            payload,
        }) {
            Ok(Page::Entries(items, false)) => items,
            other => panic!("entries of {name}: {other:?}"),
        }
    }

    /// The queues of a stream.
    #[track_caller]
    pub fn groups(&self, name: &str) -> Vec<GroupView> {
        match self.read(Read::Groups(stream(name))) {
            Ok(Page::Groups(items)) => items,
            other => panic!("queues of {name}: {other:?}"),
        }
    }

    /// How one queue deals with an event.
    #[track_caller]
    pub fn delivery_in(&self, queue: QueueId, event: EventId) -> crate::read::DeliveryView {
        let deliveries = self.event(event).deliveries;
        let found = deliveries.into_iter().find(|delivery| delivery.queue_id == queue);
        found.expect("the queue deals with the event")
    }

    /// Claims one and acks it.
    #[track_caller]
    pub fn finish(&self, queue: &str) -> Grant {
        let grant = self.claim(queue);
        self.must(&grant, crate::txn::SettleStep::Ack);
        grant
    }
}
