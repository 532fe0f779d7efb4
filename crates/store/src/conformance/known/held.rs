//! Who has what, and what nobody has any more: picks that often meet something.
//!
//! Lives here: leases, what either door handed out, and dead letters. Not here: queues, streams and events
//! (`known.rs`).

use naven_api::{EventId, QueueId};
use naven_core::View;

use super::{Hold, Known, newest};
use crate::conformance::script::{Pick, ProofAsk};
use crate::queue::QueueRef;
use crate::reply::{Fate, OpError, OpReply};
use crate::txn::{GivingUp, OpKind, Place, ReaderOp};

impl Known {
    /// Notes whose end an answered op was.
    pub(in crate::conformance) fn learn_end(&mut self, op: &OpKind, answer: &Result<OpReply, OpError>) {
        match (op, answer) {
            (OpKind::Settle(settle), Ok(OpReply::Settled(settled))) if settled.state == View::Dead => {
                self.dead.push((settle.event, settled.queue));
            }
            (OpKind::Reader(ReaderOp::Nack(nack)), Ok(OpReply::Fates(fates)))
                if nack.how == GivingUp::Fatal =>
            {
                let ended = nack.places.iter().zip(fates).filter(|(_, fate)| **fate == Fate::Done);
                for (place, _) in ended {
                    let is_it = |handed: &&(QueueId, Place, EventId)| {
                        nack.queue == QueueRef::Id(handed.0) && handed.1 == *place
                    };
                    let known = self.handed.iter().find(is_it).map(|(queue, _, event)| (*event, *queue));
                    self.dead.extend(known);
                }
            }
            _ => {}
        }
    }

    /// A hold. Tokens are shown for what has some.
    pub(super) fn hold(&self, pick: Pick, proof: ProofAsk) -> Option<&Hold> {
        let wants_token = matches!(proof, ProofAsk::Token | ProofAsk::Among(_));
        let among: Vec<&Hold> =
            self.holds.iter().filter(|hold| !wants_token || hold.tokens[0].is_some()).collect();
        newest(among.len(), pick).map(|at| among[at])
    }

    /// An event and its queue, which are a dead letter half of the time.
    pub(in crate::conformance) fn dead_letter(
        &self,
        event: Pick,
        queue: Option<Pick>,
    ) -> (EventId, Option<QueueRef>) {
        let dead = newest(self.dead.len(), event).map(|at| self.dead[at]);
        match dead.filter(|_| event & 0x10 == 0) {
            Some((event, of)) => (event, queue.map(|_| QueueRef::Id(of))),
            None => (self.event(event), queue.map(|queue| self.queue(queue))),
        }
    }

    /// A queue and places in it, the first of which either door handed out there three times out of four.
    pub(in crate::conformance) fn read_in(&self, queue: Pick, picks: &[Pick]) -> (QueueRef, Vec<Place>) {
        let mut places: Vec<Place> = picks.iter().map(|pick| self.place(*pick)).collect();
        match newest(self.handed.len(), queue).map(|at| self.handed[at]).filter(|_| queue & 0x30 != 0) {
            Some((queue, place, _)) => {
                places.truncate(picks.len() - 1);
                places.insert(0, place);
                (QueueRef::Id(queue), places)
            }
            None => (self.queue(queue), places),
        }
    }
}
