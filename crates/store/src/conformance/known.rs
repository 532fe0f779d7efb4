//! What a script has made so far, and the ops that its lines mean by now.
//!
//! Lives here: picks turned into queues, events and proofs of either engine. Not here: submitting
//! (`play.rs`).

use naven_api::{EventId, KeyId, LeaseToken, QueueId, Timestamp};
use naven_core::DeadReason;

use super::bench::json;
use super::script::{Ask, Look, NAMES, Pick, ProofAsk, When};
use crate::key::KeyRecord;
use crate::queue::{QueueRef, StreamChanges};
use crate::read::{Cursor, Read};
use crate::reply::{OpError, OpReply};
use crate::txn::{AdminOp, Append, Claim, ClaimHold, DeleteOp, Due, GroupOp, OpKind, Proof, Settle, Target};

/// A hold that a claim gave out, with the token that each engine made for it.
#[derive(Debug)]
struct Hold {
    event: EventId,
    queue: QueueId,
    round: u32,
    fence: u64,
    tokens: [Option<LeaseToken>; 2],
}

/// What the script has made so far. Both engines gave it the same ids.
#[derive(Debug, Default)]
pub(super) struct Known {
    queues: Vec<(QueueId, String)>,
    events: Vec<EventId>,
    holds: Vec<Hold>,
}

/// The newest ones are picked most of the time.
fn newest(length: usize, pick: Pick) -> Option<usize> {
    let among = if pick.is_multiple_of(8) { length } else { length.min(4) };
    (length > 0).then(|| length - 1 - (pick >> 8) as usize % among)
}

impl Known {
    /// Notes what both engines answered alike.
    pub(super) fn learn(&mut self, answers: [&Result<OpReply, OpError>; 2]) {
        match answers {
            [Ok(OpReply::Queue(view)), _] if !self.queues.iter().any(|(id, _)| *id == view.id) => {
                self.queues.push((view.id, view.name.clone()));
            }
            [Ok(OpReply::Event(view)), _] if !self.events.contains(&view.id) => self.events.push(view.id),
            [Ok(OpReply::Claimed(one)), Ok(OpReply::Claimed(other))] => {
                self.holds.extend(one.leases.iter().zip(&other.leases).map(|(one, other)| Hold {
                    event: one.event,
                    queue: one.queue,
                    round: one.round,
                    fence: one.fence,
                    tokens: [one.token.clone(), other.token.clone()],
                }));
            }
            _ => {}
        }
    }

    /// `ask` for the engine on this side (0 or 1).
    pub(super) fn op(&self, ask: &Ask, side: usize, wall: Timestamp) -> OpKind {
        match ask {
            Ask::Create(name, settings) => {
                let name = NAMES[name % NAMES.len()].to_owned();
                OpKind::Group(GroupOp::Create {
                    name,
                    settings: settings.clone(),
                    on: None,
                    stream: StreamChanges::default(),
                })
            }
            Ask::Publish { queue, due, bytes, max_attempts } => OpKind::Append(Append {
                to: Target::Queue(self.queue(*queue)),
                body: json(&"x".repeat(*bytes)),
                due: self.due(*due, wall),
                headers: vec![("pick".to_owned(), queue.to_string())],
                max_attempts: *max_attempts,
                dedupe: None,
                expires_at: None,
            }),
            Ask::Claim { queue, max, seconds, max_bytes } => OpKind::Claim(Claim {
                queue: self.queue(*queue),
                hold: ClaimHold::Lease(seconds.and_then(|seconds| seconds.try_into().ok())),
                max: *max,
                max_bytes: *max_bytes,
                consumer: if queue.is_multiple_of(2) { "w1".parse().ok() } else { None },
            }),
            Ask::Settle { hold, proof, step } => {
                let hold = newest(self.holds.len(), *hold).map(|at| &self.holds[at]);
                let event = hold.map_or(EventId::from_bits(1), |hold| hold.event);
                let proof = self.proof(hold, *proof, side);
                OpKind::Settle(Settle { event, proof, step: step.clone() })
            }
            Ask::Patch(queue, changes) => OpKind::Group(GroupOp::Patch {
                queue: self.queue(*queue),
                changes: changes.clone(),
                stream: StreamChanges::default(),
            }),
            Ask::Pause(queue, has_reason) => {
                let reason = has_reason.then(|| "upgrade".to_owned());
                OpKind::Group(GroupOp::Pause { queue: self.queue(*queue), reason })
            }
            Ask::Resume(queue) => OpKind::Group(GroupOp::Resume { queue: self.queue(*queue) }),
            Ask::Delete(queue, force) => OpKind::Delete(DeleteOp::Queue {
                queue: self.queue(*queue),
                force: *force,
                reason: DeadReason::QueueDeleted,
            }),
            Ask::Redrive { event, reset_attempts } => OpKind::Admin(AdminOp::Redrive {
                event: self.event(*event),
                queue: None,
                reset_attempts: *reset_attempts,
            }),
            Ask::Bury(hold) => {
                let held = newest(self.holds.len(), *hold).map(|at| self.holds[at].event);
                let event = held.unwrap_or(EventId::from_bits(1));
                OpKind::Admin(AdminOp::Bury { event, queue: None, reason: DeadReason::Damaged })
            }
            Ask::PutKey(name) => OpKind::Admin(AdminOp::PutKey(key(*name, wall))),
            Ask::Look(look) => OpKind::Read(self.read(look, None)),
        }
    }

