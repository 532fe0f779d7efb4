//! What a right register does is always accepted, and what is then changed is mostly found.
//!
//! Lives here: both tests, the changes, and the count of what is judged in a second. Not here: the
//! register (`reference.rs`).

use super::reference::{Random, Reference};
use crate::checker::{Report, Rules};
use crate::history::{Answer, Ask, Call, History, Reason, Seen};

fn history_of(seed: u64, calls: u64) -> History {
    let mut history = History::default();
    Reference::new(seed, 1, &mut history).play(calls, true);
    history
}

fn judged(history: &History) -> Report {
    Report::of(history, &Rules { threads: 1, ..Rules::exact() })
}

#[test]
fn what_a_right_register_does_is_accepted() {
    for seed in 0..20_000 {
        let report = judged(&history_of(seed, 5 + seed % 40));
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

/// How one call is changed, so that a promise is broken, as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Fence,
    Attempt,
    Taken,
    Refused,
    Missing,
    Sooner,
    Twice,
    Look,
}

const CHANGES: [Change; 8] = [
    Change::Fence,
    Change::Attempt,
    Change::Taken,
    Change::Refused,
    Change::Missing,
    Change::Sooner,
    Change::Twice,
    Change::Look,
];

/// The call as it is changed, or what comes in its place; none where this change does not fit it.
fn changed(change: Change, call: &Call, random: &mut Random) -> Option<Vec<Call>> {
    let mut other = call.clone();
    let is_word =
        matches!(call.ask, Ask::Ack { .. } | Ask::Nack { .. } | Ask::Extend { .. } | Ask::Release { .. });
    match (change, &mut other.answer) {
        (Change::Fence, Answer::Claimed(grants)) => {
            let grant = grants.first_mut()?;
            grant.fence = if random.is_once_in(2) { grant.fence - 1 } else { grant.fence + 1 };
        }
        (Change::Attempt, Answer::Claimed(grants)) => grants.first_mut()?.attempt += 1,
        (Change::Taken, answer @ Answer::Conflict(_)) if is_word => *answer = Answer::DONE,
        (Change::Refused, answer @ Answer::Done { .. }) if is_word => {
            let reasons = [Reason::Expired, Reason::Lost, Reason::Settled];
            *answer = Answer::Conflict(reasons[random.below(3) as usize]);
        }
        (Change::Missing, Answer::Done { .. }) if is_word => return Some(Vec::new()),
        (Change::Sooner, Answer::Claimed(grants)) if grants.first()?.fence > 1 => {
            other.begun_ms -= 700;
            other.ended_ms = other.ended_ms.map(|ended| ended - 700);
        }
        (Change::Twice, Answer::Claimed(grants)) => {
            grants.first_mut()?.fence += 1;
            grants.first_mut()?.attempt += 1;
            other.begun_ms += 50;
            other.ended_ms = other.ended_ms.map(|ended| ended + 50);
            return Some(vec![call.clone(), other]);
        }
        (Change::Look, Answer::Saw(seen)) => {
            *seen = if *seen == Seen::Done { Seen::Waiting } else { Seen::Done };
        }
        _ => return None,
    }
    Some(vec![other])
}

/// How many of those that could be changed so were found.
fn found_of(change: Change) -> (usize, usize) {
    let (mut tried, mut found) = (0, 0);
    for seed in 0..2_000 {
        let mut history = history_of(seed, 5 + seed % 40);
        let mut random = Random::new(seed);
        let first = random.below(history.calls.len() as u64) as usize;
        let calls = (0..history.calls.len()).map(|at| (first + at) % history.calls.len());
        let fitting = calls.filter_map(|at| Some((at, changed(change, &history.calls[at], &mut random)?)));
        let Some((at, calls)) = fitting.take(1).next() else { continue };
        history.calls.splice(at..=at, calls);
        tried += 1;
        found += usize::from(!judged(&history).violations.is_empty());
    }
    (tried, found)
}

#[test]
fn one_changed_call_is_mostly_found() {
    for change in CHANGES {
        let (tried, found) = found_of(change);
        println!("{change:?}: {found} of {tried} found");
        // A call that only repeats another, or that a lost one may explain, can be missed rightly.
        let least = match change {
            Change::Missing => 20,
            _ => 70,
        };
        assert!(tried > 300 && found * 100 >= tried * least, "{change:?}: {found} of {tried} found");
    }
}

#[test]
fn a_hundred_thousand_lives_of_one_history_are_judged() {
    let mut history = History::default();
    for number in 1..=100_000 {
        Reference::new(0, number, &mut history).play(12, false);
    }
    let report = Report::of(&history, &Rules::exact());
    assert!(report.is_clean() && report.lives >= 100_000, "{report}");
}

/// Claims without an answer explain holds that nobody saw: with hundreds of them, a life still has few orders.
#[test]
fn many_lost_claims_leave_nothing_undecided() {
    for seed in 0..500 {
        let mut history = history_of(seed, 5 + seed % 40);
        let lost = Call {
            ended_ms: None,
            ask: Ask::Claim { lease_ms: 2_000 },
            answer: Answer::Unknown,
            ..history.calls[0].clone()
        };
        let calls = (0..300).map(|at| Call { begun_ms: at * 20, ..lost.clone() });
        history.calls.extend(calls);
        let report = judged(&history);
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}
