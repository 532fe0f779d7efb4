//! One world of the whole server, from its first request to its last.
//!
//! Lives here: who takes part, what befalls whom, and what is wrong in the end. Not here: what the parts do.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::catch_unwind;
use std::rc::Rc;
use std::time::Duration;

use naven_api::EventId;
use naven_server::auth::BearerKey;
use naven_store::conformance::SeededRandom;
use naven_store::conformance::clock::WALL_START_MS;
use naven_store::embedded::Pace;
use naven_store::embedded::verify::verify;
use turmoil::Sim;

use super::actors::{close, publish, set_up, work};
use super::machine::{self, LOOK_EVERY, Shared, World};
use super::reader::{Readings, read};
use crate::checker::{Report, Rules};
use crate::history::{Answer, History, QueueSettings, WorldEvent};
use crate::simulation::{Dice, End, Outcome, Server, panicked};

const TICK_MS: i64 = 10;
/// Once all is well everything has to be finished within this time.
const FINISHED_MS: i64 = 240_000;
/// The longest that what befell the world lasts.
const FAULT_MS: i64 = 6_000;
/// How often a disk without room is tried again.
const ROOM_AGAIN_MS: i64 = 1_000;
/// The longest that a sync takes.
const SLOW_SYNC_MS: i64 = 3_000;
const SERVER: &str = "naven";

/// Who takes part.
struct Cast {
    publishers: u32,
    events: usize,
    workers: u32,
    readers: u32,
    lease_seconds: u32,
    max_attempts: u32,
    trouble_ms: i64,
}

impl Cast {
    fn of(dice: &Dice) -> Self {
        Self {
            publishers: dice.between(1..=3) as u32,
            events: dice.count(15..=40),
            workers: dice.between(2..=5) as u32,
            readers: dice.between(1..=3) as u32,
            lease_seconds: dice.between(1..=4) as u32,
            max_attempts: dice.one_of(&[2, 4, 1_000]),
            trouble_ms: dice.between(90_000..=150_000),
        }
    }

    fn clients(&self) -> Vec<String> {
        let names =
            |kind: &str, count: u32| (0..count).map(move |no| format!("{kind}{no}")).collect::<Vec<_>>();
        [names("p", self.publishers), names("w", self.workers), names("r", self.readers)].concat()
    }
}

impl World {
    /// True where the group has read and finished whatever was published.
    pub(super) fn is_read(&self) -> bool {
        let finished = self.readings.finished();
        self.published.iter().all(|name| finished.contains(name.as_str()))
    }

    /// Every event that a client was told of.
    pub(super) fn events(&self) -> BTreeSet<EventId> {
        let told = |answer: &Answer| match answer {
            Answer::Published { event } => vec![*event],
            Answer::Claimed(grants) => grants.iter().map(|grant| grant.event).collect(),
            _ => Vec::new(),
        };
        self.history.calls.iter().flat_map(|call| told(&call.answer)).collect()
    }
}

/// Lives the world of a seed.
pub fn simulate(seed: u64) -> Outcome {
    catch_unwind(|| live(seed)).unwrap_or_else(|panic| {
        let wrong = vec![panicked(&*panic)];
        Outcome { seed, wrong, ..Outcome::default() }
    })
}

fn live(seed: u64) -> Outcome {
    let dice = Dice::new(seed);
    let cast = Cast::of(&dice);
    let pace = if dice.percent(50) {
        Pace { rows: 30, bytes: 8 << 10, age_ms: 500 }
    } else {
        Pace::of_segments(64 << 10)
    };
    let random = SeededRandom::new(dice.draw());
    let server = Server::new(pace);
    let key = BearerKey::generate(&*server.clock(), &random);
    let world = World {
        dice,
        server,
        key,
        now_ms: 0,
        tick_ms: TICK_MS,
        history: History::default(),
        wrong: Vec::new(),
        is_healed: false,
        is_over: false,
        slow_ms: 0,
        publishers: cast.publishers,
        published: BTreeSet::new(),
        readings: Readings::default(),
    };
    let start = WorldEvent::WallClock { at_ms: 0, offset_ms: WALL_START_MS };
    let world: Shared = Rc::new(RefCell::new(world));
    world.borrow_mut().history.world.push(start);
    let faults = Drive::new(seed, &world, &cast).run();
    judge(seed, &world, faults)
}

