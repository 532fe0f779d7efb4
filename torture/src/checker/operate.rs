//! What operators do to a life.
//!
//! Lives here: their deeds, where they were done. A deed that was refused says nothing that is judged.
//! Not here: holders' words (`settle.rs`).

use super::state::{Frame, Last, Next, Phase, Span, State};
use super::violation::Kind;

/// What an operator did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Redrive {
        reset_attempts: bool,
    },
    Cancel,
    Break,
    Discard,
    /// The new due time.
    Reschedule(i64),
    Purge,
    Delete,
}

impl State {
    /// This state after `deed`, done in `span`.
    pub(super) fn done_to(self, deed: Deed, span: Span, frame: &Frame<'_>) -> Next {
        let next = Self { now: span.first, ..self };
        if next.phase == Phase::Absent && deed != Deed::Delete {
            return Err(Kind::FromNowhere);
        }
        let is_expired = matches!(next.last, Last::Expired(_));
        let done = match (deed, next.phase) {
            // Where nobody recorded the end, the hold is what is broken.
            (Deed::Break, Phase::Free | Phase::Dead | Phase::Gone) if is_expired => {
                let broken = next.over(Phase::Gone, Last::Broken);
                return Ok((broken, (next.phase == Phase::Free).then(|| next.over(Phase::Gone, next.last))));
            }
            (Deed::Redrive { reset_attempts }, Phase::Dead) => {
                let attempts = if reset_attempts { 0 } else { next.attempts };
                let round = Self { phase: Phase::Free, last: Last::None, attempts, ..next };
                Some(round.due_at(i64::MIN))
            }
            (Deed::Cancel, Phase::Free) => Some(next.over(Phase::Gone, next.last)),
            (Deed::Cancel, Phase::Held { .. }) => Some(Self { is_called_off: true, ..next }),
            (Deed::Cancel, Phase::Gone) => Some(next),
            (Deed::Break, Phase::Held { .. }) => Some(next.over(Phase::Gone, Last::Broken)),
            (Deed::Break, Phase::Free) => Some(next.over(Phase::Gone, next.last)),
            (Deed::Discard, Phase::Dead) => Some(next.over(Phase::Gone, Last::None)),
            (Deed::Reschedule(due), Phase::Free) => return Ok(next.put_off(due, span, frame)),
            (Deed::Purge, Phase::Free | Phase::Dead) => Some(next.over(Phase::Gone, Last::None)),
            (Deed::Delete, _) => Some(next.over(Phase::Gone, Last::None)),
            (
                Deed::Redrive { .. }
                | Deed::Cancel
                | Deed::Break
                | Deed::Discard
                | Deed::Reschedule(_)
                | Deed::Purge,
                Phase::Absent | Phase::Free | Phase::Held { .. } | Phase::Done | Phase::Dead | Phase::Gone,
            ) => None,
        };
        done.map(|state| (state, None)).ok_or(Kind::Unexplained)
    }

    /// What may be claimed already keeps its turn where the new time has come too.
    fn put_off(self, due: i64, span: Span, frame: &Frame<'_>) -> (Self, Option<Self>) {
        let (at_once, later) = (self.due_at(i64::MIN), self.due_at(due));
        if frame.clock.has_surely_reached(due, span.first, span.last) {
            (at_once, None)
        } else if frame.clock.may_have_reached(due, span.first, span.last) {
            (at_once, Some(later))
        } else {
            (later, None)
        }
    }
}
