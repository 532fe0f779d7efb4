//! One simulated world, from its first call to the last event that is finished.
//!
//! Lives here: what happens in which order. Not here: who takes part (`worker.rs`, `publisher.rs`, `operator.rs`,
//! `server.rs`), the judging of what was said (`crate::checker`).

use naven_api::{Backoff, LeaseSeconds, limits};
use naven_core::View;
use naven_store::conformance::clock::WALL_START_MS;
use naven_store::embedded::stepped::{Part, Turn};
use naven_store::queue::{QueueRef, QueueSettings, StreamChanges};
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{From, GroupOp, OpKind, Reading, StreamRef, Txn};

use super::dice::Dice;
use super::floor::{Floor, Happening, Heard, Part3, plan_blows};
use super::operator::Operator;
use super::plan::{Blow, Network, Plan};
use super::publisher::{Publisher, STREAM};
use super::server::{End, Server};
use super::worker::Worker;
use crate::history::{self, WorldEvent};

/// Until then, counted from when all is well again, everything has to be finished.
const FINISHED_MS: i64 = 400_000;
/// How often the engine looks around with nothing asked.
pub(super) const LOOK_MS: i64 = 250;
/// How much later it may come to it.
pub(super) const TURN_MS: i64 = 10;
/// How often a disk without room is tried again.
const ROOM_AGAIN_MS: i64 = 1_000;
/// Most that may happen in one world; more is a livelock.
const HAPPENINGS_MAX: u64 = 200_000;

enum Actor {
    Worker(Worker),
    Publisher(Publisher),
    Operator(Operator),
}

