//! The model's streams, queues and events, as plain lists.
//!
//! Lives here: what they are, and what is next in a queue. Not here: ops (`world.rs` and its likes).

use naven_api::{EventId, QueueId, Timestamp, TraceContext};
use naven_core::{DeadReason, Delivery, Policy, State};

use super::consumer::Consumer;
use crate::queue::{QueueSettings, StreamSettings};
use crate::txn::{Body, Place};

#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) name: bytes::Bytes,
    pub(super) settings: StreamSettings,
    pub(super) created_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    /// True once nothing is left of it.
    pub(super) is_gone: bool,
    pub(super) last_place: Place,
    /// The last number that went with a place.
    pub(super) last_n: u64,
    /// The last number of an event.
    pub(super) arrivals: u64,
    pub(super) added: u64,
    /// The same, as readers are told.
    pub(super) added_told: u64,
    /// The highest place of an entry that was deleted singly.
    pub(super) max_deleted: Place,
    /// Begins at 2^32 times the stream's number, so that no two streams ever share one.
    pub(super) version: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) id: QueueId,
    pub(super) name: String,
    pub(super) stream: usize,
    pub(super) settings: QueueSettings,
    pub(super) paused: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) revision: u64,
    pub(super) closed: Option<(Timestamp, DeadReason)>,
    /// True once nothing is left of it.
    pub(super) is_gone: bool,
    /// The round in which deliveries begin.
    pub(super) round: u32,
    /// The fence from which deliveries go on.
    pub(super) fence: u64,
    /// The highest fence ever given.
    pub(super) highest: u64,
    /// The place of the last event that was taken in, or behind which it was sent.
    pub(super) last_taken: Place,
    /// How many entries it has read, as its readers are told.
    pub(super) entries_read: Option<u64>,
    pub(super) trimmed_unread: u64,
    pub(super) consumers: Vec<Consumer>,
    /// The number of the last consumer that was made.
    pub(super) consumers_made: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) id: EventId,
    pub(super) stream: usize,
    /// The one queue that it is for, if it is for one.
    pub(super) only: Option<usize>,
    pub(super) arrival: u64,
    pub(super) body: Option<Body>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) created_at: Timestamp,
    pub(super) scheduled_at: Timestamp,
    pub(super) due: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) dedupe_key: Option<String>,
    pub(super) trace: Option<Box<TraceContext>>,
    pub(super) max_attempts: Option<u32>,
    /// Its number and place, once it has them.
    pub(super) placed: Option<(u64, Place)>,
    /// True while its entry is in the stream for all to see.
    pub(super) in_stream: bool,
    /// True while its `expires_at` is still to be looked at.
    pub(super) may_expire: bool,
    /// One for each queue that deals with it.
    pub(super) dealings: Vec<Dealing>,
}

#[derive(Debug, Clone)]
pub(super) struct Dealing {
    pub(super) queue: usize,
    pub(super) stand: Stand,
    /// True where a reader of new entries is to come to it again, though somebody has or had it. It says
    /// nothing of what is not in the stream any more.
    pub(super) ahead: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Stand {
    /// Nobody held it in the queue's present round.
    Unread,
    /// Something may still become of it.
    Live(Delivery),
    /// It is done with, and remembered for a while.
    Over(Delivery),
}

impl Event {
    pub(super) fn dealing(&self, queue: usize) -> Option<&Dealing> {
        self.dealings.iter().find(|one| one.queue == queue)
    }

    /// What this queue has of it, where that is a delivery.
    pub(super) fn delivery(&self, queue: usize) -> Option<&Delivery> {
        match &self.dealing(queue)?.stand {
            Stand::Unread => None,
            Stand::Live(delivery) | Stand::Over(delivery) => Some(delivery),
        }
    }

    /// The same, where something may still become of it.
    pub(super) fn live(&self, queue: usize) -> Option<&Delivery> {
        match &self.dealing(queue)?.stand {
            Stand::Live(delivery) => Some(delivery),
            Stand::Unread | Stand::Over(_) => None,
        }
    }

    pub(super) fn is_unread(&self, queue: usize) -> bool {
        self.dealing(queue).is_some_and(|one| matches!(one.stand, Stand::Unread))
    }

    pub(super) fn put(&mut self, queue: usize, stand: Stand) {
        let ahead = self.is_ahead(queue) && !matches!(stand, Stand::Unread);
        self.dealings.retain(|one| one.queue != queue);
        self.dealings.push(Dealing { queue, stand, ahead });
        self.dealings.sort_by_key(|one| one.queue);
    }

    /// True where a reader of new entries is to come to it again.
    pub(super) fn is_ahead(&self, queue: usize) -> bool {
        self.in_stream && self.dealing(queue).is_some_and(|one| one.ahead)
    }

    pub(super) fn set_ahead(&mut self, queue: usize, ahead: bool) {
        self.dealings.iter_mut().filter(|one| one.queue == queue).for_each(|one| one.ahead = ahead);
    }

    pub(super) fn drop_dealing(&mut self, queue: usize) {
        self.dealings.retain(|one| one.queue != queue);
    }

    /// True where some queue still needs it. What a Redis consumer holds keeps an entry where it is, and what
    /// was published to one queue alone, but no content of what left its stream.
    pub(super) fn is_pinned(&self) -> bool {
        let by_holds = self.in_stream || self.only.is_some();
        self.dealings.iter().any(|one| match &one.stand {
            Stand::Live(live) if matches!(live.state, State::Held { .. }) => by_holds,
            Stand::Live(_) | Stand::Unread => true,
            Stand::Over(_) => false,
        })
    }

    /// True while it waits for its time, for all queues.
    pub(super) fn waits_for_all(&self) -> bool {
        self.placed.is_none() && self.only.is_none()
    }

    pub(super) fn n(&self) -> Option<u64> {
        self.placed.map(|(n, _)| n)
    }
}

impl Queue {
    pub(super) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    pub(super) fn policy(&self, event: &Event) -> Policy {
        let QueueSettings {
            max_attempts,
            backoff,
            max_lease_seconds,
            late_ack_grace_seconds,
            redis_lease,
            ..
        } = self.settings;
        Policy {
            max_attempts: event.max_attempts.or(max_attempts),
            backoff,
            max_lease_ms: (max_lease_seconds > 0).then_some(i64::from(max_lease_seconds) * 1_000),
            grace_ms: i64::from(late_ack_grace_seconds) * 1_000,
            redis_lease_ms: redis_lease.map(naven_api::LeaseSeconds::as_ms),
            expires_at: event.expires_at,
        }
    }

    pub(super) fn fresh(&self, event: &Event) -> Delivery {
        Delivery { round: self.round, fence: self.fence, ..Delivery::fresh(event.due) }
    }
}

/// What a queue hands out next: the earlier of the earliest that was held or redriven before, and of
/// the first in the order of places that was not.
pub(super) fn next_ready(events: &[Event], queue: usize) -> Option<usize> {
    let again =
        |event: &Event| event.live(queue).filter(|live| live.state == State::Ready).map(|live| live.due);
    let fresh = |event: &Event| event.n().filter(|_| event.is_unread(queue));
    let found = || events.iter().enumerate();
    let again = found().filter_map(|(at, event)| Some(((again(event)?, event.arrival), at))).min();
    let fresh = found().filter_map(|(at, event)| Some((fresh(event)?, at))).min();
    let fresh = fresh.map(|(_, at)| ((events[at].due, events[at].arrival), at));
    again.into_iter().chain(fresh).min().map(|(_, at)| at)
}
