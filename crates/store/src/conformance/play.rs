//! Playing one script to two engines that share a clock, and comparing every answer.
//!
//! Lives here: the player, and how a failure is made small and can be repeated. Not here: what
//! scripts may say (`script.rs`) and what counts as the same answer (`compare.rs`).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Runtime;

use super::bench::{Fresh, runtime};
use super::both_doors;
use super::clock::ManualClock;
use super::compare::{difference, plain, plain_page};
use super::draw::script;
use super::event_looks;
use super::feed::told_so_far;
use super::known::Known;
use super::random::SeededRandom;
use super::script::Line;
use super::tally::Tally;
use crate::clock::{Clock, Random};
use crate::engine::{Budget, Engine};
use crate::feed::Changes;
use crate::read::{DeadRead, EventRead, Page, Read};
use crate::reply::OpError;
use crate::txn::{Op, Txn};

/// Makes a fresh engine.
pub trait Factory: Fn(Arc<dyn Clock>, Arc<dyn Random>) -> Fresh {}
impl<F: Fn(Arc<dyn Clock>, Arc<dyn Random>) -> Fresh> Factory for F {}

/// Which scripts to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scripts {
    /// The first seed.
    pub first_seed: u64,
    /// How many, one seed after the other.
    pub count: u64,
    /// True where each has both doors at work on the same queues.
    pub both_doors: bool,
}

/// Where two engines differ.
#[derive(Debug)]
pub struct Difference {
    /// The seed of the whole script.
    pub seed: u64,
    /// The shortest part of it that was found to show a difference.
    pub lines: Vec<Line>,
    /// What the first line that differs got from both.
    pub what: String,
    /// How to find the test that plays such scripts.
    filter: &'static str,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        writeln!(f, "the script, made short:")?;
        self.lines.iter().enumerate().try_for_each(|(at, line)| writeln!(f, "{at:4} {line:?}"))?;
        let again = "cargo nextest run -p naven-store --features conformance -E";
        write!(f, "play it again: NAVEN_SCRIPT_SEED={} {again} 'test({})'", self.seed, self.filter)
    }
}

impl Scripts {
    /// `count` scripts from seed 1 on; or as many as `NAVEN_SCRIPTS` says; or the one whose seed
    /// `NAVEN_SCRIPT_SEED` gives.
    #[expect(clippy::disallowed_methods, reason = "a test run's knobs, read nowhere else")]
    pub fn from_env(count: u64) -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
        match number("NAVEN_SCRIPT_SEED") {
            Some(seed) => Self { first_seed: seed, count: 1, both_doors: false },
            None => {
                Self { first_seed: 1, count: number("NAVEN_SCRIPTS").unwrap_or(count), both_doors: false }
            }
        }
    }

    /// The `slice`th `count` scripts in which both doors work on the same queues; the variables as above.
    pub fn of_both_doors(slice: u64, count: u64) -> Self {
        let scripts = Self::from_env(count);
        let first_seed = scripts.first_seed + slice * scripts.count;
        // The one seed that is to be played again is named as it is.
        let first_seed = if scripts.first_seed == 1 { first_seed } else { scripts.first_seed };
        Self { first_seed, both_doors: true, ..scripts }
    }

    /// Plays them all to `subject` and to `model`.
    ///
    /// # Panics
    /// Where the two differ, with the seed, the script and the way to play it again.
    pub fn play(&self, subject: impl Factory, model: impl Factory) {
        self.play_counted(subject, model);
    }

    /// The same, and what their ops came to.
    ///
    /// # Panics
    /// Where the two differ.
    pub fn play_counted(&self, subject: impl Factory, model: impl Factory) -> Tally {
        match self.played(subject, model) {
            Ok(tally) => tally,
            Err(difference) => panic!("{difference}"),
        }
    }

    /// The first difference between the two, if any.
    pub fn first_difference(&self, subject: impl Factory, model: impl Factory) -> Option<Difference> {
        self.played(subject, model).err().map(|difference| *difference)
    }

    fn played(&self, subject: impl Factory, model: impl Factory) -> Result<Tally, Box<Difference>> {
        let runtime = runtime();
        let tally = Mutex::new(Tally::default());
        let fails = |lines: &[Line], seed| {
            let played = catch_unwind(AssertUnwindSafe(|| {
                Player::new(&runtime, [&subject, &model], seed).play(lines, &tally)
            }));
            played.unwrap_or_else(|panic| Some(format!("panicked: {}", text_of(panic.as_ref()))))
        };
        for seed in self.first_seed..self.first_seed + self.count {
            let mut lines = if self.both_doors { both_doors::script(seed) } else { script(seed) };
            let Some(mut what) = fails(&lines, seed) else { continue };
            shorten(&mut lines, |shorter| {
                let still = fails(shorter, seed);
                let is_failing = still.is_some();
                what = still.unwrap_or_else(|| std::mem::take(&mut what));
                is_failing
            });
            let filter = if self.both_doors { "both_doors" } else { "script" };
            return Err(Box::new(Difference { seed, lines, what, filter }));
        }
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a text").to_owned()
}