fn judge(seed: u64, world: &Shared, faults: u64) -> Outcome {
    let mut world = world.borrow_mut();
    let mut outcome = Outcome { seed, faults, starts: world.server.lives(), ..Outcome::default() };
    outcome.wrong = std::mem::take(&mut world.wrong);
    outcome.history = std::mem::take(&mut world.history);
    let mut trace = DefaultHasher::new();
    format!("{:?}", outcome.history.calls).hash(&mut trace);
    format!("{:?}", world.readings).hash(&mut trace);
    outcome.trace = trace.finish();
    if outcome.wrong.is_empty() {
        if !world.server.stop() {
            outcome.wrong.push("it does not stop".to_owned());
        }
        match verify(world.server.disk(), &mut |_| {}) {
            Ok(report) if report.found == 0 => {}
            Ok(report) => outcome.wrong.push(format!("the folder is not whole: {report:?}")),
            Err(error) => outcome.wrong.push(format!("the folder cannot be verified: {error}")),
        }
        // Its clock goes on by ticks, and so does that of the history.
        // The lease clock is durable once a second, and a sync later; on a full disk it is not.
        let held_up_ms =
            SLOW_SYNC_MS + FAULT_MS + ROOM_AGAIN_MS + LOOK_EVERY.as_millis() as i64 + 5 * TICK_MS;
        let crash_ms = Rules::default().crash_ms + held_up_ms;
        let rules =
            Rules { slack_ms: 3 * TICK_MS, must_finish: true, threads: 1, crash_ms, ..Rules::default() };
        let report = Report::of(&outcome.history, &rules);
        (outcome.lives, outcome.undecided) = (report.lives, report.undecided.len());
        outcome.wrong.extend(report.violations.iter().map(ToString::to_string));
    }
    outcome
}

struct Drive<'a> {
    sim: Sim<'a>,
    world: Shared,
    clients: Vec<String>,
    trouble_ms: i64,
    next_fault_ms: i64,
    starts_ms: Option<i64>,
    cuts: Vec<(i64, String)>,
    disk_full_until_ms: Option<i64>,
    offset_ms: i64,
    offset_most_ms: i64,
    faults: u64,
    healed_ms: Option<i64>,
}

impl<'a> Drive<'a> {
    fn new(seed: u64, world: &Shared, cast: &Cast) -> Self {
        let mut sim = turmoil::Builder::new()
            .tick_duration(Duration::from_millis(TICK_MS as u64))
            .simulation_duration(Duration::from_secs(3_600))
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(60))
            .epoch(std::time::UNIX_EPOCH)
            .rng_seed(seed)
            .build();
        let machine = Rc::clone(world);
        sim.host(SERVER, move || machine::run(Rc::clone(&machine)));
        let queue = made_queue(&mut sim, world, cast);
        match queue {
            Some(queue) => take_part(&mut sim, world, cast, queue),
            None => world.borrow_mut().wrong.push("the queue was not made".to_owned()),
        }
        let now_ms = world.borrow().now_ms;
        Self {
            sim,
            world: Rc::clone(world),
            clients: cast.clients(),
            trouble_ms: now_ms + cast.trouble_ms,
            next_fault_ms: now_ms + 2_000,
            starts_ms: None,
            cuts: Vec::new(),
            disk_full_until_ms: None,
            offset_ms: 0,
            offset_most_ms: 0,
            faults: 0,
            healed_ms: None,
        }
    }

    /// Lives it to its end. Answers how much befell it.
    fn run(mut self) -> u64 {
        while self.world.borrow().wrong.is_empty() {
            let over = step(&mut self.sim, &self.world);
            let now_ms = self.world.borrow().now_ms;
            match over {
                Ok(false) => {}
                Ok(true) => break,
                Err(error) => self.world.borrow_mut().wrong.push(error),
            }
            self.mend(now_ms);
            if self.healed_ms.is_none() && now_ms >= self.trouble_ms {
                self.heal(now_ms);
            } else if self.healed_ms.is_none() && now_ms >= self.next_fault_ms {
                self.hurt(now_ms);
            }
            if self.healed_ms.is_some_and(|healed_ms| now_ms > healed_ms + FINISHED_MS) {
                let is_read = self.world.borrow().is_read();
                let what = format!("not everything is finished; the readers have all: {is_read}");
                self.world.borrow_mut().wrong.push(what);
            }
        }
        self.faults
    }

    /// What a fault left is over in its time.
    fn mend(&mut self, now_ms: i64) {
        if self.world.borrow().server.has_failed() {
            self.die(now_ms, End::Kill);
        }
        if self.starts_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            self.starts_ms = None;
            self.sim.bounce(SERVER);
            self.world.borrow_mut().history.world.push(WorldEvent::Restart { at_ms: now_ms + TICK_MS });
        }
        if self.disk_full_until_ms.take_if(|until_ms| *until_ms <= now_ms).is_some() {
            self.world.borrow().server.leave_room(None);
        }
        let (over, cuts) =
            std::mem::take(&mut self.cuts).into_iter().partition(|(until_ms, _)| *until_ms <= now_ms);
        self.cuts = cuts;
        for (_, client) in over as Vec<(i64, String)> {
            self.sim.repair(client.as_str(), SERVER);
            self.sim.release(client.as_str(), SERVER);
        }
    }

    fn hurt(&mut self, now_ms: i64) {
        self.faults += 1;
        let (kind, for_ms, pause_ms, at) = {
            let world = self.world.borrow();
            let dice = &world.dice;
            let at = dice.count(0..=self.clients.len() - 1);
            (dice.count(0..=19), dice.between(50..=FAULT_MS), dice.between(200..=7_000), at)
        };
        self.next_fault_ms = now_ms + pause_ms;
        let client = self.clients[at].clone();
        match kind {
            0..=5 => {
                self.sim.partition(client.as_str(), SERVER);
                self.cuts.push((now_ms + for_ms, client));
            }
            6..=8 => {
                self.sim.hold(client.as_str(), SERVER);
                self.cuts.push((now_ms + for_ms, client));
            }
            9..=11 => self.die(now_ms, End::Kill),
            12..=13 => self.die(now_ms, End::PowerCut),
            14 => {
                let offset_ms = self.world.borrow().dice.one_of(&[-60_000, -900, 700, 60_000, 3_600_000]);
                self.set_clock(now_ms, offset_ms);
            }
            15..=16 => {
                let world = self.world.borrow();
                world.server.fail_disk(&world.dice);
            }
            17 => {
                let world = self.world.borrow();
                world.server.leave_room(Some(world.dice.between(0..=150_000) as u64));
                self.disk_full_until_ms = Some(now_ms + for_ms);
            }
            _ => self.world.borrow_mut().slow_ms = for_ms.min(SLOW_SYNC_MS) as u64,
        }
    }

    fn set_clock(&mut self, at_ms: i64, offset_ms: i64) {
        self.offset_ms = offset_ms;
        self.offset_most_ms = self.offset_most_ms.max(offset_ms);
        let mut world = self.world.borrow_mut();
        world.server.set_wall(at_ms, offset_ms);
        world.history.world.push(WorldEvent::WallClock { at_ms, offset_ms: WALL_START_MS + offset_ms });
    }

    fn die(&mut self, now_ms: i64, end: End) {
        if self.starts_ms.is_some() {
            return;
        }
        {
            let mut world = self.world.borrow_mut();
            let world = &mut *world;
            world.history.world.push(WorldEvent::Crash { at_ms: now_ms });
            world.server.die(end, &world.dice);
            self.starts_ms = Some(now_ms + if world.is_healed { 10 } else { world.dice.between(10..=3_000) });
        }
        self.sim.crash(SERVER);
    }

    fn heal(&mut self, now_ms: i64) {
        self.healed_ms = Some(now_ms);
        for (until_ms, _) in &mut self.cuts {
            *until_ms = now_ms;
        }
        self.mend(now_ms);
        let ahead_ms = self.offset_most_ms.max(0);
        self.set_clock(now_ms, ahead_ms);
        let mut world = self.world.borrow_mut();
        world.server.mend_disk();
        world.is_healed = true;
        world.history.world.push(WorldEvent::Healed { at_ms: now_ms });
    }
}

