//! Idempotency keys: a repeated request gets the first answer.
//!
//! Lives here: finding, storing and forgetting answers. Not here: their bytes (`rows/answer.rs`).

use bytes::Bytes;
use naven_core::State;
use std::ops::ControlFlow;

use super::context::{Context, READABLE};
use super::dealing::Dealing;
use crate::embedded::command::Command;
use crate::embedded::rows::answer::{Answer, AnswerRow, HoldRow};
use crate::embedded::rows::key::{self, QueueNo};
use crate::embedded::tables::{Order, Table, Tables};
use crate::reply::{Claimed, OpError, OpReply, Refused};
use crate::txn::IdempotencySlot;

impl<T: Tables> Context<'_, T> {
    /// Runs `command`, or answers what it was answered under the same key. A claim is repeated while one of
    /// its leases lives, and no longer than they would by themselves; after that it takes anew. Refusals are not remembered, nor is
    /// a claim that took nothing.
    pub(super) fn once(
        &mut self,
        slot: &IdempotencySlot,
        command: &Command,
        tended: &mut (u64, bool),
    ) -> Result<OpReply, OpError> {
        let key = key::idem(slot);
        let old = self.tables.get(Table::Idem, &key);
        let old = old.map(|bytes| AnswerRow::decode(bytes).expect(READABLE));
        if let Some(row) = old.as_ref().filter(|row| row.until > self.now.wall) {
            if row.fingerprint != slot.fingerprint {
                return Err(Refused::KeyReused.into());
            }
            if let Some(first) = self.first_answer(&row.answer) {
                return Ok(OpReply::Replayed(Box::new(first)));
            }
        }
        let reply = self.run(command, tended)?;
        if let Some(answer) = self.answer_of(&reply) {
            if let Some(old) = old {
                self.tables.delete(Table::IdemUntil, &key::idem_until(old.until, &key));
            }
            let until = reply.remembered_until(self.now.wall);
            let row = AnswerRow { fingerprint: slot.fingerprint, until, answer };
            self.tables.put(Table::Idem, &key, row.encode());
            self.tables.put(Table::IdemUntil, &key::idem_until(until, &key), Bytes::new());
        }
        Ok(reply)
    }

    /// Forgets at most `most` answers that were kept long enough.
    pub(super) fn forget_answers(&mut self, most: u64) -> u64 {
        let mut old = Vec::new();
        self.tables.scan(
            Table::IdemUntil,
            &[],
            &key::idem_past(self.now.wall),
            Order::Rising,
            &mut |key, _| {
                if old.len() as u64 >= most {
                    return ControlFlow::Break(());
                }
                old.push(key.to_vec());
                ControlFlow::Continue(())
            },
        );
        for key in &old {
            self.tables.delete(Table::IdemUntil, key);
            self.tables.delete(Table::Idem, &key[8..]);
        }
        old.len() as u64
    }

    fn answer_of(&self, reply: &OpReply) -> Option<Answer> {
        let OpReply::Claimed(claimed) = reply else {
            let is_kept = !matches!(reply, OpReply::Page(_) | OpReply::Replayed(_));
            return is_kept.then(|| Answer::Reply(Box::new(reply.clone())));
        };
        let hold = |grant: &crate::reply::Grant| HoldRow {
            event: grant.event,
            round: grant.round,
            fence: grant.fence,
        };
        let bits = claimed.queue.bits().to_be_bytes();
        let queue = QueueNo(super::context::number_of(self.tables.get(Table::QueueId, &bits)?));
        let holds: Vec<_> = claimed.leases.iter().map(hold).collect();
        (!holds.is_empty()).then_some(Answer::Claimed { queue, holds })
    }

    /// The first answer again; none for a claim whose leases are all over.
    fn first_answer(&self, answer: &Answer) -> Option<OpReply> {
        let (no, holds) = match answer {
            Answer::Reply(reply) => return Some(reply.as_ref().clone()),
            Answer::Claimed { queue, holds } => (*queue, holds),
        };
        let queue = self.queue(no).filter(|queue| queue.closed.is_none())?;
        let lives = |hold: &HoldRow| {
            let found = self.event(hold.event).ok()?;
            let dealing = self.dealing(no, &queue, found.arrival, &found.row)?;
            let Dealing::Live(delivery) = dealing else { return None };
            let State::Leased(lease) = delivery.state else { return None };
            let is_same = (delivery.round, delivery.fence) == (hold.round, hold.fence);
            (is_same && self.now.lease < lease.until)
                .then(|| self.grant(no, &queue, (found.arrival, found.row), &delivery))
        };
        let leases: Vec<_> = holds.iter().filter_map(lives).collect();
        let claimed = Claimed { queue: queue.id, leases, due_in: None };
        (!claimed.leases.is_empty()).then_some(OpReply::Claimed(claimed))
    }
}
