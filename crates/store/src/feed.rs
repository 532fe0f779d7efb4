//! What becomes of deliveries, told as it happens.
//!
//! Lives here: one change, its names, and both ends of the feed. Not here: who makes changes (the
//! engines) and what is counted from them (`naven-server`).
//!
//! The feed is bounded and lossy: it says what happened to whoever keeps up, and that something was
//! missed to whoever does not. What must not be missed is read from the engine.

use std::sync::Arc;

use naven_api::{EventId, QueueId, Timestamp};
use naven_core::{DeadReason, Delivery, Ending, Now, State, View};
use tokio::sync::broadcast;

/// Most changes that are told at once.
const TOLD_AT_ONCE_MAX: usize = 128;
/// So often may a listener be told something that it has not heard yet, before it misses some: at
/// most 65,536 changes wait, about 9 MiB.
const TOLD_KEPT: usize = 512;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was published.
    Published,
    /// Its time came, the first or that of a retry, or was put at now.
    Due,
    /// It waits, and has another due time than before.
    Rescheduled,
    /// Somebody took it.
    Claimed,
    /// Its holder finished it.
    Acked,
    /// Its holder failed it, and it is due again.
    Failed,
    /// Its holder gave it back.
    Released,
    /// The server gave it back, for a claimer that was gone.
    GivenBack,
    /// Its hold ran out of time, and it is due again.
    Expired,
    /// Its last holder came back within the grace, and has it again.
    Revived,
    /// It was given up, whoever or whatever gave it up.
    Dead,
    /// Its holder was asked to stop.
    CancelRequested,
    /// It was called off.
    Cancelled,
    /// A dead one was brought back.
    Redriven,
    /// A dead one was forgotten.
    Discarded,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [ChangeKind; 15] = [
        Self::Published,
        Self::Due,
        Self::Rescheduled,
        Self::Claimed,
        Self::Acked,
        Self::Failed,
        Self::Released,
        Self::GivenBack,
        Self::Expired,
        Self::Revived,
        Self::Dead,
        Self::CancelRequested,
        Self::Cancelled,
        Self::Redriven,
        Self::Discarded,
    ];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Due => "due",
            Self::Rescheduled => "rescheduled",
            Self::Claimed => "claimed",
            Self::Acked => "acked",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::GivenBack => "givenBack",
            Self::Expired => "expired",
            Self::Revived => "revived",
            Self::Dead => "dead",
            Self::CancelRequested => "cancelRequested",
            Self::Cancelled => "cancelled",
            Self::Redriven => "redriven",
            Self::Discarded => "discarded",
        }
    }

    /// What the end of a hold is called where the delivery goes on.
    const fn of_ending(ending: Ending) -> Self {
        match ending {
            Ending::Acked => Self::Acked,
            Ending::Failed | Ending::Fatal => Self::Failed,
            Ending::Released => Self::Released,
            Ending::GivenBack => Self::GivenBack,
            Ending::Expired => Self::Expired,
            Ending::Broken => Self::Cancelled,
        }
    }
}

/// The queues in which a change happened: several where an event is for all queues of its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InQueues {
    /// In this one.
    One(QueueId),
    /// In each of these alike.
    Each(Arc<[QueueId]>),
}

impl InQueues {
    /// Which they are.
    pub fn as_slice(&self) -> &[QueueId] {
        match self {
            Self::One(queue) => std::slice::from_ref(queue),
            Self::Each(queues) => queues,
        }
    }
}

/// One change of a delivery. Heartbeats are none.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where it happened.
    pub queues: InQueues,
    /// To which event.
    pub event: EventId,
    /// What.
    pub kind: ChangeKind,
    /// How the delivery stood before; none for one that was just published.
    pub from: Option<View>,
    /// How it stands now.
    pub to: View,
    /// How a hold ended, where this is the end of one.
    pub ending: Option<Ending>,
    /// Why it is dead, where it is.
    pub dead: Option<DeadReason>,
    /// When: the wall clock of the transaction.
    pub at: Timestamp,
    /// Attempts so far (`attemptCount`).
    pub attempts: u32,
    /// Of a claim: how long it was due before, in ms.
    pub wait_ms: Option<u64>,
    /// Of the end of a hold: how long that lasted, in ms of the lease clock.
    pub run_ms: Option<u64>,
    /// Who took it or had it, as it named itself.
    pub consumer: Option<Arc<str>>,
}

impl Change {
    /// The publishing of an event: due already, or later.
    pub(crate) fn published(queues: InQueues, event: EventId, to: View, now: Now) -> Self {
        Self::bare(queues, event, ChangeKind::Published, (None, to), now)
    }

    /// The first due time of an event that was scheduled.
    pub(crate) fn came_due(queues: InQueues, event: EventId, now: Now) -> Self {
        Self::bare(queues, event, ChangeKind::Due, (Some(View::Scheduled), View::Ready), now)
    }

