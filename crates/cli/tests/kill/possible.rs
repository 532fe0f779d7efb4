//! One state that an event may be in, and how it goes on from there.
//!
//! Lives here: the states, written down anew from the HTTP contract and not taken from the product,
//! what may happen unseen, and what a call or a look leaves of one state. Not here: going through an
//! event's whole history (`judge.rs`).

use crate::clock::Moment;
use crate::history::{Call, Due, Hold, Kind, Said, Stray, View};
use crate::plan::{DELAY_SECONDS_MAX, STAMP_AGE_MS};

/// Both sides cut their clocks to a millisecond.
const SLACK_US: i64 = 2_000;
const STAMP_AGE_US: i64 = STAMP_AGE_MS * 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Possible {
    pub(crate) fence: u64,
    pub(crate) attempts: u32,
    pub(crate) expiries: u32,
    pub(crate) stand: Stand,
    /// It cannot have been so before: see [`Moment::up_us`].
    pub(crate) since_us: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// Nobody has it.
    Free { due: Due, after: Ending },
    /// Its lease cannot be over before `from_up_us` and is over after `to_sure_us`.
    Leased { from_up_us: i64, to_sure_us: i64 },
    /// Acked, at this wall time.
    Done { at: Due },
    /// Given up.
    Dead { after: Ending },
}

/// How the last hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    NeverHeld,
    RanOut,
    Failed,
    Fatal,
    Released,
}

/// What the rules depend on besides the event's own history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'a> {
    /// The unanswered claims of the event's queue.
    pub(crate) strays: &'a [Stray],
    pub(crate) lease_us: i64,
    pub(crate) attempts_max: u32,
}

/// What happens unseen.
impl Possible {
    /// An event that was just published.
    pub(crate) fn fresh(due: Due) -> Self {
        let stand = Stand::Free { due, after: Ending::NeverHeld };
        Self { fence: 0, attempts: 0, expiries: 0, stand, since_us: i64::MIN }
    }

    fn with(&self, stand: Stand, since_us: i64) -> Self {
        Self { stand, since_us: since_us.max(self.since_us), ..self.clone() }
    }

    /// The lease's time may be over.
    pub(crate) fn run_out(&self, until: Moment, world: World<'_>) -> Option<Self> {
        let Stand::Leased { from_up_us, .. } = self.stand else { return None };
        if until.up_us + SLACK_US < from_up_us {
            return None;
        }
        let stand = if self.attempts >= world.attempts_max {
            Stand::Dead { after: Ending::RanOut }
        } else {
            Stand::Free { due: Due::from(i64::MIN), after: Ending::RanOut }
        };
        Some(Self { expiries: self.expiries + 1, ..self.with(stand, from_up_us - SLACK_US) })
    }

    /// A claim that was not answered may have taken it, for nobody.
    pub(crate) fn taken_by_nobody(&self, until: Moment, world: World<'_>) -> Option<Self> {
        let Stand::Free { due, .. } = self.stand else { return None };
        let may_have = |stray: &&Stray| {
            stray.lost.up_us >= self.since_us
                && stray.lost.wall_ms >= due.from_ms
                && stray.sent.up_us <= until.up_us
        };
        let strays: Vec<&Stray> = world.strays.iter().filter(may_have).collect();
        let since_us = strays.iter().map(|stray| stray.sent.up_us).min()?.max(self.since_us);
        let to_sure_us = strays.iter().map(|stray| stray.lost.sure_us).max()? + world.lease_us;
        let from_up_us = since_us + world.lease_us - STAMP_AGE_US;
        let stand = Stand::Leased { from_up_us, to_sure_us };
        let (fence, attempts) = (self.fence + 1, self.attempts + 1);
        Some(Self { fence, attempts, ..self.with(stand, since_us) })
    }
}

