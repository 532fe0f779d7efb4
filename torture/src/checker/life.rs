//! A history cut into lives.
//!
//! Lives here: which calls bear on which event of which queue, as steps. Not here: in what order they
//! are taken (`search.rs`).

use std::collections::HashMap;

use naven_api::{EventId, QueueId};

use crate::history::{Answer, Ask, Call, History};

use super::operate::Deed;
use super::settle::{Verdict, Word};
use super::step::Step;

/// One step and the span in which it was taken, if it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) begun: i64,
    /// `i64::MAX` where there was no answer.
    pub(super) ended: i64,
    pub(super) step: Step,
    /// Which call of the history it is; none where the history's end asks for it.
    pub(super) call: Option<usize>,
}

/// What bears on every event of a queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    /// When claims began that were never answered, earliest first.
    pub(super) claims: Vec<i64>,
    /// The longest lease that one of them asked for.
    pub(super) longest_ms: i64,
    /// Publishes that were never answered, as one that stands for each: the earliest and least bound.
    pub(super) publish: Option<Entry>,
    pub(super) publishes: usize,
    /// True where one of them sets bounds of its own.
    pub(super) has_own_bounds: bool,
    /// Deeds that may have met each event, or not.
    pub(super) maybe: Vec<Entry>,
    /// Deeds that met each event.
    pub(super) surely: Vec<Entry>,
}

/// Whose life a step belongs to.
pub(super) type Owner = (QueueId, EventId);

/// A history, sorted out.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// The steps of all lives, by owner and begin.
    pub(super) entries: Vec<(Owner, Entry)>,
    pub(super) shared: HashMap<QueueId, Shared>,
    /// The last instant that the history knows.
    pub(super) end_ms: i64,
}

impl Sorted {
    pub(super) fn new(history: &History) -> Self {
        let mut sorted = Self { entries: Vec::with_capacity(history.calls.len()), ..Self::default() };
        for (number, call) in history.calls.iter().enumerate() {
            sorted.add(number, call);
            let last = call.ended_ms.unwrap_or(call.begun_ms);
            sorted.end_ms = sorted.end_ms.max(last);
        }
        sorted.entries.sort_by_key(|(owner, entry)| (*owner, entry.begun, entry.ended));
        for shared in sorted.shared.values_mut() {
            shared.claims.sort_unstable();
        }
        sorted
    }

    fn add(&mut self, number: usize, call: &Call) {
        let entry = |step| Entry {
            begun: call.begun_ms,
            ended: call.latest_ms().unwrap_or(i64::MAX),
            step,
            call: Some(number),
        };
        match (&call.ask, &call.answer) {
            (_, Answer::Refused) => {}
            (Ask::Publish(publish), Answer::Published { event }) => {
                let due = publish.due_ms.unwrap_or(i64::MIN);
                self.entries.push(((call.queue, *event), entry(Step::Publish { due })));
            }
            (Ask::Claim { lease_ms }, Answer::Claimed(grants)) => {
                for grant in grants {
                    let (fence, attempt) = (grant.fence, grant.attempt);
                    let step = Step::Grant { fence, attempt, lease_ms: *lease_ms };
                    self.entries.push(((call.queue, grant.event), entry(step)));
                }
            }
            (ask, answer) => match (ask.event(), step_of(ask, answer)) {
                (Some(event), Some(step)) => self.entries.push(((call.queue, event), entry(step))),
                (Some(_), None) => {}
                (None, step) => {
                    let shared = self.shared.entry(call.queue).or_default();
                    shared.add(call, step.map(entry));
                }
            },
        }
    }
}

impl Shared {
    fn add(&mut self, call: &Call, entry: Option<Entry>) {
        match (&call.ask, &call.answer, entry) {
            (Ask::Claim { lease_ms }, Answer::Unknown, _) => {
                self.claims.push(call.begun_ms);
                self.longest_ms = self.longest_ms.max(*lease_ms);
            }
            (Ask::Publish(publish), Answer::Unknown, _) => {
                self.publishes += 1;
                self.has_own_bounds |= publish.max_attempts.is_some() || publish.expires_at_ms.is_some();
                let due = publish.due_ms.unwrap_or(i64::MIN);
                let (mut begun, mut earliest) = (call.begun_ms, due);
                if let Some(Entry { begun: other, step: Step::Publish { due: other_due }, .. }) = self.publish
                {
                    (begun, earliest) = (begun.min(other), earliest.min(other_due));
                }
                let step = Step::Publish { due: earliest };
                self.publish = Some(Entry { begun, ended: i64::MAX, step, call: None });
            }
            (Ask::Delete, Answer::Done { .. }, Some(entry)) => self.surely.push(entry),
            (_, _, Some(entry)) => self.maybe.push(entry),
            (_, _, None) => {}
        }
    }
}