    /// What a step made of a delivery; none where that is nothing to tell. `before` is none for one
    /// that nobody had in this round yet.
    pub(crate) fn between(
        (queue, event): (QueueId, EventId),
        before: Option<&Delivery>,
        after: &Delivery,
        now: Now,
    ) -> Option<Self> {
        let unheld = if after.due > now.wall { View::Scheduled } else { View::Ready };
        let from = before.map_or(unheld, |before| before.state.view());
        let ending = ending_of(before, after);
        let kind = kind_of(before, after, ending)?;
        let is_hold = after.is_held() || ending.is_some();
        let consumer = after.log.last().filter(|_| is_hold).and_then(|past| past.consumer.as_deref());
        let run_ms = ending.and(before).and_then(|before| run_ms(before, now));
        let waited = || non_negative(now.wall.as_ms().saturating_sub(after.due.as_ms()));
        Some(Self {
            ending,
            dead: if let State::Dead(reason) = after.state { Some(reason) } else { None },
            attempts: after.attempts,
            wait_ms: (kind == ChangeKind::Claimed).then(waited),
            run_ms,
            consumer: consumer.map(Arc::from),
            ..Self::bare(InQueues::One(queue), event, kind, (Some(from), after.state.view()), now)
        })
    }

    fn bare(
        queues: InQueues,
        event: EventId,
        kind: ChangeKind,
        (from, to): (Option<View>, View),
        now: Now,
    ) -> Self {
        Self {
            queues,
            event,
            kind,
            from,
            to,
            ending: None,
            dead: None,
            at: now.wall,
            attempts: 0,
            wait_ms: None,
            run_ms: None,
            consumer: None,
        }
    }
}

/// How a hold ended between the two, if one did: also one whose time was over, yet within its grace.
fn ending_of(before: Option<&Delivery>, after: &Delivery) -> Option<Ending> {
    let last = after.last.filter(|_| !after.is_held())?;
    let before = before?;
    (before.is_held() || before.last != Some(last)).then_some(last.ending)
}

fn kind_of(before: Option<&Delivery>, after: &Delivery, ending: Option<Ending>) -> Option<ChangeKind> {
    let was = |is_it: fn(&Delivery) -> bool| before.is_some_and(is_it);
    match after.state {
        State::Leased(_) | State::Held { .. } => {
            let same = before.filter(|before| before.fence == after.fence);
            match same {
                None => Some(ChangeKind::Claimed),
                Some(before) if !before.is_held() => Some(ChangeKind::Revived),
                Some(before) => (after.cancel_requested && !before.cancel_requested)
                    .then_some(ChangeKind::CancelRequested),
            }
        }
        State::Done => Some(ChangeKind::Acked),
        State::Cancelled => Some(ChangeKind::Cancelled),
        State::Dead(_) if was(Delivery::is_over) => Some(ChangeKind::Discarded),
        State::Dead(_) => Some(ChangeKind::Dead),
        State::Ready | State::Retrying if was(Delivery::is_over) => Some(ChangeKind::Redriven),
        State::Ready | State::Retrying => match ending {
            Some(ending) => Some(ChangeKind::of_ending(ending)),
            None if after.state == State::Retrying => Some(ChangeKind::Rescheduled),
            None => was(|before| before.state == State::Retrying).then_some(ChangeKind::Due),
        },
    }
}

/// How long the hold lasted that ends now.
fn run_ms(before: &Delivery, now: Now) -> Option<u64> {
    let since = match before.state {
        State::Leased(lease) => lease.since,
        State::Held { since, .. } => since,
        State::Ready | State::Retrying | State::Done | State::Dead(_) | State::Cancelled => {
            before.last?.lapsed?.since
        }
    };
    Some(non_negative(now.lease.as_ms().saturating_sub(since.as_ms())))
}

fn non_negative(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// The receiving end of the feed.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<Arc<[Change]>>);

/// What a listener is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// What happened, in order; never empty.
    Changes(Arc<[Change]>),
    /// Changes were missed here, how many is not known.
    Missed,
}

impl Changes {
    /// The feed of an engine that tells nothing: it is over at once.
    pub fn none() -> Self {
        Self(broadcast::channel(1).1)
    }

    /// What is told next, or none when the engine is closed. Cancel safe.
    pub async fn next(&mut self) -> Option<Told> {
        match self.0.recv().await {
            Ok(changes) => Some(Told::Changes(changes)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Told::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The sending end of the feed.
#[derive(Debug, Clone)]
pub(crate) struct Feed(broadcast::Sender<Arc<[Change]>>);

impl Feed {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(TOLD_KEPT).0)
    }

    /// True where somebody listens: else nothing needs to be made.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn listen(&self) -> Changes {
        Changes(self.0.subscribe())
    }

    /// Tells what happened, in order.
    pub(crate) fn tell(&self, changes: &[Change]) {
        for some in changes.chunks(TOLD_AT_ONCE_MAX) {
            // Nobody misses it where nobody listens.
            drop(self.0.send(Arc::from(some)));
        }
    }
}
