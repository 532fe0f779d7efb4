//! From a history to what is wrong with it.
//!
//! Lives here: the walk over all lives, on several threads, and the report. Not here: one life's
//! judging (`search.rs`).

use std::collections::HashMap;
use std::fmt;

use naven_api::{EventId, QueueId};

use crate::history::{Ask, Call, History, Publish};

use super::clock::Clock;
use super::life::{Entry, Life, Owner, Shared, Sorted};
use super::rules::Rules;
use super::search::{Blame, Found, Search};
use super::state::{Bound, Frame, State};
use super::step::Step;
use super::violation::{Kind, Violation};

/// A life of thousands of steps is a search as deep.
const STACK_BYTES: usize = 256 << 20;
/// Steps of a life that any thread's stack has room for.
const SHALLOW: usize = 200;
/// Lives that one thread takes at a time.
const CHUNK: usize = 256;

/// What was found in a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Lives that were judged.
    pub lives: usize,
    /// Lives that begin before an excerpt does, and that nothing is known of.
    pub skipped: usize,
    /// Lives that were given up.
    pub undecided: Vec<(QueueId, EventId)>,
    /// The broken promises, by queue and event.
    pub violations: Vec<Violation>,
}

impl Report {
    /// Judges a history.
    pub fn of(history: &History, rules: &Rules) -> Self {
        let sorted = Sorted::new(history);
        let judge = Judge { history, rules, clock: Clock::new(&history.world, rules), sorted: &sorted };
        let lives: Vec<&[(Owner, Entry)]> = sorted.entries.chunk_by(|a, b| a.0 == b.0).collect();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let mut report = Self::default();
        std::thread::scope(|scope| {
            let work = || {
                let mut part = Report::default();
                loop {
                    let first = next.fetch_add(CHUNK, std::sync::atomic::Ordering::Relaxed);
                    let Some(rest) = lives.get(first..) else { return part };
                    rest.iter().take(CHUNK).for_each(|entries| judge.life(entries, &mut part));
                }
            };
            let longest = lives.iter().map(|entries| entries.len()).max().unwrap_or(0);
            if rules.threads <= 1 && longest <= SHALLOW {
                return report.add(work());
            }
            let threads = rules.threads.clamp(1, lives.len().div_ceil(CHUNK).max(1));
            let spawn = |_| std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            let parts: Vec<_> = (0..threads).map(spawn).collect();
            for part in parts {
                let part = part.expect("a thread can be started").join();
                report.add(part.expect("judging does not panic"));
            }
        });
        judge.count_publishes(&lives, &mut report);
        report.violations.sort_by_key(|violation| (violation.queue, violation.event, violation.kind));
        report.undecided.sort_unstable();
        report
    }

    /// True where nothing is wrong, and nothing was left open.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.undecided.is_empty()
    }

    fn add(&mut self, part: Self) {
        self.lives += part.lives;
        self.skipped += part.skipped;
        self.undecided.extend(part.undecided);
        self.violations.extend(part.violations);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}\n")?;
        }
        for (queue, event) in &self.undecided {
            writeln!(f, "undecided: {event} in {queue}")?;
        }
        let (wrong, open) = (self.violations.len(), self.undecided.len());
        write!(f, "{} lives, {wrong} violations, {open} undecided", self.lives)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

struct Judge<'a> {
    history: &'a History,
    rules: &'a Rules,
    clock: Clock,
    sorted: &'a Sorted,
}

impl Judge<'_> {
    fn life(&self, entries: &[(Owner, Entry)], report: &mut Report) {
        let owner = entries[0].0;
        let nothing = Shared::default();
        let shared = self.sorted.shared.get(&owner.0).unwrap_or(&nothing);
        let mut life = Life::new(owner, entries, shared);
        let Some(start) = self.start_of(&life) else {
            report.skipped += 1;
            return;
        };
        // What was never there has nothing to finish.
        let is_seen = |entry: &Entry| matches!(entry.step, Step::Publish { .. } | Step::Grant { .. });
        if self.rules.must_finish && life.steps.iter().any(is_seen) {
            let end = self.sorted.end_ms;
            life.steps.push(Entry { begun: end, ended: end, step: Step::End, call: None });
        }
        report.lives += 1;
        match Search::new(&life, self.frame(&life), self.rules.tries_max).run(start) {
            Found::Order => {}
            Found::GivenUp => report.undecided.push(owner),
            Found::Nothing(blame) => report.violations.push(self.violation(owner, &blame)),
        }
    }

    /// How it stood before its first step; none where that is not known.
    fn start_of(&self, life: &Life<'_>) -> Option<State> {
        if !self.rules.is_excerpt || life.publish.is_some() {
            return Some(State::absent());
        }
        let first = life.steps.first()?;
        let Step::Grant { fence, attempt, .. } = first.step else { return None };
        let (fence, attempts) = (fence.checked_sub(1)?, attempt.checked_sub(1)?);
        Some(State { phase: super::state::Phase::Free, fence, attempts, ..State::absent() })
    }

    fn frame(&self, life: &Life<'_>) -> Frame<'_> {
        let settings = self.history.queues.get(&life.owner.0).copied().unwrap_or_default();
        let published: Option<&Publish> = life.publish.and_then(|call| match &self.history.calls[call].ask {
            Ask::Publish(publish) => Some(publish),
            _ => None,
        });
        let is_known = published.is_some() || !(life.shared.has_own_bounds || self.rules.is_excerpt);
        let max = published.and_then(|publish| publish.max_attempts).or(settings.max_attempts);
        let attempts = match max {
            _ if !is_known => Bound::Unknown,
            Some(max) => Bound::After(max),
            None => Bound::Never,
        };
        let expires_at_ms = published.and_then(|publish| publish.expires_at_ms);
        Frame { clock: &self.clock, settings, attempts, expires_at_ms }
    }

    fn violation(&self, (queue, event): Owner, blame: &Blame) -> Violation {
        let call = |number: &usize| -> Call { self.history.calls[*number].clone() };
        Violation {
            kind: blame.kind,
            queue,
            event,
            explained: blame.trail.iter().map(call).collect(),
            blamed: blame.entry.call.as_ref().map(call),
            stood: blame.state.to_string(),
        }
    }

    /// A publish without an answer explains one event, and no more.
    fn count_publishes(&self, lives: &[&[(Owner, Entry)]], report: &mut Report) {
        let mut unexplained: HashMap<QueueId, usize> = HashMap::new();
        for entries in lives.iter().filter(|_| !self.rules.is_excerpt) {
            let (queue, event) = entries[0].0;
            let is_explained = |(_, entry): &(Owner, Entry)| matches!(entry.step, Step::Publish { .. });
            let seen = entries.iter().find(|(_, entry)| matches!(entry.step, Step::Grant { .. }));
            let Some((_, seen)) = seen.filter(|_| !entries.iter().any(is_explained)) else { continue };
            let count = unexplained.entry(queue).or_default();
            *count += 1;
            let publishes = self.sorted.shared.get(&queue).map_or(0, |shared| shared.publishes);
            // Where there is none at all, its own life says so.
            if publishes > 0 && *count > publishes {
                let blamed = seen.call.map(|number| self.history.calls[number].clone());
                let stood = format!("{publishes} publishes without an answer explain as many other events");
                let (kind, explained) = (Kind::PublishedTwice, Vec::new());
                report.violations.push(Violation { kind, queue, event, explained, blamed, stood });
            }
        }
    }
}