/// Leaves out lines for as long as the rest still fails.
fn shorten(lines: &mut Vec<Line>, mut fails: impl FnMut(&[Line]) -> bool) {
    for size in [16, 8, 4, 2, 1, 1] {
        let mut at = 0;
        while at < lines.len() {
            let mut shorter = lines.clone();
            shorter.drain(at..(at + size).min(lines.len()));
            if fails(&shorter) { *lines = shorter } else { at += size }
        }
    }
}

/// Two engines, one clock, and what the script has made so far.
struct Player<'a> {
    runtime: &'a Runtime,
    clock: Arc<ManualClock>,
    engines: [Arc<dyn Engine>; 2],
    feeds: [Changes; 2],
    known: Known,
    tally: Tally,
    _guards: [Box<dyn Any + Send>; 2],
}

impl<'a> Player<'a> {
    fn new(runtime: &'a Runtime, factories: [&dyn Factory<Output = Fresh>; 2], seed: u64) -> Self {
        let clock = Arc::new(ManualClock::default());
        let make = |factory: &dyn Factory<Output = Fresh>| {
            let random = Arc::new(SeededRandom::new(seed));
            let fresh = factory(clock.clone(), random.clone());
            // However much it drew while it was made, from here on both draw alike.
            random.restart(seed);
            (fresh.engine, fresh.guard)
        };
        let [(subject, guard), (model, other_guard)] = factories.map(make);
        let feeds = [subject.changes(), model.changes()];
        let (engines, known) = ([subject, model], Known::default());
        let tally = Tally::of_a_script();
        Self { runtime, clock, engines, feeds, known, tally, _guards: [guard, other_guard] }
    }

    /// What the first line that differs got, if any does. What was counted goes into `all`.
    fn play(mut self, lines: &[Line], all: &Mutex<Tally>) -> Option<String> {
        let different = lines.iter().enumerate().find_map(|(at, line)| {
            let what = self.line(line).or_else(|| self.told())?;
            Some(format!("line {at} of {}: {line:?}\n{what}", lines.len()))
        });
        let different = different.or_else(|| {
            let what = self.known.everything().into_iter().find_map(|read| self.read(&read))?;
            Some(format!("after the last line: {what}"))
        });
        self.engines.iter().for_each(|engine| self.runtime.block_on(engine.close()));
        all.lock().unwrap_or_else(PoisonError::into_inner).add(self.tally);
        different
    }

