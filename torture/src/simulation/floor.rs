//! Where clients and server meet: time, the network between them, and the record of what was said.
//!
//! Lives here: what happens when, requests on their way, and the history. Not here: who asks (`worker.rs`,
//! `publisher.rs`, `operator.rs`), the server's side (`world.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use naven_api::{EventId, QueueId};
use naven_store::conformance::clock::WALL_START_MS;
use naven_store::embedded::stepped::Part;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{OpKind, Txn};

use super::dice::Dice;
use super::plan::{Blow, Network, Plan};
use super::words::answer_of;
use crate::history::{Answer, Ask, Call, History};
/// What an actor reminds itself of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Note {
    /// Do the next thing.
    Go,
    /// A heartbeat is due for this lease.
    Beat(usize),
    /// The work on this lease is over.
    Finish(usize),
    /// Something is said of a lease that was settled or lost.
    Stray(usize),
}

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Happening {
    Turn(Part3),
    Arrives {
        request: usize,
        is_copy: bool,
    },
    /// Its caller hears the answer.
    Hears {
        request: usize,
    },
    TimesOut {
        request: usize,
    },
    Wakes {
        actor: usize,
        note: Note,
    },
    Blow(usize),
    Dies {
        by_power: bool,
    },
    Starts,
    /// The engine looks around.
    Looks,
    Heals,
}

/// A part in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part3(pub(super) u8);

impl Part3 {
    pub(super) fn of(part: Part) -> Self {
        Self(Part::ALL.iter().position(|one| *one == part).expect("every part is among all") as u8)
    }

    pub(super) fn part(self) -> Part {
        Part::ALL[usize::from(self.0)]
    }
}

/// What somebody asks for, in one transaction of one op.
pub(super) struct Wish {
    pub(super) op: OpKind,
    /// What the history has of it, once for each queue that it concerns.
    pub(super) asks: Vec<(QueueId, Ask)>,
    /// What it takes effect as, at most once however often it is sent; the request that was the first to say it.
    pub(super) once: Option<Once>,
}

/// A wish that the server knows again.
pub(super) enum Once {
    First,
    As(usize),
}

pub(super) struct Request {
    pub(super) actor: usize,
    pub(super) txn: Txn,
    /// Its calls in the history.
    calls: Vec<usize>,
    is_over: bool,
    /// What was answered, on its way back.
    reply: Option<Result<OpReply, OpError>>,
}

/// What a caller learns of its request.
pub(super) enum Heard {
    Answer(Result<OpReply, OpError>),
    /// It waited long enough, or the connection broke.
    Nothing,
}

pub(super) struct Floor {
    pub(super) dice: Dice,
    pub(super) now_ms: i64,
    /// How far the server's wall clock is ahead.
    pub(super) offset_ms: i64,
    pub(super) network: Network,
    pub(super) history: History,
    pub(super) queues: Vec<QueueId>,
    /// Every event that somebody was told of.
    pub(super) events: Vec<EventId>,
    pub(super) requests: Vec<Request>,
    pub(super) trace: DefaultHasher,
    pub(super) is_healed: bool,
    coming: BinaryHeap<Reverse<(i64, u64, Happening)>>,
    planned: u64,
    /// What no answer of the engine should ever be.
    pub(super) odd: Vec<String>,
}

impl Floor {
    pub(super) fn new(dice: Dice, plan: &Plan) -> Self {
        Self {
            dice,
            now_ms: 0,
            offset_ms: 0,
            network: plan.network,
            history: History::default(),
            queues: Vec::new(),
            events: Vec::new(),
            requests: Vec::new(),
            trace: DefaultHasher::new(),
            is_healed: false,
            coming: BinaryHeap::new(),
            planned: 0,
            odd: Vec::new(),
        }
    }

    pub(super) fn plan(&mut self, in_ms: i64, happening: Happening) {
        self.planned += 1;
        self.coming.push(Reverse((self.now_ms + in_ms.max(0), self.planned, happening)));
    }

    pub(super) fn wake(&mut self, actor: usize, in_ms: i64, note: Note) {
        self.plan(in_ms, Happening::Wakes { actor, note });
    }

    /// What comes next, and how long until then.
    pub(super) fn next(&mut self) -> Option<(i64, Happening)> {
        let Reverse((at_ms, _, happening)) = self.coming.pop()?;
        let passed = at_ms - self.now_ms;
        self.now_ms = at_ms;
        (at_ms, happening).hash(&mut self.trace);
        Some((passed, happening))
    }