pub(super) struct World {
    pub(super) floor: Floor,
    pub(super) server: Server,
    actors: Vec<Actor>,
    plan: Plan,
    /// What is wrong with the server, apart from what clients saw.
    pub(super) wrong: Vec<String>,
    healed_ms: i64,
    is_over: bool,
    /// A turn of this part is planned.
    turns: [bool; 4],
    /// The next syncs take so long.
    slow_ms: i64,
    pub(super) starts: u32,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let plan = Plan::of(&dice);
        let server = Server::new(plan.pace);
        let mut world = Self {
            floor: Floor::new(dice, &plan),
            server,
            actors: Vec::new(),
            plan,
            wrong: Vec::new(),
            healed_ms: 0,
            is_over: false,
            turns: [false; 4],
            slow_ms: 0,
            starts: 0,
        };
        world.begin();
        world
    }

    /// The server starts well, and the queues are made before anything goes wrong.
    fn begin(&mut self) {
        self.set_clock(0);
        self.start();
        for no in 0..self.plan.queues {
            self.make_queue(no);
        }
        let (plan, floor) = (&self.plan, &mut self.floor);
        plan_blows(floor, &plan.blows);
        let queues = plan.queues;
        for at in 0..plan.publishers {
            self.actors.push(Actor::Publisher(Publisher::new(at, plan.is_shared, plan.events, floor)));
        }
        for at in 0..plan.workers.max(queues) {
            let no = self.actors.len();
            self.actors.push(Actor::Worker(Worker::new(no, at % queues, plan.lease_seconds, floor)));
        }
        for _ in 0..plan.operators {
            self.actors.push(Actor::Operator(Operator::new(self.actors.len(), floor)));
        }
        floor.plan(plan.trouble_ms, Happening::Heals);
        floor.plan(LOOK_MS, Happening::Looks);
    }

    fn make_queue(&mut self, no: usize) {
        let settings = QueueSettings {
            default_lease: LeaseSeconds::try_from(self.plan.lease_seconds).expect("leases are in bounds"),
            max_lease_seconds: self.plan.max_lease_seconds,
            max_attempts: self.plan.max_attempts,
            backoff: Backoff { initial_seconds: 1, max_seconds: 4, ..Backoff::default() },
            late_ack_grace_seconds: self.plan.grace_seconds,
            ..QueueSettings::default()
        };
        let kept = history::QueueSettings {
            max_attempts: settings.max_attempts,
            max_lease_ms: (settings.max_lease_seconds > 0)
                .then(|| i64::from(settings.max_lease_seconds) * 1_000),
            grace_ms: i64::from(settings.late_ack_grace_seconds) * 1_000,
            ..history::QueueSettings::default()
        };
        let on = Reading { stream: StreamRef(STREAM.into()), from: From::Start };
        let op = GroupOp::Create {
            name: format!("q{no}"),
            settings: Box::new(settings),
            on: self.plan.is_shared.then_some(on),
            // A clock that jumps by hours ends no dedupe key early.
            stream: StreamChanges {
                dedupe_window_seconds: Some(limits::DEDUPE_WINDOW_SECONDS_MAX),
                ..StreamChanges::default()
            },
        };
        self.server.ask(usize::MAX, Txn::one(OpKind::Group(op)));
        let reply = loop {
            self.server.turn(Part::Sequencer);
            self.server.turn(Part::Log);
            if let Some((_, reply)) = self.server.answered().pop() {
                break reply;
            }
        };
        let Ok(OpReply::Queue(view)) = &reply.ops[0] else { panic!("a queue is made: {reply:?}") };
        self.floor.queues.push(view.id);
        self.floor.history.queues.insert(view.id, kept);
    }

    /// The longest that the log may be held up: by slow syncs, and by a disk without room.
    pub(super) fn held_up_ms(&self) -> i64 {
        let of = |(at_ms, blow): &(i64, Blow)| match blow {
            Blow::SlowSync { ms } => *ms,
            Blow::DiskFull => ROOM_AGAIN_MS - at_ms,
            Blow::DiskRoom => *at_ms,
            // It may say that there is no room, which is tried again.
            Blow::DiskError => ROOM_AGAIN_MS,
            Blow::Kill | Blow::PowerCut | Blow::Stop | Blow::Clock { .. } => 0,
        };
        self.plan.blows.iter().map(of).sum::<i64>() + self.plan.sync_ms
    }

    /// How much befell it.
    pub(super) fn faults(&self) -> u64 {
        self.plan.blows.len() as u64
    }

    /// Lives it to its end.
    pub(super) fn live(&mut self) {
        let mut happened = 0;
        while !self.is_over
            && let Some((passed_ms, happening)) = self.floor.next()
        {
            self.server.pass(passed_ms);
            self.happens(happening);
            happened += 1;
            if happened > HAPPENINGS_MAX {
                self.wrong.push("it never comes to an end".to_owned());
                return;
            }
        }
    }

    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Turn(part) => self.turn(part.part()),
            Happening::Arrives { request, is_copy } => self.arrives(request, is_copy),
            Happening::Hears { request } => {
                let heard = self.floor.hear(request);
                self.hears(request, heard);
            }
            Happening::TimesOut { request } => {
                if self.floor.dice.percent(self.floor.network.noticed) {
                    self.server.hang_up(request);
                }
                let heard = self.floor.give_up(request);
                self.hears(request, heard);
            }
            Happening::Wakes { actor, note } => match &mut self.actors[actor] {
                Actor::Worker(worker) => worker.wakes(note, &mut self.floor),
                Actor::Publisher(publisher) => publisher.wakes(&mut self.floor),
                Actor::Operator(operator) => operator.wakes(&mut self.floor),
            },
            Happening::Blow(at) => self.blow(self.plan.blows[at].1),
            Happening::Dies { by_power } => self.die(if by_power { End::PowerCut } else { End::Kill }),
            Happening::Starts => self.start(),
            Happening::Looks => self.look_around(),
            Happening::Heals => self.heal(),
        }
    }

    fn hears(&mut self, request: usize, heard: Option<(usize, Heard)>) {
        let Some((actor, heard)) = heard else { return };
        match &mut self.actors[actor] {
            Actor::Worker(worker) => worker.hears(request, &heard, &mut self.floor),
            Actor::Publisher(publisher) => publisher.hears(request, &heard, &mut self.floor),
            Actor::Operator(operator) => operator.hears(request, &mut self.floor),
        }
    }

    fn arrives(&mut self, request: usize, is_copy: bool) {
        let txn = self.floor.requests[request].txn.clone();
        if self.server.ask(request, txn) {
            self.plan_turn(Part::Sequencer, 3);
        } else if !is_copy {
            self.floor.refuse(request);
        }
    }

    fn plan_turn(&mut self, part: Part, within_ms: i64) {
        let part = Part3::of(part);
        if !std::mem::replace(&mut self.turns[usize::from(part.0)], true) {
            let in_ms = self.floor.dice.between(0..=within_ms);
            self.floor.plan(in_ms, Happening::Turn(part));
        }
    }

    fn turn(&mut self, part: Part) {
        self.turns[usize::from(Part3::of(part).0)] = false;
        let came_to = self.server.turn(part);
        match part {
            Part::Sequencer => {
                let usual_ms = if self.floor.is_healed { 1 } else { self.plan.sync_ms };
                let sync_ms = usual_ms + std::mem::take(&mut self.slow_ms);
                self.plan_turn(Part::Log, sync_ms);
            }
            Part::Log if came_to == Turn::Done => {
                self.plan_turn(Part::Log, self.plan.sync_ms);
                self.plan_turn(Part::Checkpoints, 60);
                self.plan_turn(Part::Segments, 60);
            }
            Part::Log if came_to == Turn::NoRoom => self.plan_turn(Part::Log, ROOM_AGAIN_MS),
            Part::Checkpoints if came_to == Turn::Done => self.plan_turn(Part::Checkpoints, 60),
            Part::Log | Part::Segments | Part::Checkpoints => {}
        }
        self.look_after();
    }

    /// Sends what is answered, and ends a process whose engine has failed.
    fn look_after(&mut self) {
        for (request, mut reply) in self.server.answered() {
            let reply = reply.ops.pop().expect("a transaction of one op has one answer");
            if request != usize::MAX {
                self.floor.answer(request, reply);
            }
        }
        if self.server.has_failed() {
            self.floor.plan(self.floor.dice.between(0..=1_000), Happening::Dies { by_power: false });
        }
    }

    fn look_around(&mut self) {
        self.floor.plan(LOOK_MS, Happening::Looks);
        self.server.tend();
        self.plan_turn(Part::Sequencer, TURN_MS);
        for part in [Part::Checkpoints, Part::Segments] {
            self.plan_turn(part, 900);
        }
        if !self.server.is_up() || !self.floor.is_healed {
            return;
        }
        let is_published = self.actors.iter().all(|actor| match actor {
            Actor::Publisher(publisher) => publisher.is_done(),
            Actor::Worker(_) | Actor::Operator(_) => true,
        });
        if is_published && self.is_finished() {
            self.is_over = true;
        } else if self.floor.now_ms > self.healed_ms + FINISHED_MS {
            let queues = self.floor.queues.clone();
            let counts: Vec<_> =
                queues.into_iter().map(|queue| self.counts(queue).map(|view| view.counts)).collect();
            self.wrong.push(format!("not everything is finished: {counts:?}"));
            self.is_over = true;
        }
    }

    fn is_finished(&mut self) -> bool {
        self.floor.queues.clone().into_iter().all(|queue| {
            self.counts(queue).is_some_and(|view| view.counts.unfinished() == view.counts.of(View::Dead))
        })
    }

    fn counts(&mut self, queue: naven_api::QueueId) -> Option<Box<naven_store::read::QueueView>> {
        match self.server.look(Read::Queue(QueueRef::Id(queue)))? {
            // It fails, and will start again.
            Err(OpError::Unavailable) if self.server.has_failed() => None,
            Ok(Page::Queue(view)) => Some(view),
            other => {
                self.wrong.push(format!("a queue is looked at: {other:?}"));
                None
            }
        }
    }

    fn blow(&mut self, blow: Blow) {
        match blow {
            Blow::Kill => self.die(End::Kill),
            Blow::PowerCut => self.die(End::PowerCut),
            Blow::Stop => self.stop(),
            Blow::Clock { offset_ms } => self.set_clock(offset_ms),
            Blow::DiskError => self.server.fail_disk(&self.floor.dice),
            Blow::DiskFull => self.server.leave_room(Some(self.floor.dice.between(0..=150_000) as u64)),
            Blow::DiskRoom => self.server.leave_room(None),
            Blow::SlowSync { ms } => self.slow_ms = ms,
        }
    }

    fn set_clock(&mut self, offset_ms: i64) {
        let at_ms = self.floor.now_ms;
        self.floor.offset_ms = offset_ms;
        self.server.set_wall(at_ms, offset_ms);
        let offset_ms = WALL_START_MS + offset_ms;
        self.floor.history.world.push(WorldEvent::WallClock { at_ms, offset_ms });
    }

    fn die(&mut self, end: End) {
        if !self.server.is_up() {
            return;
        }
        self.server.die(end, &self.floor.dice);
        self.is_down();
    }

    fn stop(&mut self) {
        if !self.server.is_up() {
            return;
        }
        if !self.server.stop() {
            self.wrong.push("it does not stop".to_owned());
        }
        self.is_down();
    }

    fn is_down(&mut self) {
        self.floor.history.world.push(WorldEvent::Crash { at_ms: self.floor.now_ms });
        let in_ms = if self.floor.is_healed { 10 } else { self.floor.dice.between(0..=2_500) };
        self.floor.plan(in_ms, Happening::Starts);
    }

    fn start(&mut self) {
        if self.server.is_up() {
            return;
        }
        self.starts += 1;
        if let Err(error) = self.server.start(&self.floor.dice) {
            self.wrong.push(format!("it does not start: {error}"));
            self.is_over = true;
            return;
        }
        if self.starts > 1 {
            self.floor.history.world.push(WorldEvent::Restart { at_ms: self.floor.now_ms });
        }
    }

    fn heal(&mut self) {
        self.floor.is_healed = true;
        self.healed_ms = self.floor.now_ms;
        self.floor.network = Network::PERFECT;
        self.server.mend_disk();
        self.slow_ms = 0;
        // Ahead of where it ever was, so that what was put off by it is due.
        let ahead = self.plan.blows.iter().map(|(_, blow)| match blow {
            Blow::Clock { offset_ms } => *offset_ms,
            _ => 0,
        });
        self.set_clock(ahead.max().unwrap_or(0).max(0));
        self.floor.history.world.push(WorldEvent::Healed { at_ms: self.floor.now_ms });
    }
}