    fn line(&mut self, line: &Line) -> Option<String> {
        match line {
            Line::Advance(ms) => {
                self.clock.advance_ms(*ms);
                None
            }
            Line::StepWall(ms) => {
                self.clock.step_wall_ms(*ms);
                None
            }
            Line::Tend => {
                let budget = Budget { rows: 100_000 };
                let [ours, right] = [0, 1].map(|side| self.runtime.block_on(self.engines[side].tend(budget)));
                difference(&ours, &right)
            }
            Line::Look(look) => self.read(&self.known.read(look, None)),
            Line::Submit { all_or_nothing, asks } => {
                let wall = self.clock.wall();
                let mut kinds = Vec::new();
                let [ours, right] = [0, 1].map(|side| {
                    let ops: Vec<Op> = asks.iter().map(|ask| self.known.op(ask, side, wall)).collect();
                    kinds = ops.iter().map(|op| op.kind.clone()).collect();
                    let txn = Txn { ops, all_or_nothing: *all_or_nothing, ..Txn::each([]) };
                    let mut replies = self.runtime.block_on(self.engines[side].submit(vec![txn]));
                    replies.pop().map(|reply| reply.ops).unwrap_or_default()
                });
                for (kind, answer) in kinds.iter().zip(&right) {
                    self.tally.note(kind, answer);
                    self.known.learn_end(kind, answer);
                }
                ours.iter().zip(&right).for_each(|(one, other)| self.known.learn([one, other]));
                let plain = |answers: Vec<_>| answers.into_iter().map(plain).collect::<Vec<_>>();
                difference(&plain(ours), &plain(right))
            }
        }
    }

    /// What became of deliveries since the last line, in whatever order within it.
    fn told(&mut self) -> Option<String> {
        let runtime = self.runtime;
        let [ours, right] = &mut self.feeds;
        let told = [ours, right].map(|feed| runtime.block_on(told_so_far(feed)));
        // An engine that is opened anew between two lines has no feed that goes on.
        let [Some(mut ours), Some(mut right)] = told else { return None };
        for told in [&mut ours, &mut right] {
            told.sort_by_cached_key(|change| format!("{change:?}"));
        }
        difference(&ours, &right).map(|what| format!("what was told of it:\n{what}"))
    }

    fn read(&self, read: &Read) -> Option<String> {
        let [ours, right] = [0, 1].map(|side| self.walk(side, read.clone()));
        difference(&ours, &right).map(|what| format!("{read:?}\n{what}"))
    }

    /// All pages from `read` on, as one.
    fn walk(&self, side: usize, mut read: Read) -> Result<Page, OpError> {
        let mut page = self.runtime.block_on(self.engines[side].read(read.clone()))?;
        loop {
            let next = match &page {
                Page::Queues(_, next) | Page::DeadLetters(_, next) | Page::Streams(_, next) => next.clone(),
                Page::Audit(_, next) => next.clone(),
                Page::Queue(_) | Page::Event(_) | Page::Keys(_) | Page::System(_) => None,
                Page::Stream(_) | Page::Entries(..) | Page::Groups(_) => None,
                Page::Operations(_, next) => next.clone(),
                Page::DeadGroups(_) | Page::Matched(_) | Page::Operation(_) | Page::Holders(_) => None,
                Page::Events(page) => page.next.clone(),
                Page::StreamDetail(_) | Page::Consumers(_) | Page::Pending(..) | Page::PendingSummary(_) => {
                    None
                }
            };
            let Some(next) = next else { return Ok(plain_page(page)) };
            if let Read::Queues { cursor, .. }
            | Read::DeadLetters { cursor, .. }
            | Read::Audit { cursor, .. }
            | Read::Dead(DeadRead::List { cursor, .. })
            | Read::Events(EventRead { cursor, .. })
            | Read::Operations { cursor, .. }
            | Read::Streams { cursor, .. } = &mut read
            {
                *cursor = Some(next);
            }
            let more = self.runtime.block_on(self.engines[side].read(read.clone()))?;
            page = match (page, more) {
                (Page::Queues(mut items, _), Page::Queues(more, next)) => {
                    items.extend(more);
                    Page::Queues(items, next)
                }
                (Page::Audit(mut items, _), Page::Audit(more, next)) => {
                    items.extend(more);
                    Page::Audit(items, next)
                }
                (Page::DeadLetters(mut items, _), Page::DeadLetters(more, next)) => {
                    items.extend(more);
                    Page::DeadLetters(items, next)
                }
                (Page::Streams(mut items, _), Page::Streams(more, next)) => {
                    items.extend(more);
                    Page::Streams(items, next)
                }
                (Page::Operations(mut items, _), Page::Operations(more, next)) => {
                    items.extend(more);
                    Page::Operations(items, next)
                }
                (Page::Events(page), Page::Events(more)) => Page::Events(event_looks::joined(page, more)),
                (_, other) => return Ok(other),
            };
        }
    }
}