/// The step that a call is for its event; none where it says nothing.
fn step_of(ask: &Ask, answer: &Answer) -> Option<Step> {
    let verdict = match answer {
        Answer::Done { next_at_ms, .. } => Verdict::Done { next_at_ms: *next_at_ms },
        Answer::Unknown => Verdict::Done { next_at_ms: None },
        Answer::Conflict(reason) => Verdict::Conflict(*reason),
        Answer::NotFound => Verdict::NotFound,
        Answer::Saw(_) | Answer::Published { .. } | Answer::Claimed(_) | Answer::Refused => {
            let Answer::Saw(seen) = answer else { return None };
            return matches!(ask, Ask::Look { .. }).then_some(Step::Look(Some(*seen)));
        }
    };
    let say = |word, fence| Some(Step::Say { word, fence, verdict });
    let deed = match *ask {
        Ask::Extend { fence, lease_ms, .. } => return say(Word::Extend(lease_ms), fence),
        Ask::Ack { fence, .. } => return say(Word::Ack, fence),
        Ask::Nack { fence, delay_ms, .. } => return say(Word::Nack(delay_ms), fence),
        Ask::Fatal { fence, .. } => return say(Word::Fatal, fence),
        Ask::Release { fence, .. } => return say(Word::Release, fence),
        Ask::GiveBack { fence, .. } => return say(Word::GiveBack, fence),
        Ask::Look { .. } => return (*answer == Answer::NotFound).then_some(Step::Look(None)),
        Ask::Publish(_) | Ask::Claim { .. } => return None,
        Ask::Redrive { reset_attempts, .. } => Deed::Redrive { reset_attempts },
        Ask::Cancel { .. } => Deed::Cancel,
        Ask::Break { .. } => Deed::Break,
        Ask::Discard { .. } => Deed::Discard,
        Ask::Reschedule { due_ms, .. } => Deed::Reschedule(due_ms),
        Ask::Purge => Deed::Purge,
        Ask::Delete => Deed::Delete,
    };
    matches!(verdict, Verdict::Done { .. }).then_some(Step::Do(deed))
}

/// One life: the steps that were answered, those that may have been taken, and what else is known.
#[derive(Debug)]
pub(super) struct Life<'a> {
    pub(super) owner: Owner,
    /// By begin.
    pub(super) steps: Vec<Entry>,
    /// By begin.
    pub(super) maybe: Vec<Entry>,
    pub(super) shared: &'a Shared,
    /// The call that published it, where that was answered.
    pub(super) publish: Option<usize>,
}

impl<'a> Life<'a> {
    pub(super) fn new(owner: Owner, entries: &[(Owner, Entry)], shared: &'a Shared) -> Self {
        let mut life = Self {
            owner,
            steps: Vec::with_capacity(entries.len()),
            maybe: Vec::new(),
            shared,
            publish: None,
        };
        for (_, entry) in entries {
            let into = if entry.ended == i64::MAX { &mut life.maybe } else { &mut life.steps };
            into.push(*entry);
            if let (None, Step::Publish { .. }) = (life.publish, entry.step) {
                life.publish = entry.call;
            }
        }
        if life.publish.is_none() {
            life.maybe.extend(shared.publish);
        }
        if !shared.surely.is_empty() {
            life.steps.extend(&shared.surely);
            life.steps.sort_by_key(|entry| (entry.begun, entry.ended));
        }
        let last = life.steps.iter().map(|entry| entry.ended).max().unwrap_or(i64::MIN);
        let first = life.steps.first().map_or(i64::MAX, |entry| entry.begun);
        let is_met = |entry: &&Entry| entry.begun <= last && entry.ended >= first;
        life.maybe.extend(shared.maybe.iter().filter(is_met));
        life.maybe.sort_by_key(|entry| entry.begun);
        life
    }
}
