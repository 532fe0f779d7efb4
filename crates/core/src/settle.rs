//! What a holder says of its delivery: heartbeat, ack, fail, fatal, release.
//!
//! Lives here: the table of the HTTP contract's section on lease semantics, row by row. Not here:
//! how a delivery comes to a holder (`take.rs`) and how proofs are checked (`naven-store`).

use naven_api::{AckResult, ErrorText, LeaseSeconds, Progress};

use crate::backoff::delay_ms;
use crate::delivery::{Delivery, Lease, Reported, State};
use crate::now::Now;
use crate::outcome::{DeadReason, Ending, Outcome};
use crate::past;
use crate::planted::{Bug, has};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::step::{Bearer, Failure};
use crate::take::{bounded, is_past};

/// What the caller's proof is worth now.
enum Standing {
    /// It holds the delivery, or may revive it: the lease, and this delivery without the expiry
    /// that was counted meanwhile.
    Holds(Lease, Box<Delivery>),
    /// It settled the delivery itself, this way.
    Ended(Ending),
    /// It has no say.
    Refused(Refusal),
}

impl Delivery {
    pub(crate) fn extend(
        &self,
        by: Bearer,
        hold: LeaseSeconds,
        progress: Option<&Progress>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        match self.standing(by, now, policy) {
            Standing::Holds(lease, mut live) => {
                let from = if has(Bug::HeartbeatShortens) { lease.since } else { now.lease };
                let until = bounded(from.plus_ms(hold.as_ms()), lease.since, policy);
                if until <= now.lease {
                    return Err(Refusal::Expired);
                }
                live.state = State::Leased(Lease { since: lease.since, until });
                live.last = None;
                past::beat(&mut live.log, now.wall);
                if let Some(progress) = progress.cloned() {
                    live.progress = Some(Box::new(Reported { progress, at: now.wall }));
                }
                Ok(*live)
            }
            // A timer's heartbeat races its own settle call: that is no fault.
            Standing::Ended(_) => Ok(self.clone()),
            Standing::Refused(refusal) => Err(refusal),
        }
    }

    pub(crate) fn ack(
        &self,
        by: Bearer,
        result: Option<&AckResult>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        match self.standing(by, now, policy) {
            Standing::Holds(_, mut live) => {
                live.end(State::Done, Ending::Acked, now, None);
                live.result = result.cloned();
                Ok(*live)
            }
            // The reply to the first ack may have been lost, so the same token may ask again: what it said first stands.
            Standing::Ended(Ending::Acked) => Ok(self.clone()),
            Standing::Ended(_) => Err(Refusal::Settled),
            Standing::Refused(Refusal::Expired) if has(Bug::ExpiredAckTaken) && !self.is_over() => {
                let mut late = self.clone();
                late.end(State::Done, Ending::Acked, now, None);
                Ok(late)
            }
            Standing::Refused(refusal) => Err(refusal),
        }
    }

    /// `XACK`: bears no token, so only what a Redis consumer holds, or nobody, can be settled by it.
    pub(crate) fn ack_unfenced(&self, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        match self.state {
            State::Held { .. } => {
                let mut done = self.clone();
                done.end(State::Done, Ending::Acked, now, None);
                Ok(done)
            }
            // Whoever held it before is told that somebody else finished it; how that hold ended
            // stays in the log as it was.
            State::Ready | State::Retrying if self.fence > 0 => Ok(Delivery {
                state: State::Done,
                last: Some(Outcome { ending: Ending::Broken, at: now.wall, next_at: None, lapsed: None }),
                over_at: Some(now.wall),
                ..self.clone()
            }),
            // A lease whose time is over stands like an entry without an owner, recorded or not.
            State::Leased(lease) if lease.until <= now.lease => {
                self.expired(now, policy).ack_unfenced(now, policy)
            }
            State::Leased(_) => Err(Refusal::Lost),
            State::Ready | State::Retrying => Err(Refusal::NotDue),
            State::Done | State::Dead(_) | State::Cancelled => Err(Refusal::WrongState),
        }
    }

    pub(crate) fn fail(
        &self,
        by: Bearer,
        failure: &Failure,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        let Some(mut live) = self.live_or_repeated(by, &[Ending::Failed, Ending::Fatal], now, policy)? else {
            return Ok(self.clone());
        };
        if live.cancel_requested {
            live.end(State::Cancelled, Ending::Failed, now, None);
            live.keep_error(failure.error.as_ref());
            return Ok(live);
        }
        if policy.is_used_up(live.attempts) {
            live.end(State::Dead(DeadReason::AttemptsUsedUp), Ending::Failed, now, None);
        } else if is_past(policy.expires_at, now) {
            live.end(State::Dead(DeadReason::EventExpired), Ending::Failed, now, None);
        } else {
            let failures = live.attempts;
            let delay = failure
                .delay
                .map_or_else(|| delay_ms(&policy.backoff, failures, failure.draw), |delay| delay.as_ms());
            live.due = now.wall.plus_ms(delay);
            let state = if delay > 0 { State::Retrying } else { State::Ready };
            let due = live.due;
            live.end(state, Ending::Failed, now, Some(due));
        }
        live.keep_error(failure.error.as_ref());
        Ok(live)
    }

