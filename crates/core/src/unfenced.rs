//! What a Redis consumer says of a delivery without any proof, but for `XACK` (`settle.rs`).
//!
//! Lives here: giving up and reading again. Not here: how a delivery comes to a consumer (`take.rs`).

use crate::backoff::delay_ms;
use crate::delivery::{Delivery, State};
use crate::now::Now;
use crate::outcome::{DeadReason, Ending};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::step::{ConsumerNo, GivenUp, GivingUp};
use crate::take::is_past;

impl Delivery {
    /// Which Redis consumer has it, if one has.
    pub fn holder(&self) -> Option<ConsumerNo> {
        match self.state {
            State::Held { consumer, .. } => Some(consumer),
            State::Ready | State::Retrying | State::Leased(_) => None,
            State::Done | State::Dead(_) | State::Cancelled => None,
        }
    }

    pub(crate) fn reread(&self, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        let State::Held { consumer, .. } = self.state else { return Err(Refusal::NotDue) };
        Ok(Delivery {
            state: State::held(consumer, now.lease, policy),
            redis_count: self.redis_count.saturating_add(1),
            ..self.clone()
        })
    }

    /// It bears no token, so only what a Redis consumer holds, or nobody, can be given up by it.
    pub(crate) fn give_up(&self, given: &GivenUp, now: Now, policy: &Policy) -> Result<Delivery, Refusal> {
        match self.state {
            State::Held { .. } | State::Ready | State::Retrying => Ok(self.given_up(given, now, policy)),
            // A lease whose time is over stands like an entry without an owner, recorded or not.
            State::Leased(lease) if lease.until <= now.lease => {
                self.expired(now, policy).give_up(given, now, policy)
            }
            State::Leased(_) => Err(Refusal::Lost),
            State::Done | State::Dead(_) | State::Cancelled => Err(Refusal::WrongState),
        }
    }

    fn given_up(&self, given: &GivenUp, now: Now, policy: &Policy) -> Delivery {
        let mut left = self.clone();
        let ending = match given.how {
            GivingUp::Release => Ending::Released,
            GivingUp::Fail => Ending::Failed,
            GivingUp::Fatal => Ending::Fatal,
        };
        let is_release = given.how == GivingUp::Release;
        left.redis_count =
            given.redis_count.unwrap_or(self.redis_count.saturating_sub(u64::from(is_release)));
        // What nobody holds has no attempt under way that could be taken back.
        left.attempts = self.attempts.saturating_sub(u32::from(is_release && self.is_held()));
        match self.end_of(given.how, now, policy) {
            Some(state) => left.leave(state, ending, now),
            None => {
                let delay = given.delay(policy, self.attempts);
                // What may be claimed already keeps its turn.
                let is_next = self.state == State::Ready && delay == 0;
                left.due = if is_next { self.due } else { now.wall.plus_ms(delay) };
                left.leave(if delay > 0 { State::Retrying } else { State::Ready }, ending, now);
            }
        }
        match given.how {
            GivingUp::Release if given.error.is_none() => {}
            _ if self.is_held() => left.keep_error(given.error.as_ref()),
            // The log tells of holds alone.
            _ => left.last_error.clone_from(&given.error),
        }
        left
    }

    /// The state in which it is over, where it is not tried again.
    fn end_of(&self, how: GivingUp, now: Now, policy: &Policy) -> Option<State> {
        let is_used_up = policy.is_used_up(self.attempts);
        match how {
            _ if self.cancel_requested => Some(State::Cancelled),
            GivingUp::Fatal => Some(State::Dead(DeadReason::Fatal)),
            GivingUp::Fail if is_used_up => Some(State::Dead(DeadReason::AttemptsUsedUp)),
            GivingUp::Release | GivingUp::Fail => {
                is_past(policy.expires_at, now).then_some(State::Dead(DeadReason::EventExpired))
            }
        }
    }

    /// A hold ends; where there is none, how the last one ended stays as it was.
    fn leave(&mut self, state: State, ending: Ending, now: Now) {
        if self.is_held() {
            let next_at = matches!(state, State::Ready | State::Retrying).then_some(self.due);
            self.end(state, ending, now, next_at);
        } else {
            self.state = state;
            self.over_at = self.is_over().then_some(now.wall);
        }
    }
}

impl GivenUp {
    fn delay(&self, policy: &Policy, failures: u32) -> i64 {
        match (self.delay_ms, self.how) {
            (Some(ms), _) => i64::try_from(ms).unwrap_or(i64::MAX),
            (None, GivingUp::Fail) => delay_ms(&policy.backoff, failures, self.draw),
            (None, GivingUp::Release | GivingUp::Fatal) => 0,
        }
    }
}
