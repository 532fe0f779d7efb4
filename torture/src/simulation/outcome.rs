//! What came of a world.
//!
//! Lives here: the last looks, and what is wrong. Not here: living it (`world.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use naven_api::QueueId;
use naven_store::embedded::verify::verify;
use naven_store::read::Read;
use naven_store::reply::OpReply;

use super::words::answer_of;
use super::world::{LOOK_MS, TURN_MS, World};
use crate::checker::{Report, Rules};
use crate::history::{Ask, Call, History};

/// What came of the world of one seed.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// All that happened, in a number: the same seed, the same number.
    pub trace: u64,
    /// What clients saw.
    pub history: History,
    /// Events, each in each of its queues.
    pub lives: usize,
    /// Of these, those of which the checker could not say whether they are right.
    pub undecided: usize,
    /// How often the server was started.
    pub starts: u32,
    /// What befell the world, apart from what the network does to every call.
    pub faults: u64,
    /// What is wrong, apart from what the history shows.
    pub wrong: Vec<String>,
}

/// Lives the world of a seed.
pub fn simulate(seed: u64) -> Outcome {
    let mut world = None;
    let lived = catch_unwind(AssertUnwindSafe(|| {
        let world = world.insert(World::new(seed));
        world.live();
        look_back(world)
    }));
    let lives = lived.as_ref().map_or(0, |lives| *lives);
    let mut outcome = Outcome { seed, lives, ..Outcome::default() };
    outcome.wrong.extend(lived.err().map(|panic| panicked(&*panic)));
    let mut held_up_ms = 0;
    if let Some(mut world) = world {
        held_up_ms = world.held_up_ms();
        outcome.trace = world.floor.trace();
        outcome.starts = world.starts;
        outcome.faults = world.faults();
        outcome.wrong.append(&mut world.wrong);
        outcome.wrong.append(&mut world.floor.odd);
        outcome.history = std::mem::take(&mut world.floor.history);
    }
    if outcome.wrong.is_empty() {
        // The lease clock is durable once a second, and a sync later.
        let crash_ms = Rules::exact().crash_ms + LOOK_MS + TURN_MS + held_up_ms;
        let rules = Rules { must_finish: true, threads: 1, crash_ms, ..Rules::exact() };
        let report = Report::of(&outcome.history, &rules);
        outcome.undecided = report.undecided.len();
        outcome.wrong.extend(report.violations.iter().map(ToString::to_string));
    }
    outcome
}

/// What a panic said.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
    format!("something panicked: {text}")
}

/// Looks at every event at the end, before and after a planned restart, and through the folder. Answers how many there
/// are, each in each of its queues.
fn look_back(world: &mut World) -> usize {
    world.floor.events.sort();
    world.floor.events.dedup();
    let lives = look_at_all(world);
    if !world.wrong.is_empty() {
        return lives;
    }
    if !world.server.stop() {
        world.wrong.push("it does not stop".to_owned());
        return lives;
    }
    let found = verify(world.server.disk(), &mut |_| {});
    match found {
        Ok(report) if report.found == 0 => {}
        Ok(report) => world.wrong.push(format!("the folder is not whole: {report:?}")),
        Err(error) => world.wrong.push(format!("the folder cannot be verified: {error}")),
    }
    match world.server.start(&world.floor.dice) {
        Ok(()) => look_at_all(world),
        Err(error) => {
            world.wrong.push(format!("it does not start after a planned stop: {error}"));
            lives
        }
    }
}

fn look_at_all(world: &mut World) -> usize {
    let mut lives = 0;
    for event in world.floor.events.clone() {
        let Some(page) = world.server.look(Read::Event { event, payload: false }) else { continue };
        let reply = page.map(|page| OpReply::Page(Box::new(page)));
        for queue in world.floor.queues.clone() {
            lives += usize::from(look(world, queue, Ask::Look { event }, &reply));
        }
    }
    lives
}

/// Notes what a look saw; false where the queue has nothing to do with the event.
fn look(
    world: &mut World,
    queue: QueueId,
    ask: Ask,
    reply: &Result<OpReply, naven_store::reply::OpError>,
) -> bool {
    let now_ms = world.floor.now_ms;
    match answer_of(&ask, queue, reply) {
        // It is another queue's, or it is gone, which is right for what was discarded.
        Ok(crate::history::Answer::NotFound) if !world.floor.knows(queue, &ask) => false,
        Ok(answer) => {
            let is_there = !matches!(answer, crate::history::Answer::NotFound);
            let (begun_ms, ended_ms) = (now_ms, Some(now_ms));
            world.floor.history.calls.push(Call { client: u32::MAX, begun_ms, ended_ms, queue, ask, answer });
            is_there
        }
        Err(odd) => {
            world.wrong.push(odd);
            false
        }
    }
}