/// What clients saw.
impl Possible {
    /// After `hold` was answered; none where it cannot have been given.
    pub(crate) fn leased_by(&self, hold: &Hold, world: World<'_>) -> Option<Self> {
        let Stand::Free { due, .. } = self.stand else { return None };
        let fits = self.fence + 1 == hold.fence
            && (self.attempts + 1, self.expiries) == (hold.attempts, hold.expiries)
            && due.from_ms <= hold.got.wall_ms
            && self.since_us <= hold.got.up_us + SLACK_US;
        let leased = Self { fence: hold.fence, attempts: hold.attempts, ..self.clone() };
        fits.then(|| leased.until(hold.ends_ms, hold.sent, hold.got, world)).flatten()
    }

    /// Leased until `ends_ms` by an answer to a call sent and answered then; none where that is not
    /// the time that was asked for.
    fn until(&self, ends_ms: i64, sent: Moment, got: Moment, world: World<'_>) -> Option<Self> {
        let lease_ms = world.lease_us / 1_000;
        let fits = (sent.wall_ms - STAMP_AGE_MS..=got.wall_ms).contains(&(ends_ms - lease_ms));
        let from_up_us = sent.up_us + (ends_ms - sent.wall_ms) * 1_000;
        let to_sure_us = got.sure_us + world.lease_us;
        fits.then(|| self.with(Stand::Leased { from_up_us, to_sure_us }, sent.up_us))
    }

    /// What a call with the token of hold `fence` leaves; `next` is the next hold that a client was
    /// answered.
    pub(crate) fn after(&self, fence: u64, call: &Call, next: Option<&Hold>, world: World<'_>) -> Vec<Self> {
        if self.fence > fence {
            // Somebody else has it, or had it: the token is worth nothing any more.
            let fits = matches!(call.said, None | Some(Said::Refused(40_901)));
            return fits.then(|| self.clone()).into_iter().collect();
        }
        let is_live = matches!(self.stand, Stand::Leased { to_sure_us, .. }
            if call.sent.sure_us <= to_sure_us + STAMP_AGE_US);
        let settled = || is_live.then(|| self.settled(call, world)).flatten();
        match &call.said {
            None if call.kind == Kind::Heartbeat => vec![self.maybe_extended(call, world)],
            None => std::iter::once(self.clone()).chain(settled()).collect(),
            Some(Said::Refused(code)) => {
                self.refuses_with(*code, call, next).then(|| self.clone()).into_iter().collect()
            }
            Some(Said::Extended { ends_ms }) => {
                let extended = || self.until(*ends_ms, call.sent, call.got, world);
                is_live.then(extended).flatten().into_iter().collect()
            }
            Some(said @ (Said::Acked { replayed, .. } | Said::Nacked { replayed, .. })) => {
                let was_settled = || self.was_settled_by(call.kind).then(|| self.clone());
                let outcome = if *replayed { was_settled() } else { settled() };
                outcome.and_then(|outcome| outcome.told(said, call)).into_iter().collect()
            }
        }
    }

    fn maybe_extended(&self, call: &Call, world: World<'_>) -> Self {
        let Stand::Leased { from_up_us, to_sure_us } = self.stand else { return self.clone() };
        let to_sure_us = to_sure_us.max(call.got.sure_us + world.lease_us);
        Self { stand: Stand::Leased { from_up_us, to_sure_us }, ..self.clone() }
    }

    /// True where a holder whose lease ended is refused with this code.
    fn refuses_with(&self, code: u64, call: &Call, next: Option<&Hold>) -> bool {
        let ran_out = matches!(
            self.stand,
            Stand::Free { after: Ending::RanOut, .. } | Stand::Dead { after: Ending::RanOut }
        );
        match code {
            40_900 => ran_out && next.is_none_or(|next| next.got.up_us >= call.sent.up_us),
            40_901 => {
                let is_free = matches!(self.stand, Stand::Free { .. });
                is_free && next.is_some_and(|next| next.sent.up_us <= call.got.up_us)
            }
            _ => false,
        }
    }