    pub(super) fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// The wall clock of the server, as clients would see it.
    pub(super) fn wall_ms(&self) -> i64 {
        WALL_START_MS + self.now_ms + self.offset_ms
    }

    /// Sends a request on its way. Its caller hears of it in any case.
    pub(super) fn send(&mut self, actor: usize, wish: Wish) -> usize {
        let request = self.requests.len();
        let calls = match wish.once {
            Some(Once::As(first)) => self.requests[first].calls.clone(),
            Some(Once::First) | None => self.record(actor, &wish.asks),
        };
        let txn = Txn::one(wish.op);
        self.requests.push(Request { actor, txn, calls, is_over: false, reply: None });
        if !self.dice.percent(self.network.lost) {
            let way = self.dice.between(0..=self.network.way_ms);
            self.plan(way, Happening::Arrives { request, is_copy: false });
        }
        if self.dice.percent(self.network.doubled) {
            if wish.once.is_none() {
                self.record(actor, &wish.asks);
            }
            let way = self.dice.between(0..=self.network.way_ms * 4);
            self.plan(way, Happening::Arrives { request, is_copy: true });
        }
        self.plan(self.network.patience_ms, Happening::TimesOut { request });
        request
    }

    fn record(&mut self, actor: usize, asks: &[(QueueId, Ask)]) -> Vec<usize> {
        let first = self.history.calls.len();
        let (client, begun_ms) = (actor as u32, self.now_ms);
        self.history.calls.extend(asks.iter().map(|(queue, ask)| Call {
            client,
            begun_ms,
            ended_ms: None,
            queue: *queue,
            ask: *ask,
            answer: Answer::Unknown,
        }));
        (first..self.history.calls.len()).collect()
    }

    /// The server answers. False where the answer is lost on its way.
    pub(super) fn answer(&mut self, request: usize, reply: Result<OpReply, OpError>) -> bool {
        let is_lost = self.dice.percent(self.network.lost);
        if is_lost || self.requests[request].is_over || self.requests[request].reply.is_some() {
            return !is_lost;
        }
        self.requests[request].reply = Some(reply);
        let way = self.dice.between(0..=self.network.way_ms);
        self.plan(way, Happening::Hears { request });
        true
    }

    /// What its caller is told, if it still listens.
    pub(super) fn hear(&mut self, request: usize) -> Option<(usize, Heard)> {
        let request = &mut self.requests[request];
        let reply = request.reply.take().filter(|_| !request.is_over)?;
        request.is_over = true;
        let (actor, calls) = (request.actor, request.calls.clone());
        for at in calls {
            let call = &mut self.history.calls[at];
            call.ended_ms = Some(self.now_ms);
            match answer_of(&call.ask, call.queue, &reply) {
                Ok(answer) => call.answer = answer,
                Err(odd) => self.odd.push(odd),
            }
            call.answer_hash().hash(&mut self.trace);
            self.events.extend(told(&self.history.calls[at].answer));
        }
        Some((actor, Heard::Answer(reply)))
    }

    /// The same where none comes any more: whether it was done is not known.
    pub(super) fn give_up(&mut self, request: usize) -> Option<(usize, Heard)> {
        let request = &mut self.requests[request];
        if std::mem::replace(&mut request.is_over, true) {
            return None;
        }
        Some((request.actor, Heard::Nothing))
    }

    /// True where somebody was told of this event in this queue.
    pub(super) fn knows(&self, queue: QueueId, ask: &Ask) -> bool {
        let is_told = |call: &Call| told(&call.answer).iter().any(|event| ask.event() == Some(*event));
        self.history.calls.iter().any(|call| call.queue == queue && is_told(call))
    }

    /// Nobody listened at the server's address: certainly nothing was done.
    pub(super) fn refuse(&mut self, request: usize) {
        let reply = Err(OpError::Unavailable);
        self.answer(request, reply);
    }
}

/// The events that an answer tells of.
fn told(answer: &Answer) -> Vec<EventId> {
    match answer {
        Answer::Published { event } => vec![*event],
        Answer::Claimed(grants) => grants.iter().map(|grant| grant.event).collect(),
        _ => Vec::new(),
    }
}

impl Call {
    fn answer_hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        format!("{:?}", self.answer).hash(&mut hash);
        hash.finish()
    }
}

/// What is planned at the beginning.
pub(super) fn plan_blows(floor: &mut Floor, blows: &[(i64, Blow)]) {
    for (at, (at_ms, _)) in blows.iter().enumerate() {
        floor.plan(*at_ms, Happening::Blow(at));
    }
}
