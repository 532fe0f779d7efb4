//! A holder's word on its event, and what operators do to one delivery.
//!
//! Lives here: finding the delivery, asking the core, saving, the answer. Not here: the rules
//! (`naven-core`) and the checking of tokens (`prepare.rs`).

use naven_api::EventId;
use naven_core::planted::{Bug, has};
use naven_core::{Bearer, DeadReason, Delivery, State, Step, View};

use super::context::{Context, Found};
use super::dealing::Dealing;
use crate::embedded::command::{Claimant, Said};
use crate::embedded::rows::key::QueueNo;
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::Tables;
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused, Settled};

impl<T: Tables> Context<'_, T> {
    pub(super) fn settle(
        &mut self,
        event: EventId,
        claimant: &Claimant,
        said: &Said,
    ) -> Result<OpReply, OpError> {
        let found = self.event(event)?;
        let (no, queue, before) = self.claimed_delivery(&found, claimant)?;
        let by = match claimant {
            Claimant::Holder { round, fence, .. } | Claimant::Fence { round, fence, .. } => {
                let of_round = *round == before.round || has(Bug::RoundNotCompared);
                let last = before.fence > 0 && *fence == before.fence && of_round;
                if last { Bearer::Last } else { Bearer::Other }
            }
            Claimant::Operator(_) => Bearer::Last,
            Claimant::Nobody | Claimant::Group(_) => Bearer::Other,
        };
        let step = match said {
            Said::Ack(_) if matches!(claimant, Claimant::Group(_)) => Step::AckUnfenced,
            Said::Ack(result) => Step::Ack { by, result: result.clone() },
            Said::Fail(failure) => Step::Fail { by, failure: failure.clone() },
            Said::Fatal(error) => Step::Fatal { by, error: error.clone() },
            Said::Release(error) => Step::Release { by, error: error.clone() },
            Said::GiveBack => Step::GiveBack { by },
            Said::Extend(hold, progress) => {
                let hold = hold.unwrap_or(queue.settings.default_lease);
                Step::Extend { by, hold, progress: progress.clone() }
            }
        };
        let replayed = before.is_repeat_of(&step);
        if has(Bug::ReplayedAckCounts) && replayed && matches!(said, Said::Ack(_)) {
            self.change_progress(no, |progress| *progress.counts.of_mut(View::Done) += 1);
        }
        let after = self.change(&found, (no, &queue), &before, &step)?;
        let asks_when = matches!(said, Said::Fail(_) | Said::Fatal(_) | Said::Release(_));
        let next_at = after.last.filter(|_| asks_when).and_then(|last| last.next_at);
        Ok(OpReply::Settled(Settled {
            queue: queue.id,
            state: after.view(self.now),
            settled_at: after.over_at,
            next_at,
            lease_expires_at: match after.state {
                State::Leased(lease) => Some(self.now.wall_of(lease.until)),
                _ => None,
            },
            cancel_requested: after.cancel_requested,
            replayed,
        }))
    }

    pub(super) fn redrive(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        reset_attempts: bool,
    ) -> Result<OpReply, OpError> {
        self.operate(event, queue, &Step::Redrive { reset_attempts })
    }

    pub(super) fn bury(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        reason: DeadReason,
    ) -> Result<OpReply, OpError> {
        self.operate(event, queue, &Step::Bury(reason))
    }

    fn operate(&mut self, event: EventId, queue: Option<&QueueRef>, step: &Step) -> Result<OpReply, OpError> {
        let found = self.event(event)?;
        let (no, queue, dealing) = self.named_dealing(&found, queue)?;
        // What nobody held yet no operator has a say in; nor in what is done with.
        let (Dealing::Live(before), None) = (dealing, queue.closed) else {
            return Err(Refused::WrongState.into());
        };
        self.change(&found, (no, &queue), &before, step)?;
        // What was held of a deleted entry may have been the last of it.
        let row = self.body(found.stream, found.arrival).unwrap_or(found.row);
        let view = self.event_view(found.stream, found.arrival, &row, false);
        Ok(OpReply::Event(Box::new(view)))
    }

    /// The delivery that a claimant speaks of. A queue that is gone and a delivery that nobody ever
    /// held make every proof worthless.
    fn claimed_delivery(
        &self,
        found: &Found,
        claimant: &Claimant,
    ) -> Result<(QueueNo, QueueRow, Delivery), OpError> {
        let (no, queue) = match claimant {
            Claimant::Nobody => return Err(Refused::Lost.into()),
            Claimant::Holder { queue: no, .. } => (*no, self.queue(*no).ok_or(Refused::Lost)?),
            Claimant::Fence { queue, .. } => {
                self.any_queue(&QueueRef::Id(*queue)).map_err(|_| Refused::Lost)?
            }
            Claimant::Group(queue) => self.any_queue(queue).map_err(|_| Refused::Lost)?,
            Claimant::Operator(queue) => {
                let (no, queue, _) = self.named_dealing(found, queue.as_ref())?;
                (no, queue)
            }
        };
        if queue.closed.is_some() || queue.stream != found.stream {
            return Err(Refused::Lost.into());
        }
        match self.dealing(no, &queue, found.arrival, &found.row) {
            Some(Dealing::Live(delivery) | Dealing::Over(delivery)) => Ok((no, queue, delivery)),
            Some(Dealing::Waiting | Dealing::Unread | Dealing::InLane) | None => Err(Refused::Lost.into()),
        }
    }

    /// How the queue that was named deals with the event, or the only one that does.
    pub(super) fn named_dealing(
        &self,
        found: &Found,
        queue: Option<&QueueRef>,
    ) -> Result<(QueueNo, QueueRow, Dealing), OpError> {
        let mut dealings = self.dealings(found.stream, found.arrival, &found.row);
        if let Some(queue) = queue {
            let (no, _) = self.any_queue(queue)?;
            dealings.retain(|(one, ..)| *one == no);
        }
        if dealings.len() > 1 {
            return Err(Refused::QueueNeeded.into());
        }
        dealings.pop().ok_or(Refused::EventNotFound.into())
    }

    /// Applies one step and saves what it leaves. What is done with is released.
    pub(super) fn change(
        &mut self,
        found: &Found,
        (no, queue): (QueueNo, &QueueRow),
        before: &Delivery,
        step: &Step,
    ) -> Result<Delivery, OpError> {
        let after = before.apply(step, self.now, &queue.policy(&found.row))?;
        if after == *before {
            return Ok(after);
        }
        let n = found.row.placed.ok_or(Refused::WrongState)?.n;
        let mut progress = self.progress(no);
        let goes_on = !matches!(after.state, State::Done | State::Cancelled | State::Held { .. });
        if goes_on && found.row.body.is_none() && !found.row.damaged && before.is_held() {
            // There is nothing to hand out again: its entry is deleted.
            self.tell(queue, (found.arrival, &found.row), Some(before), &after);
            self.forget_contentless((no, queue), (n, found.arrival), &found.row, before, &mut progress);
            return Ok(after);
        }
        self.save(no, (n, found.arrival), Some(before), &after, &mut progress);
        self.tell(queue, (found.arrival, &found.row), Some(before), &after);
        self.put_progress(no, &progress);
        if matches!(after.state, State::Done | State::Cancelled) {
            self.release_event(found.stream, found.arrival, found.row.clone());
        }
        // Even a retry that is due later is worth a look: whoever waits learns how long to sleep.
        if !after.is_over() && !after.is_held() {
            self.hint(queue.id);
        }
        Ok(after)
    }
}
