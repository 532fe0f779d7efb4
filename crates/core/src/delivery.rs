//! One delivery's life, from ready to done or dead.
//!
//! Lives here: the states, what people see of them, and the one function that joins states and
//! steps. Not here: finding and saving deliveries, reading the clock (`naven-store`).

use naven_api::{AckResult, ErrorText, Progress, Timestamp};

use crate::now::{LeaseTime, Now};
use crate::outcome::{DeadReason, Ending, Outcome};
use crate::past::Past;
use crate::planted::{Bug, has};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::step::{Bearer, ConsumerNo, Step};

/// An HTTP lease's span on the lease clock. `until` is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When the hold began.
    pub since: LeaseTime,
    /// The first instant at which it does not hold any more.
    pub until: LeaseTime,
}

impl Lease {
    /// True while it holds.
    pub(crate) fn is_live(&self, now: LeaseTime) -> bool {
        now < self.until || (has(Bug::ExpiryOffByOne) && now == self.until)
    }
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It may be claimed.
    Ready,
    /// It may be claimed from its due time on.
    Retrying,
    /// An HTTP consumer has it.
    Leased(Lease),
    /// A Redis consumer has it.
    Held {
        /// Which.
        consumer: ConsumerNo,
        /// Since when, or since it was last renewed.
        since: LeaseTime,
        /// From when on a claim may take it away, where the queue bounds such holds.
        until: Option<LeaseTime>,
    },
    /// Finished.
    Done,
    /// Given up.
    Dead(DeadReason),
    /// Called off.
    Cancelled,
}

impl State {
    /// Held by a Redis consumer since `since`, for as long as `policy` lets it.
    pub(crate) fn held(consumer: ConsumerNo, since: LeaseTime, policy: &Policy) -> Self {
        Self::Held { consumer, since, until: policy.redis_lease_ms.map(|ms| since.plus_ms(ms)) }
    }

    /// The state as recorded, whatever the clock says by now.
    pub const fn view(self) -> View {
        match self {
            Self::Ready => View::Ready,
            Self::Retrying => View::Retrying,
            Self::Leased(_) => View::Leased,
            Self::Held { .. } => View::Held,
            Self::Done => View::Done,
            Self::Dead(_) => View::Dead,
            Self::Cancelled => View::Cancelled,
        }
    }
}

/// A state as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Its first due time is ahead.
    Scheduled,
    /// It may be claimed now.
    Ready,
    /// An HTTP consumer has it.
    Leased,
    /// A Redis consumer has it.
    Held,
    /// It is due again later.
    Retrying,
    /// Finished.
    Done,
    /// Given up.
    Dead,
    /// Called off.
    Cancelled,
}

impl View {
    /// Every state, in the order in which people list them.
    pub const ALL: [View; 8] = [
        Self::Scheduled,
        Self::Ready,
        Self::Leased,
        Self::Held,
        Self::Retrying,
        Self::Done,
        Self::Dead,
        Self::Cancelled,
    ];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Held => "held",
            Self::Retrying => "retrying",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How far a holder came, by its own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// What it said.
    pub progress: Progress,
    /// When.
    pub at: Timestamp,
}

/// One queue's dealing with one event, in its present round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where it stands.
    pub state: State,
    /// The present round: a redrive, reset or replay opens the next.
    pub round: u32,
    /// The fencing number: rises at every hold, never falls.
    pub fence: u64,
    /// Failed or expired holds of this round, plus the live one.
    pub attempts: u32,
    /// The part of them that expired.
    pub expiries: u32,
    /// Redis' own count of deliveries, kept apart.
    pub redis_count: u64,
    /// When it may be (or might have been) claimed.
    pub due: Timestamp,
    /// How the last hold of this round ended, while no new one began.
    pub last: Option<Outcome>,
    /// What the last failed attempt said.
    pub last_error: Option<ErrorText>,
    /// How far the last holder came, as it last said: until the next hold or round begins.
    pub progress: Option<Box<Reported>>,
    /// What the holder that finished it said came of it.
    pub result: Option<AckResult>,
    /// When it was done, dead or cancelled.
    pub over_at: Option<Timestamp>,
    /// True once an operator asked the holder to stop: however the hold ends, but by an ack, the
    /// delivery is cancelled then.
    pub cancel_requested: bool,
    /// Why an operator called it off, if it was said.
    pub cancel_reason: Option<ErrorText>,
    /// The last holds of this round, oldest first.
    pub log: Vec<Past>,
}

