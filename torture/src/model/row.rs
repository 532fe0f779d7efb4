//! A delivery as small as the model needs it.
//!
//! Lives here: the way from a row to a `Delivery` of `naven-core` and back. Not here: any rule.

use naven_api::{Backoff, LeaseSeconds, Timestamp};
use naven_core::{
    DeadReason, Delivery, Ending, Lease, LeaseTime, Now, Outcome, Past, Policy, Refusal, State, Step,
};

/// A tick, in ms.
const TICK_MS: i64 = 1_000;
/// How long a lease is asked to last, in ticks.
pub(super) const LEASE_TICKS: u8 = 2;
/// How long a retry waits, in ticks.
pub(super) const RETRY_TICKS: u8 = 1;
/// How often an event is tried.
pub(super) const ATTEMPTS_MAX: u8 = 2;

/// Where a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum Stand {
    #[default]
    Ready,
    Retrying,
    Leased {
        until: u8,
    },
    Done,
    Dead,
    Cancelled,
}

/// How its last hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Ended {
    Acked,
    Failed,
    Expired,
    Otherwise,
}

/// A delivery, in ticks. What bears on no rule is left out: texts, the log of ended holds, when it was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Row {
    pub(super) stand: Stand,
    pub(super) round: u8,
    pub(super) fence: u8,
    pub(super) attempts: u8,
    pub(super) due: u8,
    pub(super) last: Option<Ended>,
    /// True where its log does not tell of the last hold as it was.
    pub(super) is_logged_otherwise: bool,
}

impl Row {
    /// This row as `step` leaves it, by the rules of the core.
    pub(super) fn apply(&self, step: &Step, wall: u8, lease: u8) -> Result<Self, Refusal> {
        let now = Now {
            wall: Timestamp::from_ms(i64::from(wall) * TICK_MS),
            lease: LeaseTime::from_ms(i64::from(lease) * TICK_MS),
        };
        self.delivery().apply(step, now, &policy()).map(|delivery| Self::of(&delivery))
    }

    fn delivery(&self) -> Delivery {
        let state = match self.stand {
            Stand::Ready => State::Ready,
            Stand::Retrying => State::Retrying,
            Stand::Leased { until } => State::Leased(Lease { since: reading(0), until: reading(until) }),
            Stand::Done => State::Done,
            Stand::Dead => State::Dead(DeadReason::Fatal),
            Stand::Cancelled => State::Cancelled,
        };
        let at = Timestamp::default();
        let is_held = matches!(state, State::Leased(_));
        let open = Past {
            fence: u64::from(self.fence),
            consumer: None,
            leased_at: at,
            heartbeats: Vec::new(),
            ended: None,
            error: None,
        };
        Delivery {
            state,
            round: u32::from(self.round),
            fence: u64::from(self.fence),
            attempts: u32::from(self.attempts),
            last: self.last.map(|ended| Outcome { ending: ended.into(), at, next_at: None, lapsed: None }),
            log: is_held.then_some(open).into_iter().collect(),
            ..Delivery::fresh(Timestamp::from_ms(i64::from(self.due) * TICK_MS))
        }
    }

    fn of(delivery: &Delivery) -> Self {
        let stand = match delivery.state {
            State::Ready => Stand::Ready,
            State::Retrying => Stand::Retrying,
            State::Leased(lease) => {
                // Since when it is held bears on a bound that this queue does not have.
                Stand::Leased { until: ticks(lease.until.as_ms()) }
            }
            State::Done => Stand::Done,
            State::Dead(_) => Stand::Dead,
            // No Redis consumer is part of the model.
            State::Cancelled | State::Held { .. } => Stand::Cancelled,
        };
        Self {
            stand,
            round: small(i64::from(delivery.round)),
            fence: u8::try_from(delivery.fence).unwrap_or(u8::MAX),
            attempts: small(i64::from(delivery.attempts)),
            due: if stand == Stand::Retrying { ticks(delivery.due.as_ms()) } else { 0 },
            last: delivery.last.map(|last| last.ending.into()),
            is_logged_otherwise: !is_logged(delivery),
        }
    }
}

/// True where the newest record of its log is that of the hold that goes on, or of the one that just ended.
fn is_logged(delivery: &Delivery) -> bool {
    let Some(newest) = delivery.log.last() else { return !delivery.is_held() };
    let ended = newest.ended.map(|(_, ending)| ending);
    let ending = delivery.last.map(|last| last.ending);
    newest.fence == delivery.fence && ended == if delivery.is_held() { None } else { ending }
}

/// The settings of the one queue.
fn policy() -> Policy {
    let retry_seconds = u32::from(RETRY_TICKS);
    Policy {
        max_attempts: Some(u32::from(ATTEMPTS_MAX)),
        backoff: Backoff {
            initial_seconds: retry_seconds,
            factor_milli: 1_000,
            max_seconds: retry_seconds,
            jitter_milli: 0,
        },
        ..Policy::default()
    }
}

/// The lease that every claim and heartbeat asks for.
pub(super) fn lease() -> LeaseSeconds {
    LeaseSeconds::try_from(u32::from(LEASE_TICKS)).expect("a lease's length is in bounds")
}

const fn reading(ticks: u8) -> LeaseTime {
    LeaseTime::from_ms(ticks as i64 * TICK_MS)
}

fn ticks(ms: i64) -> u8 {
    small(ms.div_euclid(TICK_MS))
}

fn small(number: i64) -> u8 {
    u8::try_from(number.max(0)).unwrap_or(u8::MAX)
}

impl From<Ending> for Ended {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Acked => Self::Acked,
            Ending::Failed | Ending::Fatal => Self::Failed,
            Ending::Expired => Self::Expired,
            Ending::Released | Ending::GivenBack | Ending::Broken => Self::Otherwise,
        }
    }
}

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Acked => Self::Acked,
            Ended::Failed => Self::Failed,
            Ended::Expired => Self::Expired,
            Ended::Otherwise => Self::Broken,
        }
    }
}
