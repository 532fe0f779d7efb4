//! How an event may stand: the register that calls are steps of.
//!
//! Lives here: the states and what ends a hold. Not here: which call leads where (`step.rs`,
//! `settle.rs`, `operate.rs`).

use std::fmt;

use crate::history::QueueSettings;

use super::clock::Clock;
use super::violation::Kind;

/// The instants between which a step was taken: not before, not after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Span {
    pub(super) const fn plus(self, ms: i64) -> Self {
        Self { first: self.first.saturating_add(ms), last: self.last.saturating_add(ms) }
    }

    pub(super) fn no_later_than(self, bound: Self) -> Self {
        Self { first: self.first.min(bound.first), last: self.last.min(bound.last) }
    }
}

/// One hold's lease: when it began and when it ends, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub(super) since: Span,
    pub(super) end: Span,
}

/// Where the event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Not published yet.
    Absent,
    /// Nobody has it.
    Free,
    /// Somebody has it; `is_seen` is false for a hold whose claim was never answered.
    Held { lease: Lease, is_seen: bool },
    /// Finished.
    Done,
    /// A dead letter.
    Dead,
    /// Called off, thrown away or deleted.
    Gone,
}

/// How the hold of the last fence ended, in the present round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Last {
    /// It did not, or a new round or a purge made its token worthless.
    None,
    Acked,
    /// By a nack or a fatal one.
    Failed,
    Released,
    GivenBack,
    /// By an operator.
    Broken,
    Expired(Lease),
}

/// How the event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// Not before this instant was the last step taken.
    pub(super) now: i64,
    /// The last hold's.
    pub(super) fence: u64,
    pub(super) attempts: u32,
    /// Not before the wall clock shows this may it be handed out; `i64::MIN`: at once.
    pub(super) due: i64,
    /// From when on that counts.
    pub(super) due_since: i64,
    pub(super) last: Last,
    /// Not before this instant was it over.
    pub(super) over_since: i64,
    /// True where its holder was asked to stop.
    pub(super) is_called_off: bool,
    /// Crashes so far of which one may have brought its lease back.
    pub(super) crashes: u32,
    /// Holds so far whose claims were never answered.
    pub(super) unseen: u32,
}

/// What is known of an event beside its calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) clock: &'a Clock,
    pub(super) settings: QueueSettings,
    pub(super) attempts: Bound,
    pub(super) expires_at_ms: Option<i64>,
}

/// How often an event may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Never,
    After(u32),
    /// The call that published it was never answered, and several may have.
    Unknown,
}

/// The states to which one step may lead: at most two.
pub(super) type Next = Result<(State, Option<State>), Kind>;

impl State {
    pub(super) const fn absent() -> Self {
        Self {
            phase: Phase::Absent,
            now: i64::MIN,
            fence: 0,
            attempts: 0,
            due: i64::MIN,
            due_since: i64::MIN,
            last: Last::None,
            over_since: i64::MIN,
            is_called_off: false,
            crashes: 0,
            unseen: 0,
        }
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Dead | Phase::Gone)
    }

    /// Over from now on.
    pub(super) const fn over(self, phase: Phase, last: Last) -> Self {
        Self { phase, last, over_since: self.now, is_called_off: false, ..self }
    }

    /// Due when the wall clock shows `due`.
    pub(super) const fn due_at(self, due: i64) -> Self {
        Self { due, due_since: self.now, ..self }
    }

    /// Its hold ended without an end of its own: called off, dead where `counts` and its attempts are
    /// used up, dead or free where its use may be over, else free.
    pub(super) fn let_go(
        self,
        last: Last,
        counts: bool,
        span: Span,
        frame: &Frame<'_>,
    ) -> (Self, Option<Self>) {
        let free = Self { phase: Phase::Free, last, is_called_off: false, ..self };
        let dead = self.over(Phase::Dead, last);
        if self.is_called_off {
            return (self.over(Phase::Gone, last), None);
        }
        match frame.attempts {
            Bound::After(max) if counts && self.attempts >= max => return (dead, None),
            Bound::Unknown if counts => return (free, Some(dead)),
            Bound::After(_) | Bound::Unknown | Bound::Never => {}
        }
        let Some(instant) = frame.expires_at_ms else { return (free, None) };
        // An expiry may be recorded long after it was answered, by another wall clock.
        let recorded = if matches!(last, Last::Expired(_)) { i64::MAX } else { span.last };
        if frame.clock.has_surely_reached(instant, span.first, recorded) {
            (dead, None)
        } else if frame.clock.may_have_reached(instant, span.first, span.last) {
            (free, Some(dead))
        } else {
            (free, None)
        }
    }

    /// Its hold's time ran out, where that is possible before `until`.
    pub(super) fn expired(self, until: i64, frame: &Frame<'_>) -> Option<(Self, Option<Self>)> {
        let Phase::Held { lease, .. } = self.phase else { return None };
        let now = self.now.max(frame.clock.over_from(lease.end.first));
        if now > until {
            return None;
        }
        let span = Span { first: now, last: until };
        let over = Self { now, ..self }.due_at(i64::MIN);
        Some(over.let_go(Last::Expired(lease), true, span, frame))
    }

    /// Its hold's time ran out, nobody recorded it, and a crash before `until` set the lease clock back.
    pub(super) fn brought_back(self, until: i64, frame: &Frame<'_>) -> Option<Self> {
        let Last::Expired(lease) = self.last else { return None };
        let (number, at) = frame.clock.crash_between(self.crashes as usize, lease.end.first, until)?;
        let back = Self {
            phase: Phase::Held { lease, is_seen: true },
            now: self.now.max(at),
            last: Last::None,
            crashes: u32::try_from(number).ok()? + 1,
            is_called_off: self.is_called_off || self.phase == Phase::Gone,
            ..self
        };
        frame.clock.may_be_live(lease.since.first, lease.end.last, back.now).then_some(back)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase {
            Phase::Absent => return f.write_str("not published"),
            Phase::Free => write!(f, "free")?,
            Phase::Held { lease, .. } if lease.end.last == i64::MAX => write!(f, "held")?,
            Phase::Held { lease, .. } => {
                write!(f, "held until some instant of {} to {}", lease.end.first, lease.end.last)?;
            }
            Phase::Done => write!(f, "done")?,
            Phase::Dead => write!(f, "dead")?,
            Phase::Gone => write!(f, "gone")?,
        }
        write!(f, ", last fence {}, {} attempts", self.fence, self.attempts)?;
        if self.phase == Phase::Free && self.due != i64::MIN {
            write!(f, ", due at {}", self.due)?;
        }
        if self.unseen > 0 {
            write!(f, ", {} holds by claims without an answer", self.unseen)?;
        }
        Ok(())
    }
}
