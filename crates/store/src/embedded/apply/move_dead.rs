//! A dead letter's content as a new event of another queue.
//!
//! Lives here: the end of the one and the beginning of the other. Not here: a new round in its own queue
//! (`settle.rs`), and forgetting (`discard.rs`).

use naven_api::EventId;
use naven_core::{Delivery, Step};

use super::context::{Context, Found};
use super::dealing::Dealing;
use crate::embedded::rows::key::QueueNo;
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::Tables;
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Append, Due, Target};

impl<T: Tables> Context<'_, T> {
    pub(super) fn move_dead(
        &mut self,
        event: EventId,
        queue: Option<&QueueRef>,
        target: &QueueRef,
    ) -> Result<OpReply, OpError> {
        let (to, _) = self.open_queue(target)?;
        let found = self.event(event)?;
        let (no, queue, dealing) = self.named_dealing(&found, queue)?;
        if no == to {
            return self.redrive(event, Some(&QueueRef::Id(queue.id)), true);
        }
        self.move_on(found, (no, &queue), dealing, target)
    }

    /// Ends a dead letter and publishes its content. The new event knows nothing of the old one's bounds: attempts
    /// and times are the target's.
    pub(super) fn move_on(
        &mut self,
        found: Found,
        (no, queue): (QueueNo, &QueueRow),
        dealing: Dealing,
        target: &QueueRef,
    ) -> Result<OpReply, OpError> {
        let body = found.row.body.clone().filter(|_| !found.row.damaged).ok_or(Refused::WrongState)?;
        let (headers, trace) = (found.row.headers.clone(), found.row.trace.clone());
        self.end_dead(found, (no, queue), dealing)?;
        self.append(&Append {
            to: Target::Queue(target.clone()),
            body,
            due: Due::Now,
            headers,
            max_attempts: None,
            dedupe: None,
            expires_at: None,
            trace,
            entry: None,
        })
    }

    /// Forgets a dead letter, of a deleted queue too: what that left is dead without a row that says so.
    fn end_dead(
        &mut self,
        mut found: Found,
        (no, queue): (QueueNo, &QueueRow),
        dealing: Dealing,
    ) -> Result<(), OpError> {
        let before = match &dealing {
            Dealing::Live(delivery) => Some(delivery.clone()),
            Dealing::Waiting | Dealing::Unread | Dealing::InLane => None,
            Dealing::Over(_) => return Err(Refused::WrongState.into()),
        };
        let after = self.put_to_rest(&found, queue, before.as_ref())?;
        let mut progress = self.progress(no);
        if dealing == Dealing::Waiting {
            // Others may read it still when its time comes.
            let is_its = found.row.only == Some(no) || self.stream(found.stream).closed.is_some();
            if !is_its || self.dealings(found.stream, found.arrival, &found.row).len() > 1 {
                return Err(Refused::DueForAll.into());
            }
            self.number_unseen(&mut found, no, &mut progress);
        }
        let n = found.row.placed.map(|placed| placed.n).ok_or(Refused::WrongState)?;
        match &before {
            Some(before) => self.forget(no, (n, found.arrival), before, &mut progress),
            None => self.take_unheld((no, queue), n, &dealing, &mut progress),
        }
        self.put_progress(no, &progress);
        self.remember(&found, (no, n), &after);
        // Nobody watches a queue that is deleted.
        if queue.closed.is_none() {
            self.tell(queue, (found.arrival, &found.row), before.as_ref(), &after);
        }
        Ok(())
    }

    /// A dead delivery as it is remembered once it was put away.
    fn put_to_rest(
        &self,
        found: &Found,
        queue: &QueueRow,
        before: Option<&Delivery>,
    ) -> Result<Delivery, OpError> {
        let policy = queue.policy(&found.row);
        let mut dead = before.cloned().unwrap_or_else(|| queue.fresh(&found.row));
        if let Some(closed) = queue.closed.filter(|_| !dead.is_over()) {
            dead = dead.apply(&Step::Bury(closed.reason), self.now, &policy)?;
        }
        Ok(dead.apply(&Step::Discard, self.now, &policy)?)
    }
}
