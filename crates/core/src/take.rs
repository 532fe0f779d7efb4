//! How a delivery comes to a holder, and how a holder loses it without settling.
//!
//! Lives here: take, take-over, falling due, expiry, and what operators may do. Not here: what the
//! holder itself says (`settle.rs`).

use naven_api::{ErrorText, Timestamp};

use crate::delivery::{Delivery, Lease, State};
use crate::now::Now;
use crate::outcome::{DeadReason, Ending, Outcome};
use crate::past;
use crate::planted::{Bug, has};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::step::{Bearer, Hold};

/// Why a purged delivery was called off.
const PURGED: &str = "purged";

impl Delivery {
    pub(crate) fn fall_due(&self, now: Now) -> Result<Delivery, Refusal> {
        match self.state {
            State::Retrying if self.due <= now.wall => Ok(Delivery { state: State::Ready, ..self.clone() }),
            _ => Err(Refusal::NotDue),
        }
    }

    pub(crate) fn take(
        &self,
        hold: Hold,
        consumer: Option<String>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        if self.state != State::Ready {
            return Err(Refusal::NotDue);
        }
        let mut taken = self.held_anew(consumer, now);
        taken.attempts = self.attempts.saturating_add(1);
        match hold {
            Hold::Lease(seconds) => {
                let until = bounded(now.lease.plus_ms(seconds.as_ms()), now.lease, policy);
                taken.state = State::Leased(Lease { since: now.lease, until });
            }
            Hold::Consumer(consumer) => {
                taken.state = State::held(consumer, now.lease, policy);
                taken.redis_count = self.redis_count.saturating_add(1);
            }
            Hold::NoAck => taken.end(State::Done, Ending::Acked, now, None),
        }
        Ok(taken)
    }

    pub(crate) fn take_over(
        &self,
        held: State,
        consumer: &str,
        (just_id, redis_count): (bool, Option<u64>),
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        let to = Delivery { state: held, ..self.clone() }.holder();
        match self.state {
            State::Held { consumer: owner, .. } if just_id && Some(owner) == to => {
                let redis_count = redis_count.unwrap_or(self.redis_count);
                return Ok(Delivery { state: held, redis_count, ..self.clone() });
            }
            // An entry without an owner is idle from its due time on: before that it is passed over.
            State::Held { .. } | State::Ready => {}
            State::Retrying if self.due <= now.wall => {}
            State::Leased(lease) if lease.until <= now.lease => {}
            State::Leased(_) => return Err(Refusal::Lost),
            State::Retrying | State::Done | State::Dead(_) | State::Cancelled => {
                return Err(Refusal::NotDue);
            }
        }
        // A holder that was asked to stop hands nothing on.
        let ends_a_hold =
            matches!(self.state, State::Leased(_)) || (self.is_held() && (!just_id || self.cancel_requested));
        let mut taken = if ends_a_hold { self.expired(now, policy) } else { self.clone() };
        if taken.is_over() {
            // Attempts used up, or called off: the caller passes it over.
            return Ok(taken);
        }
        taken = taken.held_anew(Some(consumer.to_owned()), now);
        taken.state = held;
        // A live hold that only changes its owner is counted already; every other one is a new
        // attempt, or holds could run out for ever without the delivery ever being given up.
        let only_moves = self.is_held() && !ends_a_hold;
        if !only_moves {
            taken.attempts = taken.attempts.saturating_add(1);
        }
        let counted = self.redis_count.saturating_add(u64::from(!just_id));
        taken.redis_count = redis_count.unwrap_or(counted);
        Ok(taken)
    }

    pub(crate) fn expire(&self, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        if self.is_overdue(now) { Ok(self.expired(now, policy)) } else { Err(Refusal::NotDue) }
    }

    pub(crate) fn give_back(&self, by: Bearer, now: Now) -> Result<Delivery, Refusal> {
        if !matches!((self.state, by), (State::Leased(_), Bearer::Last)) {
            return Err(Refusal::Lost);
        }
        let mut back = self.clone();
        if !has(Bug::GiveBackCounts) {
            back.attempts = self.attempts.saturating_sub(1);
        }
        if self.cancel_requested {
            back.end(State::Cancelled, Ending::GivenBack, now, None);
        } else {
            back.end(State::Ready, Ending::GivenBack, now, Some(self.due));
        }
        Ok(back)
    }

    pub(crate) fn cancel(
        &self,
        reason: Option<&ErrorText>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        match self.state {
            // Asked again, the first reason stands.
            State::Leased(_) | State::Held { .. } if self.cancel_requested => Ok(self.clone()),
            State::Cancelled => Ok(self.clone()),
            // Over, recorded or not: nobody is left who could be asked to stop.
            State::Leased(_) | State::Held { .. } if self.is_overdue(now) => {
                self.expired(now, policy).cancel(reason, now, policy)
            }
            State::Leased(_) | State::Held { .. } => {
                Ok(Delivery { cancel_requested: true, cancel_reason: reason.cloned(), ..self.clone() })
            }
            State::Ready | State::Retrying => {
                Ok(Delivery { cancel_reason: reason.cloned(), ..self.break_hold(now)? })
            }
            State::Done | State::Dead(_) => Err(Refusal::WrongState),
        }
    }

    pub(crate) fn break_hold(&self, now: Now) -> Result<Delivery, Refusal> {
        if self.is_over() {
            return Err(Refusal::WrongState);
        }
        Ok(self.ended_from_outside(State::Cancelled, now))
    }