/// One tick. True where every client has come to its end.
fn step(sim: &mut Sim<'_>, world: &Shared) -> Result<bool, String> {
    {
        let mut world = world.borrow_mut();
        world.now_ms += TICK_MS;
        world.server.pass(TICK_MS);
    }
    sim.step().map_err(|error| error.to_string())
}

/// Has the queue made before anything goes wrong.
fn made_queue(sim: &mut Sim<'_>, world: &Shared, cast: &Cast) -> Option<naven_api::QueueId> {
    let made = Rc::new(RefCell::new(None));
    let (to, shared, lease, max) =
        (Rc::clone(&made), Rc::clone(world), cast.lease_seconds, cast.max_attempts);
    sim.client("setup", async move {
        *to.borrow_mut() = set_up(&shared, lease, max).await;
        Ok(())
    });
    for _ in 0..3_000 {
        if made.borrow().is_some() || step(sim, world).is_err() {
            break;
        }
    }
    made.take()
}

/// Everybody begins.
fn take_part(sim: &mut Sim<'_>, world: &Shared, cast: &Cast, queue: naven_api::QueueId) {
    for no in 0..cast.publishers {
        let (world, events) = (Rc::clone(world), cast.events);
        sim.client(format!("p{no}"), async move {
            publish(world, no, queue, events).await;
            Ok(())
        });
    }
    for no in 0..cast.workers {
        let (world, lease_seconds) = (Rc::clone(world), cast.lease_seconds);
        sim.client(format!("w{no}"), async move {
            work(world, 100 + no, queue, lease_seconds).await;
            Ok(())
        });
    }
    for no in 0..cast.readers {
        let world = Rc::clone(world);
        sim.client(format!("r{no}"), async move {
            read(world, no).await;
            Ok(())
        });
    }
    let closing = Rc::clone(world);
    sim.client("close", async move {
        close(closing, queue).await;
        Ok(())
    });
    let settings = QueueSettings { max_attempts: Some(cast.max_attempts), ..QueueSettings::default() };
    world.borrow_mut().history.queues.insert(queue, settings);
}
