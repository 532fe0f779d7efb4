//! What a script has made so far, and the ops that its lines mean by now.
//!
//! Lives here: picks turned into queues, events and proofs of either engine. Not here: submitting
//! (`play.rs`).

use bytes::Bytes;
use naven_api::{EventId, LeaseToken, OperationId, QueueId, Timestamp};
use naven_core::DeadReason;

use super::bench::json;
use super::records::{key, key_id, note};
use super::script::{Ask, FromAsk, NAMES, Pick, ProofAsk, STREAMS, To, When};
use crate::queue::QueueRef;
use crate::reply::{OpError, OpReply};
use crate::txn::{
    AdminOp, Append, Claim, ClaimHold, DedupeKey, DedupeSpace, DeleteEntries, DeleteOp, Due, From, GroupOp,
    IdempotencySlot, Keep, Op, OpKind, Place, Proof, Reading, References, Settle, StreamRef, Target, Trim,
    Trimming,
};

mod held;
mod looks;

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
    places: Vec<Place>,
    /// Events that had a place when they were published.
    placed: Vec<(EventId, Place)>,
    holds: Vec<Hold>,
    /// What either door handed out: in which queue, at which place.
    handed: Vec<(QueueId, Place, EventId)>,
    /// What a holder's word made a dead letter, and in which queue.
    dead: Vec<(EventId, QueueId)>,
    pub(super) operations: Vec<OperationId>,
}

/// The newest ones are picked most of the time.
fn newest(length: usize, pick: Pick) -> Option<usize> {
    let among = if pick.is_multiple_of(8) { length } else { length.min(4) };
    (length > 0).then(|| length - 1 - (pick >> 8) as usize % among)
}

impl Known {
    /// Notes what both engines answered alike.
    pub(super) fn learn(&mut self, answers: [&Result<OpReply, OpError>; 2]) {
        if let [Ok(one), Ok(other)] = answers {
            self.learn_success([one, other]);
        }
    }