    /// The read that `look` means, from `cursor` on where it is a list.
    pub(super) fn read(&self, look: &Look, cursor: Option<Cursor>) -> Read {
        match *look {
            Look::Queue(queue) => Read::Queue(self.queue(queue)),
            Look::Queues(prefix, limit) => {
                Read::Queues { name_prefix: ["", "a", "zz"][prefix % 3].to_owned(), cursor, limit }
            }
            Look::Event(event, payload) => Read::Event { event: self.event(event), payload },
            Look::DeadLetters(queue, limit) => {
                Read::DeadLetters { queue: self.queue(queue), cursor, limit, payload: limit > 1 }
            }
            Look::BadCursor(queue) => {
                let cursor = Some(Cursor(vec![1, 2, 3]));
                Read::DeadLetters { queue: self.queue(queue), cursor, limit: 5, payload: false }
            }
            Look::Keys => Read::Keys,
            Look::System => Read::System,
        }
    }

    /// Everything that can be read of what the script made.
    pub(super) fn everything(&self) -> Vec<Read> {
        let queues = self.queues.iter().map(|(id, _)| QueueRef::Id(*id));
        let letters = |queue| Read::DeadLetters { queue, cursor: None, limit: 3, payload: true };
        let mut all = vec![Read::Keys, Read::System];
        all.push(Read::Queues { name_prefix: String::new(), cursor: None, limit: 2 });
        all.extend(queues.clone().map(Read::Queue));
        all.extend(queues.map(letters));
        all.extend(self.events.iter().map(|&event| Read::Event { event, payload: true }));
        all
    }

    fn queue(&self, pick: Pick) -> QueueRef {
        let named = |pick: Pick| QueueRef::Name(NAMES[(pick >> 8) as usize % NAMES.len()].to_owned());
        let Some(at) = newest(self.queues.len(), pick) else { return named(0) };
        match pick % 16 {
            1 => QueueRef::Name("nowhere".to_owned()),
            2 | 3 => named(pick),
            4..10 => QueueRef::Name(self.queues[at].1.clone()),
            _ => QueueRef::Id(self.queues[at].0),
        }
    }

    fn event(&self, pick: Pick) -> EventId {
        let known = newest(self.events.len(), pick).map(|at| self.events[at]);
        let event = known.unwrap_or(EventId::from_bits(1));
        // Another publish time makes it nobody's.
        if pick % 16 == 1 { EventId::from_bits(event.bits() ^ (1 << 90)) } else { event }
    }

    fn due(&self, due: When, wall: Timestamp) -> Due {
        match due {
            When::Now => Due::Now,
            When::In(seconds) => seconds.try_into().map_or(Due::Now, Due::In),
            When::At(ms) => Due::At(wall.plus_ms(ms)),
        }
    }

    fn proof(&self, hold: Option<&Hold>, proof: ProofAsk, side: usize) -> Proof {
        let nonsense = || LeaseToken::new("nonsense");
        let token = |hold: &Hold| hold.tokens[side].clone();
        let Some(hold) = hold else { return Proof::Token(nonsense()) };
        match proof {
            ProofAsk::Token => Proof::Token(token(hold).unwrap_or_else(nonsense)),
            ProofAsk::Foreign(pick) => {
                let other = newest(self.holds.len(), pick).and_then(|at| token(&self.holds[at]));
                Proof::Token(other.unwrap_or_else(nonsense))
            }
            ProofAsk::Nonsense => Proof::Token(nonsense()),
            ProofAsk::Fence(off) => {
                Proof::Fence { queue: hold.queue, round: hold.round, fence: hold.fence + off }
            }
            ProofAsk::Operator => Proof::Operator { queue: None },
        }
    }
}

fn key(name: usize, wall: Timestamp) -> KeyRecord {
    KeyRecord {
        id: KeyId::from_bits(wall.as_ms().unsigned_abs().into()),
        name: NAMES[name % NAMES.len()].to_owned(),
        prefix: "nvk_x".to_owned(),
        digest: [name as u8; 32],
        scopes: vec!["read".to_owned()],
        queues: vec!["*".to_owned()],
        created_at: wall,
    }
}
