//! What a holder's word does to a life: the table of the HTTP contract's section on lease semantics.
//!
//! Lives here: heartbeat, ack, nack, fatal, release and give-back, each with every answer. Not here:
//! how a lease comes about (`step.rs`).

use crate::history::Reason;

use super::state::{Frame, Last, Lease, Next, Phase, Span, State};
use super::violation::Kind;

/// What a holder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Extend(i64),
    Ack,
    Nack(Option<i64>),
    Fatal,
    Release,
    GiveBack,
}

/// What it was answered. A call without an answer is tried as one that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Done { next_at_ms: Option<i64> },
    Conflict(Reason),
    NotFound,
}

impl Word {
    /// True for a heartbeat in the grace of a hold that has lasted as long as the queue lets one last.
    fn may_add_nothing(self, lease: Lease, span: Span, frame: &Frame<'_>) -> bool {
        let Self::Extend(ms) = self else { return false };
        bounded(span.plus(ms), lease.since, frame).first <= span.last
    }
}

impl State {
    /// This state after a word with the token of `fence`, said in `span` and answered so.
    pub(super) fn told(
        self,
        word: Word,
        fence: u64,
        verdict: Verdict,
        span: Span,
        frame: &Frame<'_>,
    ) -> Next {
        let next = Self { now: span.first, ..self };
        match verdict {
            Verdict::NotFound => next.unknown_to(span, frame, Kind::RefusedWrongly),
            Verdict::Done { next_at_ms } => match self.right(word, fence, span, frame) {
                Right::Holds(lease) | Right::Unrecorded(lease) => {
                    // Called off by an expiry that nobody recorded, so it is to be called off still.
                    let is_called_off = self.is_called_off || self.phase == Phase::Gone;
                    Self { is_called_off, ..next }.takes(word, lease, next_at_ms, span, frame)
                }
                Right::Repeats => Ok((next, None)),
                Right::Over | Right::Refused(_) => Err(self.taken_wrongly(word, fence)),
            },
            Verdict::Conflict(reason) => match self.right(word, fence, span, frame) {
                Right::Holds(lease)
                    if reason == Reason::Expired
                        && (self.may_be_past_grace(span, frame) || is_at_bound(word, lease, span, frame)) =>
                {
                    Ok((next, None))
                }
                Right::Holds(lease)
                    if reason == Reason::Expired && word.may_add_nothing(lease, span, frame) =>
                {
                    Ok((next, None))
                }
                Right::Holds(_) | Right::Repeats => Err(Kind::RefusedWrongly),
                Right::Refused(right) if right == reason => Ok((next, None)),
                Right::Unrecorded(_) if reason == Reason::Lost => Ok((next, None)),
                Right::Over | Right::Unrecorded(_) | Right::Refused(_) => Err(Kind::WrongReason),
            },
        }
    }

    /// A 404: the event is not there, or it is over and forgotten by now.
    pub(super) fn unknown_to(self, span: Span, frame: &Frame<'_>, otherwise: Kind) -> Next {
        let forgotten_from = self.over_since.saturating_add(frame.settings.keep_outcomes_ms);
        match self.phase {
            Phase::Absent | Phase::Gone => Ok((self, None)),
            Phase::Done | Phase::Dead if span.last >= forgotten_from => {
                Ok((self.over(Phase::Gone, self.last), None))
            }
            Phase::Done | Phase::Dead => Err(Kind::OutcomeForgotten),
            Phase::Free | Phase::Held { .. } => Err(otherwise),
        }
    }

    fn right(&self, word: Word, fence: u64, span: Span, frame: &Frame<'_>) -> Right {
        if fence != self.fence {
            return Right::Refused(Reason::Lost);
        }
        match (self.phase, self.last) {
            (Phase::Held { lease, .. }, _) if word == Word::GiveBack => Right::Holds(lease),
            (Phase::Held { lease, .. }, _) => {
                let is_live = frame.clock.may_be_live(lease.since.first, lease.end.last, span.first);
                if is_live { Right::Holds(lease) } else { Right::Over }
            }
            // Undone all the same where nobody recorded the end.
            (_, Last::Expired(lease)) if word == Word::GiveBack => Right::Unrecorded(lease),
            (_, _) if word == Word::GiveBack => Right::Refused(Reason::Lost),
            (_, Last::Expired(lease)) => self.right_in_grace(lease, span, frame),
            (_, Last::Acked | Last::Failed | Last::Released) if matches!(word, Word::Extend(_)) => {
                Right::Repeats
            }
            (_, Last::Acked) if word == Word::Ack => Right::Repeats,
            (_, Last::Failed) if matches!(word, Word::Nack(_) | Word::Fatal) => Right::Repeats,
            (_, Last::Released) if word == Word::Release => Right::Repeats,
            (_, Last::Acked | Last::Failed | Last::Released) => Right::Refused(Reason::Settled),
            (_, Last::None | Last::GivenBack | Last::Broken) => Right::Refused(Reason::Lost),
        }
    }

