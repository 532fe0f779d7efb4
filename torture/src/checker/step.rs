//! The steps of a life that are no holder's word: publishing, claiming and looking.
//!
//! Lives here: what each does and when it can be. Not here: holders' words (`settle.rs`), operators'
//! (`operate.rs`).

use crate::history::Seen;

use super::operate::Deed;
use super::settle::{Verdict, Word, bounded};
use super::state::{Bound, Frame, Last, Lease, Next, Phase, Span, State};
use super::violation::Kind;

/// One step of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Published, due when the wall clock shows this; `i64::MIN`: at once.
    Publish { due: i64 },
    /// Handed out.
    Grant { fence: u64, attempt: u32, lease_ms: i64 },
    /// A holder's word.
    Say { word: Word, fence: u64, verdict: Verdict },
    /// An operator's deed that was done.
    Do(Deed),
    /// How it looked; none: like nothing that is known.
    Look(Option<Seen>),
    /// The end of a history in which everything has to be over.
    End,
}

impl State {
    /// This state after `step`, taken in `span`.
    pub(super) fn after(self, step: Step, span: Span, frame: &Frame<'_>) -> Next {
        match step {
            Step::Publish { due } => Ok((self.published(due, span), None)),
            Step::Grant { fence, attempt, lease_ms } => {
                self.granted(fence, attempt, lease_ms, span, frame).map(|next| (next, None))
            }
            Step::Say { word, fence, verdict } => self.told(word, fence, verdict, span, frame),
            Step::Do(deed) => self.done_to(deed, span, frame),
            Step::Look(seen) => self.looked(seen, span, frame),
            Step::End if self.is_over() => Ok((self, None)),
            Step::End => Err(Kind::Unfinished),
        }
    }

    /// A publish with the dedupe key of an earlier one answers that one's id, and changes nothing.
    fn published(self, due: i64, span: Span) -> Self {
        let next = Self { now: span.first, ..self };
        match self.phase {
            Phase::Absent => Self { phase: Phase::Free, ..next }.due_at(due),
            Phase::Free | Phase::Held { .. } | Phase::Done | Phase::Dead | Phase::Gone => next,
        }
    }

    fn granted(
        self,
        fence: u64,
        attempt: u32,
        lease_ms: i64,
        span: Span,
        frame: &Frame<'_>,
    ) -> Result<Self, Kind> {
        match self.phase {
            Phase::Absent => return Err(Kind::FromNowhere),
            Phase::Held { .. } if fence <= self.fence => return Err(Kind::FenceNotRising),
            Phase::Held { .. } => return Err(Kind::TwoLiveTokens),
            Phase::Done => return Err(Kind::AckUndone),
            Phase::Dead => return Err(Kind::DeadDelivered),
            Phase::Gone => return Err(Kind::GoneDelivered),
            Phase::Free => {}
        }
        if fence <= self.fence {
            return Err(Kind::FenceNotRising);
        }
        if fence > self.fence + 1 {
            return Err(Kind::FenceJumped);
        }
        if !frame.clock.may_have_reached(self.due, self.due_since, span.last) {
            return Err(Kind::BeforeDue);
        }
        let is_of_no_use = |at| frame.clock.has_surely_reached(at, span.first, span.last);
        if frame.expires_at_ms.is_some_and(is_of_no_use) {
            return Err(Kind::ExpiredDelivered);
        }
        if attempt != self.attempts + 1 {
            // A dead letter that begins anew with the attempts it had may pass the bound, one at a time.
            let is_bound_passed = matches!(frame.attempts, Bound::After(max) if attempt > max);
            return Err(if is_bound_passed { Kind::TooManyAttempts } else { Kind::AttemptsMiscounted });
        }
        Ok(self.held(span, span.plus(lease_ms), true, frame))
    }

    /// A claim that was never answered took it, in `span`, for at most this long.
    pub(super) fn taken_unseen(self, span: Span, longest_ms: i64, frame: &Frame<'_>) -> Option<Self> {
        let is_due = frame.clock.may_have_reached(self.due, self.due_since, span.last);
        if self.phase != Phase::Free || !is_due {
            return None;
        }
        let end = Span { first: span.first, last: span.last.saturating_add(longest_ms) };
        Some(Self { unseen: self.unseen + 1, ..self.held(span, end, false, frame) })
    }

    fn held(self, since: Span, end: Span, is_seen: bool, frame: &Frame<'_>) -> Self {
        let lease = Lease { since, end: bounded(end, since, frame) };
        Self {
            phase: Phase::Held { lease, is_seen },
            now: since.first,
            fence: self.fence + 1,
            attempts: self.attempts + 1,
            last: Last::None,
            is_called_off: false,
            ..self
        }
    }

    fn looked(self, seen: Option<Seen>, span: Span, frame: &Frame<'_>) -> Next {
        let next = Self { now: span.first, ..self };
        let Some(seen) = seen else { return next.unknown_to(span, frame, Kind::PublishLost) };
        // A hold whose time is over is shown as it is recorded, until somebody records its end.
        let is_expired = matches!(self.last, Last::Expired(_));
        let is_so = match seen {
            Seen::Waiting => self.phase == Phase::Free,
            Seen::Leased => is_expired || matches!(self.phase, Phase::Held { .. }),
            Seen::Done => self.phase == Phase::Done,
            Seen::Dead => self.phase == Phase::Dead,
            Seen::Cancelled => self.phase == Phase::Gone,
        };
        if is_so {
            return Ok((next, None));
        }
        Err(match (self.phase, seen) {
            (Phase::Absent, _) => Kind::FromNowhere,
            (Phase::Done, _) => Kind::AckUndone,
            (Phase::Dead, Seen::Waiting | Seen::Leased) => Kind::DeadDelivered,
            (Phase::Gone, Seen::Waiting | Seen::Leased) => Kind::GoneDelivered,
            (Phase::Held { .. }, Seen::Waiting) => Kind::RefusedWrongly,
            (Phase::Free | Phase::Held { .. } | Phase::Dead | Phase::Gone, _) => Kind::Unexplained,
        })
    }
}