impl Delivery {
    /// A delivery that nobody has held yet, due at `due`.
    pub fn fresh(due: Timestamp) -> Self {
        Self {
            state: State::Ready,
            round: 0,
            fence: 0,
            attempts: 0,
            expiries: 0,
            redis_count: 0,
            due,
            last: None,
            last_error: None,
            progress: None,
            result: None,
            over_at: None,
            cancel_requested: false,
            cancel_reason: None,
            log: Vec::new(),
        }
    }

    /// This delivery as `step` leaves it at `now`. A refusal changes nothing.
    ///
    /// # Errors
    /// The [`Refusal`] that the table in the HTTP contract gives for the state and the caller.
    pub fn apply(&self, step: &Step, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        match step {
            Step::FallDue => self.fall_due(now),
            Step::Take { hold, consumer } => self.take(*hold, consumer.clone(), now, policy),
            Step::TakeOver { to, consumer, just_id, since, redis_count } => {
                let since = since.map_or(now.lease, |since| since.min(now.lease));
                let held = State::held(*to, since, policy);
                self.take_over(held, consumer, (*just_id, *redis_count), now, policy)
            }
            Step::Reread => self.reread(now, policy),
            Step::Extend { by, hold, progress } => self.extend(*by, *hold, progress.as_deref(), now, policy),
            Step::Ack { by, result } => self.ack(*by, result.as_ref(), now, policy),
            Step::AckUnfenced => self.ack_unfenced(now, policy),
            Step::GiveUp(given) => self.give_up(given, now, policy),
            Step::Fail { by, failure } => self.fail(*by, failure, now, policy),
            Step::Fatal { by, error } => self.fatal(*by, error.as_ref(), now, policy),
            Step::Release { by, error } => self.release(*by, error.as_ref(), now, policy),
            Step::GiveBack { by } => self.give_back(*by, now),
            Step::Expire => self.expire(now, policy),
            Step::Cancel { reason } => self.cancel(reason.as_ref(), now, policy),
            Step::Break => self.break_hold(now),
            Step::Bury(reason) => self.bury(*reason, now),
            Step::Reschedule { due } => self.reschedule(*due, now, policy),
            Step::Purge => self.purge(now),
            Step::Discard => self.discard(now),
            Step::Redrive { reset_attempts } => self.redrive(*reset_attempts, now),
        }
    }

    /// True where the same caller already had `step`'s answer, and `apply` only repeats it.
    pub fn is_repeat_of(&self, step: &Step) -> bool {
        let ended = (!self.is_held()).then(|| self.last.map(|last| last.ending)).flatten();
        match step {
            Step::Ack { by: Bearer::Last, .. } => ended == Some(Ending::Acked),
            Step::Fail { by: Bearer::Last, .. } | Step::Fatal { by: Bearer::Last, .. } => {
                matches!(ended, Some(Ending::Failed | Ending::Fatal))
            }
            Step::Release { by: Bearer::Last, .. } => ended == Some(Ending::Released),
            Step::FallDue
            | Step::Take { .. }
            | Step::TakeOver { .. }
            | Step::Reread
            | Step::GiveUp(_)
            | Step::Extend { .. }
            | Step::Ack { by: Bearer::Other, .. }
            | Step::AckUnfenced
            | Step::Fail { by: Bearer::Other, .. }
            | Step::Fatal { by: Bearer::Other, .. }
            | Step::Release { by: Bearer::Other, .. }
            | Step::GiveBack { .. }
            | Step::Expire
            | Step::Cancel { .. }
            | Step::Break
            | Step::Bury(_)
            | Step::Reschedule { .. }
            | Step::Purge
            | Step::Discard
            | Step::Redrive { .. } => false,
        }
    }

    /// The state as people see it at `now`: a retry whose time has come is ready to them, even
    /// where the engine has not recorded that yet.
    pub fn view(&self, now: Now) -> View {
        if self.state == State::Retrying && self.due <= now.wall { View::Ready } else { self.state.view() }
    }

    /// True while somebody has it, in time or not.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Leased(_) | State::Held { .. })
    }

    /// True once nothing but a new round can change it.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Dead(_) | State::Cancelled)
    }

    /// True where its hold's time is over at `now`.
    pub fn is_overdue(&self, now: Now) -> bool {
        self.ends_at().is_some_and(|end| end <= now.lease)
    }

    /// When its hold ends on the lease clock, if it has one that ends.
    pub fn ends_at(&self) -> Option<LeaseTime> {
        match self.state {
            State::Leased(lease) => Some(lease.until),
            State::Held { until, .. } => until,
            State::Ready | State::Retrying | State::Done | State::Dead(_) | State::Cancelled => None,
        }
    }
}