    pub(crate) fn bury(&self, reason: DeadReason, now: Now) -> Result<Delivery, Refusal> {
        if self.is_over() {
            return Err(Refusal::WrongState);
        }
        Ok(self.ended_from_outside(State::Dead(reason), now))
    }

    pub(crate) fn redrive(&self, reset_attempts: bool, now: Now) -> Result<Delivery, Refusal> {
        if !matches!(self.state, State::Dead(_)) {
            return Err(Refusal::WrongState);
        }
        let (attempts, expiries) = if reset_attempts { (0, 0) } else { (self.attempts, self.expiries) };
        Ok(Delivery {
            state: State::Ready,
            round: self.round.saturating_add(1),
            attempts,
            expiries,
            due: now.wall,
            last: self.last.filter(|_| has(Bug::RoundNotCompared)),
            progress: None,
            result: None,
            cancel_requested: false,
            cancel_reason: None,
            over_at: None,
            log: Vec::new(),
            ..self.clone()
        })
    }

    /// What may be claimed already keeps its turn.
    pub(crate) fn reschedule(&self, due: Timestamp, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        match self.state {
            // A Redis consumer has what it holds until it is claimed, past its end or not.
            State::Leased(_) if self.is_overdue(now) => {
                self.expired(now, policy).reschedule(due, now, policy)
            }
            State::Ready | State::Retrying if due > now.wall => {
                Ok(Delivery { state: State::Retrying, due, ..self.clone() })
            }
            State::Ready => Ok(self.clone()),
            State::Retrying => {
                Ok(Delivery { state: State::Ready, due: self.due.min(now.wall), ..self.clone() })
            }
            State::Leased(_) | State::Held { .. } | State::Done | State::Dead(_) | State::Cancelled => {
                Err(Refusal::WrongState)
            }
        }
    }

    /// The round goes on, so that no token of before is worth anything.
    pub(crate) fn purge(&self, now: Now) -> Result<Delivery, Refusal> {
        match self.state {
            State::Ready | State::Retrying | State::Dead(_) => Ok(Delivery {
                state: State::Cancelled,
                round: self.round.saturating_add(1),
                last: None,
                over_at: Some(now.wall),
                cancel_requested: false,
                cancel_reason: Some(ErrorText::new(PURGED)),
                ..self.clone()
            }),
            State::Leased(_) | State::Held { .. } | State::Done | State::Cancelled => {
                Err(Refusal::WrongState)
            }
        }
    }

    /// The round goes on, so that no token of before is worth anything.
    pub(crate) fn discard(&self, now: Now) -> Result<Delivery, Refusal> {
        if !matches!(self.state, State::Dead(_)) {
            return Err(Refusal::WrongState);
        }
        let round = self.round.saturating_add(1);
        Ok(Delivery { round, last: None, progress: None, over_at: Some(now.wall), ..self.clone() })
    }

    /// This delivery with one more hold begun: whose, the caller fills in.
    fn held_anew(&self, consumer: Option<String>, now: Now) -> Delivery {
        let mut held = self.clone();
        held.fence = self.fence.saturating_add(1);
        held.last = None;
        held.progress = None;
        held.result = None;
        held.cancel_requested = false;
        held.cancel_reason = None;
        held.over_at = None;
        past::open(&mut held.log, held.fence, consumer, now.wall);
        held
    }

    /// This delivery with its hold's end counted against it: due again at once, or dead, or cancelled
    /// where an operator asked for that.
    pub(crate) fn expired(&self, now: Now, policy: &Policy) -> Delivery {
        let mut lapsed = self.clone();
        lapsed.expiries = self.expiries.saturating_add(1);
        let dead = if policy.is_used_up(self.attempts) {
            Some(DeadReason::ExpiredAttempts)
        } else {
            is_past(policy.expires_at, now).then_some(DeadReason::EventExpired)
        };
        match dead {
            _ if self.cancel_requested => lapsed.end(State::Cancelled, Ending::Expired, now, None),
            Some(reason) => lapsed.end(State::Dead(reason), Ending::Expired, now, None),
            None => {
                lapsed.due = now.wall;
                lapsed.end(State::Ready, Ending::Expired, now, Some(now.wall));
            }
        }
        if let (State::Leased(lease), Some(last)) = (self.state, lapsed.last.as_mut()) {
            last.lapsed = Some(lease);
        }
        lapsed
    }

    /// Ended by somebody who is not its holder: a holder's proof is worth nothing afterwards, an
    /// earlier outcome is still known to the one who caused it.
    fn ended_from_outside(&self, state: State, now: Now) -> Delivery {
        let mut ended = self.clone();
        if self.is_held() {
            ended.end(state, Ending::Broken, now, None);
        } else {
            ended.state = state;
            ended.over_at = Some(now.wall);
        }
        ended
    }

    pub(crate) fn end(&mut self, state: State, ending: Ending, now: Now, next_at: Option<Timestamp>) {
        self.state = state;
        self.last = Some(Outcome { ending, at: now.wall, next_at, lapsed: None });
        self.over_at = self.is_over().then_some(now.wall);
        past::close(&mut self.log, now.wall, ending, None);
    }
}

/// A lease's end, cut to the queue's bound on the whole hold.
pub(crate) fn bounded(until: crate::LeaseTime, since: crate::LeaseTime, policy: &Policy) -> crate::LeaseTime {
    policy.max_lease_ms.map_or(until, |max| until.min(since.plus_ms(max)))
}

pub(crate) fn is_past(instant: Option<Timestamp>, now: Now) -> bool {
    instant.is_some_and(|at| at <= now.wall)
}