    pub(crate) fn fatal(
        &self,
        by: Bearer,
        error: Option<&ErrorText>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        let Some(mut live) = self.live_or_repeated(by, &[Ending::Failed, Ending::Fatal], now, policy)? else {
            return Ok(self.clone());
        };
        let state = if live.cancel_requested { State::Cancelled } else { State::Dead(DeadReason::Fatal) };
        live.end(state, Ending::Fatal, now, None);
        live.keep_error(error);
        Ok(live)
    }

    pub(crate) fn release(
        &self,
        by: Bearer,
        error: Option<&ErrorText>,
        now: Now,
        policy: &Policy,
    ) -> Result<Delivery, Refusal> {
        let Some(mut live) = self.live_or_repeated(by, &[Ending::Released], now, policy)? else {
            return Ok(self.clone());
        };
        live.attempts = live.attempts.saturating_sub(1);
        if live.cancel_requested {
            live.end(State::Cancelled, Ending::Released, now, None);
        } else if is_past(policy.expires_at, now) {
            live.end(State::Dead(DeadReason::EventExpired), Ending::Released, now, None);
        } else {
            live.due = now.wall;
            live.end(State::Ready, Ending::Released, now, Some(now.wall));
        }
        if error.is_some() {
            live.keep_error(error);
        }
        Ok(live)
    }

    /// The live delivery, none where the caller only repeats one of `same`, or why neither.
    fn live_or_repeated(
        &self,
        by: Bearer,
        same: &[Ending],
        now: Now,
        policy: &Policy,
    ) -> Result<Option<Delivery>, Refusal> {
        match self.standing(by, now, policy) {
            Standing::Holds(_, live) => Ok(Some(*live)),
            Standing::Ended(ending) if same.contains(&ending) => Ok(None),
            Standing::Ended(Ending::Acked) if has(Bug::NackAfterAck) => Ok(Some(self.clone())),
            Standing::Ended(_) => Err(Refusal::Settled),
            Standing::Refused(refusal) => Err(refusal),
        }
    }

    fn standing(&self, by: Bearer, now: Now, policy: &Policy) -> Standing {
        match (by, self.state, self.last) {
            (Bearer::Other, _, _) | (Bearer::Last, State::Held { .. }, _) => Standing::Refused(Refusal::Lost),
            (Bearer::Last, State::Leased(lease), _) if lease.is_live(now.lease) => {
                Standing::Holds(lease, Box::new(self.clone()))
            }
            // Over, and nobody recorded that yet: judged as if somebody had, so that no answer
            // depends on how prompt the sweeper is.
            (Bearer::Last, State::Leased(_), _) => {
                match self.expired(now, policy).standing(by, now, policy) {
                    Standing::Holds(lease, _) => Standing::Holds(lease, Box::new(self.clone())),
                    judged @ (Standing::Ended(_) | Standing::Refused(_)) => judged,
                }
            }
            (Bearer::Last, state, Some(last)) => self.standing_after(state, &last, now, policy),
            // The proof is right, yet no hold of this round ever ended: a round opened since.
            (Bearer::Last, _, None) => Standing::Refused(Refusal::Lost),
        }
    }

    fn standing_after(&self, state: State, last: &Outcome, now: Now, policy: &Policy) -> Standing {
        match last.ending {
            Ending::Acked | Ending::Failed | Ending::Fatal | Ending::Released => Standing::Ended(last.ending),
            Ending::GivenBack | Ending::Broken => Standing::Refused(Refusal::Lost),
            Ending::Expired => match last.lapsed {
                Some(lease) if state == State::Ready && now.lease < lease.until.plus_ms(policy.grace_ms) => {
                    Standing::Holds(lease, Box::new(self.with_expiry_undone()))
                }
                _ => Standing::Refused(Refusal::Expired),
            },
        }
    }

    /// The same hold lives on: the expiry that was counted for it is taken back.
    fn with_expiry_undone(&self) -> Delivery {
        Delivery { expiries: self.expiries.saturating_sub(1), ..self.clone() }
    }

    pub(crate) fn keep_error(&mut self, error: Option<&ErrorText>) {
        self.last_error = error.cloned();
        if let (Some(outcome), Some(_)) = (self.last, error) {
            past::close(&mut self.log, outcome.at, outcome.ending, error);
        }
    }
}