    fn learn_success(&mut self, answers: [&OpReply; 2]) {
        match answers {
            [OpReply::Queue(view), _] if !self.queues.iter().any(|(id, _)| *id == view.id) => {
                self.queues.push((view.id, view.name.clone()));
            }
            [OpReply::Event(view), _] if !self.events.contains(&view.id) => {
                self.events.push(view.id);
                self.places.extend(view.place);
                self.placed.extend(view.place.map(|place| (view.id, place)));
            }
            [OpReply::Read(reads), _] => {
                for (read, entry) in
                    reads.iter().flat_map(|read| read.entries.iter().map(move |one| (read, one)))
                {
                    let (event, queue) = (entry.event, read.queue);
                    self.holds.push(Hold { event, queue, round: 0, fence: 0, tokens: [None, None] });
                    self.places.push(entry.place);
                    self.handed.push((queue, entry.place, event));
                }
            }
            [OpReply::Operation(view), _] => self.operations.push(view.id),
            [OpReply::Replayed(one), OpReply::Replayed(other)] => self.learn_success([one, other]),
            [OpReply::Claimed(one), OpReply::Claimed(other)] => {
                for grant in &one.leases {
                    let place = self.placed.iter().find(|(event, _)| *event == grant.event);
                    self.handed.extend(place.map(|(event, place)| (grant.queue, *place, *event)));
                }
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
    pub(super) fn op(&self, ask: &Ask, side: usize, wall: Timestamp) -> Op {
        let Ask::Once(key, is_usual, ask) = ask else {
            let kind = self.kind(ask, side, wall);
            return Op { audit: note(&kind), ..Op::plain(kind) };
        };
        let kind = self.kind(ask, side, wall);
        let kind_no = match kind {
            OpKind::Append(_) => 1,
            OpKind::Claim(_) => 2,
            _ => 3,
        };
        let fingerprint = [u8::from(*is_usual); 32];
        let (scope, key) = (Bytes::copy_from_slice(&[kind_no]), Bytes::copy_from_slice(&[*key]));
        let slot = IdempotencySlot { scope, key, fingerprint };
        Op { idempotency: Some(slot), audit: note(&kind), ..Op::plain(kind) }
    }

    fn kind(&self, ask: &Ask, side: usize, wall: Timestamp) -> OpKind {
        match ask {
            Ask::Create { name, settings, on, stream } => {
                let name = NAMES[name % NAMES.len()].to_owned();
                let on = on.map(|(stream, from)| Reading {
                    stream: self.shared(stream),
                    from: self.from(from, wall),
                });
                OpKind::Group(GroupOp::Create { name, settings: settings.clone(), on, stream: *stream })
            }
            Ask::Publish { to, due, bytes, max_attempts, expires_ms, dedupe } => OpKind::Append(Append {
                to: self.target(*to),
                body: json(&payload(*bytes)),
                due: self.due(*due, wall),
                headers: vec![("to".to_owned(), format!("{to:?}"))],
                max_attempts: *max_attempts,
                dedupe: dedupe.map(dedupe_key),
                expires_at: expires_ms.map(|ms| wall.plus_ms(ms)),
                trace: (*bytes == 10).then(|| Box::new(super::telling::trace(*max_attempts))),
                entry: None,
            }),
            Ask::Once(_, _, ask) => self.kind(ask, side, wall),
            Ask::Claim { queue, max, seconds, max_bytes } => OpKind::Claim(Claim {
                queue: self.queue(*queue),
                hold: ClaimHold::Lease(seconds.and_then(|seconds| seconds.try_into().ok())),
                max: *max,
                max_bytes: *max_bytes,
                consumer: if queue.is_multiple_of(2) { "w1".parse().ok() } else { None },
            }),
            Ask::Reader(ask) => self.reader_op(ask, wall),
            Ask::Settle { hold, proof, step } => {
                let hold = self.hold(*hold, *proof);
                let event = hold.map_or(EventId::from_bits(1), |hold| hold.event);
                let proof = self.proof(hold, *proof, side);
                OpKind::Settle(Settle { event, proof, step: step.clone() })
            }
            Ask::Patch(..) | Ask::Reset(..) | Ask::Pause(..) | Ask::Resume(_) => self.group(ask, wall),
            Ask::Redrive { .. } | Ask::Cancel(..) | Ask::Bury(_) => self.admin(ask, wall),
            Ask::Reschedule { .. } | Ask::RunNow(..) => self.admin(ask, wall),
            Ask::Dead(ask) => self.dead_op(ask),
            Ask::Group(ask) => self.group_op(ask),
            Ask::Entry(ask) => self.entry_op(ask, wall),
            Ask::PutKey(name, over) => {
                OpKind::Admin(AdminOp::PutKey { record: key(*name, *over, wall), over: *over })
            }
            Ask::DeleteKey(name, revision) => {
                OpKind::Admin(AdminOp::DeleteKey { key: key_id(*name), revision: *revision })
            }
            Ask::Look(look) => OpKind::Read(self.read(look, None)),
            Ask::Delete(..)
            | Ask::DeleteConsumer(..)
            | Ask::DeleteStream(..)
            | Ask::Trim(..)
            | Ask::TrimBefore(..)
            | Ask::DeleteEntry(..) => self.removal(ask),
        }
    }

    fn group(&self, ask: &Ask, wall: Timestamp) -> OpKind {
        match ask {
            Ask::Patch(queue, changes, stream) => OpKind::Group(GroupOp::Patch {
                queue: self.queue(*queue),
                changes: changes.clone(),
                stream: *stream,
                // Now and then only at some revision.
                revision: (*queue % 4 == 0).then_some(1 + *queue as u64 % 3),
            }),
            Ask::Reset(queue, from) => {
                OpKind::Group(GroupOp::Reset { queue: self.queue(*queue), from: self.from(*from, wall) })
            }
            Ask::Pause(queue, has_reason) => {
                let reason = has_reason.then(|| "upgrade".to_owned());
                OpKind::Group(GroupOp::Pause { queue: self.queue(*queue), reason })
            }
            Ask::Resume(queue) => OpKind::Group(GroupOp::Resume { queue: self.queue(*queue) }),
            other => unreachable!("{other:?} is of no queue"),
        }
    }

    fn removal(&self, ask: &Ask) -> OpKind {
        match ask {
            Ask::Delete(queue, force) => OpKind::Delete(DeleteOp::Queue {
                queue: self.queue(*queue),
                force: *force,
                reason: if *force && *queue & 0x1_0000 == 0 {
                    DeadReason::GroupDestroyed
                } else {
                    DeadReason::QueueDeleted
                },
                revision: (*queue % 4 == 0).then_some(1 + *queue as u64 % 3),
            }),
            Ask::DeleteConsumer(queue, consumer) => OpKind::Delete(DeleteOp::Consumer {
                queue: self.queue(*queue),
                name: consumer_name(*consumer),
            }),
            Ask::DeleteStream(stream, force) => {
                OpKind::Delete(DeleteOp::Stream { stream: self.stream(*stream), force: *force })
            }
            Ask::Trim(stream, newest, limit) => OpKind::Trim(Trim {
                stream: self.stream(*stream),
                how: Trimming { limit: *limit, ..Trimming::to(Keep::Newest(*newest)) },
            }),
            Ask::TrimBefore(stream, event) => OpKind::Trim(Trim {
                stream: self.stream(*stream),
                how: Trimming::to(Keep::From(self.place(*event))),
            }),
            Ask::DeleteEntry(stream, event) => {
                let (stream, places) = (self.stream(*stream), vec![self.place(*event)]);
                OpKind::DeleteEntries(DeleteEntries { stream, places, references: References::Keep })
            }
            other => unreachable!("{other:?} removes nothing"),
        }
    }

    fn admin(&self, ask: &Ask, wall: Timestamp) -> OpKind {
        match ask {
            Ask::Redrive { event, queue, reset_attempts } => {
                let (event, queue) = self.dead_letter(*event, *queue);
                OpKind::Admin(AdminOp::Redrive { event, queue, reset_attempts: *reset_attempts })
            }
            Ask::Cancel(event, queue, says_why) => OpKind::Admin(AdminOp::Cancel {
                event: self.event(*event),
                queue: queue.map(|queue| self.queue(queue)),
                reason: says_why.then(|| naven_api::ErrorText::new("no use")),
            }),
            Ask::Reschedule { event, queue, due, max_attempts } => OpKind::Admin(AdminOp::Reschedule {
                event: self.event(*event),
                queue: queue.map(|queue| self.queue(queue)),
                due: due.map(|due| self.due(due, wall)),
                max_attempts: *max_attempts,
            }),
            Ask::RunNow(event, queue) => OpKind::Admin(AdminOp::RunNow {
                event: self.event(*event),
                queue: queue.map(|queue| self.queue(queue)),
            }),
            Ask::Bury(hold) => {
                let held = newest(self.holds.len(), *hold).map(|at| &self.holds[at]);
                let event = held.map_or(EventId::from_bits(1), |hold| hold.event);
                let queue = held.filter(|_| hold.is_multiple_of(2)).map(|hold| QueueRef::Id(hold.queue));
                OpKind::Admin(AdminOp::Bury { event, queue, reason: DeadReason::Damaged })
            }
            other => unreachable!("{other:?} is no operator's"),
        }
    }

    pub(super) fn queue(&self, pick: Pick) -> QueueRef {
        let named = |pick: Pick| QueueRef::Name(NAMES[(pick >> 8) as usize % NAMES.len()].to_owned());
        let Some(at) = newest(self.queues.len(), pick) else { return named(0) };
        match pick % 16 {
            1 => QueueRef::Name("nowhere".to_owned()),
            2 | 3 => named(pick),
            15 => self.on_stream(pick),
            4..10 => QueueRef::Name(self.queues[at].1.clone()),
            _ => QueueRef::Id(self.queues[at].0),
        }
    }

    /// A shared stream, or one in eight times another's.
    pub(super) fn shared(&self, pick: Pick) -> StreamRef {
        let name = match pick % 8 {
            1 => NAMES[(pick >> 8) as usize % NAMES.len()],
            2..4 => STREAMS[1],
            _ => STREAMS[0],
        };
        StreamRef(Bytes::from_static(name.as_bytes()))
    }

    pub(super) fn stream(&self, pick: Pick) -> StreamRef {
        match pick % 16 {
            5 => StreamRef(Bytes::from_static(b"nowhere")),
            _ => self.shared(pick),
        }
    }

    fn target(&self, to: To) -> Target {
        match to {
            To::Stream(pick) => Target::Stream(self.stream(pick)),
            To::Queue(pick) => Target::Queue(self.queue(pick)),
        }
    }

    fn from(&self, from: FromAsk, wall: Timestamp) -> From {
        match from {
            FromAsk::New => From::New,
            FromAsk::Start => From::Start,
            FromAsk::At(ms) => From::Time(wall.plus_ms(ms)),
            FromAsk::After(event) => From::After(self.place(event)),
        }
    }

    /// A place that is not before any known one, nor before this instant.
    pub(super) fn last_place(&self, wall: Timestamp) -> Place {
        let now = Place { ms: u64::try_from(wall.as_ms()).unwrap_or(0), seq: 0 };
        self.places.iter().copied().chain([now]).max().unwrap_or(now)
    }

    pub(super) fn place(&self, pick: Pick) -> Place {
        newest(self.places.len(), pick).map_or(Place { ms: 1, seq: 1 }, |at| self.places[at])
    }

    pub(super) fn event(&self, pick: Pick) -> EventId {
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
            ProofAsk::Among(named) => Proof::TokenAmong {
                token: token(hold).unwrap_or_else(nonsense),
                queues: if named { vec![hold.queue] } else { Vec::new() },
            },
            ProofAsk::Nonsense => Proof::Token(nonsense()),
            ProofAsk::Fence(off) => {
                Proof::Fence { queue: hold.queue, round: hold.round, fence: hold.fence + off }
            }
            ProofAsk::Group => Proof::Group { queue: QueueRef::Id(hold.queue) },
            ProofAsk::Operator(named) => Proof::Operator { queue: named.then_some(QueueRef::Id(hold.queue)) },
        }
    }
}

/// A payload of so many bytes.
fn payload(bytes: usize) -> String {
    bytes.checked_sub(8).map_or("{}".to_owned(), |rest| format!("{{\"n\":\"{}\"}}", "x".repeat(rest)))
}

/// The second is no text and begins as another does; the third is empty, as nobody's is.
pub(super) fn consumer_name(number: u8) -> Bytes {
    Bytes::from_static([&b"c"[..], b"c\xff\0", b""][usize::from(number) % 3])
}

pub(super) fn dedupe_key(number: u8) -> DedupeKey {
    let space = match number {
        2 => DedupeSpace::Producer(Bytes::from_static(b"p")),
        _ => DedupeSpace::Http,
    };
    DedupeKey { space, key: Bytes::copy_from_slice(&[b'0' + number / 2]) }
}