    /// After the holder settled it; none where it has no say.
    fn settled(&self, call: &Call, world: World<'_>) -> Option<Self> {
        let (sent_ms, got_ms) = (call.sent.wall_ms, call.got.wall_ms);
        let within = |least: u32, most: u32| Due {
            from_ms: sent_ms + i64::from(least) * 1_000 - STAMP_AGE_MS,
            to_ms: got_ms + i64::from(most) * 1_000,
        };
        let mut attempts = self.attempts;
        let stand = match call.kind {
            Kind::Heartbeat => return None,
            Kind::Ack => Stand::Done { at: within(0, 0) },
            Kind::Fatal => Stand::Dead { after: Ending::Fatal },
            Kind::Fail(_) if attempts >= world.attempts_max => Stand::Dead { after: Ending::Failed },
            Kind::Fail(Some(delay)) => Stand::Free { due: within(delay, delay), after: Ending::Failed },
            Kind::Fail(None) => Stand::Free { due: within(0, DELAY_SECONDS_MAX), after: Ending::Failed },
            Kind::Release => {
                attempts -= 1;
                Stand::Free { due: within(0, 0), after: Ending::Released }
            }
        };
        Some(Self { attempts, ..self.with(stand, call.sent.up_us) })
    }

    /// True where the last holder ended it by such a call, so that a repeat is answered the same.
    fn was_settled_by(&self, kind: Kind) -> bool {
        let after = match self.stand {
            Stand::Done { .. } => return kind == Kind::Ack,
            Stand::Leased { .. } => return false,
            Stand::Free { after, .. } | Stand::Dead { after } => after,
        };
        match kind {
            Kind::Heartbeat | Kind::Ack => false,
            Kind::Fail(_) | Kind::Fatal => matches!(after, Ending::Failed | Ending::Fatal),
            Kind::Release => after == Ending::Released,
        }
    }

    /// This state, narrowed by what a holder was told of it.
    fn told(&self, said: &Said, call: &Call) -> Option<Self> {
        match (self.stand, said) {
            (Stand::Done { at }, Said::Acked { at_ms, .. }) => {
                at.holds(*at_ms).then(|| self.with(Stand::Done { at: Due::at(*at_ms) }, self.since_us))
            }
            (Stand::Free { .. }, Said::Nacked { state, next_ms: Some(next_ms), .. }) => {
                self.free_as(state, *next_ms, call.sent, call.got)
            }
            (Stand::Dead { .. }, Said::Nacked { state, next_ms: None, .. }) => {
                (state == "dead").then(|| self.clone())
            }
            _ => None,
        }
    }

    /// This state, narrowed by how the event looks between `sent` and `got`.
    pub(crate) fn shown_as(&self, view: &View, sent: Moment, got: Moment) -> Option<Self> {
        if (self.fence, self.attempts, self.expiries) != (view.fence, view.attempts, view.expiries) {
            return None;
        }
        match self.stand {
            Stand::Free { .. } => self.free_as(&view.state, view.next_ms?, sent, got),
            Stand::Leased { .. } => (view.state == "leased").then(|| self.clone()),
            Stand::Dead { .. } => (view.state == "dead").then(|| self.clone()),
            Stand::Done { at } => {
                let settled_ms = view.settled_ms.filter(|ms| at.holds(*ms) && view.state == "done")?;
                Some(self.with(Stand::Done { at: Due::at(settled_ms) }, self.since_us))
            }
        }
    }

    /// A free event under this word and with this due time; none where it is not so.
    fn free_as(&self, word: &str, next_ms: i64, sent: Moment, got: Moment) -> Option<Self> {
        let Stand::Free { due, after } = self.stand else { return None };
        let fits = match word {
            "scheduled" => self.fence == 0 && next_ms > sent.wall_ms - STAMP_AGE_MS,
            "retrying" => self.fence > 0 && next_ms > sent.wall_ms - STAMP_AGE_MS,
            "ready" => next_ms <= got.wall_ms,
            _ => false,
        };
        let narrowed = || self.with(Stand::Free { due: Due::at(next_ms), after }, self.since_us);
        (fits && due.holds(next_ms)).then(narrowed)
    }
}