    fn right_in_grace(&self, lease: Lease, span: Span, frame: &Frame<'_>) -> Right {
        let grace = self.grace(frame);
        let end = lease.end.plus(grace);
        let is_in_time = frame.clock.may_be_live(lease.since.first, end.last, span.first);
        if is_in_time && grace > 0 { Right::Holds(lease) } else { Right::Refused(Reason::Expired) }
    }

    /// What is dead or called off is not revived.
    fn grace(&self, frame: &Frame<'_>) -> i64 {
        if self.phase == Phase::Free { frame.settings.grace_ms } else { 0 }
    }

    /// True where the grace of an expired hold may be over too.
    fn may_be_past_grace(&self, span: Span, frame: &Frame<'_>) -> bool {
        let Last::Expired(lease) = self.last else { return false };
        // What an operator put off is not revived before its new time.
        let is_put_off = self.due != i64::MIN;
        let is_past = span.last >= frame.clock.over_from(lease.end.plus(self.grace(frame)).first);
        !matches!(self.phase, Phase::Held { .. }) && (is_put_off || is_past)
    }

    fn takes(self, word: Word, lease: Lease, next_at: Option<i64>, span: Span, frame: &Frame<'_>) -> Next {
        match word {
            Word::Extend(ms) => {
                let end = bounded(span.plus(ms), lease.since, frame);
                let held = Phase::Held { lease: Lease { end, ..lease }, is_seen: true };
                Ok((Self { phase: held, last: Last::None, ..self }, None))
            }
            Word::Ack => Ok((self.over(Phase::Done, Last::Acked), None)),
            Word::Fatal => {
                let phase = if self.is_called_off { Phase::Gone } else { Phase::Dead };
                Ok((self.over(phase, Last::Failed), None))
            }
            Word::Nack(delay) => self.nacked(delay, next_at, span, frame),
            Word::Release => {
                let attempts = self.attempts.saturating_sub(1);
                let back = Self { attempts, ..self }.due_at(i64::MIN);
                Ok(back.let_go(Last::Released, false, span, frame))
            }
            Word::GiveBack => Ok((self.given_back(), None)),
        }
    }

    fn nacked(self, delay: Option<i64>, next_at: Option<i64>, span: Span, frame: &Frame<'_>) -> Next {
        let earliest = delay.map(|ms| frame.clock.earliest_wall(span.first, span.last).saturating_add(ms));
        let left = self.due_at(next_at.or(earliest).unwrap_or(i64::MIN));
        let (one, other) = left.let_go(Last::Failed, true, span, frame);
        if next_at.is_none() {
            return Ok((one, other));
        }
        // It was told that it is tried again.
        match [Some(one), other].into_iter().flatten().find(|state| state.phase == Phase::Free) {
            Some(free) => Ok((free, None)),
            None => Err(Kind::TooManyAttempts),
        }
    }

    /// The claim is undone: due and attempts are as they were before.
    pub(super) fn given_back(self) -> Self {
        let attempts = self.attempts.saturating_sub(1);
        let back = Self { attempts, ..self };
        if self.is_called_off {
            back.over(Phase::Gone, Last::GivenBack)
        } else {
            Self { phase: Phase::Free, last: Last::GivenBack, ..back }
        }
    }

    fn taken_wrongly(&self, word: Word, fence: u64) -> Kind {
        let ends = matches!(word, Word::Ack | Word::Fatal | Word::Nack(_) | Word::Release);
        let is_late = fence == self.fence && matches!(self.last, Last::Expired(_));
        match self.phase {
            Phase::Absent => Kind::FromNowhere,
            Phase::Free | Phase::Dead | Phase::Gone if is_late => Kind::LateCallTaken,
            Phase::Done | Phase::Dead | Phase::Gone if ends => Kind::TerminalTwice,
            Phase::Held { .. } if fence == self.fence => Kind::LateCallTaken,
            Phase::Free | Phase::Held { .. } | Phase::Done | Phase::Dead | Phase::Gone => {
                Kind::StaleCallTaken
            }
        }
    }
}

/// What a token is worth.
enum Right {
    /// It holds the event, or may revive its hold.
    Holds(Lease),
    /// It already did what it asks for.
    Repeats,
    /// Its lease is over, and that has to be a step of its own first.
    Over,
    /// Its lease is over, which counts where somebody recorded it.
    Unrecorded(Lease),
    /// It has no say, for this reason.
    Refused(Reason),
}

/// True where the whole hold may have come to the queue's bound, so that no heartbeat helps any more.
fn is_at_bound(word: Word, lease: Lease, span: Span, frame: &Frame<'_>) -> bool {
    let bound = frame.settings.max_lease_ms.map(|max| lease.since.first.saturating_add(max));
    matches!(word, Word::Extend(_)) && bound.is_some_and(|bound| span.last >= frame.clock.over_from(bound))
}

/// A lease's end, cut to the queue's bound on the whole hold.
pub(super) fn bounded(end: Span, since: Span, frame: &Frame<'_>) -> Span {
    frame.settings.max_lease_ms.map_or(end, |max| end.no_later_than(since.plus(max)))
}
